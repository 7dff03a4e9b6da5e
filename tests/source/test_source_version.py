"""Names that stand for releases."""

from __future__ import annotations

import pytest

from patchkit.source.version import best_version, nearest, release_in, tag_names

TAGS = [
    "v1.13.0",
    "v1.13.1",
    "v2.0.0",
    "v2.1.2",
    "v2.2.0",
    "v2.2.1",
    "v2.2.1-rc3",
    "v2.2.2",
    "v2.12.1",
    "main",
]


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("pytorch-v2.2.1.tar.gz", "2.2.1"),
        ("pytorch_1.13.1+dfsg.orig.tar.xz", "1.13.1"),
        ("v2.6.0-rc4", "2.6.0"),
        ("1.13.1", "1.13.1"),
        ("pytorch-2.6", None),
        ("release-1.2.3.4", None),
        ("main", None),
    ],
)
def test_a_name_gives_its_release(name: str, release: str | None) -> None:
    assert release_in(name) == release


def test_the_name_tells_the_patch_release_that_version_txt_does_not() -> None:
    assert best_version("1.13.0", ["pytorch_1.13.1+dfsg.orig.tar.xz"]) == "1.13.1"


def test_a_name_of_another_series_does_not_override_version_txt() -> None:
    assert best_version("2.6.0", ["backup-1.2.3", "pytorch-2.6.1"]) == "2.6.1"
    assert best_version("2.6.0", ["backup-1.2.3"]) == "2.6.0"


def test_a_tree_without_version_txt_takes_the_release_of_its_name() -> None:
    assert best_version("unknown", ["pytorch-2.2.1.zip"]) == "2.2.1"


@pytest.mark.parametrize(
    "wanted", ["2.2.1", "v2.2.1", "V2.2.1", "torch==2.2.1", "torch-2.2.1", "pytorch-v2.2.1", "2.2.1+cu121"]
)
def test_a_release_is_found_however_it_is_written(wanted: str) -> None:
    assert tag_names(wanted) == ["v2.2.1"]


@pytest.mark.parametrize("wanted", ["2.6.0rc1", "v2.6.0-rc1", "2.6.0.rc1"])
def test_a_release_candidate_is_found_however_it_is_written(wanted: str) -> None:
    assert tag_names(wanted) == ["v2.6.0-rc1"]


@pytest.mark.parametrize("wanted", ["main", "release/2.2", "4dedcb8", "2", "2.6.0.dev20250101"])
def test_a_branch_or_commit_is_no_release(wanted: str) -> None:
    assert tag_names(wanted) == []


@pytest.mark.parametrize(
    ("wanted", "first"),
    [
        ("2.2.9", "v2.2.2"),
        ("1.13.2", "v1.13.1"),
        ("2.2", "v2.2.0"),
        ("22.1", "v2.2.1"),
        ("2.2.1rc9", "v2.2.1"),
    ],
)
def test_the_nearest_release_is_suggested_first(wanted: str, first: str) -> None:
    assert nearest(wanted, TAGS)[0] == first


def test_a_misspelt_branch_is_suggested() -> None:
    assert nearest("mian", TAGS) == ["main"]


def test_nothing_is_suggested_for_what_resembles_nothing() -> None:
    assert nearest("feature-x", TAGS) == []

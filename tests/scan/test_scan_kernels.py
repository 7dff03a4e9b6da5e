"""Each idiom of an MPS kernel, in each release's interface: what the scan must say of its results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from scan_kit import Expected, KernelFile, kernel_files, make_kernel_tree, said

from patchkit.scan import scan_tree
from patchkit.scan.findings import ScanReport

#: What the scan is known to get wrong: (file, function) and why.
WRONG: dict[tuple[str, str], str] = {}


def cases() -> Iterator[object]:
    for file in kernel_files():
        for expected in file.expected():
            reason = WRONG.get((file.name, expected.function))
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            name = f"{file.name}-{expected.function}-{expected.line}-{expected.dialect}"
            yield pytest.param(file, expected, id=name, marks=marks)


@pytest.fixture(scope="module")
def report_of(tmp_path_factory: pytest.TempPathFactory):
    @cache
    def scan(file: KernelFile, dialect: str) -> ScanReport:
        root: Path = tmp_path_factory.mktemp(file.name) / "tree"
        return scan_tree(make_kernel_tree(root, file, dialect))

    return scan


@pytest.mark.parametrize(("file", "expected"), list(cases()))
def test_result(report_of, file: KernelFile, expected: Expected) -> None:
    assert said(report_of(file, expected.dialect), expected) == str(expected)


@pytest.mark.parametrize("file", kernel_files(), ids=lambda file: file.name)
def test_every_result_of_a_kernel_file_is_expected(report_of, file: KernelFile) -> None:
    for dialect in file.dialects:
        report = report_of(file, dialect)
        seen = {e.line for e in (*report.findings, *report.cleared) if e.file.endswith(file.path.name)}
        assert sorted(seen - {e.line for e in file.expected()}) == []


@pytest.mark.parametrize("file", kernel_files(), ids=lambda file: file.name)
def test_no_part_of_a_kernel_file_is_left_unread(report_of, file: KernelFile) -> None:
    unread = [u for dialect in file.dialects for u in report_of(file, dialect).undecided if not u.tensor]
    assert unread == []

"""``patchkit scan`` on several trees: one table."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from patchkit.cli import run
from patchkit.demo import demo_tree_path


@pytest.fixture
def trees(tmp_path):
    """Two releases of the miniature tree, the newer one repaired by patchkit's own patches."""
    old, new = tmp_path / "pytorch-2.2.1", tmp_path / "pytorch-2.3.0"
    for folder, version in ((old, "2.2.1"), (new, "2.3.0")):
        shutil.copytree(demo_tree_path(), folder)
        (folder / "version.txt").write_text(f"{version}a0\n")
    assert run(["fix", str(new), "--in-place"]) in (0, 1)
    return [str(old), str(new)]


def test_several_trees_make_a_table_in_the_order_of_their_versions(trees, capsys):
    capsys.readouterr()
    assert run(["scan", *reversed(trees), "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "patchkit-matrix/1"
    assert [release["version"] for release in data["releases"]] == ["2.2.1", "2.3.0"]
    addcmul = next(row for row in data["ops"] if row["op"] == "addcmul")
    assert [cell["state"] for cell in addcmul["cells"]] == ["lost", "fixed"]
    assert addcmul["first_safe"] == "2.3.0"


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_the_table_is_for_people_too(trees, capsys, name):
    capsys.readouterr()
    run(["scan", *trees, "--format", name])
    shown = capsys.readouterr().out
    for word in ("addcmul", "2.2.1", "2.3.0", "first safe in", "fixed", "lost"):
        assert word in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "sarif"], "--format sarif is for one tree"),
        (["--diff", "HEAD"], "--diff is for one tree"),
        (["--version", "2.6.0"], "add it to --versions"),
        (["--write-baseline", "x"], "--write-baseline is for one tree"),
    ],
)
def test_what_does_not_fit_a_table_is_wrong_usage(trees, capsys, options, said):
    assert run(["scan", *trees, *options]) == 2
    assert said in capsys.readouterr().err


def test_versions_are_looked_up_in_the_remote(trees, tmp_path, capsys):
    remote = tmp_path / "remote"
    shutil.copytree(trees[0], remote)

    def git(*arguments):
        who = (
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.org",
            "-c",
            "commit.gpgsign=false",
            "-c",
            "tag.gpgsign=false",
        )
        subprocess.run(["git", *who, *arguments], cwd=remote, check=True, capture_output=True)

    git("init", "--quiet")
    for tag, tree in (("v2.2.1", trees[0]), ("v2.3.0", trees[1])):
        # with the times of now: git takes an old file of the same size for the one that it has
        shutil.copytree(tree, remote, dirs_exist_ok=True, copy_function=shutil.copyfile)
        git("add", "--all")
        git("commit", "--quiet", "--message", tag)
        git("tag", tag)
    for asked in ("2.2.1,2.3.0", "2.2.0..2.3.0"):
        capsys.readouterr()
        assert run(["scan", "--versions", asked, "--remote", str(remote), "--format", "json"]) == 1
        data = json.loads(capsys.readouterr().out)
        assert [release["version"] for release in data["releases"]] == ["2.2.1", "2.3.0"]

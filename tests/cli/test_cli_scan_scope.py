"""``patchkit scan``: formats for other tools, suppressions, baselines, settings, --diff and the cache."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patchkit.cli import run
from patchkit.demo import demo_tree_path
from patchkit.source.tree import MPS_FOLDER

OPERATIONS = f"{MPS_FOLDER}/operations"
POINTWISE = f"{OPERATIONS}/PointwiseOps.mm"


@pytest.fixture
def tree(tmp_path):
    shutil.copytree(demo_tree_path(), tmp_path / "tree")
    return tmp_path / "tree"


@pytest.fixture
def scan(tree, capsys):
    """Run a scan of the tree with more options; return the JSON report."""

    def scanned(*options, code=1):
        assert run(["scan", str(tree), "--format", "json", *map(str, options)]) == code
        return json.loads(capsys.readouterr().out)

    return scanned


def finding_in(report, function):
    return next(one for one in report["findings"] if one["function"] == function)


def functions(report):
    return {one["function"] for one in report["findings"]}


def suppress_first(tree, finding, comment):
    path = tree / finding["file"]
    lines = path.read_text().split("\n")
    lines.insert(finding["line"] - 1, comment)
    path.write_text("\n".join(lines))


def git(folder, *arguments):
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tree):
    git(tree, "init", "--quiet", "--initial-branch=main")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message=first")
    return tree


@pytest.mark.parametrize("name", ["sarif", "lintrunner"])
def test_formats_that_other_tools_run_exit_with_0(tree, name):
    assert run(["scan", str(tree), "--format", name]) == 0


@pytest.mark.parametrize("name", ["github", "markdown"])
def test_formats_for_a_workflow_exit_with_1(tree, name):
    assert run(["scan", str(tree), "--format", name]) == 1


@pytest.mark.parametrize("name", ["sarif", "lintrunner"])
def test_a_path_with_nothing_to_scan_is_no_success_for_any_format(tmp_path, name):
    assert run(["scan", str(tmp_path), "--format", name]) == 3


def test_sarif_paths_start_at_the_given_folder(tree, capsys):
    run(["scan", str(tree), "--format", "sarif", "--sarif-root", str(tree.parent)])
    result = json.loads(capsys.readouterr().out)["runs"][0]["results"][0]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("tree/aten/")
    assert (tree.parent / uri).is_file()


def test_a_sarif_root_outside_the_tree_is_wrong_usage(tree, tmp_path, capsys):
    (tmp_path / "other").mkdir()
    assert run(["scan", str(tree), "--format", "sarif", "--sarif-root", str(tmp_path / "other")]) == 2
    assert "does not hold the tree" in capsys.readouterr().err


def test_applying_lintrunner_s_replacements_leaves_nothing_that_can_be_fixed(tree, capsys):
    def messages():
        run(["scan", str(tree), "--format", "lintrunner"])
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    found = messages()
    replaced = [one for one in found if one["replacement"] is not None]
    assert replaced
    for one in replaced:
        assert Path(one["path"]).read_bytes() == one["original"].encode()
        Path(one["path"]).write_bytes(one["replacement"].encode())
    left = messages()
    assert len(left) < len(found)
    assert not [one for one in left if one["replacement"] is not None]


def test_a_suppressed_finding_is_set_aside_with_its_reason(tree, scan):
    before = scan()
    finding = before["findings"][0]
    suppress_first(tree, finding, f"  // NOLINTNEXTLINE(patchkit-{finding['rule']}): seen by nobody")
    after = scan()
    assert len(after["findings"]) == len(before["findings"]) - 1
    assert [(one["because"], one["detail"]) for one in after["set_aside"]] == [("suppression", "seen by nobody")]
    assert after["set_aside"][0]["finding"]["fingerprint"] == finding["fingerprint"]


def test_an_unused_suppression_is_reported(tree, scan):
    path = tree / POINTWISE
    path.write_text(path.read_text() + "\n// NOLINTNEXTLINE(patchkit-MPS101): nothing there\n")
    assert "is not used" in scan()["notices"][0]["text"]


def test_an_unused_suppression_stands_in_the_text_report(tree, capsys):
    path = tree / POINTWISE
    path.write_text(path.read_text() + "\n// NOLINTNEXTLINE(patchkit-MPS101): nothing there\n")
    run(["scan", str(tree)])
    assert "the suppression of patchkit-MPS101 is not used" in " ".join(capsys.readouterr().out.split())


def test_a_baseline_hides_what_it_was_written_from_and_nothing_new(tree, scan, tmp_path, capsys):
    baseline = tmp_path / "known.json"
    assert run(["scan", str(tree), "--write-baseline", str(baseline)]) == 0
    assert capsys.readouterr().out == ""
    assert scan("--baseline", baseline, code=0)["findings"] == []
    (tree / OPERATIONS / "New.mm").write_text((tree / POINTWISE).read_text().replace("add_scaled", "add_other"))
    assert {one["file"] for one in scan("--baseline", baseline, "--no-cache")["findings"]} <= {f"{OPERATIONS}/New.mm"}


def test_a_baseline_is_taken_from_the_settings(tree, scan, tmp_path):
    run(["scan", str(tree), "--write-baseline", str(tmp_path / "known.json")])
    (tmp_path / "patchkit.toml").write_text('baseline = "known.json"\n')
    assert scan(code=0)["findings"] == []


def test_the_command_line_goes_before_the_settings(tree, scan):
    (tree / "patchkit.toml").write_text('select = ["MPS102"]\n')
    assert {one["rule"] for one in scan()["findings"]} == {"MPS102"}
    assert {one["rule"] for one in scan("--select", "MPS101")["findings"]} == {"MPS101"}


def test_one_operator_is_selected(scan):
    assert functions(scan("--op", "addcmul")) == {finding_in(scan(), "add_scaled_combination")["function"]}


def test_an_operator_without_findings_is_clean(scan):
    assert scan("--op", "lerp", code=0)["findings"] == []


def test_an_operator_that_does_not_exist_never_looks_clean(tree, capsys):
    assert run(["scan", str(tree), "--op", "adcmul"]) == 2
    assert "did you mean addcmul?" in capsys.readouterr().err


def test_only_findings_of_listed_files_are_reported(tree, scan, tmp_path):
    (tmp_path / "changed.txt").write_text(f"{tree / POINTWISE}\nREADME.md\n")
    assert {one["file"] for one in scan("--paths-from", tmp_path / "changed.txt")["findings"]} == {POINTWISE}


def test_a_diff_without_a_change_reports_nothing(repository, scan):
    report = scan("--diff", "HEAD", code=0)
    assert report["findings"] == []
    assert {one["because"] for one in report["set_aside"]} == {"diff"}


def test_lines_that_only_move_introduce_nothing(repository, scan):
    path = repository / POINTWISE
    path.write_text("// moved down by two lines\n\n" + path.read_text())
    assert scan("--diff", "HEAD", code=0)["findings"] == []


def test_a_diff_reports_a_kernel_that_loses_its_copy_back(repository, scan):
    path = next(path for path in sorted((repository / OPERATIONS).iterdir()) if "output.copy_(" in path.read_text())
    known = {one["fingerprint"] for one in scan()["findings"]}
    path.write_text(path.read_text().replace("output.copy_(", "use(output, "))
    report = scan("--diff", "main")
    assert report["findings"]
    assert not known & {one["fingerprint"] for one in report["findings"]}


def test_a_renamed_file_introduces_nothing(repository, scan):
    git(repository, "mv", POINTWISE, f"{OPERATIONS}/Renamed.mm")
    assert scan("--diff", "HEAD", code=0)["findings"] == []


def test_a_diff_with_a_commit_that_does_not_exist_is_wrong_usage(repository, capsys):
    assert run(["scan", str(repository), "--diff", "nowhere"]) == 2
    assert "has no commit 'nowhere'" in capsys.readouterr().err


def test_a_diff_outside_a_repository_is_wrong_usage(tree, capsys, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tree.parent))
    assert run(["scan", str(tree), "--diff", "HEAD"]) == 2
    assert "is no git checkout" in capsys.readouterr().err


def test_a_diff_leaves_the_working_tree_as_it_is(repository, scan):
    def content():
        return {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}

    before = content()
    scan("--diff", "HEAD", code=0)
    assert content() == before


def test_a_cached_scan_prints_what_the_first_one_printed(tree, capsys):
    def text():
        run(["scan", str(tree)])
        return capsys.readouterr().out.rpartition("\n\n")[0]

    first = text()
    assert text() == first
    run(["scan", str(tree), "--no-cache"])
    assert capsys.readouterr().out.rpartition("\n\n")[0] == first


@pytest.mark.real_tree
def test_a_warm_scan_takes_less_than_300_milliseconds_with_start_up(release):
    def seconds():
        import resource

        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "patchkit", "scan", str(release.tree.root), "--exit-zero"]
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    seconds()
    assert min(seconds() for _ in range(5)) < 0.3

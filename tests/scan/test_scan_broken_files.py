"""Files that cannot be scanned are said to be so, and everything else is scanned as if they were not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from mutation_kit import damaged
from scan_kit import KERNELS, kernel_files, make_kernel_tree, make_tree

from patchkit.errors import PatchkitError
from patchkit.scan import scan_tree
from patchkit.scan.findings import ScanReport
from patchkit.source.tree import MPS_FOLDER, Tree

OPERATIONS = f"{MPS_FOLDER}/operations"
GOOD = """\
Tensor& good_out_mps(const Tensor& self, Tensor& output) {
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output);
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return output;
}
"""
YAML = """\
- func: good.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    MPS: good_out_mps
- func: bad.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    MPS: bad_out_mps
"""
BAD = GOOD.replace("good", "bad")


def tree_with(root: Path, content: bytes | str) -> Tree:
    return make_tree(root / "tree", {"Good.mm": GOOD, "Bad.mm": content}, YAML)


def said_of_bad(report: ScanReport) -> list[str]:
    """Why ``Bad.mm`` is undecided; the good kernel is found whatever the other file is."""
    assert [f.function for f in report.findings if f.file.endswith("Good.mm")] == ["good_out_mps"]
    return [u.why for u in report.undecided if u.file.endswith("Bad.mm")]


def test_a_binary_file_is_undecided(tmp_path: Path) -> None:
    report = scan_tree(tree_with(tmp_path, b"\x7fELF\0\0\0" + os.urandom(4000)))
    assert said_of_bad(report) == ["the file is binary, not source text"]


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    assert said_of_bad(scan_tree(tree_with(tmp_path, b""))) == []


def test_a_file_of_white_space_says_nothing(tmp_path: Path) -> None:
    assert said_of_bad(scan_tree(tree_with(tmp_path, b"\r\n\t \f\v\n" * 100))) == []


@pytest.mark.parametrize("encoding", ["latin-1", "cp1251", "shift-jis"])
def test_a_file_in_another_encoding_is_scanned(tmp_path: Path, encoding: str) -> None:
    remark = {"latin-1": "Größe", "cp1251": "размер", "shift-jis": "大きさ"}[encoding]
    report = scan_tree(tree_with(tmp_path, f"// {remark}\n{BAD}".encode(encoding)))
    assert said_of_bad(report) == []
    assert len(report.findings) == 2


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_byte_order_mark_and_windows_line_endings_change_nothing(tmp_path: Path, mark: bytes, ending: str) -> None:
    report = scan_tree(tree_with(tmp_path, mark + BAD.replace("\n", ending).encode()))
    assert said_of_bad(report) == []
    assert [(f.line, f.tensor, f.layouts) for f in report.findings] == [
        (3, "output", ("strided", "channels_last", "offset"))
    ] * 2


def test_utf_16_is_not_taken_for_source_text(tmp_path: Path) -> None:
    assert said_of_bad(scan_tree(tree_with(tmp_path, BAD.encode("utf-16")))) == ["the file is binary, not source text"]


def test_a_file_of_fifty_megabytes_is_not_read(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, b"")
    path = tree.root / OPERATIONS / "Bad.mm"
    with path.open("wb") as file:
        file.truncate(50 << 20)
    assert said_of_bad(scan_tree(tree)) == [f"the file has {50 << 20} bytes, more than any kernel file"]


@pytest.mark.parametrize(
    ("opened", "closed"),
    [("(", ")"), ("f(", ")"), ("[a b:", "]"), ("@{a : ", "}"), ("!", ""), ("1 + ", "")],
)
def test_an_expression_nested_thousands_deep_is_undecided(tmp_path: Path, opened: str, closed: str) -> None:
    deep = "auto x = " + opened * 5000 + "1" + closed * 5000 + ";\n  Placeholder result ="
    report = scan_tree(tree_with(tmp_path, BAD.replace("Placeholder result =", deep)))
    assert len(said_of_bad(report)) == 1


@pytest.mark.parametrize(
    ("opened", "closed"), [("{", "}"), ("if (a) {", "}"), ("if (a) {} else ", "{}"), ("for (;;) {", "}")]
)
def test_statements_nested_thousands_deep_are_undecided_or_read(tmp_path: Path, opened: str, closed: str) -> None:
    deep = opened * 3000 + (closed * 3000 if closed == "}" else closed) + "\n  Placeholder result ="
    report = scan_tree(tree_with(tmp_path, BAD.replace("Placeholder result =", deep)))
    flagged = [f for f in report.findings if f.file.endswith("Bad.mm")]
    assert bool(flagged) != bool(said_of_bad(report))


def test_parameters_nested_thousands_deep_are_undecided(tmp_path: Path) -> None:
    deep = "int n = " + "(" * 5000 + "1" + ")" * 5000
    report = scan_tree(tree_with(tmp_path, BAD.replace("Tensor& output)", f"Tensor& output, {deep})")))
    assert said_of_bad(report) != []


@pytest.mark.parametrize("depth", [20, 60, 100, 110, 119, 121, 200, 400])
def test_no_depth_of_nesting_ends_in_a_traceback(tmp_path: Path, depth: int) -> None:
    nested = "dense" + "".join(f".view({{{n}}})" for n in range(depth))
    text = BAD.replace("output);\n  run", f"at::cat({{{nested}, {'(' * depth}output{')' * depth}}}));\n  run", 1)
    report = scan_tree(tree_with(tmp_path, text))
    assert report.findings or report.undecided


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may read every file")
def test_a_file_without_permission_is_undecided(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, BAD)
    (tree.root / OPERATIONS / "Bad.mm").chmod(0)
    assert said_of_bad(scan_tree(tree)) == ["the file cannot be read: Permission denied"]


def test_a_file_that_fails_to_open_is_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        if path.name == "Bad.mm":
            raise PermissionError(13, "Permission denied", str(path))
        return original(path)

    original = Path.read_bytes
    tree = tree_with(tmp_path, BAD)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert said_of_bad(scan_tree(tree)) == ["the file cannot be read: Permission denied"]


@pytest.mark.parametrize("change", ["longer", "shorter", "other", "gone"])
def test_a_file_that_changes_while_it_is_read_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    contents = {"longer": BAD + "\n\n", "shorter": BAD[:40], "other": BAD.replace("bad", "sad")}

    def read(path: Path) -> bytes:
        if path.name == "Bad.mm" and path.exists():
            if change == "gone":
                path.unlink()
            else:
                path.write_text(contents[change])
                os.utime(path, (1, 1))
        return original(path)

    original = Path.read_bytes
    tree = tree_with(tmp_path, BAD)
    monkeypatch.setattr(Path, "read_bytes", read)
    expected = "the file cannot be read" if change == "gone" else "the file changed while it was read"
    (why,) = said_of_bad(scan_tree(tree))
    assert why.startswith(expected)


def test_links_that_lead_in_a_circle_are_not_followed(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, BAD)
    operations = tree.root / OPERATIONS
    (operations / "again").symlink_to(operations, target_is_directory=True)
    (operations / "up").symlink_to(tree.root, target_is_directory=True)
    (operations / "Gone.mm").symlink_to("nowhere.mm")
    report = scan_tree(tree)
    assert len(report.findings) == 2
    assert report.undecided == ()


def test_a_link_to_itself_is_not_followed(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, BAD)
    (tree.root / OPERATIONS / "Self.mm").symlink_to("Self.mm")
    assert len(scan_tree(tree).findings) == 2


def test_a_folder_named_like_a_kernel_file_is_no_kernel_file(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, BAD)
    (tree.root / OPERATIONS / "Folder.mm").mkdir()
    assert len(scan_tree(tree).findings) == 2


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    tree = tree_with(tmp_path, BAD)
    os.mkfifo(tree.root / OPERATIONS / "Pipe.mm")
    assert len(scan_tree(tree).findings) == 2


def test_a_folder_that_cannot_be_listed_is_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str | Path) -> object:
        if str(path).endswith("operations"):
            raise PermissionError(13, "Permission denied", str(path))
        return original(path)

    original = os.scandir
    tree = tree_with(tmp_path, BAD)
    monkeypatch.setattr(os, "scandir", refuse)
    report = scan_tree(tree)
    assert [(u.file, u.why) for u in report.undecided] == [(OPERATIONS, "the folder cannot be read: Permission denied")]


def test_half_a_kernel_is_undecided(tmp_path: Path) -> None:
    cut = BAD[: BAD.index("runMPSGraph(")]
    assert said_of_bad(scan_tree(tree_with(tmp_path, cut))) != []


def test_a_result_in_text_that_cannot_be_parsed_is_never_passed_over(tmp_path: Path) -> None:
    for broken in (BAD.replace("{", "{ ) ]", 1), BAD.replace("output);", "output;"), "}}}" + BAD, BAD[:-2]):
        report = scan_tree(tree_with(tmp_path / str(len(list(tmp_path.iterdir()))), broken))
        flagged = [f for f in report.findings if f.file.endswith("Bad.mm")]
        assert flagged or said_of_bad(report)


@pytest.mark.parametrize("file", kernel_files(), ids=lambda file: file.name)
@pytest.mark.parametrize("seed", range(6))
def test_a_tree_with_a_damaged_kernel_file_is_scanned(tmp_path: Path, file, seed: int) -> None:
    tree = make_kernel_tree(tmp_path / "tree", file, file.dialects[-1])
    path = tree.root / OPERATIONS / file.path.name
    path.write_bytes(damaged(path.read_bytes(), seed))
    report = scan_tree(tree)
    places = [(e.file, e.line, e.tensor) for e in (*report.findings, *report.cleared)]
    assert all(line > 0 and tensor for _, line, tensor in places)


@pytest.mark.parametrize("seed", range(12))
def test_a_tree_whose_placeholder_is_damaged_is_scanned(tmp_path: Path, seed: int) -> None:
    (file,) = (f for f in kernel_files() if f.name == "guards")
    tree = make_kernel_tree(tmp_path / "tree", file, "2.6")
    path = tree.root / MPS_FOLDER / "OperationUtils.mm"
    path.write_bytes(damaged((KERNELS / "dialects" / "2.6.mm").read_bytes(), seed))
    report = scan_tree(tree)
    assert len(report.findings) + len(report.cleared) + len(report.undecided) >= 20


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("func", "fun"),
        lambda text: text.replace("MPS:", "MPS"),
        lambda text: "\t" + text,
        lambda text: text.replace("(a!)", "(a"),
        lambda text: "- func: " + "(" * 5000,
    ],
)
def test_entries_that_cannot_be_read_are_a_sentence_or_a_report(tmp_path: Path, change: Callable[[str], str]) -> None:
    try:
        scan_tree(make_tree(tmp_path / "tree", {"Good.mm": GOOD}, change(YAML)))
    except PatchkitError as error:
        assert len(str(error).split()) >= 4

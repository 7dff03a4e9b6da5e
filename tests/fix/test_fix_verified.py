"""Every edit is verified by a scan of the edited tree; what does not verify is listed, not offered."""

from __future__ import annotations

import pytest
from edits_kit import FILE, attempt, function, make_tree, reasons, source, unary
from hypothesis import given
from hypothesis import strategies as st

from patchkit.fix.edits import is_fixable, plan, verify
from patchkit.fix.edits.copy_back import Edits
from patchkit.fix.edits.text import OverlapError, TextEdit, apply_edits, in_order, moved
from patchkit.scan import analyse


def spoil(monkeypatch, change):
    """Let the plan offer other edits than its own."""
    real = plan.candidates

    def other(engine, site, taken=frozenset()):
        return [Edits(one.template, tuple(change(engine, one)), one.names) for one in real(engine, site, taken)]

    monkeypatch.setattr(verify, "candidates", other)


def test_an_edit_that_cures_nothing_is_not_offered(tmp_path, monkeypatch):
    spoil(monkeypatch, lambda engine, one: [edit for edit in one.edits if b"copy_" not in edit.text])
    text = source(unary("twice"))
    cured, after, left = attempt(make_tree(tmp_path, text, function("twice")))
    assert after == text and len(left) == 1
    assert "does not cure it" in reasons(cured)[0]


def test_an_edit_that_the_parser_cannot_read_is_not_offered(tmp_path, monkeypatch):
    spoil(monkeypatch, lambda engine, one: [TextEdit(e.start, e.end, e.text.replace(b"}", b"} )")) for e in one.edits])
    text = source(unary("twice"))
    cured, after, _ = attempt(make_tree(tmp_path, text, function("twice")))
    assert after == text
    assert "parser cannot read" in reasons(cured)[0]


def test_an_edit_that_harms_another_result_is_not_offered(tmp_path, monkeypatch):
    text = source(
        unary("twice"),
        unary(
            "half",
            before="  Tensor dense = at::empty_like(output, MemoryFormat::Contiguous);\n",
            placeholder="    Placeholder result = Placeholder(graph->outputTensor_, dense);\n",
            after="  output.copy_(dense);\n",
        ),
    )
    harm = text.index("  output.copy_(dense);\n")
    spoil(monkeypatch, lambda engine, one: [*one.edits, TextEdit(harm, harm + len("  output.copy_(dense);\n"), b"")])
    cured, after, _ = attempt(make_tree(tmp_path, text, function("twice") + function("half")))
    assert after == text
    assert "would make `dense` in half_out_mps worse" in reasons(cured)[0]


def test_one_kernel_that_cannot_be_cured_does_not_keep_the_others_from_it(tmp_path):
    unbraced = unary("half", run="    if (wide(self))\n      runMPSGraph(stream, graph->graph(), feeds, results);\n")
    tree = make_tree(tmp_path, source(unary("twice"), unbraced), function("twice") + function("half"))
    cured, after, left = attempt(tree)
    assert len(cured.templates) == len(cured.refused) == 1
    assert [finding.function for finding in left] == ["half_out_mps"]
    assert after.count("copy_(") == 1


def test_a_cured_tree_has_nothing_left_to_cure(tmp_path):
    tree = make_tree(tmp_path, source(unary("twice")), function("twice"))
    after = attempt(tree)[1]
    (tmp_path / FILE).write_text(after)
    with pytest.raises(AssertionError, match="loses nothing"):
        attempt(tree)


def test_whether_a_site_is_fixable_is_said_without_a_second_scan(tmp_path, monkeypatch):
    unbraced = unary("half", run="    if (wide(self))\n      runMPSGraph(stream, graph->graph(), feeds, results);\n")
    tree = make_tree(tmp_path, source(unary("twice"), unbraced), function("twice") + function("half"))
    engine = analyse(tree)
    monkeypatch.setattr(verify, "analyse", None)
    answers = {site.function: is_fixable(engine, site) for site in engine.sites.values()}
    assert answers["twice_out_mps"] == (True, "")
    fixable, reason = answers["half_out_mps"]
    assert not fixable and reason


edits_of_a_line = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), st.binary(max_size=6)), max_size=6).map(
    lambda rows: [TextEdit(start, start + length, text) for start, length, text in rows]
)


@given(edits_of_a_line)
def test_a_byte_no_edit_touches_is_found_where_it_moved_to(edits):
    source = bytes(range(200, 250))
    try:
        ordered = in_order(edits)
    except OverlapError:
        return
    after = apply_edits(source, ordered)
    for offset in range(len(source)):
        if not any(edit.start <= offset < edit.end for edit in ordered):
            assert after[moved(offset, ordered)] == source[offset]


def test_edits_of_the_same_bytes_are_refused():
    with pytest.raises(OverlapError):
        in_order([TextEdit(0, 5, b"a"), TextEdit(3, 8, b"b")])

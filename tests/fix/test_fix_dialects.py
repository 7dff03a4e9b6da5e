"""The guard is what the tree's own Placeholder tests, whatever its version says."""

from __future__ import annotations

import pytest
from edits_kit import attempt, function, make_tree, reasons, source, unary


@pytest.mark.parametrize(
    ("dialect", "guard"),
    [
        ("1.13", "const bool needs_copy = output.is_view() || !output.is_contiguous();"),
        ("2.2", "const bool needs_copy = !output.is_contiguous() || output.storage_offset();"),
        ("2.4", "const bool needs_gather = needsGather(output);"),
        ("2.6", "const bool needs_gather = needsGather(output);"),
    ],
)
def test_the_guard_is_the_condition_of_the_release(tmp_path, dialect, guard):
    cured, after, left = attempt(make_tree(tmp_path, source(unary("twice")), function("twice"), dialect))
    assert not cured.refused and not left
    assert guard in after


def test_the_version_file_decides_nothing(tmp_path):
    tree = make_tree(tmp_path, source(unary("twice")), function("twice"), "2.4")
    (tmp_path / "version.txt").write_text("1.13.1\n")
    assert "needsGather(output)" in attempt(tree)[1]


@pytest.mark.parametrize("gather", ["true", "false"])
def test_without_the_strided_api_the_layout_itself_is_the_guard(tmp_path, gather):
    placeholder = f"    Placeholder result = Placeholder(graph->outputTensor_, output, nil, {gather}, type, false);\n"
    text = source(unary("twice", placeholder=placeholder))
    cured, after, left = attempt(make_tree(tmp_path, text, function("twice"), "2.6"))
    assert not cured.refused and not left
    assert "needs_copy = !output.is_contiguous() || output.storage_offset();" in after


def test_needs_gather_is_qualified_as_the_placeholder_is(tmp_path):
    kernel = unary("twice", placeholder="    auto result = mps::Placeholder(graph->outputTensor_, output);\n")
    after = attempt(make_tree(tmp_path, source(kernel), function("twice"), "2.4"))[1]
    assert "= mps::needsGather(output);" in after


def test_where_nothing_gathers_any_more_no_copy_back_is_offered(tmp_path):
    placeholder = "    Placeholder result = Placeholder(graph->outputTensor_, output, nil, true, type, false);\n"
    text = source(unary("twice", placeholder=placeholder))
    cured, after, _ = attempt(make_tree(tmp_path, text, function("twice"), "2.15"))
    assert after == text
    assert "no gather path any more" in reasons(cured)[0]

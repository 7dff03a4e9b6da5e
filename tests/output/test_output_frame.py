"""Code frames: which lines are shown, where the underline stands, and what is cut."""

from __future__ import annotations

import pytest

from patchkit.output._frame import Label, frame, locate, read_lines

SOURCE = [
    "void kernel(const Tensor& self, Tensor& output) {",  # 1
    "  @autoreleasepool {",
    "    auto graph = build(self);",
    "    int unrelated = 0;",
    "    int far = 1;",  # 5
    "",
    "    Placeholder in = Placeholder(graph->in, self);",
    "    Placeholder out = Placeholder(graph->out, output);",  # 8
    "    run(in, out);",
    "  }",
    "}",
]


def draw(*labels: Label, source=SOURCE, width=100, **options) -> list[str]:
    return frame(source, labels, width=width, color=False, **options)


def main_label(text="lost here", line=8, expression="output") -> Label:
    found = locate(SOURCE[line - 1], expression)
    assert found is not None
    return Label(line, text, *found, main=True)


def test_carets_stand_under_the_expression_with_the_text_beside_them():
    drawn = draw(main_label())
    code = next(line for line in drawn if line.startswith(" 8 |"))
    carets = drawn[drawn.index(code) + 1]
    assert carets.index("^") == code.index("output);")
    assert carets.endswith("^^^^^^ lost here")


def test_two_lines_of_context_stand_on_each_side():
    numbers = [line.split("|")[0].strip() for line in draw(main_label())]
    assert [number for number in numbers if number] == ["7", "8", "9", "10"]  # line 6 is empty


def test_a_remark_far_away_is_shown_without_context_behind_dots():
    drawn = draw(main_label(), Label(1, "the caller's tensor", *locate(SOURCE[0], "output")))
    assert drawn[1].startswith(" 1 | void kernel(")
    assert drawn[2].strip().endswith("------ the caller's tensor")
    assert drawn[3] == "..."


def test_a_gap_of_one_line_is_shown_instead_of_dots():
    drawn = draw(main_label(), Label(4, "remark", *locate(SOURCE[3], "unrelated")))
    assert "..." not in drawn
    assert any("int far = 1;" in line for line in drawn)


def test_common_indentation_is_removed():
    drawn = draw(main_label())
    assert " 8 |   Placeholder out = Placeholder(graph->out, output);" in drawn


def test_tabs_do_not_move_the_carets():
    source = ["\tPlaceholder\tout(graph, output);"]
    column, length = locate(source[0], "output")
    drawn = draw(Label(1, "here", column, length, main=True), source=source)
    assert drawn[2].index("^") == drawn[1].index("output")


def test_wide_characters_do_not_move_the_carets():
    source = ["f(/*\u6f22\u5b57*/ output);"]
    column, length = locate(source[0], "output")
    drawn = draw(Label(1, "here", column, length, main=True), source=source)
    assert drawn[2].index("^") == drawn[1].index("output") + 2


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_asked_for_and_the_expression_stays_in_sight(width):
    long = (
        "    Placeholder out = Placeholder(" + "very_long_name->" * 8 + "out, output, /*shape=*/nil, /*gather=*/false);"
    )
    column, length = locate(long, "output")
    text = "the result is written to a copy of this tensor, and the copy is thrown away"
    drawn = draw(Label(1, text, column, length, main=True), source=[long], width=width)
    assert all(len(line) <= width for line in drawn)
    carets = next(line for line in drawn if "^" in line)
    code = drawn[1]
    assert code[carets.index("^") : carets.rindex("^") + 1] == "output"


def test_a_long_text_is_wrapped_below_the_line_without_losing_a_word():
    text = "the result is written to a copy of this tensor, and the copy is thrown away " * 2
    drawn = draw(main_label(text), width=60)
    said = " ".join(line.split("|", 1)[1].replace("^", "") for line in drawn if not line[:3].strip().isdigit())
    assert said.split() == text.split()


def test_a_line_that_the_file_does_not_have_gives_no_frame():
    assert draw(Label(99, "gone", 1, 1, main=True)) == []


def test_the_expected_column_decides_between_two_occurrences():
    line = "output = f(output);"
    assert locate(line, "output") == (1, 6)
    assert locate(line, "output", 12) == (12, 6)


def test_a_part_of_a_longer_name_is_not_the_expression():
    assert locate("run(outputs, my_output, output);", "output") == (25, 6)
    assert locate("run(outputs);", "output") is None


def test_a_file_that_is_gone_has_no_lines(tmp_path):
    assert read_lines(tmp_path / "gone.mm") == ()


def test_bytes_that_are_not_utf8_do_not_stop_a_frame(tmp_path):
    (tmp_path / "x.mm").write_bytes(b"caf\xe9\nint x;\n")
    assert read_lines(tmp_path / "x.mm")[1] == "int x;"

"""Colour, width, wrapping and printing of text that may hold anything."""

from __future__ import annotations

import io

import pytest

from patchkit.output._terminal import columns, paint, paragraphs, printable, wants_color, width_of, wrap


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "stream", "environment", "expected"),
    [
        ("auto", Terminal(), {}, True),
        ("auto", io.StringIO(), {}, False),
        ("auto", Terminal(), {"NO_COLOR": "1"}, False),
        ("auto", Terminal(), {"NO_COLOR": ""}, True),
        ("auto", Terminal(), {"TERM": "dumb"}, False),
        ("always", io.StringIO(), {"NO_COLOR": "1"}, True),
        ("never", Terminal(), {}, False),
    ],
)
def test_color_is_for_terminals_unless_the_user_says_otherwise(choice, stream, environment, expected):
    assert wants_color(choice, stream, environment) is expected


def test_paint_without_color_adds_nothing():
    assert paint("word", "red", color=False) == "word"


def test_paint_with_color_is_undone_at_the_end():
    assert paint("word", "red", color=True) == "\x1b[1;31mword\x1b[0m"


def test_piped_text_is_100_columns_wide(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert width_of(io.StringIO()) == 100


@pytest.mark.parametrize(("columns_wanted", "width"), [("80", 80), ("10", 40), ("500", 140)])
def test_columns_of_the_environment_are_kept_within_what_is_readable(monkeypatch, columns_wanted, width):
    monkeypatch.setenv("COLUMNS", columns_wanted)
    assert width_of(io.StringIO()) == width


def test_wrapped_lines_fit_the_width_and_lose_no_word():
    text = "the result of the graph goes into a gathered copy " * 5
    lines = wrap(text, 50, first="  ops  ")
    assert all(len(line) <= 50 for line in lines)
    assert " ".join(lines).split() == ["ops", *text.split()]


def test_continued_lines_align_with_the_first():
    assert wrap("one two three four five six", 24, first="label  ") == [
        "label  one two three four",
        "       five six",
    ]


def test_paragraphs_are_joined_and_kept_apart():
    assert paragraphs("one\ntwo\n\nthree", 40, indent="  ") == ["  one two", "", "  three"]


@pytest.mark.parametrize("hostile", ["\x1b[2Jgone", "bell\x07", "back\bspace", "right\u202eleft"])
def test_control_characters_of_a_source_file_never_reach_the_terminal(hostile):
    assert printable(hostile).isprintable()


def test_tabs_take_four_columns():
    assert printable("\tx") == "    x"


def test_wide_characters_take_two_columns_and_combining_ones_none():
    assert columns("ab") == 2
    assert columns("\u6f22\u5b57") == 4
    assert columns("e\u0301") == 1

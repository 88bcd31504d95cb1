"""Nothing that a story or a model prints can steer the terminal."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from session.text import printable
from zorkgpt.cli.terminal import folded, table_lines


def test_what_steers_turns_hides_or_parts_text_is_shown_and_ordinary_text_is_left_alone() -> None:
    assert printable("\x1b[2Jgone\x07\x9b1m") == "\\x1b[2Jgone\\x07\\x9b1m"
    assert printable("Café “North”\nof — House ☂") == "Café “North”\nof — House ☂"
    for hidden in "\u202e\u2066\u061c\u200b\u200d\u2060\ufeff\u00ad\u2028\ue000\U000e0041":
        assert printable(f"safe{hidden}exe.txt") == f"safe{hidden.encode('unicode_escape').decode()}exe.txt"


@given(st.text())
def test_nothing_unseen_but_the_line_end_comes_through(text: str) -> None:
    unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert all(unicodedata.category(each) not in unseen or each == "\n" for each in printable(text))
    assert printable(printable(text)) == printable(text)


def test_a_table_has_aligned_columns_in_any_script() -> None:
    assert table_lines([("青", "x"), ("abc", "y\nz")]) == ["青   x", "abc  y z"]


def test_a_table_that_is_too_wide_becomes_a_list_with_the_headings() -> None:
    rows = [("RUN", "STORY", ""), ("one", "a mill in the hills", "x")]
    assert table_lines(rows, 30) == ["RUN  STORY", "one  a mill in the hills  x"]
    assert table_lines(rows, 20) == ["one", "  STORY: a mill in", "    the hills", "  x"]


def test_text_is_wrapped_between_words_and_indented() -> None:
    assert folded("a mill in\nthe hills", None) == ["a mill in", "the hills"]
    assert folded("a mill-wheel in the hills", 12, indent=2) == ["a mill-wheel", "  in the", "  hills"]


def test_a_cell_that_is_too_wide_is_wrapped_in_its_column() -> None:
    rows = [("Run", "one"), ("State", "paused: the model is down for now")]
    wide = ["Run    one", "State  paused: the model is down for now"]
    assert table_lines(rows, None, wraps=True) == wide
    narrow = ["Run    one", "State  paused: the model", "       is down for now"]
    assert table_lines(rows, 24, wraps=True) == narrow

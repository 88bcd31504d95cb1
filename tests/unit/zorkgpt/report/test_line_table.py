"""Texts kept line by line are the texts again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.report_data import text_of
from zorkgpt.report.repetition import LineTable

LINES = st.sampled_from(["", "a", "b", "ab", "\r", "\u2028", "\ud800"])


@given(st.lists(st.lists(LINES).map("\n".join)))
def test_every_text_comes_back_to_the_letter(texts: list[str]) -> None:
    table = LineTable()
    kept = [table.keep(text) for text in texts]
    assert [text_of(list(ranges), list(table.lines)) for ranges in kept] == texts


def test_each_line_is_kept_once_and_lines_in_a_row_are_one_range() -> None:
    table = LineTable()
    assert table.keep("one\ntwo\nthree") == (0, 3)
    assert table.keep("two\nthree\nfour\none") == (1, 3, 0, 1)
    assert table.lines == ("one", "two", "three", "four")

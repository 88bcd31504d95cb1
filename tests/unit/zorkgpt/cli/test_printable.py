"""Nothing that a story or a model prints can steer the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.cli.terminal import hanging, printable


def test_an_escape_sequence_is_shown_not_run() -> None:
    assert printable("\x1b[2Jgone\x07\x9b1m") == "\\x1b[2Jgone\\x07\\x9b1m"


def test_ordinary_text_is_left_alone() -> None:
    assert printable("Café “North”\nof — House ☂") == "Café “North”\nof — House ☂"


@pytest.mark.parametrize(
    "hidden",
    ["\u202e", "\u2066", "\u061c", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u2028", "\ue000", "\U000e0041"],
)
def test_what_turns_hides_or_parts_text_is_shown(hidden: str) -> None:
    assert printable(f"safe{hidden}exe.txt") == f"safe{hidden.encode('unicode_escape').decode()}exe.txt"


@given(st.text())
def test_nothing_unseen_but_the_line_end_comes_through(text: str) -> None:
    unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert all(unicodedata.category(each) not in unseen or each == "\n" for each in printable(text))


@given(st.text())
def test_what_is_printable_stays_as_it_is(text: str) -> None:
    assert printable(printable(text)) == printable(text)


def test_what_is_too_wide_for_a_terminal_goes_on_below_its_last_cell() -> None:
    rows = [("Run", "one"), ("State", "paused: the model is down for now")]
    assert hanging(rows, None) == ["Run    one", "State  paused: the model is down for now"]
    assert hanging(rows, 24) == ["Run    one", "State  paused: the model", "       is down for now"]
    assert hanging([("a rather long name", "3 of 4")], 12) == ["a rather", "    long", "    name  3", "    of 4"]

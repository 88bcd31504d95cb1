"""Nothing that a story or a model prints can steer the terminal."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.cli.printable import printable


def test_an_escape_sequence_is_shown_not_run() -> None:
    assert printable("\x1b[2Jgone\x07\x9b1m") == "\\x1b[2Jgone\\x07\\x9b1m"


def test_ordinary_text_is_left_alone() -> None:
    assert printable("Café “North”\nof — House ☂") == "Café “North”\nof — House ☂"


def test_text_cannot_be_reversed_under_the_reader() -> None:
    assert "\u202e" not in printable("safe\u202eexe.txt")


@given(st.text())
def test_no_control_character_but_the_line_end_comes_through(text: str) -> None:
    assert all(unicodedata.category(c) not in {"Cc", "Cs"} or c == "\n" for c in printable(text))

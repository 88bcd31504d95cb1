"""Helpers for text that a model or a person reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.text import counted, cut_at, one_line, text_key


def test_white_space_of_every_kind_becomes_one_space() -> None:
    assert one_line("  a\tb\r\n\n c ") == "a b c"


def test_texts_have_one_key_whatever_their_case_and_white_space() -> None:
    assert text_key(" GATE\topens  inwards") == text_key("Gate opens inwards")
    assert text_key("Gate") != text_key("Gate opens inwards")


@pytest.mark.parametrize(("number", "told"), [(0, "0 turns"), (1, "1 turn"), (2, "2 turns"), (-1, "-1 turns")])
def test_a_noun_is_plural_unless_there_is_one(number: int, told: str) -> None:
    assert counted(number, "turn") == told


@given(st.text(max_size=60), st.integers(4, 60), st.sampled_from([" […]", "…"]))
def test_a_text_is_whole_or_ends_in_the_mark_within_its_length(text: str, characters: int, mark: str) -> None:
    cut = cut_at(text, characters, mark)
    assert len(cut) <= characters
    assert cut == text if len(text) <= characters else cut.endswith(mark)


def test_without_room_only_the_mark_is_left() -> None:
    assert cut_at("a long text", 0) == " […]"
    assert cut_at("a long text", -7) == " […]"

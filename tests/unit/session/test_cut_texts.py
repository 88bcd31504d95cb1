"""Where a text is cut."""

from __future__ import annotations

import pytest

from session.text import cut_at
from session.token_counter import TokenCounter


@pytest.mark.parametrize(
    ("characters", "shown"),
    [(12, "  vat by vat"), (11, "  vat b […]"), (10, "  vat […]"), (9, "  vat […]"), (8, "  va […]")],
)
def test_it_keeps_its_beginning_and_no_space_before_the_mark(characters: int, shown: str) -> None:
    text = "  vat by vat"
    assert cut_at(text, characters) == shown


def test_a_character_is_a_quarter_of_a_token_until_a_server_has_counted() -> None:
    assert TokenCounter().characters(100) == 400


def test_a_count_moves_the_estimate_a_fifth_of_the_way() -> None:
    counter = TokenCounter()
    counter.learn(characters=1000, tokens=500)
    assert counter.tokens_per_character == pytest.approx(0.30)
    counter.learn(characters=1000, tokens=0)
    counter.learn(characters=0, tokens=9)
    assert counter.tokens_per_character == pytest.approx(0.30)

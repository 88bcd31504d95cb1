"""Tokens are estimated from characters, and texts are cut to them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from session.text import TokenCounter

RATES = st.floats(0.15, 1.0)


@given(RATES, st.integers(0, 20_000))
@example(7 / 41, 7)  # 41 characters of that rate round up to 8 tokens
def test_the_longest_text_of_so_many_tokens_has_no_more_and_two_characters_more_have(rate: float, tokens: int) -> None:
    counter = TokenCounter(rate)
    longest = counter.characters(tokens)
    assert counter.estimate("x" * longest) <= tokens
    assert counter.estimate("x" * (longest + 2)) > tokens


@given(RATES, st.text(max_size=300), st.integers(4, 200))
def test_a_text_that_was_cut_keeps_to_its_tokens_and_says_so(rate: float, text: str, tokens: int) -> None:
    counter = TokenCounter(rate)
    cut = counter.cut(text, tokens)
    assert counter.estimate(cut) <= tokens
    assert cut == text or cut.endswith("[…]")


@pytest.mark.parametrize(("tokens", "rate"), [(1, 0.15), (100_000, 1.0)])
def test_a_count_that_no_text_has_moves_the_estimate_only_as_far_as_texts_go(tokens: int, rate: float) -> None:
    counter = TokenCounter()
    for _ in range(100):
        counter.learn(characters=1000, tokens=tokens)
    assert counter.tokens_per_character == pytest.approx(rate)

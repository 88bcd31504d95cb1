"""The places at which a text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.text import TokenCounter, cut_at, cut_middle, gist, shared_room


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


STAIRS = (
    "Just as you descend the last steps of the staircase you notice something. The hall is damp. It smells of "
    "mould. A massive oak door leads out. You can't reach the object you could spot from the stairs."
)


class TestMiddle:
    def test_the_end_of_a_text_stays_for_that_is_where_its_point_is(self) -> None:
        assert cut_middle(STAIRS, 160) == (
            "Just as you descend the last steps of the staircase you notice something. […] "
            "You can't reach the object you could spot from the stairs."
        )

    def test_a_text_without_sentences_is_cut_between_words(self) -> None:
        assert cut_middle("wheel " * 40, 70) == "wheel wheel wheel wheel wheel […] wheel wheel wheel wheel wheel wheel "

    @pytest.mark.parametrize(
        ("characters", "shown"), [(59, "Just as you descend the last steps of the staircase you […]"), (0, " […]")]
    )
    def test_with_little_room_the_beginning_has_all_of_it(self, characters: int, shown: str) -> None:
        assert cut_middle(STAIRS, characters) == shown

    @given(st.text(alphabet="ab. \n", max_size=300), st.integers(4, 300))
    def test_it_keeps_within_its_length_and_uses_most_of_it(self, text: str, characters: int) -> None:
        cut = cut_middle(text, characters)
        assert len(cut) <= characters
        assert cut == text or " […]" in cut


class TestShares:
    def test_what_a_short_text_leaves_goes_to_the_longer_ones(self) -> None:
        assert shared_room([10, 200, 100], 150) == [10, 70, 70]

    def test_with_room_for_all_each_text_gets_its_length(self) -> None:
        assert shared_room([1, 3], 10) == [1, 3]

    def test_without_room_nobody_gets_any(self) -> None:
        assert shared_room([1, 3], -5) == [0, 0]
        assert shared_room([], 5) == []


@pytest.mark.parametrize(
    ("text", "characters", "cut"),
    [
        ("The path is steep. It is long.", 80, "The path is steep. It is long."),
        (
            'The keeper folds his arms. Behind him the sea roars on and on. "Leave that lantern outside!" He waits.',
            50,
            '[…] "Leave that lantern outside!" He waits.',
        ),
        (
            "The wall is high and smooth and very old. You need a rope. Moss grows on it here and there.",
            50,
            "[…] You need a rope. […]",
        ),
        ("You " + "walk and " * 20 + "rest.", 60, "You walk and walk and walk […] and walk and walk and rest."),
    ],
)
def test_a_gist_keeps_speech_and_what_is_said_to_the_player(text: str, characters: int, cut: str) -> None:
    assert gist(text, characters) == cut
    assert len(cut) <= characters


@given(st.text(max_size=300), st.integers(10, 200))
def test_a_gist_has_no_more_characters_than_it_may(text: str, characters: int) -> None:
    assert len(gist(text, characters)) <= characters

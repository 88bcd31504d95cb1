"""What is left out of a prompt that is too long, and how played turns are written in it."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.prompting import (
    LEFT_OUT,
    Line,
    Part,
    as_many_as_fit,
    fit,
    fit_sections,
    fitted_prompt,
    is_for_a_small_model,
)
from session.context import PromptSection, render_sections
from session.text import TokenCounter
from zorkgpt.prompts.loader import fill_prompt, prompt_fields

SECTIONS = (
    PromptSection("Opening", "o" * 100, 9),
    PromptSection("Map", "m" * 100, 6),
    PromptSection("Present", "p" * 100),
    PromptSection("Memory", "e" * 100, 2),
)
EPISODE = prompt_fields("episode_play")


def length(sections: list[PromptSection]) -> int:
    return len(render_sections(sections))


def titles(characters: int) -> list[str]:
    return [section.title for section in fit_sections(SECTIONS, characters)]


@pytest.mark.parametrize(("skips", "kept"), [(False, ["aa"]), (True, ["aa", "bb", "c"])])
def test_an_item_without_room_ends_the_list_or_is_left_out_alone(*, skips: bool, kept: list[str]) -> None:
    items = ["aa", "too long", "bb", "c", "d"]
    assert as_many_as_fit(items, lambda items: len("".join(items)) <= 5, skips=skips) == kept


class TestSections:
    def test_the_greatest_number_is_dropped_first_and_what_has_none_never(self) -> None:
        whole = length(list(SECTIONS))
        assert fit_sections(SECTIONS, whole) == list(SECTIONS)
        assert titles(whole - 1) == ["Map", "Present", "Memory"]
        assert titles(300) == ["Present", "Memory"]
        assert titles(200) == titles(0) == ["Present"]

    def test_what_is_never_dropped_is_cut_the_longest_first_even_where_titles_are_equal(self) -> None:
        sections = [PromptSection("Same", "x" * 30), PromptSection("Same", "y" * 300)]
        short, long = fit_sections(sections, 200)
        assert short.text == "x" * 30
        assert " […]" in long.text
        assert length([short, long]) == 200

    @given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3)), max_size=6), st.integers(60, 1500))
    def test_the_sections_fit_as_long_as_their_titles_and_marks_do(
        self, sizes: list[tuple[int, int]], characters: int
    ) -> None:
        sections = [PromptSection("T", "word " * size, priority) for size, priority in sizes]
        kept = fit_sections(sections, characters)
        assert length(kept) <= max(characters, length([PromptSection("T", " […]") for _ in kept]))


def played(turn: int, *, matters: bool = True) -> list[Line]:
    return [Line(f"Turn {turn}: dig"), Line("  ", "word " * 100, matters=matters)]


class TestParts:
    def test_what_fits_stays_whole_and_long_texts_are_cut_alike_before_an_item_is_left_out(self) -> None:
        part = Part("play", [played(1), played(2)], separator="\n\n")
        text, count = part.fit(2000)
        assert text == "\n\n".join(f"Turn {turn}: dig\n  {'word ' * 100}" for turn in (1, 2))
        assert count == 2
        assert part.fit(len(text)) == (text, 2)
        text, count = Part("play", [played(1), played(2)]).fit(500)
        assert (text.count(" […]"), count) == (2, 2)

    @pytest.mark.parametrize(("keeps", "kept"), [("newest", "Turn 3"), ("best", "Turn 1")])
    def test_then_the_oldest_or_the_least_useful_items_go(self, keeps: Literal["newest", "best"], kept: str) -> None:
        text, count = Part("play", [played(1), played(2), played(3)], keeps=keeps).fit(250)
        assert count == 1
        assert text.startswith(kept)

    def test_texts_that_matter_get_room_first_and_others_go_with_their_heads(self) -> None:
        text, count = Part("play", [played(1, matters=False), played(2)]).fit(600)
        assert (text, count) == (f"Turn 1: dig\nTurn 2: dig\n  {'word ' * 100}", 2)

    def test_without_items_or_room_it_says_so(self) -> None:
        assert Part("play", []).fit(100) == ("(none)", 0)
        assert Part("play", [], empty="").fit(100) == ("", 0)
        assert Part("play", [played(1)]).fit(100) == (LEFT_OUT, 0)

    def test_what_a_short_part_leaves_goes_to_the_long_ones_up_to_their_share(self) -> None:
        short, long = Part("short", [[Line("s" * 10)]]), Part("long", [[Line("", "l" * 500)]])
        texts = fit([short, long], 400)
        assert texts["short"] == "s" * 10
        assert 380 <= len(texts["long"]) <= 390
        half = Part("half", [[Line("", "word " * 100)]], share=0.5)
        assert 150 < len(fit([half], 400)["half"]) <= 200

    @given(
        st.lists(st.tuples(st.integers(0, 80), st.integers(0, 900), st.booleans()), max_size=12),
        st.integers(0, 3000),
        st.integers(0, 300),
    )
    def test_a_part_keeps_to_its_room(self, sizes: list[tuple[int, int, bool]], room: int, least: int) -> None:
        items = [[Line("h" * head, "word " * (text // 5), matters=matters)] for head, text, matters in sizes]
        text, count = Part("play", items, least=least).fit(room)
        assert len(text) <= room or not count


class TestPrompts:
    @given(st.integers(0, 30), st.integers(1000, 4000))
    def test_the_prompt_keeps_to_its_budget(self, turns: int, budget: int) -> None:
        tokens = TokenCounter()
        parts = [Part(name, [played(turn) for turn in range(turns)]) for name in EPISODE if name != "episode"]
        fields = {"episode": "It was won."}
        prompt = fitted_prompt("Rules.", ["episode_play"], fields, parts, budget=budget, tokens=tokens)
        assert tokens.estimate(prompt.system + prompt.user) <= budget
        assert "It was won." in prompt.user

    def test_a_model_is_small_where_the_instructions_are_more_than_their_share_of_its_budget(self) -> None:
        tokens = TokenCounter()
        instructions = tokens.estimate(fill_prompt("memory"))
        assert not is_for_a_small_model(2 * instructions, "memory", tokens)
        assert is_for_a_small_model(2 * instructions - 1, "memory", tokens)
        assert is_for_a_small_model(2 * instructions, "memory", tokens, share=3)

"""What is left out of a prompt that is too long, and how played turns are told in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.prompting import (
    LEFT_OUT,
    MadeOnce,
    as_many_as_fit,
    first_that_fits,
    fit_prompt,
    fit_sections,
    is_for_a_small_model,
    room_for_fields,
    turn_text,
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


class TestLists:
    @pytest.mark.parametrize(("room", "form"), [(10, "whole text"), (9, "a part"), (4, "less"), (1, "less")])
    def test_the_first_form_that_fits_is_taken_or_else_the_last(self, room: int, form: str) -> None:
        assert first_that_fits(("whole text", "a part", "less"), lambda text: len(text) <= room) == form

    def test_forms_after_the_one_that_fits_are_not_made(self) -> None:
        forms = iter(("long", "s", "never"))
        first_that_fits(forms, lambda form: len(form) == 1)
        assert next(forms) == "never"

    def test_forms_that_are_tried_again_are_made_once_and_only_as_far_as_needed(self) -> None:
        coming = iter(("long", "s", "never"))
        forms = MadeOnce(coming)
        assert first_that_fits(forms, lambda form: len(form) == 1) == "s"
        assert first_that_fits(forms, lambda form: len(form) == 4) == "long"
        assert next(coming) == "never"

    @pytest.mark.parametrize(("skips", "kept"), [(False, ["aa"]), (True, ["aa", "bb", "c"])])
    def test_an_item_without_room_ends_the_list_or_is_left_out_alone(self, skips: bool, kept: list[str]) -> None:
        items = ["aa", "too long", "bb", "c", "d"]
        assert as_many_as_fit(items, lambda items: len("".join(items)) <= 5, skips=skips) == kept


class TestSections:
    def test_what_fits_stays_as_it_is(self) -> None:
        assert fit_sections(SECTIONS, length(list(SECTIONS))) == list(SECTIONS)

    def test_the_greatest_number_is_dropped_first_and_what_has_none_never(self) -> None:
        whole = length(list(SECTIONS))
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


class TestPrompts:
    def fitted(self, budget: int, shorter: list[dict[str, str]]) -> str:
        texts = {**dict.fromkeys(EPISODE, "text " * 50), "not in the template": "x" * 10_000}
        return fit_prompt("Rules.", ["episode_play"], texts, shorter, budget=budget, tokens=TokenCounter()).user

    def test_texts_are_shortened_step_by_step_until_the_budget_holds(self) -> None:
        shorter = [{"knowledge": LEFT_OUT}, {"earlier": LEFT_OUT, "points": LEFT_OUT}, {"deaths": LEFT_OUT}]
        whole = TokenCounter().estimate("Rules." + self.fitted(100_000, shorter))
        assert [self.fitted(budget, shorter).count(LEFT_OUT) for budget in (whole, whole - 1, whole - 70)] == [0, 1, 3]

    def test_after_the_last_step_the_prompt_is_as_short_as_can_be(self) -> None:
        assert self.fitted(1, [{"knowledge": LEFT_OUT}]).count(LEFT_OUT) == 1

    @pytest.mark.parametrize("budget", [1000, 1001, 5000])
    def test_fields_that_keep_to_their_room_make_a_prompt_that_keeps_to_its_budget(self, budget: int) -> None:
        tokens, name = TokenCounter(), "knowledge_consolidation"
        room = room_for_fields(name, f"{name}_lines", budget, tokens)
        texts = {"size": "9", "excess": "9", "knowledge": "x" * (room - 2)}
        prompt = fill_prompt(name) + fill_prompt(f"{name}_lines", **texts)
        assert budget - 5 <= tokens.estimate(prompt) <= budget

    def test_a_model_is_small_where_the_instructions_are_more_than_their_share_of_its_budget(self) -> None:
        tokens = TokenCounter()
        instructions = tokens.estimate(fill_prompt("memory"))
        assert not is_for_a_small_model(2 * instructions, "memory", tokens)
        assert is_for_a_small_model(2 * instructions - 1, "memory", tokens)
        assert is_for_a_small_model(2 * instructions, "memory", tokens, share=3)


class TestTurns:
    def test_a_turn_begins_with_its_number_place_and_command(self) -> None:
        assert turn_text(3, "dig") == "Turn 3: dig"
        assert (
            turn_text(3, "dig", "  Response: No.", where=" at Yard (2)") == "Turn 3 at Yard (2): dig\n  Response: No."
        )

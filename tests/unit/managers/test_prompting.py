"""What is left out of a prompt that is too long, how turns are written in it, and questions asked in one call."""

from __future__ import annotations

import re
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import Literal

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from managers.episode_synthesizer import EpisodeSynthesizer
from managers.prompting import (
    LEFT_OUT,
    Fitted,
    Line,
    Part,
    as_many_as_fit,
    fit,
    fit_sections,
    fitted_prompt,
    is_for_a_small_model,
)
from managers.questions import Question, ask_each, ask_together, share_at_end
from managers.state_manager import StateManager
from session.context import PromptSection, render_sections
from session.errors import LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.knowledge import DEATH_ANALYSIS, INSIGHTS
from session.text import TokenCounter
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.unit.managers.knowledge_parts import KnowledgePlay
from zorkgpt.llm.language_model import Prompt, Role
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

    def test_a_section_that_refers_to_a_missing_one_is_replaced(self) -> None:
        whole = PromptSection("Routes", "all " * 25, 5)
        routes = PromptSection("Routes", "as above", 5, refers_to=("Opening", "Map"), instead=whole)
        sections = [*SECTIONS, routes]
        assert fit_sections(sections, length(sections)) == sections
        assert fit_sections(sections, length(sections) - 1) == [*SECTIONS[1:], whole], "the opening has no room"
        assert fit_sections(sections[1:], 1000)[-1] == whole
        assert fit_sections(sections, length([*SECTIONS[1:], whole]) - 1) == [*SECTIONS[2:], whole]

    def test_what_is_never_dropped_is_cut_the_longest_first_even_where_titles_are_equal(self) -> None:
        sections = [PromptSection("Same", "x" * 30), PromptSection("Same", "y" * 300)]
        short, long = fit_sections(sections, 200)
        assert short.text == "x" * 30
        assert re.search(r"y \[… \d+ characters\]y", long.text.replace("yy", "y"))
        assert length([short, long]) == 200

    @given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3)), max_size=6), st.integers(60, 1500))
    def test_the_sections_fit_as_long_as_their_titles_and_marks_do(
        self, sizes: list[tuple[int, int]], characters: int
    ) -> None:
        sections = [PromptSection("T", "word " * size, priority) for size, priority in sizes]
        kept = fit_sections(sections, characters)
        assert length(kept) <= max(characters, length([PromptSection("T", " […]") for _ in kept]))


def played(turn: int, *, rank: int = 0) -> list[Line]:
    return [Line(f"Turn {turn}: dig"), Line("  ", "word " * 100, rank=rank)]


class TestParts:
    def test_what_fits_stays_whole_and_no_text_is_cut_to_make_room_for_others(self) -> None:
        part = Part("play", [played(1), played(2)], separator="\n\n")
        text, count, _ = part.fit(2000)
        assert text == "\n\n".join(f"Turn {turn}: dig\n  {'word ' * 100}" for turn in (1, 2))
        assert count == 2
        assert part.fit(len(text)) == Fitted(text, 2)
        text, count, _ = Part("play", [played(1), played(2), played(3)]).fit(len(text))
        assert (text, count) == (f"(2 earlier left out)\nTurn 3: dig\n  {'word ' * 100}", 1)

    def test_a_part_shows_the_items_that_are_whole_in_it(self) -> None:
        part = Part("play", [[Line("x" * 300, key=f"turn {turn}")] for turn in (1, 2, 3)])
        assert part.fit(2000).shows == ("turn 1", "turn 2", "turn 3")
        assert part.fit(400).shows == ("turn 3",)
        assert part.fit(250)[1:] == (1, ())

    @pytest.mark.parametrize(("keeps", "kept"), [("newest", "Turn 3"), ("best", "Turn 1")])
    def test_then_the_oldest_or_the_least_useful_items_go(self, keeps: Literal["newest", "best"], kept: str) -> None:
        text, count, _ = Part("play", [played(1), played(2), played(3)], keeps=keeps).fit(250)
        assert count == 1
        assert text.removeprefix("(2 earlier left out)\n").startswith(kept)

    def test_texts_of_low_ranks_get_room_first_and_the_others_are_marked_where_they_are_missing(self) -> None:
        text, count, _ = Part("play", [played(1, rank=1), played(2)]).fit(600)
        assert (text, count) == (f"Turn 1: dig […]\nTurn 2: dig\n  {'word ' * 100}", 2)
        text, count, _ = Part("play", [played(0), played(1, rank=1), played(2)]).fit(600)
        assert text.startswith("(1 earlier left out)\nTurn 1: dig […]\n")
        assert count == 2
        text = Part("play", [played(1, rank=1), played(2, rank=2)]).fit(600).text
        assert text == f"Turn 1: dig\n  {'word ' * 100}\nTurn 2: dig […]"
        whole = Part("play", [played(1, rank=1), played(2, rank=1)]).fit(1100).text
        assert whole.count("word ") == 200, "and nothing is said if nothing is missing"
        assert "left out" not in whole

    def test_a_text_longer_than_the_whole_room_says_how_much_of_it_is_missing(self) -> None:
        text, count, _ = Part("play", [played(1), [Line("Turn 2: read\n  ", "x" * 900)]]).fit(300)
        assert (len(text), count) == (300, 1)
        missing = re.search(r"x \[… (\d+) characters\]x", text)
        assert missing is not None
        assert text.count("x") == 900 - int(missing[1])

    def test_without_items_or_room_it_says_so(self) -> None:
        assert Part("play", []).fit(100) == Fitted("(none)", 0)
        assert Part("play", [], empty="").fit(100) == Fitted("", 0)
        assert Part("play", [played(1)]).fit(100) == Fitted(LEFT_OUT, 0)

    def test_what_a_short_part_leaves_goes_to_the_long_ones_up_to_their_share(self) -> None:
        short, long = Part("short", [[Line("s" * 10)]]), Part("long", [[Line("", "l" * 500)]])
        fitted = fit([short, long], 400)
        assert fitted["short"].text == "s" * 10
        assert 380 <= len(fitted["long"].text) <= 390
        half = Part("half", [[Line("", "word " * 100)]], share=0.5)
        assert 150 < len(fit([half], 400)["half"].text) <= 200

    @given(
        st.lists(st.tuples(st.integers(0, 80), st.integers(0, 900), st.integers(0, 2)), max_size=12),
        st.integers(0, 3000),
    )
    def test_a_part_keeps_to_its_room(self, sizes: list[tuple[int, int, int]], room: int) -> None:
        items = [[Line("h" * head, "word " * (text // 5), rank=rank)] for head, text, rank in sizes]
        text, count, _ = Part("play", items).fit(room)
        assert len(text) <= room or not count

    @given(
        st.lists(st.tuples(st.lists(st.integers(0, 3), max_size=3), st.integers(0, 2)), max_size=12),
        st.integers(0, 1500),
    )
    def test_a_reference_points_to_a_line_that_is_above_it(self, turns: list[tuple[list[int], int]], room: int) -> None:
        items = [
            [Line(f"Turn {turn}: "), Line("", "\n".join(f"{each} {'x' * 100}" for each in lines), rank, turn=turn)]
            for turn, (lines, rank) in enumerate(turns, start=1)
        ]
        text, count, _ = Part("play", items).fit(room)
        assert len(text) <= room or not count
        for found in re.finditer(r"(\d) x+… \[line as in turn (\d+)\]", text):
            above = text[: found.start()].partition(f"Turn {found[2]}: ")[2].partition("Turn")[0]
            assert f"{found[1]} {'x' * 100}\n" in above


class TestPrompts:
    @given(st.integers(0, 30), st.integers(1000, 4000))
    def test_the_prompt_keeps_to_its_budget(self, turns: int, budget: int) -> None:
        tokens = TokenCounter()
        parts = [Part(name, [played(turn) for turn in range(turns)]) for name in EPISODE if name != "episode"]
        fields = {"episode": "It was won."}
        prompt = fitted_prompt("Rules.", ["episode_play"], fields, parts, tokens.characters(budget))
        assert tokens.estimate(prompt.system + prompt.user) <= budget
        assert "It was won." in prompt.user

    def test_a_model_is_small_where_the_instructions_are_more_than_their_share_of_its_budget(self) -> None:
        tokens = TokenCounter()
        instructions = tokens.estimate(fill_prompt("memory"))
        assert not is_for_a_small_model(2 * instructions, "memory", tokens)
        assert is_for_a_small_model(2 * instructions - 1, "memory", tokens)
        assert is_for_a_small_model(2 * instructions, "memory", tokens, share=3)


class Colours(BaseModel):
    colours: list[str] = []


class Depth(BaseModel):
    depth: int


def asking(results: list[object], model: ScriptedLLM, name: str, schema: type[BaseModel], role: Role) -> Question:
    def answered(answer: BaseModel | LanguageModelError) -> None:
        results.append(str(answer) if isinstance(answer, LanguageModelError) else answer)

    return Question(model, role, Prompt(f"Name the {name}.", f"About {name}."), schema, answered)


def both(model: ScriptedLLM, *, budget: int = 1000) -> list[object]:
    results: list[object] = []
    questions = [
        asking(results, model, "colours", Colours, "memory"),
        asking(results, model, "depth", Depth, "analysis"),
    ]
    ask_together(questions, budget, TokenCounter())
    return results


def test_questions_are_asked_in_one_call_and_each_gets_its_part_of_the_answer() -> None:
    model = ScriptedLLM([{"colours": ["blue"], "depth": 3}])
    assert both(model) == [Colours(colours=["blue"]), Depth(depth=3)]
    (call,) = model.calls
    assert (call.role, call.schema.__name__, [*call.schema.model_fields]) == (
        "analysis",
        "LastLessons",
        ["colours", "depth"],
    )
    assert call.schema.model_json_schema()["description"] == "The answers to all tasks."
    assert "=== TASK 2 ===\nName the depth." in call.prompt.system
    assert call.prompt.user == "=== FOR TASK 1 ===\nAbout colours.\n\n=== FOR TASK 2 ===\nAbout depth."


def test_in_one_call_nothing_is_told_twice_that_the_question_about_knowledge_contains(tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text(
        f"## PUZZLE SOLUTIONS\n\n- Mordant first.\n\n## CROSS-EPISODE INSIGHTS\n\n### {INSIGHTS[0]}\n\n- Fumes kill.\n"
    )
    play = KnowledgePlay(tmp_path, [{}, {}], knowledge_update_interval=900)
    log = structlog.get_logger()
    summing = EpisodeSynthesizer(log, play.config, play.state, play.manager, StateManager(log, play.config, play.state))
    play.learners = (*play.learners, summing)
    play.play(20)
    play.turn("ring bell", "The bell is cracked.")
    summing.finish("over")
    ask_together([*play.manager.questions(()), *summing.questions(())], 15_000, TokenCounter())
    texts = ("Mordant first.", "Fumes kill.", "The bell is cracked.")
    assert [play.prompts[0].count(text) for text in texts] == [1, 1, 1]
    assert "=== KNOWLEDGE ===\n(as under WHAT IS KNOWN)\n" in play.prompts[0]
    (joint,) = play.llm.calls
    line = {"section": DEATH_ANALYSIS, "text": "Fumes kill.", "turns": [3]}
    assert DEATH_ANALYSIS not in joint.prompt.system + dumps(joint.schema.model_json_schema()), "it is for `deaths`"
    assert joint.schema.model_validate({"lines": [line]}).model_dump()["lines"][0]["section"] == "DANGERS & THREATS"
    ask_together(summing.questions(()), 15_000, TokenCounter())
    assert [play.prompts[-1].count(text) for text in texts] == [1, 1, 1]


def test_what_does_not_fit_into_one_call_is_asked_by_itself() -> None:
    model = ScriptedLLM([{"colours": ["blue"]}, {"depth": 3}])
    assert both(model, budget=10) == [Colours(colours=["blue"]), Depth(depth=3)]
    assert [call.role for call in model.calls] == ["memory", "analysis"]


@pytest.mark.parametrize("invalid", [{"colours": "none"}, ResponseInvalid("no JSON")], ids=["a field", "all of it"])
def test_if_the_common_answer_is_invalid_each_question_is_asked_by_itself(invalid: Reply) -> None:
    model = ScriptedLLM([invalid, {"colours": ["blue"]}, {"depth": 3}])
    assert both(model) == [Colours(colours=["blue"]), Depth(depth=3)]
    assert len(model.calls) == 3


def test_if_no_model_answers_every_question_gets_the_error_and_none_is_asked_again() -> None:
    model = ScriptedLLM([LanguageModelUnavailable("down")])
    assert both(model) == ["down", "down"]
    assert len(model.calls) == 1


class OtherDepth(BaseModel):
    reasoning: str = ""
    depth: int


def test_questions_with_a_field_of_the_same_name_are_not_asked_together() -> None:
    """Each would get the other one's answer."""
    results: list[object] = []
    model = ScriptedLLM([{"depth": 3}, {"depth": 4}])
    questions = [
        asking(results, model, "depth", Depth, "analysis"),
        asking(results, model, "other depth", OtherDepth, "analysis"),
    ]
    ask_together(questions, 1000, TokenCounter())
    assert results == [Depth(depth=3), OtherDepth(depth=4)]


def test_a_question_that_follows_from_an_answer_is_asked_by_itself() -> None:
    results: list[object] = []
    model = ScriptedLLM([{"depth": 3}, {"colours": ["blue"]}])
    follow_up = asking(results, model, "colours", Colours, "memory")
    first = replace(asking(results, model, "depth", Depth, "analysis"), answered=lambda _answer: [follow_up])
    ask_each([first])
    assert results == [Colours(colours=["blue"])]


@pytest.mark.parametrize(("budget", "share"), [(15_000, 6000), (12_000, 5000), (3000, 3000)])
def test_a_question_at_the_end_takes_a_part_of_a_large_budget(budget: int, share: int) -> None:
    assert share_at_end(budget) == share

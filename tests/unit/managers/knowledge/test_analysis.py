"""The prompts about knowledge keep to their budget for any turns, knowledge and memories."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from managers.knowledge.analysis import (
    LearnedTurn,
    Played,
    ask_what_can_go,
    brief_question,
    update_question,
)
from managers.prompting import is_for_a_small_model
from session.game_configuration import GameConfiguration
from session.knowledge import INSIGHTS, SECTIONS, KnowledgeEntry, KnowledgeLine, Source
from session.memory import Memory
from session.resolved_configuration import EMBEDDED_PROFILE
from session.text import TokenCounter
from session.values import Observation, Proposal, TurnRecord
from tests.fixtures.dye_works import VATS
from tests.fixtures.scripted_llm import ScriptedLLM
from zorkgpt.llm.language_model import Prompt

FULL, SMALL = 2200, 600  # tokens that hold the instructions and little else

lengths = st.integers(0, 3000)


def played(turns: int, length: int, *, telling: int = 0, memories: int = 0) -> Played:
    """Turns with responses of so many characters; the last ``telling`` of them scored."""
    memory = Memory("NOTE", "t" * 120, 1, "2-3", None, "x" * length, "ephemeral")
    before = Observation("", VATS, score=0)
    after = replace(before, text=f"r{'e' * length}")
    quiet = TurnRecord(1, 1, before, (Proposal("a" * length),), (), after)
    won = replace(quiet, after=replace(after, score=5))
    records = [quiet] * (turns - telling) + [won] * telling
    return Played(
        episode=1,
        turns=[
            LearnedTurn(replace(record, turn=turn), ("score +5, now 5",) if record is won else ())
            for turn, record in enumerate(records, start=1)
        ],
        ephemeral={VATS.num: [memory] * memories},
        persistent={VATS.num: [memory] * memories},
        names={VATS.num: VATS.name},
        ephemeral_turns=frozenset(),
    )


def known(lines: int, length: int) -> list[KnowledgeEntry]:
    titles = (*SECTIONS, *INSIGHTS, "A heading of a person's own")
    return [
        KnowledgeEntry(
            titles[number % len(titles)], KnowledgeLine(f"k{number} {'w' * length}", (Source(1, number, number),))
        )
        for number in range(lines)
    ]


def estimate(prompt: Prompt, tokens: TokenCounter) -> int:
    return tokens.estimate(prompt.system + prompt.user)


class TestBudgets:
    @given(st.integers(0, 200), lengths, st.integers(0, 60), st.integers(FULL, 20_000), st.floats(0.15, 0.3))
    def test_the_full_prompt_keeps_to_its_budget(
        self, turns: int, length: int, lines: int, budget: int, ratio: float
    ) -> None:
        tokens = TokenCounter(ratio)
        question = update_question(
            played(turns, length, memories=lines), known(lines, length), tokens.characters(budget)
        )
        assert estimate(question.prompt, tokens) <= budget

    @given(st.integers(1, 20), lengths, st.integers(SMALL, 3000), st.floats(0.15, 0.3))
    def test_the_brief_prompt_keeps_to_its_budget(self, turns: int, length: int, budget: int, ratio: float) -> None:
        tokens = TokenCounter(ratio)
        question = brief_question(played(turns, length, telling=turns).turns, tokens.characters(budget))
        assert estimate(question.prompt, tokens) <= budget
        assert question.turns

    @given(st.integers(1, 200), lengths, st.integers(SMALL, 20_000), st.floats(0.15, 0.3))
    def test_the_prompt_to_consolidate_keeps_to_its_budget(
        self, lines: int, length: int, budget: int, ratio: float
    ) -> None:
        tokens, llm = TokenCounter(ratio), ScriptedLLM([{"lines": []}])
        ask_what_can_go(llm, known(lines, length), 100, tokens.characters(budget))
        assert estimate(llm.calls[0].prompt, tokens) <= budget

    def test_only_the_embedded_models_budget_makes_it_brief(self) -> None:
        small = EMBEDDED_PROFILE["prompt_budgets.analysis"]
        assert isinstance(small, int)
        assert is_for_a_small_model(small, "knowledge", TokenCounter())
        assert not is_for_a_small_model(GameConfiguration().prompt_budgets.analysis, "knowledge", TokenCounter())


class TestWhatIsLeftOut:
    def test_a_hundred_turns_fit_the_usual_budget_whole_then_the_oldest_go_and_cannot_be_cited(self) -> None:
        question = update_question(played(100, 300), known(20, 100), 60_000)
        assert question.turns == tuple(range(1, 101))
        assert f"r{'e' * 300}" in question.prompt.user
        question = update_question(played(100, 300), [], 10_000)
        assert 1 < len(question.turns) < 100
        assert question.turns == tuple(range(101 - len(question.turns), 101))
        assert f"Turn {question.turns[0] - 1} at" not in question.prompt.user

    def test_insights_and_lines_of_people_have_no_number(self) -> None:
        entries = [
            KnowledgeEntry(SECTIONS[0], KnowledgeLine("Never swim.")),
            KnowledgeEntry(SECTIONS[0], KnowledgeLine("Fumes kill.", (Source(1, 1, 1),))),
            KnowledgeEntry(INSIGHTS[0], KnowledgeLine("Vats boil.", (Source(1, 1, 1),))),
        ]
        question = update_question(played(1, 1), entries, 60_000)
        assert question.known == (entries[1],)
        assert "DANGERS & THREATS:\n- Never swim.\n1. Fumes kill.\nDeath Patterns Across Episodes:\n- Vats boil.\n" in (
            question.prompt.user
        )

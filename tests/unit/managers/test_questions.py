"""The questions at an episode's end are asked in one call (docs/specification.md, Episode synthesis)."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog
from pydantic import BaseModel

from managers.episode_synthesizer import EpisodeSynthesizer
from managers.questions import Ending, Question, conclude, conclude_together, share_at_end
from managers.state_manager import StateManager
from session.errors import LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.knowledge import INSIGHTS
from session.text import TokenCounter
from tests.unit.managers.knowledge_parts import KnowledgePlay
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.stand_ins import Reply, ScriptedLLM


class Colours(BaseModel):
    colours: list[str] = []


class Depth(BaseModel):
    depth: int


def ending(results: list[object], model: ScriptedLLM, name: str, schema: type[BaseModel], role: Role) -> Ending:
    try:
        results.append((yield Question(model, role, Prompt(f"Name the {name}.", f"About {name}."), schema)))
    except LanguageModelError as error:
        results.append(str(error))
    return name


def both(model: ScriptedLLM, *, budget: int = 1000) -> list[object]:
    results: list[object] = []
    endings = [
        ending(results, model, "colours", Colours, "memory"),
        ending(results, model, "depth", Depth, "analysis"),
        iter_of_nothing(),
    ]
    conclude_together(endings, budget, TokenCounter())
    return results


def iter_of_nothing() -> Ending:
    yield from ()


def test_questions_are_asked_in_one_call_and_each_gets_its_part_of_the_answer() -> None:
    model = ScriptedLLM([{"colours": ["blue"], "depth": 3}])
    assert both(model) == [Colours(colours=["blue"]), Depth(depth=3)]
    (call,) = model.calls
    assert (call.role, call.schema.__name__, [*call.schema.model_fields]) == (
        "analysis",
        "LastLessons",
        ["colours", "depth"],
    )
    assert "=== TASK 2 ===\nName the depth." in call.prompt.system
    assert call.prompt.user == "=== FOR TASK 1 ===\nAbout colours.\n\n=== FOR TASK 2 ===\nAbout depth."


def test_in_one_call_nothing_is_told_twice_that_the_question_about_knowledge_contains(tmp_path: Path) -> None:
    """An insight was printed three times, each line of knowledge and the last turns twice."""
    (tmp_path / "knowledgebase.md").write_text(
        f"## PUZZLE SOLUTIONS\n\n- Mordant first.\n\n## CROSS-EPISODE INSIGHTS\n\n### {INSIGHTS[0]}\n\n- Fumes kill.\n"
    )
    play = KnowledgePlay(tmp_path, [{}, {}], knowledge_update_interval=900)
    log = structlog.get_logger()
    summing = EpisodeSynthesizer(log, play.config, play.state, play.manager, StateManager(log, play.config, play.state))
    play.learners = (*play.learners, summing)
    play.play(20)
    play.turn("ring bell", "The bell is cracked.")
    conclude_together([play.manager.ending("over"), summing.ending("over")], 15_000, TokenCounter())
    texts = ("Mordant first.", "Fumes kill.", "The bell is cracked.")
    assert [play.prompts[0].count(text) for text in texts] == [1, 1, 1]
    assert "=== KNOWLEDGE ===\n(as under WHAT IS KNOWN)\n" in play.prompts[0]
    conclude_together([summing.ending("over")], 15_000, TokenCounter())
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


def test_if_no_model_answers_every_ending_is_told_and_nobody_is_asked_again() -> None:
    model = ScriptedLLM([LanguageModelUnavailable("down")])
    assert both(model) == ["down", "down"]
    assert len(model.calls) == 1


def test_a_single_ending_asks_its_questions_and_returns_its_result() -> None:
    results: list[object] = []
    model = ScriptedLLM([{"depth": 3}])
    assert conclude(ending(results, model, "depth", Depth, "analysis")) == "depth"
    assert results == [Depth(depth=3)]


@pytest.mark.parametrize(("budget", "share"), [(15_000, 6000), (12_000, 5000), (3000, 3000)])
def test_a_question_at_the_end_takes_a_part_of_a_large_budget(budget: int, share: int) -> None:
    assert share_at_end(budget) == share

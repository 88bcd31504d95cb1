"""Recorded answers are given again; another model is asked where there are none."""

from __future__ import annotations

import pytest

from session.errors import LanguageModelUnavailable
from session.events import Event, ModelAnswered, ModelFailed, RunPaused
from session.files.journal import JournalLine
from session.files.recording import Diverged, Recording, RecordingEnded
from session.token_counter import TokenCounter
from tests.fixtures.run_events import turn_played
from tests.unit.zorkgpt.llm.asking import PROMPT, Move
from zorkgpt.llm.journaled import RecordedModel, ReplayedModel, prompt_sha256
from zorkgpt.llm.language_model import Completion, Prompt, TokenUsage
from zorkgpt.llm.scripted import ScriptedLLM

WAIT = {"reasoning": "r", "action": "wait"}
LOOK = {"reasoning": "s", "action": "look"}
OTHER = Prompt("system", "another question")


def recording_of(*events: Event) -> Recording:
    return Recording(JournalLine(place, "", event) for place, event in enumerate(events, start=1))


def recorded(*, role: str = "agent") -> tuple[ModelAnswered, Completion[Move]]:
    """A call as it is written down, and what came of it."""
    events: list[Event] = []
    live = ScriptedLLM([WAIT], usage=TokenUsage(700, 30, 100))
    completion = RecordedModel(live, events.append, TokenCounter()).complete(role, PROMPT, Move)  # type: ignore[arg-type]  # a role
    (event,) = events
    assert isinstance(event, ModelAnswered)
    return event, completion


def failed(role: str) -> ModelFailed:
    return ModelFailed(role, prompt_sha256(PROMPT), "it was down", 1.0, "a model", 50, 20, 7)


def test_a_recorded_answer_is_given_again_with_all_that_was_counted() -> None:
    event, completion = recorded()
    live = ScriptedLLM([])
    again = ReplayedModel(recording_of(event), live).complete("agent", PROMPT, Move)
    assert (again.value, again.model, again.usage) == (completion.value, completion.model, completion.usage)
    assert (again.requests, again.question_tokens) == (completion.requests, completion.question_tokens)
    assert live.calls == []


@pytest.mark.parametrize(("role", "prompt"), [("agent", OTHER), ("critic", PROMPT)])
def test_another_question_goes_to_the_live_model(role: str, prompt: Prompt) -> None:
    event, _ = recorded()
    model = ReplayedModel(recording_of(event), ScriptedLLM([LOOK]))
    assert model.complete(role, prompt, Move).value.action == "look"  # type: ignore[arg-type]  # a role


def test_another_question_without_a_live_model_is_the_difference() -> None:
    event, _ = recorded()
    with pytest.raises(Diverged) as raised:
        ReplayedModel(recording_of(event)).complete("agent", OTHER, Move)
    difference = raised.value.difference
    assert (difference.line, difference.expected) == (1, event)
    assert isinstance(difference.found, str)
    assert "another question" in difference.found


@pytest.mark.parametrize("role", ["agent", "memory"])
def test_a_recorded_failure_is_repeated_where_nobody_else_can_be_asked(role: str) -> None:
    with pytest.raises(LanguageModelUnavailable, match="it was down") as raised:
        ReplayedModel(recording_of(failed(role))).complete(role, PROMPT, Move)  # type: ignore[arg-type]  # a role
    assert (raised.value.model, raised.value.usage) == ("a model", TokenUsage(50, 7, 20))


def test_a_recorded_failure_is_repeated_for_who_goes_on_without_and_the_agent_is_asked_again() -> None:
    live = ScriptedLLM([LOOK])
    with pytest.raises(LanguageModelUnavailable, match="it was down"):
        ReplayedModel(recording_of(failed("memory")), live).complete("memory", PROMPT, Move)
    assert live.calls == []
    assert ReplayedModel(recording_of(failed("agent")), live).complete("agent", PROMPT, Move).value.action == "look"


@pytest.mark.parametrize("rest", [(), (RunPaused("out of money", 1, 2),)])
def test_a_question_after_the_end_without_a_live_model_ends_the_recording(rest: tuple[Event, ...]) -> None:
    with pytest.raises(RecordingEnded):
        ReplayedModel(recording_of(*rest)).complete("agent", PROMPT, Move)


def test_a_question_where_a_turn_was_recorded_is_a_difference() -> None:
    with pytest.raises(Diverged):
        ReplayedModel(recording_of(turn_played(1.0))).complete("agent", PROMPT, Move)

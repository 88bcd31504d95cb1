"""The scripted model gives the answers of its script, which are validated like those of real models."""

from __future__ import annotations

import pytest

from session.errors import LanguageModelUnavailable, ResponseInvalid
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.unit.zorkgpt.llm.asking import PROMPT, Move
from zorkgpt.llm.language_model import Task, TokenUsage

WAIT = {"reasoning": "", "action": "wait"}


def test_a_list_answers_in_order_until_it_has_run_out_and_calls_are_kept() -> None:
    model = ScriptedLLM([WAIT, Move(reasoning="r", action="look")], usage=TokenUsage(5, 2))
    answers = [model.complete("agent", PROMPT, Move), model.complete("critic", PROMPT, Move)]
    assert [answer.value.action for answer in answers] == ["wait", "look"]
    assert answers[0].usage == TokenUsage(5, 2)
    with pytest.raises(LanguageModelUnavailable, match=r"no reply left for agent \(Move\)"):
        model.complete("agent", PROMPT, Move)
    assert model.calls == [Task(role, PROMPT, Move) for role in ("agent", "critic", "agent")]


def test_a_function_answers_by_role_and_prompt() -> None:
    def reply(role: str, _prompt: object, _schema: object) -> Reply:
        return {"reasoning": role, "action": "wait"}

    assert ScriptedLLM(reply).complete("memory", PROMPT, Move).value.reasoning == "memory"


def test_a_reply_that_is_an_error_is_raised_and_one_that_does_not_fit_is_invalid() -> None:
    model = ScriptedLLM([LanguageModelUnavailable("away"), {"action": "wait"}])
    with pytest.raises(LanguageModelUnavailable, match="away"):
        model.complete("agent", PROMPT, Move)
    with pytest.raises(ResponseInvalid, match="not a Move"):
        model.complete("agent", PROMPT, Move)

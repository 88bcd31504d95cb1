"""Who keeps failing is left alone for a while; the agent never is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from tests.unit.zorkgpt.llm.asking import PROMPT, Move
from zorkgpt.llm.breaker import CALLS_REFUSED, FAILURES_TO_OPEN, CircuitBreaker
from zorkgpt.llm.scripted import Reply, ScriptedLLM

if TYPE_CHECKING:
    from zorkgpt.llm.language_model import LanguageModel, Role

WAIT = {"reasoning": "", "action": "wait"}
DOWN = LanguageModelUnavailable("down")


def fail(model: LanguageModel, role: Role, calls: int) -> list[str]:
    """The lines in which that many calls of ``role`` fail."""
    lines = []
    for _ in range(calls):
        with pytest.raises(LanguageModelError) as caught:
            model.complete(role, PROMPT, Move)
        lines.append(str(caught.value))
    return lines


def always_down() -> ScriptedLLM:
    return ScriptedLLM(lambda _role, _prompt, _schema: DOWN)


@pytest.mark.parametrize("role", ["critic", "info_ext", "analysis", "memory"])
def test_a_role_that_keeps_failing_is_asked_by_one_call_in_many(role: Role) -> None:
    inner = always_down()
    model = CircuitBreaker(inner)
    fail(model, role, FAILURES_TO_OPEN)
    for probes in range(1, 4):
        fail(model, role, CALLS_REFUSED)
        assert len(inner.calls) == FAILURES_TO_OPEN + probes - 1
        assert fail(model, role, 1) == ["down"]
        assert len(inner.calls) == FAILURES_TO_OPEN + probes


def test_a_call_that_is_not_passed_on_says_until_when() -> None:
    model = CircuitBreaker(always_down())
    fail(model, "critic", FAILURES_TO_OPEN)
    first, *_, last = fail(model, "critic", CALLS_REFUSED)
    assert first == "critic: 3 failures in a row; not asked again until 20 calls later"
    assert last == "critic: 3 failures in a row; not asked again until 1 call later"


def test_the_agent_is_always_asked() -> None:
    inner = always_down()
    fail(CircuitBreaker(inner), "agent", 2 * FAILURES_TO_OPEN)
    assert len(inner.calls) == 2 * FAILURES_TO_OPEN


def test_other_roles_are_asked_as_before() -> None:
    model = CircuitBreaker(ScriptedLLM(lambda role, _prompt, _schema: DOWN if role == "critic" else WAIT))
    fail(model, "critic", FAILURES_TO_OPEN + 1)
    assert model.complete("memory", PROMPT, Move).value.action == "wait"


def test_only_failures_in_a_row_count() -> None:
    script: list[Reply] = [DOWN, DOWN, WAIT, DOWN, DOWN, WAIT]
    inner = ScriptedLLM(script)
    model = CircuitBreaker(inner)
    for _ in range(2):
        fail(model, "critic", 2)
        model.complete("critic", PROMPT, Move)
    assert len(inner.calls) == len(script)


def test_an_answer_to_the_probe_ends_it() -> None:
    inner = ScriptedLLM([*[DOWN] * FAILURES_TO_OPEN, WAIT, DOWN, WAIT])
    model = CircuitBreaker(inner)
    fail(model, "critic", FAILURES_TO_OPEN + CALLS_REFUSED)
    model.complete("critic", PROMPT, Move)
    assert fail(model, "critic", 1) == ["down"]
    model.complete("critic", PROMPT, Move)


def test_answers_that_never_fit_are_failures_too_but_a_spent_budget_is_none() -> None:
    unfit = ScriptedLLM(lambda _role, _prompt, _schema: ResponseInvalid("no Move"))
    spent = ScriptedLLM(lambda _role, _prompt, _schema: BudgetSpent("spent"))
    fail(CircuitBreaker(unfit), "critic", FAILURES_TO_OPEN + 1)
    assert len(unfit.calls) == FAILURES_TO_OPEN
    model = CircuitBreaker(spent)
    for _ in range(FAILURES_TO_OPEN + 1):
        with pytest.raises(BudgetSpent, match="spent"):
            model.complete("critic", PROMPT, Move)
    assert len(spent.calls) == FAILURES_TO_OPEN + 1


def test_it_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    fail(CircuitBreaker(always_down()), "critic", FAILURES_TO_OPEN + 2 * (CALLS_REFUSED + 1))
    assert caplog.messages == [
        "the critic model failed 3 times in a row: it is asked once in 21 calls until it answers"
    ]

"""When a failed attempt is made again, and after what pause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential

from zorkgpt.llm.openai.faults import RequestFailed
from zorkgpt.llm.openai.structured import AnswerIncomplete

if TYPE_CHECKING:
    from collections.abc import Callable

_FULL_JITTER = wait_random_exponential(multiplier=1.0, max=60.0)


def retrying(attempts: int, deadline: float, sleep: Callable[[float], None], clock: Callable[[], float]) -> Retrying:
    """Calls again after what may pass; the last error is raised as it is.

    Pauses grow exponentially with full jitter, or are what the server asks for. No attempt begins
    after ``deadline`` (by ``clock``): a pause that would end later is not begun.
    """

    def exhausted(state: RetryCallState) -> bool:
        return state.attempt_number >= attempts or clock() + state.upcoming_sleep >= deadline

    return Retrying(
        retry=retry_if_exception(_may_pass),
        wait=_pause,
        stop=exhausted,
        sleep=sleep,
        reraise=True,
    )


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, AnswerIncomplete) or (isinstance(error, RequestFailed) and error.transient)


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked_for = error.retry_after if isinstance(error, RequestFailed) else None
    return _FULL_JITTER(state) if asked_for is None else asked_for

"""A circuit breaker: a model role that keeps failing is not asked for a while."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from session.errors import LanguageModelUnavailable, ResponseInvalid
from session.text import counted
from zorkgpt.llm.language_model import ROLES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from zorkgpt.llm.language_model import Answer, Completion, LanguageModel, Prompt, Role

FAILURES_TO_OPEN = 3
CALLS_REFUSED = 20
_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Circuit:
    """The failures of one role.

    failures: how many in a row
    refusals_left: how many calls fail at once before the next one is passed on
    """

    failures: int = 0
    refusals_left: int = 0


class CircuitBreaker:
    """Passes calls on to ``inner``, except those of a role that keeps failing: their retries would only cost time.

    After ``FAILURES_TO_OPEN`` failures of a role in a row its next ``CALLS_REFUSED`` calls fail at once; then one
    is passed on, and if it fails as many are refused again. The agent is always asked: nothing can be played without
    it.

    unasked: roles that no model plays, so that every call of them fails
    """

    def __init__(self, inner: LanguageModel, unasked: Collection[Role] = ()) -> None:
        self._inner = inner
        self._unasked = unasked
        self._circuits: dict[Role, Circuit] = {role: Circuit() for role in ROLES if role != "agent"}

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return the inner model's answer, or raise ``LanguageModelUnavailable`` at once for a role that is spared."""
        if role in self._unasked:
            raise LanguageModelUnavailable(f"{role}: no model is configured")
        circuit = self._circuits.get(role)
        if circuit is None:
            return self._inner.complete(role, prompt, schema)
        if circuit.refusals_left:
            raise _refused(role, circuit)
        try:
            completion = self._inner.complete(role, prompt, schema)
        except (LanguageModelUnavailable, ResponseInvalid):
            _count_failure(role, circuit)
            raise
        circuit.failures = 0
        return completion

    def state(self) -> dict[str, Circuit]:
        """Return a copy of every role's failures, for a snapshot."""
        return {role: replace(circuit) for role, circuit in self._circuits.items()}

    def restore(self, state: Mapping[str, Circuit]) -> None:
        """Set every role's failures to those of a snapshot."""
        for role, circuit in self._circuits.items():
            kept = state.get(role, Circuit())
            circuit.failures, circuit.refusals_left = kept.failures, kept.refusals_left


def _refused(role: Role, circuit: Circuit) -> LanguageModelUnavailable:
    calls = counted(circuit.refusals_left, "call")
    circuit.refusals_left -= 1
    return LanguageModelUnavailable(
        f"{role}: {circuit.failures} failures in a row; not asked again until {calls} later"
    )


def _count_failure(role: Role, circuit: Circuit) -> None:
    circuit.failures += 1
    if circuit.failures >= FAILURES_TO_OPEN:
        circuit.refusals_left = CALLS_REFUSED
    if circuit.failures == FAILURES_TO_OPEN:
        _LOG.warning(
            "the %s model failed %d times in a row: it is asked once in %d calls until it answers",
            role,
            FAILURES_TO_OPEN,
            CALLS_REFUSED + 1,
        )

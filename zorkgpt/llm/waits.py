"""Pauses before a model is asked again, which end early when the run has to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event as Flag

from session.errors import BudgetSpent, WaitInterrupted


@dataclass(slots=True)
class Waits:
    """Sleeps until it is time to ask again, the run is stopped, or its time is used up.

    stop: set when the run is to stop
    until: when the time of the run is used up, by ``clock`` (seconds, monotonic)
    """

    stop: Flag = field(default_factory=Flag)
    clock: Callable[[], float] = time.monotonic
    until: float = math.inf

    def sleep(self, seconds: float) -> None:
        """Sleep, or raise ``WaitInterrupted`` or ``BudgetSpent`` as soon as the run has to stop."""
        now = self.clock()
        if self.stop.wait(max(0.0, min(seconds, self.until - now))):
            raise WaitInterrupted("interrupted while waiting to ask again")
        if now + seconds >= self.until:
            raise BudgetSpent("the time of the run is used up while waiting to ask again")

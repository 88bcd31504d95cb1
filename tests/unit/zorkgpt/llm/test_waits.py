"""Pauses end as soon as the run has to stop."""

from __future__ import annotations

import time
from threading import Event as Flag
from threading import Timer

import pytest

from session.errors import BudgetSpent, WaitInterrupted
from zorkgpt.llm.budget import Waits


def test_a_pause_lasts_as_long_as_it_is_to() -> None:
    start = time.monotonic()
    Waits().sleep(0.05)
    assert time.monotonic() - start >= 0.05


def test_a_pause_ends_as_soon_as_the_run_is_stopped() -> None:
    stop = Flag()
    Timer(0.05, stop.set).start()
    with pytest.raises(WaitInterrupted, match="interrupted while waiting"):
        Waits(stop).sleep(600.0)


def test_a_pause_ends_when_the_time_of_the_run_is_used_up() -> None:
    waits = Waits()
    waits.until = time.monotonic() + 0.05
    with pytest.raises(BudgetSpent, match="time of the run was used up"):
        waits.sleep(600.0)

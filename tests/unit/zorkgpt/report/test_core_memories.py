"""A core memory is of a first visit; one of a return visit is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from session.events import Event
from tests.fixtures.run_events import answered, failed
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, after, played, started, turn
from zorkgpt.report.figures import core_downgrades

UP, AGAIN = (played(turn(number, "up", location=LOFT)) for number in (1, 3))
DOWN = played(turn(2, "down", after(SEEN, location=LOFT), location=SEEN.location))
WAIT, WAIT_MORE = (played(turn(number, "wait")) for number in (1, 2))
REFUSED = played(turn(1, "save", refusal="no saving"))


def asked(*persistences: str) -> Event:
    memories = [{"should_remember": True, "persistence": each} for each in persistences]
    return answered(role="memory", answer={"memories": memories})


def brief(persistence: str) -> Event:
    return answered(role="memory", answer={"turn": 1, "category": "NOTE", "persistence": persistence})


@pytest.mark.parametrize(
    ("events", "downgrades"),
    [
        pytest.param([UP, asked("core", "core"), DOWN, asked("core")], 0, id="first visits"),
        pytest.param([UP, DOWN, AGAIN, asked("core", "permanent", "core")], 2, id="return visit"),
        pytest.param([UP, DOWN, AGAIN, brief("core"), brief("permanent")], 1, id="an answer that is one memory"),
        pytest.param([WAIT, asked("core"), WAIT_MORE, asked("core")], 1, id="new only until asked about"),
        pytest.param([WAIT, replace(failed(1.0), role="memory"), WAIT_MORE, asked("core")], 1, id="unanswered"),
        pytest.param([UP, asked("core"), started(2), UP, asked("core")], 0, id="another episode"),
        pytest.param([REFUSED, WAIT_MORE, asked("core")], 0, id="a refused turn is no visit"),
        pytest.param([UP, answered()], None, id="never asked"),
    ],
)
def test_core_memories_of_visits_that_are_not_new_are_counted(events: list[Event], downgrades: int | None) -> None:
    assert core_downgrades([started(), *events]) == downgrades

"""A core memory is of a first visit; one of a return visit is counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from session.events import Event
from tests.fixtures.run_events import answered, failed
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, after, played, started, turn
from zorkgpt.report.figures import core_downgrades

IN_LOFT = after(SEEN, location=LOFT)
GO_UP = played(turn(1, "up", location=LOFT))
GO_DOWN = played(turn(2, "down", IN_LOFT, location=SEEN.location))


def asked(*persistences: str) -> Event:
    memories = [{"should_remember": True, "persistence": each} for each in persistences]
    return answered(role="memory", answer={"memories": memories})


def brief(persistence: str) -> Event:
    answer: dict[str, Any] = {"turn": 1, "category": "NOTE", "persistence": persistence}
    return answered(role="memory", answer=answer)


def test_a_core_memory_of_a_first_visit_is_none() -> None:
    assert core_downgrades([started(), GO_UP, asked("core", "core"), GO_DOWN, asked("core")]) == 0


def test_a_core_memory_of_a_return_visit_is_one() -> None:
    back = played(turn(3, "up", location=LOFT))
    assert core_downgrades([started(), GO_UP, GO_DOWN, back, asked("core", "permanent", "core")]) == 2
    assert core_downgrades([started(), GO_UP, GO_DOWN, back, brief("core"), brief("permanent")]) == 1


def test_a_visit_is_new_only_until_it_was_asked_about() -> None:
    longer = played(turn(2, "wait"))
    assert core_downgrades([started(), played(turn(1, "wait")), asked("core"), longer, asked("core")]) == 1


def test_a_question_without_an_answer_was_asked_all_the_same() -> None:
    unanswered = replace(failed(1.0), role="memory")
    waits = [played(turn(number, "wait")) for number in (1, 2)]
    assert core_downgrades([started(), waits[0], unanswered, waits[1], asked("core")]) == 1


def test_every_episode_has_first_visits_of_its_own() -> None:
    assert core_downgrades([started(), GO_UP, asked("core"), started(2), GO_UP, asked("core")]) == 0


def test_a_refused_turn_is_no_visit() -> None:
    refused = played(turn(1, "save", refusal="no saving"))
    assert core_downgrades([started(), refused, played(turn(2, "wait")), asked("core")]) == 0


def test_where_the_model_was_never_asked_there_is_nothing_to_count() -> None:
    assert core_downgrades([started(), GO_UP, answered()]) is None

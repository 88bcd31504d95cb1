"""Recorded events are there until they were repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from session.events import EpisodeStarted, Event, ModelAnswered, ModelFailed, RunPaused, TurnPlayed
from session.files.journal import JournalLine
from session.files.recording import Difference, Recording, is_same
from session.values import Observation
from tests.fixtures.run_events import answered, episode_ended, failed, turn_played

START = EpisodeStarted(1, 7, Observation("Steam."))
PAUSED = RunPaused("out of money", episode=1, turns=2)


def recording_of(*events: Event | None, first: int = 5) -> Recording:
    return Recording(JournalLine(place, "", event) for place, event in enumerate(events, start=first))


def test_events_are_taken_in_their_order_and_once() -> None:
    recording = recording_of(START, turn_played(1.0))
    line = recording.take(START)
    assert line is not None
    assert line.seq == 5
    assert recording.take(START) is None
    assert recording.next_event == turn_played(1.0)


@pytest.mark.parametrize("event", [answered(seconds=1.0), failed(1.0), turn_played(1.0), episode_ended()])
def test_how_long_something_took_is_no_difference(event: ModelAnswered | TurnPlayed) -> None:
    later = replace(event, seconds=99.0)
    assert is_same(event, later)
    assert recording_of(event).take(later) is not None


def test_another_event_is_not_taken_and_the_recorded_one_stays() -> None:
    recording = recording_of(turn_played(1.0, turn=1))
    assert recording.take(turn_played(1.0, turn=2)) is None
    assert recording.next_event == turn_played(1.0, turn=1)


def test_an_answer_is_that_to_this_role_and_prompt_if_it_comes_next() -> None:
    call = answered(role="critic")
    recording = recording_of(call, answered(role="agent"))
    assert recording.answer("critic", call.prompt_sha256) == call
    assert recording.answer("critic", "1" * 64) is None
    assert recording.answer("agent", call.prompt_sha256) is None
    recording.take(call)
    assert recording.answer("agent", call.prompt_sha256) == answered(role="agent")


def test_a_failure_is_an_answer_too() -> None:
    call = failed(1.0)
    found = recording_of(call).answer("agent", call.prompt_sha256)
    assert isinstance(found, ModelFailed)


def test_a_difference_is_in_the_line_after_what_was_repeated() -> None:
    recording = recording_of(START, turn_played(1.0))
    assert recording.difference("another prompt") == Difference(5, START, "another prompt")
    recording.take(START)
    assert recording.difference(START) == Difference(6, turn_played(1.0), START)
    recording.take(turn_played(1.0))
    assert recording.difference(START) == Difference(7, None, START)


def test_a_recording_is_over_where_it_ends_and_where_the_run_was_paused() -> None:
    assert Recording().is_over
    assert recording_of(PAUSED).is_over
    assert not recording_of(START, PAUSED).is_over
    assert not recording_of(None).is_over  # of a kind that another version has


def test_what_was_dropped_is_not_repeated() -> None:
    recording = recording_of(START)
    recording.drop()
    assert recording.next_line is None
    assert recording.next_event is None
    assert recording.take(START) is None

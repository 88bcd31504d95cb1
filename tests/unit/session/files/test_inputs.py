"""Recorded events are repeated in their order; what comes after them is recorded."""

from __future__ import annotations

import weakref
from dataclasses import replace
from pathlib import Path

import pytest

from session.events import (
    EpisodeStarted,
    Event,
    FileWritten,
    MemoryRemoved,
    ModelAnswered,
    RunPaused,
    TurnPlayed,
)
from session.files.inputs import Difference, Diverged, Inputs, RecordingEnded, is_same
from session.files.journal import Journal, JournalLine, read_journal
from session.values import Observation
from tests.fixtures.run_events import answered, episode_ended, failed, turn_played

START = EpisodeStarted(1, 7, Observation("Steam."))
PAUSED = RunPaused("out of money", episode=1, turns=2)
REMOVED = MemoryRemoved("Mordant first")
OTHER = failed(1.0, "the model is gone")


def replay_of(*events: Event | None, first: int = 5, version: int = 4) -> Inputs:
    lines = [JournalLine(seq, "", event, version=version) for seq, event in enumerate(events, start=first)]
    return Inputs(lambda _event: None, recorded=lines)


class Resumed:
    """A run that goes on after these events, none of them repeated yet."""

    def __init__(self, folder: Path, *recorded: Event) -> None:
        folder.mkdir(exist_ok=True)
        journal = Journal(folder)
        for event in recorded:
            journal.append(event)
        journal.close()
        lines = list(read_journal(folder))
        self.folder = folder
        self.shown: list[Event] = []
        self.counted: list[Event] = []
        self.repeated: list[tuple[int, int]] = []
        self.journal = Journal.reopen(folder, lines, None)
        weakref.finalize(self, self.journal.close)
        self.inputs = Inputs(self.shown.append, self.journal, lines, lambda *turns: self.repeated.append(turns))
        self.inputs.count = self.counted.append

    @property
    def recorded(self) -> list[Event | None]:
        return [line.event for line in read_journal(self.folder)]


class TestRepeating:
    def test_events_are_repeated_in_their_order_and_then_recorded(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path, START, turn_played(1.0))
        for event in (START, turn_played(1.0), answered()):
            run.inputs.emit(event)
        assert run.recorded == [START, turn_played(1.0), answered()]
        assert run.counted == [START, turn_played(1.0), answered()]
        assert run.shown == [answered()], "a person has seen the others"
        assert run.repeated == [(1, 1)]

    @pytest.mark.parametrize("event", [answered(seconds=1.0), failed(1.0), turn_played(1.0), episode_ended()])
    def test_a_duration_is_not_a_difference(self, event: ModelAnswered | TurnPlayed) -> None:
        later = replace(event, seconds=99.0)
        assert is_same(event, later)
        inputs = replay_of(event)
        inputs.emit(later)
        assert not inputs.is_repeating

    def test_a_replay_that_differs_names_the_line(self) -> None:
        inputs = replay_of(START, turn_played(1.0))
        inputs.emit(START)
        with pytest.raises(Diverged) as raised:
            inputs.emit(OTHER)
        assert raised.value.difference == Difference(6, turn_played(1.0), OTHER)
        assert str(raised.value) == "line 6 of the journal is not repeated"

    def test_a_replay_ends_with_its_recording(self) -> None:
        inputs = replay_of(START, PAUSED)
        inputs.emit(START)
        assert not inputs.is_repeating
        with pytest.raises(RecordingEnded):
            inputs.emit(turn_played(1.0))
        with pytest.raises(RecordingEnded):
            inputs.get(MemoryRemoved, lambda: None)

    def test_the_turn_in_flight_is_cut_off_if_the_run_goes_on_differently_and_no_other(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path / "in flight", turn_played(1.0), answered(), answered(role="memory"))
        for event in (turn_played(1.0), answered(), OTHER):
            run.inputs.emit(event)
        assert run.recorded == [turn_played(1.0), answered(), OTHER]
        run = Resumed(tmp_path / "played", answered(), turn_played(1.0))
        with pytest.raises(Diverged):
            run.inputs.emit(OTHER)
        assert run.recorded == [answered(), turn_played(1.0)]

    def test_writes_are_not_expected_in_a_journal_of_a_version_without_them(self) -> None:
        inputs = replay_of(START, version=3)
        inputs.emit(FileWritten("Memories.md", "", "0" * 64))
        inputs.emit(START)
        with pytest.raises(Diverged):
            replay_of(START).emit(FileWritten("Memories.md", "", "0" * 64))


class TestPauses:
    def test_a_pause_is_cut_off_when_the_run_goes_on(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path, turn_played(1.0), PAUSED)
        run.inputs.emit(turn_played(1.0))
        assert run.recorded[-1] == PAUSED
        run.inputs.emit(answered())
        assert run.recorded == [turn_played(1.0), answered()]

    def test_a_pause_while_turns_are_repeated_leaves_the_journal_as_it_is(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path, turn_played(1.0), turn_played(2.0, turn=2))
        run.inputs.emit(turn_played(1.0))
        run.inputs.emit(PAUSED)
        assert run.recorded == [turn_played(1.0), turn_played(2.0, turn=2)]
        assert run.shown == [PAUSED]


class TestOutsideInputs:
    def test_a_recorded_one_is_taken_if_it_is_next_and_matches(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path, REMOVED, turn_played(1.0))
        assert run.inputs.get(MemoryRemoved, lambda: REMOVED, lambda event: event.title == "another") is None
        assert run.inputs.next_event == REMOVED
        assert run.inputs.get(MemoryRemoved, lambda: pytest.fail("live")) == REMOVED
        assert run.inputs.get(MemoryRemoved, lambda: pytest.fail("live")) is None, "there was none at that moment"

    def test_a_live_one_is_recorded_when_nothing_is_left_to_repeat(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path)
        assert run.inputs.get(MemoryRemoved, lambda: None) is None
        assert run.inputs.get(MemoryRemoved, lambda: REMOVED) == REMOVED
        assert run.recorded == [REMOVED]


class TestWholeTurns:
    def test_what_came_before_a_recorded_turn_is_repeated_with_it(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path, answered(), answered(role="critic"), turn_played(1.0))
        assert run.inputs.next_turn() == ([answered(), answered(role="critic")], turn_played(1.0))
        assert run.inputs.next_event == turn_played(1.0)

    @pytest.mark.parametrize("after", [(), (episode_ended(), START, turn_played(1.0))])
    def test_a_turn_that_was_not_recorded_to_its_end_is_none(self, tmp_path: Path, after: tuple[Event, ...]) -> None:
        run = Resumed(tmp_path, answered(), *after)
        assert run.inputs.next_turn() is None
        assert run.inputs.next_event == answered()

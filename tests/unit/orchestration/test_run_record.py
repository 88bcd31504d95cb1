"""How many turns a run that goes on differently may lose: the one in flight, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestration.run_record import ContinuedRecord
from session.files.journal import Journal, read_journal
from session.files.recording import Diverged, Recording
from tests.fixtures.run_events import answered, failed, turn_played

if TYPE_CHECKING:
    from pathlib import Path

    from session.events import Event

OTHER = failed(1.0, "the model is gone")


def record_of(folder: Path, *recorded: Event) -> ContinuedRecord:
    """A run with these events in its journal, none repeated yet."""
    with_events = Journal(folder)
    for event in recorded:
        with_events.append(event)
    with_events.close()
    lines = list(read_journal(folder))
    return ContinuedRecord(Journal.reopen(folder, lines, None), lambda _event: None, Recording(lines))


def journal_in(folder: Path) -> list[Event | None]:
    return [line.event for line in read_journal(folder)]


def test_the_turn_in_flight_is_cut_off_where_the_run_goes_on_differently(tmp_path: Path) -> None:
    record = record_of(tmp_path, answered(), turn_played(1.0))
    record.emit(answered())
    record.emit(OTHER)
    record.journal.close()
    assert journal_in(tmp_path) == [answered(), OTHER]


def test_a_second_turn_is_not_given_up_and_the_journal_stays_whole(tmp_path: Path) -> None:
    recorded: list[Event] = [turn_played(1.0), answered(), turn_played(2.0, turn=2)]
    record = record_of(tmp_path, *recorded)
    with pytest.raises(Diverged):
        record.emit(OTHER)
    record.journal.close()
    assert journal_in(tmp_path) == recorded


def test_a_fork_loses_no_turn_at_all(tmp_path: Path) -> None:
    record = record_of(tmp_path, answered(), turn_played(1.0))
    record.may_lose = 0
    with pytest.raises(Diverged):
        record.emit(OTHER)
    record.journal.close()
    assert journal_in(tmp_path) == [answered(), turn_played(1.0)]

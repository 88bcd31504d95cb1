"""A journal that another process writes is read line by line, each once."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.errors import StoreError
from session.events import RunPaused
from session.files.journal import JOURNAL_FILE, Journal, JournalFollower, read_journal
from session.files.shared_files import GrowingFile
from tests.unit.zorkgpt.report.dye_runs import manifest, played, started, turn


def test_each_whole_line_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    growing = GrowingFile(file)
    assert growing.new_lines() == []
    file.write_bytes(b"one\ntwo\nthr")
    assert growing.new_lines() == [b"one", b"two"]
    assert growing.new_lines() == []
    file.write_bytes(b"one\ntwo\nthree\n")
    assert growing.new_lines() == [b"three"]


def test_what_takes_the_place_of_lines_that_a_resumed_run_cut_off_is_read(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, manifest("20260131-184500-1a2b"))
    follower = JournalFollower(journal.folder)
    journal.append(started())
    journal.append(played(turn(1, "pull chain")))
    assert [line.seq for line in follower.new_lines()] == [1, 2]
    journal.close()
    lines = list(read_journal(journal.folder))
    reopened = Journal.reopen(journal.folder, lines[:1], lines[0])
    assert follower.new_lines() == []
    reopened.append(played(turn(1, "look")))
    reopened.close()
    (line,) = follower.new_lines()
    assert line.event == played(turn(1, "look"))


def test_a_line_that_is_longer_than_the_pause_that_it_takes_the_place_of_is_read(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, manifest("20260131-184500-1a2b"))
    follower = JournalFollower(journal.folder)
    journal.append(started())
    journal.append(RunPaused("interrupted", 1, 0))
    assert [line.seq for line in follower.new_lines()] == [1, 2]
    journal.close()
    lines = list(read_journal(journal.folder))
    reopened = Journal.reopen(journal.folder, lines[:1], lines[0])
    reopened.append(played(turn(1, "look")))
    reopened.append(RunPaused("interrupted", 1, 0))
    reopened.close()
    assert [line.event for line in follower.new_lines()] == [played(turn(1, "look")), RunPaused("interrupted", 1, 0)]
    assert follower.new_lines() == []


def test_a_journal_that_is_damaged_is_an_error(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, manifest("20260131-184500-1a2b"))
    follower = JournalFollower(journal.folder)
    journal.append(started())
    journal.close()
    with (journal.folder / JOURNAL_FILE).open("ab") as file:
        file.write(b"no line\n")
    with pytest.raises(StoreError, match="not a line of a journal"):
        follower.new_lines()

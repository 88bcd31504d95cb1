"""The journal gives back what was put in, and recorded events are repeated in their order before new ones."""

from __future__ import annotations

import json
import os
import re
import weakref
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.errors import StoreError
from session.events import (
    EpisodeStarted,
    Event,
    MemoryRemoved,
    ModelAnswered,
    RunPaused,
    RunStarted,
    TurnPlayed,
)
from session.files.journal import (
    JOURNAL_FILE,
    JOURNAL_VERSION,
    Journal,
    JournalFollower,
    JournalLine,
    new_run_id,
    read_journal,
    read_manifest,
)
from session.files.recording import Difference, Diverged, Recording, RecordingEnded, is_same
from session.values import GameObject, Location, Observation, Proposal, Reading, TurnRecord, Verdict
from tests.fixtures.full_disk import no_file_may_pass
from tests.fixtures.recorded_run import RECORDED
from tests.fixtures.rewritten_journal import rewrite
from tests.fixtures.run_events import answered, episode_ended, failed, turn_played
from tests.unit.zorkgpt.report.dye_runs import manifest, played, started, turn

if TYPE_CHECKING:
    Objects = tuple[int, ...]

LAMP = GameObject(7, "brass lamp", parent=3, attributes=frozenset({2, 17}))
BEFORE = Observation("Cellar\n“Dark.”", Location(3, "Cellar"), (), (LAMP,), 0, 100, 4, "00c0ffee")
AFTER = Observation("Taken.", Location(3, "Cellar"), (LAMP,), (), -10, 100, 5, "deadbeef", died=True, ending="lost")
BEFORE, AFTER = replace(BEFORE, parents=(0, 0, 3, 3)), replace(AFTER, parents=(0, 0, 3, 1))
RECORD = TurnRecord(
    episode=2,
    turn=5,
    before=BEFORE,
    proposals=(Proposal("save"), Proposal("take lamp", "It is dark.", Reading(True, ("up",)))),
    verdicts=(Verdict(False, "no saving", "parser"), Verdict(True)),
    after=AFTER,
)
EVENTS: list[Event] = [
    EpisodeStarted(2, 7, BEFORE),
    TurnPlayed(RECORD, 0.25),
    RunPaused(episode=1, turns=2, reason="out of money: \u2028 5 €"),
]


def journal_of(runs: Path, *events: Event) -> Journal:
    """The journal of a new run with these events."""
    journal = Journal.create(runs, manifest(new_run_id()))
    for event in events:
        journal.append(event)
    return journal


def journaled(runs: Path) -> Path:
    """The file of a closed journal with the three events."""
    journal = journal_of(runs, *EVENTS)
    journal.close()
    return journal.folder / "journal.jsonl"


def events_in(folder: Path) -> list[Event | None]:
    return [line.event for line in read_journal(folder)]


def reopened_at(folder: Path, lines: int, *events: Event) -> None:
    """The run goes on after so many lines of its journal, with these events."""
    recorded = list(read_journal(folder))[:lines]
    journal = Journal.reopen(folder, recorded, recorded[-1] if recorded else None)
    for event in events:
        journal.append(event)
    journal.close()


def test_what_was_appended_is_in_the_file_at_once_equal_and_in_order(tmp_path: Path) -> None:
    written = manifest(new_run_id())
    journal = Journal.create(tmp_path, written)
    for number, event in enumerate(EVENTS, start=1):
        journal.append(event)
        lines = list(read_journal(journal.folder))
        assert [line.event for line in lines] == EVENTS[:number]
        assert [line.seq for line in lines] == [1, 2, 3][:number]
    journal.close()
    assert read_manifest(journal.folder) == written


def test_a_turn_does_not_repeat_what_the_line_before_it_says(tmp_path: Path) -> None:
    record = json.loads(journaled(tmp_path).read_bytes().splitlines()[1])["event"]["record"]
    assert "before" not in record
    assert "parents" not in record["after"]
    assert record["after"]["moved"] == {"3": 1}


OBJECTS = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@given(st.lists(st.tuples(st.booleans(), OBJECTS, OBJECTS), max_size=5))
def test_turns_are_read_back_whole_whatever_they_begin_with(turns: list[tuple[bool, Objects, Objects]]) -> None:
    """Each begins with the last observation, or with another one, for example after a restored game."""
    seen = BEFORE
    events: list[Event] = [EVENTS[0]]
    for number, (goes_on, before, after) in enumerate(turns):
        begin = seen if goes_on else replace(BEFORE, moves=number, parents=before)
        seen = replace(AFTER, moves=number, parents=after)
        events.append(TurnPlayed(replace(RECORD, turn=number, before=begin, after=seen), 0.5))
    with TemporaryDirectory() as folder:
        journal = journal_of(Path(folder), *events)
        journal.close()
        assert events_in(journal.folder) == events


@pytest.mark.parametrize("cut", [1, 40])
def test_a_line_cut_off_by_a_kill_is_left_out(tmp_path: Path, cut: int) -> None:
    path = journaled(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    assert events_in(path.parent) == EVENTS[:2]


def test_an_event_of_a_kind_that_is_not_known_is_none_and_the_others_are_read(tmp_path: Path) -> None:
    path = journaled(tmp_path)
    rewrite(path.parent, lambda line: {**line, "event": {"kind": "turn_dreamt"}} if line["seq"] == 2 else line)
    assert events_in(path.parent) == [EVENTS[0], None, EVENTS[2]]


@pytest.mark.parametrize("version", [JOURNAL_VERSION - 1, JOURNAL_VERSION + 1])
def test_a_line_of_another_version_is_an_error_that_says_so(tmp_path: Path, version: int) -> None:
    path = journaled(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'{"v":%d,"seq":3' % JOURNAL_VERSION, b'{"v":%d,"seq":3' % version))
    with pytest.raises(
        StoreError, match=rf"journal\.jsonl:3: version {version} of the journal, .* by the version of .* recorded it$"
    ):
        list(read_journal(path.parent))


@pytest.mark.parametrize("name", ["journal.jsonl", "manifest.json"])
def test_a_pipe_or_a_link_elsewhere_in_a_run_folder_is_refused_at_once(tmp_path: Path, name: str) -> None:
    folder = journaled(tmp_path / "work").parent
    (folder / "manifest.json").write_text(manifest(new_run_id()).model_dump_json())
    for make in (os.mkfifo, lambda path: path.symlink_to(tmp_path / "precious")):
        (folder / name).unlink()
        make(folder / name)
        with pytest.raises(StoreError, match=r"not a regular file|outside of its folder"):
            list(read_journal(folder)) if name == "journal.jsonl" else read_manifest(folder)
    if name == "journal.jsonl":
        with pytest.raises(StoreError, match="outside of its folder"):
            Journal(folder)
    assert not (tmp_path / "precious").exists()


def test_a_run_folder_that_cannot_be_made_or_read_is_one_clear_error_and_leaves_none(tmp_path: Path) -> None:
    command = ("zorkgpt", "run", "--workdir", os.fsdecode(b"\xff"))
    with pytest.raises(StoreError, match=r"an argument is not UTF-8: .*'\\udcff'"):
        Journal.create(tmp_path, manifest(new_run_id()).model_copy(update={"command": command}))
    assert not list(tmp_path.iterdir())
    (tmp_path / "runs").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match="cannot make the run folder"):
        Journal.create(tmp_path / "runs", manifest(new_run_id()))
    with pytest.raises(StoreError, match=f"^cannot read {tmp_path / 'journal.jsonl'}: No such file or directory$"):
        list(read_journal(tmp_path))


def test_run_ids_are_the_time_to_the_second_and_four_digits_and_do_not_repeat() -> None:
    assert re.fullmatch(r"20\d{6}-\d{6}-[0-9a-f]{4}", new_run_id())
    assert new_run_id() != new_run_id()


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[]"])
def test_a_missing_or_broken_manifest_is_one_clear_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(StoreError, match="manifest"):
        read_manifest(tmp_path)


def test_a_line_that_the_disk_took_only_half_of_is_gone_so_that_the_next_one_is_whole(tmp_path: Path) -> None:
    journal = journal_of(tmp_path, EVENTS[0])
    size = (journal.folder / "journal.jsonl").stat().st_size
    with no_file_may_pass(size + 50), pytest.raises(StoreError, match="File too large"):
        journal.append(EVENTS[1])
    journal.append(EVENTS[2])
    journal.close()
    assert events_in(journal.folder) == [EVENTS[0], EVENTS[2]]


@pytest.mark.parametrize("torn", [b'{"v":3,"seq":99', b"\0" * 4096])
def test_a_journal_that_is_opened_again_goes_on_behind_its_last_whole_line(tmp_path: Path, torn: bytes) -> None:
    path = journaled(tmp_path)
    path.write_bytes(path.read_bytes() + torn)
    reopened_at(path.parent, 3, EVENTS[0])
    assert events_in(path.parent) == [*EVENTS, EVENTS[0]]
    path.write_bytes(torn)
    reopened_at(path.parent, 0, turn_played(1.0))
    assert events_in(path.parent) == [turn_played(1.0)]


def test_a_new_run_is_for_its_user_alone(tmp_path: Path) -> None:
    folder = journaled(tmp_path).parent
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    assert modes == {folder.name: 0o700, "manifest.json": 0o600, "journal.jsonl": modes["journal.jsonl"]}
    assert not modes["journal.jsonl"] & 0o111


INTERRUPTED = RunPaused("interrupted", 1, 0)


@pytest.mark.parametrize(
    ("first", "then"),
    [(played(turn(1, "pull chain")), ()), (INTERRUPTED, (INTERRUPTED,))],
    ids=["turn", "longer than the pause"],
)
def test_what_takes_the_place_of_lines_that_a_resumed_run_cut_off_is_read(
    tmp_path: Path, first: Event, then: tuple[Event, ...]
) -> None:
    journal = journal_of(tmp_path)
    follower = JournalFollower(journal.folder)
    journal.append(started())
    journal.append(first)
    assert [line.seq for line in follower.new_lines()] == [1, 2]
    journal.close()
    reopened_at(journal.folder, 1)
    assert follower.new_lines() == []
    reopened_at(journal.folder, 1, played(turn(1, "look")), *then)
    assert [line.event for line in follower.new_lines()] == [played(turn(1, "look")), *then]
    assert follower.new_lines() == []
    with (journal.folder / JOURNAL_FILE).open("ab") as file:
        file.write(b"no line\n")
    with pytest.raises(StoreError, match="not a line of a journal"):
        follower.new_lines()


START = EpisodeStarted(1, 7, Observation("Steam."))
PAUSED = RunPaused("out of money", episode=1, turns=2)
REMOVED = MemoryRemoved("Mordant first")
OTHER = failed(1.0, "the model is gone")


def replay_of(*events: Event | None, first: int = 5) -> Recording:
    lines = [JournalLine(seq, "", event) for seq, event in enumerate(events, start=first)]
    return Recording(lambda _event: None, recorded=lines)


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
        self.recording = Recording(self.shown.append, self.journal, lines, lambda *turns: self.repeated.append(turns))
        self.recording.count_with(self.counted.append)

    @property
    def recorded(self) -> list[Event | None]:
        return [line.event for line in read_journal(self.folder)]


class TestRepeating:
    def test_events_are_repeated_in_their_order_and_then_recorded(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path, START, turn_played(1.0))
        for event in (START, turn_played(1.0), answered()):
            run.recording.emit(event)
        assert run.recorded == [START, turn_played(1.0), answered()]
        assert run.counted == [START, turn_played(1.0), answered()]
        assert run.shown == [answered()], "a person has seen the others"
        assert run.repeated == [(1, 1)]

    @pytest.mark.parametrize("event", [answered(seconds=1.0), failed(1.0), turn_played(1.0), episode_ended()])
    def test_a_duration_is_not_a_difference(self, event: ModelAnswered | TurnPlayed) -> None:
        later = replace(event, seconds=99.0)
        assert is_same(event, later)
        recording = replay_of(event)
        recording.emit(later)
        assert not recording.is_repeating

    def test_a_replay_that_differs_names_the_line(self) -> None:
        recording = replay_of(START, turn_played(1.0))
        recording.emit(START)
        with pytest.raises(Diverged) as raised:
            recording.emit(OTHER)
        assert raised.value.difference == Difference(6, turn_played(1.0), OTHER)
        assert str(raised.value) == "line 6 of the journal is not repeated"

    def test_a_replay_ends_with_its_recording(self) -> None:
        recording = replay_of(START, PAUSED)
        recording.emit(START)
        assert not recording.is_repeating
        with pytest.raises(RecordingEnded):
            recording.emit(turn_played(1.0))
        with pytest.raises(RecordingEnded):
            recording.get(MemoryRemoved, lambda: None)

    def test_the_turn_in_flight_is_cut_off_if_the_run_goes_on_differently_and_no_other(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path / "in flight", turn_played(1.0), answered(), answered(role="memory"))
        for event in (turn_played(1.0), answered(), OTHER):
            run.recording.emit(event)
        assert run.recorded == [turn_played(1.0), answered(), OTHER]
        run = Resumed(tmp_path / "played", answered(), turn_played(1.0))
        with pytest.raises(Diverged):
            run.recording.emit(OTHER)
        assert run.recorded == [answered(), turn_played(1.0)]


class TestPauses:
    def test_a_pause_is_cut_off_when_the_run_goes_on(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path, turn_played(1.0), PAUSED)
        run.recording.emit(turn_played(1.0))
        assert run.recorded[-1] == PAUSED
        run.recording.emit(answered())
        assert run.recorded == [turn_played(1.0), answered()]

    def test_a_pause_while_turns_are_repeated_leaves_the_journal_as_it_is(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path, turn_played(1.0), turn_played(2.0, turn=2))
        run.recording.emit(turn_played(1.0))
        run.recording.emit(PAUSED)
        assert run.recorded == [turn_played(1.0), turn_played(2.0, turn=2)]
        assert run.shown == [PAUSED]


class TestOutsideInputs:
    def test_a_recorded_one_is_taken_if_it_is_next_and_matches(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path, REMOVED, turn_played(1.0))
        assert run.recording.get(MemoryRemoved, lambda: REMOVED, lambda event: event.title == "another") is None
        assert run.recording.next_event == REMOVED
        assert run.recording.get(MemoryRemoved, lambda: pytest.fail("live")) == REMOVED
        assert run.recording.get(MemoryRemoved, lambda: pytest.fail("live")) is None, "there was none at that moment"

    def test_a_live_one_is_recorded_when_nothing_is_left_to_repeat(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path)
        assert run.recording.get(MemoryRemoved, lambda: None) is None
        assert run.recording.get(MemoryRemoved, lambda: REMOVED) == REMOVED
        assert run.recorded == [REMOVED]


class TestWholeTurns:
    def test_what_came_before_a_recorded_turn_is_repeated_with_it(self, tmp_path: Path) -> None:
        run = Resumed(tmp_path, answered(), answered(role="critic"), turn_played(1.0))
        assert run.recording.next_turn() == ([answered(), answered(role="critic")], turn_played(1.0))
        assert run.recording.next_event == turn_played(1.0)

    @pytest.mark.parametrize("after", [(), (episode_ended(), START, turn_played(1.0))])
    def test_a_turn_that_was_not_recorded_to_its_end_is_none(self, tmp_path: Path, after: tuple[Event, ...]) -> None:
        run = Resumed(tmp_path, answered(), *after)
        assert run.recording.next_turn() is None
        assert run.recording.next_event == answered()


def test_a_run_of_an_earlier_version_has_its_models_as_one_name() -> None:
    (run,) = (RECORDED / "runs").iterdir()
    first = next(read_journal(run)).event
    assert isinstance(first, RunStarted)
    for each in (read_manifest(run), first):
        assert (each.model, each.server, each.engine) == (("scripted",), (), "")

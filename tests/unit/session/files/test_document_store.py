"""``Memories.md`` shared with other processes and with people, on disks that fill up."""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from structlog.testing import capture_logs

from managers.memory.document import MemoriesDocument, Revision, parse_memories
from session.errors import StoreError
from session.events import Event, FileEdited, FileWritten
from session.files.document_store import DocumentStore, Edit
from session.files.journal import read_journal
from session.files.shared_files import QUIET, short_digest
from session.memory import Memory, MemoryStatus
from session.text import text_key
from tests.fixtures.forked import started
from tests.fixtures.held_stores import HeldStores, held
from tests.unit.managers.memory_parts import manager_in, memory, titles


def added(title: str) -> Edit[MemoriesDocument]:
    """Return an edit that always has something to do."""
    return lambda document: document.add_memory(31, "Blue Vats", memory(title))


def store_at(path: Path) -> DocumentStore[MemoriesDocument]:
    return DocumentStore(path, parse_memories)


def titles_in(path: Path) -> list[str]:
    return titles(parse_memories(path.read_bytes().decode()).memories())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work" / "Memories.md"


class TestWriting:
    def test_the_folder_is_made_and_the_backup_holds_the_version_before(self, path: Path) -> None:
        store = store_at(path)
        assert not store.apply(Revision(31, invalidated=("never heard of",)).apply_to)
        assert not path.exists()
        assert store.apply(added("a"))
        assert titles_in(path) == ["a"]
        before = path.read_bytes()
        store.apply(added("b"))
        assert path.with_name("Memories.md.backup").read_bytes() == before
        path.unlink()
        store.apply(added("c"))
        assert titles_in(path) == ["c"], "a deleted file is begun again"

    def test_a_deferred_edit_goes_with_the_next_one(self, path: Path) -> None:
        store = store_at(path)
        store.defer(added("a"))
        assert titles(store.document.memories()) == ["a"]
        assert not path.exists()
        store.apply(added("b"))
        assert titles_in(path) == ["a", "b"]
        assert store.unsaved == 0


class TestOthersWrite:
    def test_what_another_process_wrote_is_merged_in_even_after_a_write_that_failed(self, path: Path) -> None:
        mine, other = store_at(path), store_at(path)
        other.apply(added("theirs"))
        assert mine.apply(added("mine"))
        assert titles(mine.document.memories()) == titles_in(path) == ["theirs", "mine"]
        backup = path.with_name("Memories.md.backup")
        backup.unlink()
        backup.mkdir()
        with pytest.raises(StoreError):
            mine.apply(added("waits"))
        backup.rmdir()
        store_at(path).apply(added("theirs too"))
        mine.commit()
        assert titles_in(path) == ["theirs", "mine", "theirs too", "waits"]

    def test_what_a_person_wrote_is_seen_and_survives_even_if_size_and_time_stay_the_same(self, path: Path) -> None:
        store = store_at(path)
        store.apply(added("a"))
        edited = "<!-- mind the vats -->\n" + path.read_text().replace("About a.", "About a, mended.")
        path.write_text(edited)
        store.look()
        assert store.document.render() == edited
        store.apply(added("b"))
        assert "<!-- mind the vats -->" in path.read_text()
        assert "mended" in path.read_text()
        stat = path.stat()
        path.write_bytes(path.read_bytes().replace(b"About a,", b"About z,"))
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        store.apply(added("c"))
        assert "About z," in path.read_text()

    def test_a_revision_leaves_a_document_alone_where_its_title_stands_already(self) -> None:
        document = added("same")(parse_memories(""))
        again = Revision(31, new=memory("SAME"), superseded=("never",), invalidated=("heard of",))
        assert again.apply_to(document) is document


class TestFailures:
    def test_what_is_not_understood_is_named_by_its_byte_or_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "Memories.md"
        path.write_bytes(b"# Location Memories\n\n\xff\n")
        with pytest.raises(StoreError, match=r"Memories\.md: byte 21 \(0xff, in line 3\) is not UTF-8"):
            store_at(path)
        path.write_text("# Location Memories\n\n**[NOTE] Lost**\nnowhere\n")
        with capture_logs() as logs:
            manager_in(tmp_path)
        assert [entry["error"].startswith(f"{path}:3: ") for entry in logs] == [True]

    def test_a_malformed_header_that_is_written_during_a_run_is_reported_once_when_it_is_read(
        self, tmp_path: Path
    ) -> None:
        path, manager = tmp_path / "Memories.md", manager_in(tmp_path)
        run = held(tmp_path, manager)
        with capture_logs() as logs:
            path.write_text("# Location Memories\n\n## Location 31: Blue Vats\n\n**[] Nothing**\nIt is wet.\n")
            for number in range(3):
                run.look()
                manager.followed()
                manager.add_memory(31, "Blue Vats", memory(f"Vat {number}"))
                run.commit()
                manager.followed()
        errors = [entry["error"] for entry in logs if entry["log_level"] == "error"]
        assert len(errors) == 1
        assert errors[0].startswith(f"{path}:5: ")

    def test_a_file_that_ceases_to_be_utf8_is_not_overwritten_and_memories_wait(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        manager.add_memory(31, "Blue Vats", memory("a"))
        good = manager.memory_file.read_bytes()
        manager.memory_file.write_bytes(good + b"\xff")
        with capture_logs() as logs:
            assert not manager.add_memory(31, "Blue Vats", memory("b"))
            assert not manager.add_memory(31, "Blue Vats", memory("c"))
        errors = [entry["error"] for entry in logs if entry["log_level"] == "error"]
        assert len(errors) == 1
        assert "is not UTF-8" in errors[0]
        assert manager.memory_file.read_bytes() == good + b"\xff"
        assert titles(manager.memory_cache) == ["a", "b", "c"]
        manager.memory_file.write_bytes(good)
        assert manager.add_memory(31, "Blue Vats", memory("d"))
        assert titles_in(manager.memory_file) == ["a", "b", "c", "d"]

    def test_a_file_that_cannot_be_written_gives_one_error_and_is_tried_again(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        manager.add_memory(31, "Blue Vats", memory("a"))
        backup = tmp_path / "Memories.md.backup"
        (backup / "in the way").mkdir(parents=True)
        with capture_logs() as logs:
            for title in ("b", "c"):
                assert not manager.add_memory(31, "Blue Vats", memory(title))
            assert not manager.supersede_memory(31, "Blue Vats", "a", memory("a, better"))
            assert not manager.add_memory(31, "Blue Vats", memory("B"))
        assert [entry["log_level"] for entry in logs].count("error") == 1
        assert titles(manager.memory_cache) == ["b", "c", "a, better"]
        assert "a, better" in manager.get_location_memory(31)
        assert manager.get_status()["state"]["writable"] is False
        assert titles_in(manager.memory_file) == ["a"]
        (backup / "in the way").rmdir()
        backup.rmdir()
        manager.end()
        assert titles_in(manager.memory_file) == titles(manager.memory_cache) == ["b", "c", "a, better"]
        assert manager.get_status()["metrics"]["pending_edits"] == 0


PLACES = st.sampled_from([31, 44])
TITLES = st.sampled_from(["Mordant first", "mordant  FIRST", "Beam [high] *far*", "~~Vat~~", "Fumes"])
TIERS = st.sampled_from(["core", "permanent", "ephemeral"])


@settings(max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
class AnySequence(RuleBasedStateMachine):
    """For any changes by the program, another process and a user, the cache equals the file and no memory is lost.

    persistent, ephemeral: the expected memories, as (location id, title key)
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.manager = manager_in(Path(self.folder.name))
        self.persistent: set[tuple[int, str]] = set()
        self.ephemeral: set[tuple[int, str]] = set()
        self.written_by_hand = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    def tier(self, new: Memory) -> set[tuple[int, str]]:
        return self.ephemeral if new.persistence == "ephemeral" else self.persistent

    @rule(place=PLACES, title=TITLES, persistence=TIERS)
    def add(self, place: int, title: str, persistence: str) -> None:
        new = memory(title, persistence)
        key = place, text_key(title)
        expected = key not in self.persistent | self.ephemeral
        assert self.manager.add_memory(place, "Somewhere", new) is expected
        if expected:
            self.tier(new).add(key)

    @rule(place=PLACES, old=TITLES, title=TITLES, persistence=TIERS)
    def supersede(self, place: int, old: str, title: str, persistence: str) -> None:
        new = memory(title, persistence)
        given_up, key = (place, text_key(old)), (place, text_key(title))
        is_legal = not (given_up in self.persistent and persistence == "ephemeral")
        is_new = key not in (self.persistent | self.ephemeral) - {given_up}
        expected = given_up in self.persistent | self.ephemeral and is_legal and is_new
        assert self.manager.supersede_memory(place, "Somewhere", old, new) is expected
        if expected:
            self.persistent.discard(given_up)
            self.ephemeral.discard(given_up)
            self.tier(new).add(key)

    @rule(place=PLACES, title=TITLES)
    def invalidate(self, place: int, title: str) -> None:
        key = place, text_key(title)
        assert self.manager.invalidate_memory(place, title, "proven false") is (key in self.persistent | self.ephemeral)
        self.persistent.discard(key)
        self.ephemeral.discard(key)

    @rule()
    def reset(self) -> None:
        self.manager.reset_episode()
        self.ephemeral.clear()

    @rule()
    def reload(self) -> None:
        self.manager = manager_in(Path(self.folder.name))
        self.ephemeral.clear()

    @rule(place=PLACES, title=TITLES)
    def another_process_adds(self, place: int, title: str) -> None:
        other = manager_in(Path(self.folder.name))
        if (place, text_key(title)) not in self.ephemeral and other.add_memory(place, "Elsewhere", memory(title)):
            self.persistent.add((place, text_key(title)))

    @rule(place=PLACES, title=TITLES)
    def another_process_invalidates(self, place: int, title: str) -> None:
        manager_in(Path(self.folder.name)).invalidate_memory(place, title, "theirs")
        self.persistent.discard((place, text_key(title)))

    @rule(place=PLACES, remark=st.sampled_from(["", "<!-- mine -->\n", "# My own part\n\nprose\n\n"]))
    def a_person_writes_a_memory(self, place: int, remark: str) -> None:
        self.written_by_hand += 1
        title = f"By hand {self.written_by_hand}"
        text = self.text()
        self.write(f"{text}\n\n{remark}## Location {place}: Somewhere\n\n**[NOTE] {title}**\nText\n")
        self.persistent.add((place, text_key(title)))

    @rule(line_end=st.sampled_from(["\n", "\r\n"]))
    def a_person_changes_the_line_ends(self, line_end: str) -> None:
        self.write(self.text().replace("\r\n", "\n").replace("\n", line_end))

    def text(self) -> str:
        file = self.manager.memory_file
        return file.read_bytes().decode() if file.exists() else ""

    def write(self, text: str) -> None:
        self.manager.memory_file.write_bytes(text.encode())

    @invariant()
    def the_cache_is_the_file_and_nothing_that_stands_is_lost(self) -> None:
        self.manager.get_location_memory(31)
        assert self.manager.memory_cache == parse_memories(self.text()).memories()
        assert self.standing(self.manager.memory_cache) == sorted(self.persistent)
        assert self.standing(self.manager.ephemeral_cache) == sorted(self.ephemeral)

    def standing(self, cache: dict[int, list[Memory]]) -> list[tuple[int, str]]:
        return sorted(
            (place, text_key(kept.title))
            for place, memories in cache.items()
            for kept in memories
            if kept.status != MemoryStatus.SUPERSEDED
        )


TestAnySequence = AnySequence.TestCase


FILE = "vats.md"


@dataclass(frozen=True)
class Lines:
    """A document of lines."""

    text: str

    def render(self) -> str:
        return self.text


def another(line: str) -> Edit[Lines]:
    """Return an edit that adds the line at the end, even if the document has it: an edit made twice shows."""
    return lambda document: Lines(f"{document.text}{line}\n")


class Session:
    """A run that adds a line in each turn, and goes on after what its journal contains."""

    def __init__(self, folder: Path, begun: str = "vats\n") -> None:
        self.folder = folder
        self.path = folder / FILE
        folder.mkdir(parents=True, exist_ok=True)
        is_new = not (folder / "journal" / "journal.jsonl").exists()
        if is_new and begun:
            self.path.write_text(begun)
        self.store: DocumentStore[Lines] = DocumentStore(self.path, Lines)
        self.held = HeldStores(folder / "journal", [self.store], {FILE: begun.encode()})

    def play(self, *lines: str) -> Session:
        for line in lines:
            self.held.look()
            self.store.apply(another(line))
            self.held.commit()
        self.held.look()
        return self

    @property
    def text(self) -> str:
        return self.path.read_text() if self.path.exists() else ""

    @property
    def recorded(self) -> list[Event | None]:
        return [line.event for line in read_journal(self.folder / "journal")]


def resumed(folder: Path, *lines: str, begun: str = "vats\n") -> Session:
    return Session(folder, begun).play(*lines)


def killed_while_it_writes(folder: Path, *lines: str) -> None:
    """A run that is killed in a process of its own, right before its last line would get into the file."""
    process = started(_play_and_die, folder, lines)
    process.join()
    assert process.exitcode == -signal.SIGKILL


def _play_and_die(folder: Path, lines: Sequence[str]) -> None:
    session = Session(folder).play(*lines[:-1])

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.rename" and str(arguments[1]) == str(session.path):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    session.play(lines[-1])


def in_the_past(path: Path) -> None:
    """The file was written an hour ago."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - 3_600_000_000_000))


def test_the_journal_has_the_digests_of_both_versions_of_a_write_and_a_resumed_run_does_not_repeat_it(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path).play("mordant", "alum")
    first, second = session.recorded
    assert isinstance(first, FileWritten)
    assert isinstance(second, FileWritten)
    assert (first.file, first.after) == (FILE, second.before)
    assert second.after == session.store.digest
    status = session.path.stat()
    after = resumed(tmp_path, "mordant", "alum")
    assert after.store.document.text == "vats\nmordant\nalum\n"
    assert after.path.stat() == status
    assert after.recorded == session.recorded


def test_a_kill_between_backup_and_file_loses_nothing(tmp_path: Path) -> None:
    Session(tmp_path).play("mordant", "alum")
    backup = tmp_path / f"{FILE}.backup"
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).hardlink_to(backup)
    assert resumed(tmp_path, "mordant", "alum").text == "vats\nmordant\nalum\n"


class TestAPersonEdits:
    @pytest.mark.parametrize(
        ("played", "edited", "expected"),
        [
            (("mordant", "alum"), "by hand\nvats\nmordant\nalum\n", "by hand\nvats\nmordant\nalum\n"),
            (("mordant", "alum"), "vats\nmordant\n", "vats\nmordant\n"),
            (("mordant", "alum", "woad"), "vats\nmordant\nwoad\nby hand\n", "vats\nmordant\nwoad\nby hand\n"),
        ],
        ids=["added", "deleted, byte for byte as before the last write", "one deleted and one added"],
    )
    def test_what_they_wrote_or_deleted_is_recorded_and_neither_lost_nor_undone(
        self, tmp_path: Path, played: tuple[str, ...], edited: str, expected: str
    ) -> None:
        session = Session(tmp_path).play(*played)
        in_the_past(tmp_path / f"{FILE}.backup")
        session.path.write_text(edited)
        again = resumed(tmp_path, *played)
        assert again.text == again.store.document.text == expected
        assert again.recorded[-1] == FileEdited(FILE, expected)

    def test_an_edit_of_a_file_that_had_lost_writes_gets_them_back_once(self, tmp_path: Path) -> None:
        """A power cut lost the last two writes; then a person edited what was left."""
        session = Session(tmp_path).play("mordant")
        backup, file = (tmp_path / f"{FILE}.backup").read_bytes(), session.path.read_bytes()
        resumed(tmp_path, "mordant", "alum", "woad")
        (tmp_path / f"{FILE}.backup").write_bytes(backup)
        session.path.write_bytes(b"by hand\n" + file)
        for _ in range(2):
            again = resumed(tmp_path, "mordant", "alum", "woad")
            again.held.commit()
            assert again.store.document.text == again.text == "by hand\nvats\nmordant\nalum\nwoad\n"
        edits = [event for event in again.recorded if isinstance(event, FileEdited)]
        assert [edit.lacks for edit in edits] == [2]

    @pytest.mark.parametrize("backup", [None, "older\n"], ids=["no backup", "a backup of the time before"])
    @pytest.mark.parametrize("is_noted", [True, False], ids=["with its history", "without its history"])
    def test_an_edit_after_a_power_cut_that_lost_the_whole_episode_loses_none_of_it(
        self, tmp_path: Path, backup: str | None, is_noted: bool
    ) -> None:
        Session(tmp_path).play("mordant", "alum", "woad")
        history = tmp_path / f"{FILE}.history"
        for name in (f"{FILE}.backup", *(() if is_noted else (history.name,))):
            (tmp_path / name).unlink()
        if is_noted:
            before, after = short_digest(backup.encode() if backup else None), short_digest(b"vats\n")
            history.write_text(f"0123abcd {before} {after}\n")
        if backup:
            (tmp_path / f"{FILE}.backup").write_text(backup)
        (tmp_path / FILE).write_text("by hand\nvats\n")
        again = resumed(tmp_path, "mordant", "alum", "woad")
        again.held.commit()
        assert again.text == "by hand\nvats\nmordant\nalum\nwoad\n"

    @pytest.mark.parametrize("older", [b"vats\n", b"vats\nmordant\n"], ids=["the first version", "the last but one"])
    def test_an_older_version_that_they_restore_with_its_time_is_respected(self, tmp_path: Path, older: bytes) -> None:
        session = Session(tmp_path).play("mordant", "alum")
        session.path.unlink()
        session.path.write_bytes(older)
        in_the_past(session.path)
        again = resumed(tmp_path, "mordant", "alum", "woad")
        assert again.text == older.decode() + "woad\n"

    @pytest.mark.parametrize("lost", [0, 1], ids=["after the last write", "before the last write"])
    @pytest.mark.parametrize("by_hand", [0, 1, 2], ids=["only by commands", "by hand, too", "by hand before that, too"])
    def test_commands_that_write_the_file_meanwhile_hide_no_lost_write(
        self, tmp_path: Path, lost: int, by_hand: int
    ) -> None:
        """The run was killed after or before its last write; then two commands of the program write the file."""
        lines = ["mordant", "alum", *(["woad"] if lost else [])]
        if lost:
            killed_while_it_writes(tmp_path, *lines)
        else:
            Session(tmp_path).play(*lines)
        for number in (1, 2):
            if number == by_hand:
                text = (tmp_path / FILE).read_text()
                (tmp_path / FILE).write_text(f"by hand\n{text}")
            DocumentStore(tmp_path / FILE, Lines).apply(another(f"command {number}"))
        again = resumed(tmp_path, *lines)
        again.held.commit()
        expected = ["vats", *lines, "command 1", "command 2", *(["by hand"] if by_hand else [])]
        assert sorted(again.text.splitlines()) == sorted(expected)

    def test_what_they_delete_after_two_commands_have_written_stays_deleted(self, tmp_path: Path) -> None:
        Session(tmp_path).play("mordant", "alum")
        for number in (1, 2):
            DocumentStore(tmp_path / FILE, Lines).apply(another(f"command {number}"))
        (tmp_path / FILE).write_text("vats\nmordant\ncommand 1\ncommand 2\n")
        assert resumed(tmp_path, "mordant", "alum").text == "vats\nmordant\ncommand 1\ncommand 2\n"

    def test_an_edit_while_the_run_was_played_is_made_again_at_its_place(self, tmp_path: Path) -> None:
        session = Session(tmp_path).play("mordant")
        session.path.write_text("by hand\n")
        session.play("alum")
        assert session.text == "by hand\nalum\n"
        session.path.unlink()
        again = resumed(tmp_path, "mordant", "alum")
        assert again.store.document.text == ""
        assert [type(event) for event in again.recorded] == [FileWritten, FileEdited, FileWritten, FileEdited]


class TestASlowWriter:
    """A person whose program writes the file in place, with pauses."""

    def test_a_half_that_has_been_quiet_for_a_second_is_not_read_at_the_start_of_a_turn(self, tmp_path: Path) -> None:
        session = Session(tmp_path).play("mordant", "alum")
        with session.path.open("r+b") as file:
            file.truncate()
            write_some(file, b"by hand\nva", age=1.5)
            session.held.look()
            assert session.store.document.text == "vats\nmordant\nalum\n"
            write_some(file, b"ts\nmordant\nalum\n", age=0)
        assert session.play().text == session.store.document.text == "by hand\nvats\nmordant\nalum\n"

    @pytest.mark.parametrize("was_read", [True, False], ids=["by a run", "by a resumed run"])
    def test_the_rest_of_a_line_is_waited_for(self, tmp_path: Path, *, was_read: bool) -> None:
        session = Session(tmp_path).play("mordant")
        with ThreadPoolExecutor() as pool, session.path.open("ab") as file:
            write_some(file, b"by h", age=1.5)
            rest = pool.submit(write_slowly_to, file, [b"a", b"nd\n"], 0.3)
            played = session.play("alum") if was_read else resumed(tmp_path, "mordant", "alum")
            rest.result()
        assert played.text == "vats\nmordant\nby hand\nalum\n"

    def test_a_last_line_without_an_end_is_taken_after_some_seconds(self, tmp_path: Path) -> None:
        session = Session(tmp_path).play("mordant")
        with session.path.open("ab") as file:
            write_some(file, b"by hand", age=5)
        assert session.play().store.document.text == "vats\nmordant\nby hand"

    def test_what_is_added_to_a_replaced_version_without_a_line_end_is_a_line_of_its_own(self, tmp_path: Path) -> None:
        session = Session(tmp_path).play("mordant")
        with session.path.open("ab") as file:
            session.play("alum")
            write_some(file, b"by hand", age=5)
        session.play("woad")
        assert session.text == "vats\nmordant\nby hand\nalum\nwoad\n"

    @pytest.mark.slow
    def test_one_who_takes_too_long_is_not_waited_for_and_loses_nothing(self, tmp_path: Path) -> None:
        session = Session(tmp_path).play("mordant", "alum")
        with ThreadPoolExecutor() as pool, session.path.open("r+b") as file:
            file.truncate()
            writing = pool.submit(write_slowly_to, file, [b"vat", b"s\nmor", b"dant\na", b"lum\nby ", b"hand\n"], 1.2)
            session.play("woad")
            assert not writing.done()
            writing.result()
        time.sleep(QUIET)
        session.play("weld")
        assert session.text == "vats\nmordant\nalum\nby hand\nwoad\nweld\n"


def write_some(file: BinaryIO, content: bytes, age: float) -> None:
    """Write content, as if that was so many seconds ago."""
    file.write(content)
    file.flush()
    now = time.time_ns() - int(age * 1e9)
    os.utime(file.fileno(), ns=(now, now))


def write_slowly_to(file: BinaryIO, parts: Sequence[bytes], pause: float) -> None:
    for part in parts:
        write_some(file, part, age=0)
        time.sleep(pause)


def write_slowly(path: Path, note: str, empty: float, half: float) -> None:
    """Write a note into the file as some programs for copies do: in place, with pauses."""
    with path.open("r+b") as file:
        whole = file.read() + f"{note}\n".encode()
        file.seek(0)
        file.truncate()
        time.sleep(empty)
        file.write(whole[: len(whole) // 2])
        file.flush()
        time.sleep(half)
        file.write(whole[len(whole) // 2 :])


def play_while_a_person_writes(folder: Path, notes: int, chance: random.Random) -> None:
    """A run adds lines while a person writes notes slowly, each with pauses of its own; none of either is lost."""
    session, played = Session(folder), 0
    with ThreadPoolExecutor() as pool:
        for number in range(notes):
            pauses = chance.uniform(0, 1.2), chance.uniform(0, 1.8)
            writing = pool.submit(write_slowly, session.path, f"note {number}", *pauses)
            while not writing.done():
                session.play(f"line {played}")
                played += 1
                time.sleep(0.15)
            writing.result()
        time.sleep(QUIET)
        session.play("the last")
        session.held.commit()
    lines = session.text.splitlines()
    expected = [f"note {number}" for number in range(notes)] + [f"line {number}" for number in range(played)]
    assert sorted(lines) == sorted(["vats", *expected, "the last"])
    again = Session(folder).play(*(f"line {number}" for number in range(played)), "the last")
    again.held.commit()
    assert again.text == session.text


@pytest.mark.slow
def test_no_note_that_a_person_writes_slowly_in_place_is_lost_and_none_of_the_runs_lines(tmp_path: Path) -> None:
    """25 notes, five to each of five runs at once, because most of the time is spent waiting."""
    with ThreadPoolExecutor() as pool:
        runs = [
            pool.submit(play_while_a_person_writes, tmp_path / str(number), 5, random.Random(number))
            for number in range(5)
        ]
    for run in runs:
        run.result()


def test_while_turns_are_repeated_the_file_is_neither_read_nor_written(tmp_path: Path) -> None:
    Session(tmp_path).play("mordant", "alum")
    (tmp_path / FILE).write_text("by hand\n")
    session = Session(tmp_path)
    session.held.look()
    session.store.apply(another("mordant"))
    session.held.commit()
    assert session.store.document.text == "vats\nmordant\n"
    assert session.text == "by hand\n"


LINES = st.lists(st.sampled_from(["mordant", "alum", "woad"]), min_size=1, max_size=4)


@settings(max_examples=80, deadline=None)
@given(lines=LINES, more=LINES, lost=st.integers(0, 4), begun=st.sampled_from(["", "vats\n"]))
def test_stopped_anywhere_it_ends_like_one_that_was_never_stopped(
    lines: Sequence[str], more: Sequence[str], lost: int, begun: str
) -> None:
    """A power cut takes back as many of the last writes as it may, with the backups of that time."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Session(Path(folder) / "whole", begun).play(*lines, *more)
        kept = max(0, len(lines) - lost)
        cut = Path(folder) / "cut"
        Session(cut, begun).play(*lines[:kept])
        files = {path.name: path.read_bytes() for path in cut.glob(f"{FILE}*") if path.suffix != ".lock"}
        resumed(cut, *lines, begun=begun)
        for path in cut.glob(f"{FILE}*"):
            path.unlink()
        for name, content in sorted(files.items(), reverse=True):
            (cut / name).write_bytes(content)
        again = resumed(cut, *lines, *more, begun=begun)
        assert again.text == again.store.document.text == whole.text
        assert again.recorded == whole.recorded

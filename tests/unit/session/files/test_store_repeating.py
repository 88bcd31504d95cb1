"""A store whose turns are repeated ends like one without a stop, whatever happened to its file in between."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session.events import Event, FileEdited, FileWritten
from session.files.document_store import DocumentStore
from session.files.journal import read_journal
from tests.fixtures.held_stores import HeldStores

FILE = "vats.md"


@dataclass(frozen=True)
class Lines:
    """A document of lines."""

    text: str

    def render(self) -> str:
        return self.text


@dataclass(frozen=True)
class Line:
    """Another line at the end, even if the document has it: an edit that is made twice shows."""

    text: str

    def apply_to(self, document: Lines) -> Lines:
        return Lines(f"{document.text}{self.text}\n")


class Session:
    """A run that adds a line in each turn, and goes on after what its journal contains."""

    def __init__(self, folder: Path, begun: str = "vats\n") -> None:
        self.folder = folder
        self.path = folder / FILE
        folder.mkdir(parents=True, exist_ok=True)
        is_new = not (folder / "journal" / "journal.jsonl").exists()
        if is_new and begun:
            self.path.write_text(begun)
        self.store: DocumentStore[Lines, Line] = DocumentStore(self.path, Lines)
        self.held = HeldStores(folder / "journal", [self.store], {FILE: begun.encode()})

    def play(self, *lines: str) -> Session:
        for line in lines:
            self.held.look()
            self.store.apply(Line(line))
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

    def test_an_edit_while_the_run_was_played_is_made_again_at_its_place(self, tmp_path: Path) -> None:
        session = Session(tmp_path).play("mordant")
        session.path.write_text("by hand\n")
        session.play("alum")
        assert session.text == "by hand\nalum\n"
        session.path.unlink()
        again = resumed(tmp_path, "mordant", "alum")
        assert again.store.document.text == ""
        assert [type(event) for event in again.recorded] == [FileWritten, FileEdited, FileWritten, FileEdited]


def test_while_turns_are_repeated_the_file_is_neither_read_nor_written(tmp_path: Path) -> None:
    Session(tmp_path).play("mordant", "alum")
    (tmp_path / FILE).write_text("by hand\n")
    session = Session(tmp_path)
    session.held.look()
    session.store.apply(Line("mordant"))
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

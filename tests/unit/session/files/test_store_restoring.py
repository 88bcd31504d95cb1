"""A store that is put back after a kill ends where one ends that was never stopped, whatever happened in between."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from session.files.document_store import DocumentStore, StoreState


@dataclass(frozen=True)
class Lines:
    """A document of lines."""

    text: str

    def render(self) -> str:
        return self.text


@dataclass(frozen=True)
class Line:
    """Another line at the end. ``is_counted``: also where it stands already, so that once too often shows."""

    text: str
    is_counted: bool = True

    def apply_to(self, document: Lines) -> Lines:
        if not self.is_counted and self.text in document.text.splitlines():
            return document
        return Lines(f"{document.text}{self.text}\n")


STATES = TypeAdapter(StoreState[Line])


class Watched:
    """Writes down what others were seen to have written: in which look, and what."""

    def __init__(self) -> None:
        self.noticed_edits: list[tuple[int, str]] = []
        self.repeats = False

    def reading(self, _path: Path, _read: int) -> bool:
        """Nothing is repeated, or else nobody may look."""
        return not self.repeats

    def noticed(self, _path: Path, read: int, text: str) -> None:
        self.noticed_edits.append((read, text))


class Session:
    """A store as a run has it, of a file that held ``begun``."""

    def __init__(self, path: Path, begun: str = "", *, copies: Path | None = None) -> None:
        self.path = path
        if begun:
            path.write_text(begun)
        self.watch = Watched()
        self.store: DocumentStore[Lines, Line] = DocumentStore(path, Lines, STATES)
        self.store.hold(self.watch, copies)

    def play(self, applied: list[Line], deferred: list[Line]) -> StoreState[Line]:
        self.store.refresh()
        for edit in applied:
            self.store.apply(edit)
        for edit in deferred:
            self.store.defer(edit)
        return STATES.validate_json(STATES.dump_json(self.store.state()))

    def commit(self) -> None:
        self.store.commit()
        self.store.refresh()

    @property
    def text(self) -> str:
        return self.path.read_text() if self.path.exists() else ""

    @property
    def end(self) -> tuple[str, str, list[tuple[int, str]], StoreState[Line]]:
        """All that another session could see of it."""
        return self.text, self.store.document.text, self.watch.noticed_edits, self.store.state()


EDITS = st.lists(st.builds(Line, st.sampled_from(["mordant", "alum", "woad"]), st.booleans()), max_size=3)


@settings(max_examples=150, deadline=None)
@given(
    begun=st.sampled_from(["", "vats\n"]),
    applied=EDITS,
    deferred=EDITS,
    was_committed=st.booleans(),
    by_hand=st.sampled_from(["", "by hand\n", "alum\nby hand\n"]),
)
def test_a_store_put_back_ends_where_one_ends_that_was_never_stopped(
    begun: str, applied: list[Line], deferred: list[Line], was_committed: bool, by_hand: str
) -> None:
    """Where a person has edited the file since, it ends as if its commit had found that file."""
    with tempfile.TemporaryDirectory() as folder:
        killed, whole = (Session(Path(folder) / name, begun) for name in ("killed.md", "whole.md"))
        state = killed.play(applied, deferred)
        if was_committed:
            killed.store.commit()
        if by_hand:
            killed.path.write_text(by_hand + killed.text)
        whole.play(applied, deferred)
        if by_hand:
            whole.path.write_text(killed.text)
        whole.commit()
        resumed = Session(killed.path)
        resumed.store.restore(state)
        resumed.commit()
        assert resumed.end == whole.end
        assert bool(resumed.watch.noticed_edits) == bool(by_hand)


@settings(max_examples=60, deadline=None)
@given(applied=EDITS, deferred=EDITS, by_hand=st.sampled_from(["", "by hand\n"]))
def test_edits_that_are_known_to_be_committed_are_not_made_again_whoever_edited_the_file_since(
    applied: list[Line], deferred: list[Line], by_hand: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        killed = Session(Path(folder) / "killed.md", "vats\n")
        state = killed.play(applied, deferred)
        killed.store.commit()
        killed.path.write_text(by_hand)
        resumed = Session(killed.path)
        resumed.store.restore(state.committed())
        resumed.commit()
        assert resumed.text == by_hand


@pytest.mark.parametrize("copy", ["whole", "damaged", "missing"])
@pytest.mark.parametrize("begun", ["", "vats\n"])
def test_what_others_wrote_since_is_not_seen_while_turns_are_repeated(tmp_path: Path, begun: str, copy: str) -> None:
    """As long as the run has its copy of the file; without it nothing is lost, but it is seen at once."""
    killed = Session(tmp_path / "killed.md", begun, copies=tmp_path / "copies")
    (tmp_path / "copies").mkdir()
    state = killed.play([], [Line("mordant")])
    killed.store.keep()
    if copy == "damaged":
        (tmp_path / "copies" / "killed.md").write_text("va")
    elif copy == "missing":
        (tmp_path / "copies" / "killed.md").unlink()
    killed.path.write_text("by hand\n")
    resumed = Session(killed.path, copies=tmp_path / "copies")
    resumed.store.restore(state)
    resumed.watch.repeats = True
    resumed.commit()
    assert resumed.store.document.text == (begun if copy == "whole" else "by hand\n") + "mordant\n"
    assert resumed.watch.noticed_edits == []
    resumed.watch.repeats = False
    resumed.commit()
    assert resumed.store.document.text == "by hand\nmordant\n"
    assert [text for _, text in resumed.watch.noticed_edits] == ["by hand\n"]


def test_the_runs_copy_is_of_what_it_wrote_itself(tmp_path: Path) -> None:
    session = Session(tmp_path / "vats.md", "a long line that goes\n", copies=tmp_path)
    session.store.copies = tmp_path / "copies"
    (tmp_path / "copies").mkdir()
    for line in ("mordant", "alum"):
        session.play([Line(line)], [])
        session.commit()
        session.store.keep()
        assert (tmp_path / "copies" / "vats.md").read_text() == session.text
    session.path.write_text("short\n")
    session.commit()
    session.store.keep()
    assert (tmp_path / "copies" / "vats.md").read_text() == "short\n"

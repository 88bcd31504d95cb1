"""Commits a run turn by turn: first the snapshot, where one is due, then the shared files."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from pydantic import ConfigDict, PlainSerializer, PlainValidator, TypeAdapter, ValidationError
from pydantic_core import from_json

from game_interface.core.game import Game
from game_interface.core.machine.saved_state import SavedState
from orchestration.guarded_model import GuardedModel
from orchestration.learning import Learning, LearningState
from orchestration.run_record import FileWatch
from session.errors import StoreError, first_problem
from session.files.atomic_write import force_to_disk
from session.files.journal import Journal
from session.files.run_folders import AT_START, SharedFiles
from session.files.snapshot import copies_in, make_checkpoint, mark_committed, read_mark, write_snapshot
from zorkgpt.llm.breaker import Circuit

if TYPE_CHECKING:
    from pathlib import Path


LONGEST_TAIL = 25
"""So many turns at most are repeated from the journal where a run was killed."""


def _encoded(game: SavedState | None) -> str:
    """Return the story's state as base64, "" for none."""
    return b64encode(game.to_bytes()).decode() if game else ""


def _decoded(text: str) -> SavedState | None:
    return SavedState.from_bytes(b64decode(text)) if text else None


@dataclass(frozen=True, slots=True)
class SessionState:
    """A run between two turns, or between two episodes.

    seq, sum: the latest line of the journal
    episode_index: of the episode being played or to be played next, from 0
    game: the story's state; ``None`` between episodes
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")  # a field of another version is never lost in silence

    seq: int
    sum: str
    episode_index: int
    game: Annotated[SavedState | None, PlainSerializer(_encoded), PlainValidator(_decoded)]
    learning: LearningState
    tokens_per_character: float
    circuits: Mapping[str, Circuit]

    def to_json(self) -> bytes:
        """Return the state as JSON."""
        beside = _STATE.dump_json(self, exclude={"learning"})
        return b'%s,"learning":%s}' % (beside.removesuffix(b"}"), self.learning.to_json())

    @classmethod
    def from_json(cls, content: bytes) -> SessionState:
        """Read a state back. Raises ``StoreError`` for one of another version, ``GameError`` for a story's state."""
        try:
            return _STATE.validate_json(content)
        except ValidationError as error:
            raise StoreError(f"the snapshot is of another version: {first_problem(error)}") from error


class JournalPlace(NamedTuple):
    """The line of the journal that a snapshot was taken after: its number, from 1, and its sum."""

    seq: int
    sum: str


def journal_line_of(snapshot: bytes) -> JournalPlace:
    """Return the place of a snapshot of any version. Raises ``StoreError`` where it names none."""
    try:
        place = from_json(snapshot)
        return JournalPlace(place["seq"], place["sum"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError("the snapshot names no line of the journal") from error


_STATE = TypeAdapter(SessionState)


@dataclass(slots=True)
class Committer:
    """Writes down how the parts of a run stand, so that it can be resumed.

    A snapshot is written before a shared file is, and after somebody else has written one; otherwise only now and then,
    for an older snapshot and the lines of the journal since say the same.

    journal: where the run is written down; ``None`` for one that is only repeated, which needs no snapshots
    watch: told of looks at shared files, which change in :meth:`commit` alone from now on
    """

    journal: Journal | None
    game: Game
    learning: Learning
    model: GuardedModel
    files: SharedFiles
    watch: FileWatch
    _unwritten: SessionState | None = field(default=None, init=False)
    _tail: int = field(default=LONGEST_TAIL, init=False)  # the first turn has a snapshot

    def __post_init__(self) -> None:
        self.learning.hold(self.watch, copies_in(self.journal.folder) if self.journal else None)

    def commit(self, episode_index: int, *, in_episode: bool) -> None:
        """Write a snapshot where one is due, then the shared files: the run can be resumed from here.

        A kill between the two is mended at resume: the snapshot knows what the files should have got. Raises
        ``StoreError``.
        """
        if self.journal is None:
            self.learning.commit()
            return
        self.journal.sync()
        self._unwritten = self._state(self.journal, episode_index, in_episode)
        self._tail += 1
        if in_episode and self._tail < LONGEST_TAIL and not self.learning.is_due and not self.watch.has_noticed:
            self.learning.commit()
            return
        self._write_snapshot(self.journal.folder, self._unwritten)
        self.learning.commit()
        self.learning.keep()
        mark_committed(self.journal.folder, self.journal.seq)
        if not in_episode:
            self.settle()

    def begin(self) -> None:
        """Keep copies of the shared files as they are when the run begins, to go back to. Raises ``StoreError``."""
        if self.journal is not None:
            self.files.copy_to(self.journal.folder / AT_START, durable=True)
            mark_committed(self.journal.folder, 0, is_settled=True)

    def leave(self) -> None:
        """Settle the run when it is left, as far as the disk lets one: the journal is enough to resume it."""
        with suppress(StoreError):
            if self.journal is not None and self._unwritten is not None:
                seq = self._unwritten.seq
                self._write_snapshot(self.journal.folder, self._unwritten)
                if not self.learning.is_due:
                    mark_committed(self.journal.folder, seq)
            self.settle()

    def settle(self) -> None:
        """Force all that was committed to the disk, so that no power cut can undo it. Raises ``StoreError``."""
        if self.journal is None:
            return
        self.journal.sync()
        mark = read_mark(self.journal.folder)
        if mark is None or mark.is_settled:
            return
        for store in self.learning.stores():
            force_to_disk(store.path)
        make_checkpoint(self.journal.folder, mark.seq, self.files)

    def restore(self, state: SessionState) -> None:
        """Let the parts, the game aside, stand as they did when the snapshot was taken."""
        self.model.tokens.tokens_per_character = state.tokens_per_character
        self.model.breaker.restore(state.circuits)
        mark = read_mark(self.journal.folder) if self.journal else None
        is_done = mark is not None and mark.seq == state.seq
        self.learning.restore(state.learning, is_committed=is_done)
        self.learning.commit()
        if self.journal is not None and not (is_done or self.watch.has_noticed):
            self.learning.keep()
            mark_committed(self.journal.folder, state.seq)

    def _write_snapshot(self, folder: Path, state: SessionState) -> None:
        write_snapshot(folder, state.to_json())
        self._unwritten, self._tail, self.watch.has_noticed = None, 0, False

    def _state(self, journal: Journal, episode_index: int, in_episode: bool) -> SessionState:
        return SessionState(
            seq=journal.seq,
            sum=journal.sum,
            episode_index=episode_index,
            game=self.game.save() if in_episode else None,
            learning=self.learning.snapshot(),
            tokens_per_character=self.model.tokens.tokens_per_character,
            circuits=self.model.breaker.state(),
        )

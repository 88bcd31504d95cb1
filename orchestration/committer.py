"""Commits a run turn by turn: first the snapshot, then the shared files."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json

from game_interface.core.game import Game
from game_interface.core.machine.saved_state import SavedState
from orchestration.guarded_model import GuardedModel
from orchestration.learning import Learning, LearningState
from session.errors import StoreError, first_problem
from session.files.atomic_write import force_to_disk
from session.files.journal import Journal
from session.files.run_folders import AT_START, SharedFiles
from session.files.snapshot import make_checkpoint, mark_committed, read_mark, write_snapshot
from zorkgpt.llm.breaker import Circuit


@dataclass(frozen=True, slots=True)
class SessionState:
    """A run between two turns, or between two episodes.

    seq, sum: the latest line of the journal
    episode_index: of the episode being played or to be played next, from 0
    game: the story's state, base64; "" between episodes
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")  # a field of another version is never lost in silence

    seq: int
    sum: str
    episode_index: int
    game: str
    learning: LearningState
    tokens_per_character: float
    circuits: Mapping[str, Circuit]

    def to_json(self) -> bytes:
        """Return the state as JSON."""
        return _STATE.dump_json(self)

    @classmethod
    def from_json(cls, content: bytes) -> SessionState:
        """Read a state back. Raises ``StoreError`` for one of another version."""
        try:
            return _STATE.validate_json(content)
        except ValidationError as error:
            raise StoreError(f"the snapshot is of another version: {first_problem(error)}") from error

    @property
    def saved_game(self) -> SavedState:
        """The story's state, to be given to the game. Raises ``GameError`` where it is none."""
        return SavedState.from_bytes(b64decode(self.game))


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


def _encoded(game: SavedState) -> str:
    """Return the story's state in the form of ``SessionState.game``."""
    return b64encode(game.to_bytes()).decode()


_STATE = TypeAdapter(SessionState)


@dataclass(frozen=True, slots=True)
class Committer:
    """Writes down how the parts of a run stand, so that it can be resumed.

    journal: where the run is written down; ``None`` for one that is only repeated, which needs no snapshots
    """

    journal: Journal | None
    game: Game
    learning: Learning
    model: GuardedModel
    files: SharedFiles

    def commit(self, episode_index: int, *, in_episode: bool) -> None:
        """Write a snapshot and then the shared files: the run can be resumed from here. Raises ``StoreError``.

        A kill between the two is mended at resume: the snapshot knows what the files should have got.
        """
        if self.journal is None:
            self.learning.commit()
            return
        self.journal.sync()
        write_snapshot(self.journal.folder, self._state(self.journal, episode_index, in_episode).to_json())
        self.learning.commit()
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

    def _state(self, journal: Journal, episode_index: int, in_episode: bool) -> SessionState:
        return SessionState(
            seq=journal.seq,
            sum=journal.sum,
            episode_index=episode_index,
            game=_encoded(self.game.save()) if in_episode else "",
            learning=self.learning.snapshot(),
            tokens_per_character=self.model.tokens.tokens_per_character,
            circuits=self.model.breaker.state(),
        )

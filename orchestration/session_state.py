"""All that a run has to know to go on after its latest turn, as it is kept in a snapshot."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from game_interface.core.machine.saved_state import SavedState
from orchestration.learning import LearningState
from session.errors import StoreError, first_problem
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
        """The state, to be read back by :meth:`from_json`."""
        return _STATE.dump_json(self)

    @classmethod
    def from_json(cls, content: bytes) -> SessionState:
        """The state that :meth:`to_json` wrote. Raises ``StoreError`` for one of another version."""
        try:
            return _STATE.validate_json(content)
        except ValidationError as error:
            raise StoreError(f"the snapshot is of another version: {first_problem(error)}") from error

    @property
    def saved_game(self) -> SavedState:
        """The story's state. Raises ``GameError`` where it is none."""
        return SavedState.from_bytes(b64decode(self.game))


def encoded(game: SavedState) -> str:
    """The story's state as ``SessionState.game`` has it."""
    return b64encode(game.to_bytes()).decode()


_STATE = TypeAdapter(SessionState)

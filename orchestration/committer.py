"""Commits a run turn by turn: first the snapshot, then the shared files."""

from __future__ import annotations

from dataclasses import dataclass

from game_interface.core.game import Game
from orchestration.learning import Learning
from orchestration.session_state import SessionState, encoded
from session.files.journal import Journal
from session.files.snapshot import is_committed, mark_committed, write_snapshot
from session.token_counter import TokenCounter
from zorkgpt.llm.breaker import CircuitBreaker
from zorkgpt.llm.budget import Spending


@dataclass(frozen=True, slots=True)
class Keeper:
    """Keeps the state of a run's parts.

    journal: where the run is written down; ``None`` for one that is only repeated, which needs no snapshots
    """

    journal: Journal | None
    game: Game
    learning: Learning
    tokens: TokenCounter
    breaker: CircuitBreaker
    spending: Spending

    def commit(self, episode_index: int, *, in_episode: bool) -> None:
        """The run can be resumed from here, and what was learnt is in its files. Raises ``StoreError``.

        A kill between the two is mended at resume: the snapshot knows what the files should have got.
        """
        if self.journal is None:
            self.learning.commit()
            return
        self.journal.sync()
        write_snapshot(self.journal.folder, self._state(self.journal, episode_index, in_episode).to_json())
        self.learning.commit()
        mark_committed(self.journal.folder, self.journal.seq)

    def restore(self, state: SessionState) -> None:
        """The parts, the game aside, stand as they did when the snapshot was taken."""
        self.tokens.tokens_per_character = state.tokens_per_character
        self.breaker.restore(state.circuits)
        is_done = self.journal is not None and is_committed(self.journal.folder, state.seq)
        self.learning.restore(state.learning.committed() if is_done else state.learning)
        self.learning.commit()

    def _state(self, journal: Journal, episode_index: int, in_episode: bool) -> SessionState:
        return SessionState(
            seq=journal.seq,
            sum=journal.sum,
            episode_index=episode_index,
            game=encoded(self.game.save()) if in_episode else "",
            learning=self.learning.snapshot(),
            tokens_per_character=self.tokens.tokens_per_character,
            circuits=self.breaker.state(),
        )

"""Everything that learns from the turns of an episode, and what it has to say to the players."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from managers.base_manager import BaseManager, M, ManagerSnapshot
from managers.simple_memory_manager import SimpleMemoryManager
from managers.state_manager import StateManager
from session.errors import ConfigurationError, StoreError, first_problem
from session.events import MemoryRemoved
from zorkgpt.players.critic import Critic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from session.context import PromptSection
    from session.events import EpisodeEnd, Event
    from session.files.document_store import SharedStore, Watch
    from session.files.recording import Recording
    from session.game_state import GameState
    from session.values import Observation, TurnRecord


@dataclass(frozen=True, slots=True)
class LearningState:
    """What cannot be had from the shared files and the episode's records; managers by the names of their classes."""

    managers: dict[str, ManagerSnapshot]
    critic_failures: int

    def to_json(self) -> bytes:
        """Return the values as JSON."""
        managers = b",".join(b'"%s":%s' % (name.encode(), each.to_json()) for name, each in self.managers.items())
        return b'{"managers":{%s},"critic_failures":%d}' % (managers, self.critic_failures)


@dataclass(frozen=True, slots=True)
class Learning:
    """The managers of a run, and the critic. They get records; they never call back.

    managers: each behind those that it reads
    """

    managers: tuple[BaseManager, ...]
    critic: Critic

    def find(self, kind: type[M]) -> M | None:
        """Return the manager of that class, ``None`` where it takes no part in this run."""
        return next((manager for manager in self.managers if isinstance(manager, kind)), None)

    def get(self, kind: type[M]) -> M:
        """Return the manager of that class. Raises ``LookupError`` where none takes part."""
        found = self.find(kind)
        if found is None:
            raise LookupError(f"no {kind.__name__} takes part in this run")
        return found

    def hold(self, watch: Watch, copies: Path | None) -> None:
        """Let shared files change in :meth:`commit` alone from now on, and tell ``watch`` of looks at them.

        copies: the run's folder for copies of them as they are at its snapshot
        """
        for manager in self.managers:
            manager.hold(watch, copies)

    def begin(self, state: GameState) -> None:
        """Begin a new episode in ``state``; what outlives episodes stays."""
        for manager in self.managers:
            manager.reset(state)
        self.critic.reset()

    def recall(self, state: GameState, records: Sequence[TurnRecord]) -> None:
        """Bring the episode that began in ``state`` as far as these records; :meth:`restore` does the rest."""
        self.begin(state)
        for record in records:
            state.record(record)
            self.critic.learn(record)
            for manager in self.managers:
                manager.recall(record)

    def sections(self, observation: Observation) -> list[PromptSection]:
        """Return what the managers have to say in a prompt at this moment."""
        sections = (manager.section(observation) for manager in self.managers)
        return [section for section in sections if section is not None]

    def learn(self, record: TurnRecord) -> None:
        """Let the critic and every manager learn from the turn, which the game state holds already."""
        self.critic.learn(record)
        for manager in self.managers:
            manager.learn(record)

    def end(self, end: EpisodeEnd) -> None:
        """Let every manager draw its conclusions of the episode; files have them all after the next commit."""
        for manager in self.managers:
            manager.end(end)

    def commit(self) -> None:
        """Write what was learnt since the last time into the shared files. Raises ``StoreError``."""
        for manager in self.managers:
            manager.commit()

    @property
    def is_due(self) -> bool:
        """Whether the next :meth:`commit` has something to write."""
        return any(store.is_due for store in self.stores())

    def keep(self) -> None:
        """Keep what :meth:`restore` needs of the shared files as they are now. Raises ``StoreError``."""
        for store in self.stores():
            store.keep()

    def show(self) -> None:
        """Write ``current_state.json``."""
        self.get(StateManager).export_current_state()

    def show_before_asking(self) -> None:
        """Write ``current_state.json`` before a player is asked, who may take long, if it is behind."""
        self.get(StateManager).catch_up()

    def repeat_removals(self, recording: Recording, emit: Callable[[Event], None]) -> None:
        """Forget the memories that a person had the recorded run go on without before its next turn."""
        while isinstance(removed := recording.next_event, MemoryRemoved):
            emit(removed)
            self.remove_memory(removed.title)

    def remove_memory(self, title: str) -> None:
        """Forget every memory of that title. Raises ``ConfigurationError`` where there is none."""
        memories = self.find(SimpleMemoryManager)
        if memories is None or not memories.remove_memory(title):
            raise ConfigurationError(f"there is no memory of this title at that turn: {title}")

    def snapshot(self) -> LearningState:
        """Return what a snapshot has to hold."""
        return LearningState(
            {type(manager).__name__: manager.snapshot() for manager in self.managers}, self.critic.failures
        )

    def restore(self, state: LearningState, *, is_committed: bool) -> None:
        """Let everybody know what they knew when ``state`` was taken.

        is_committed: what was due then has reached the shared files since
        Raises ``StoreError`` for a snapshot of another version.
        """
        try:
            for manager in self.managers:
                manager.restore_snapshot(state.managers[type(manager).__name__], is_committed=is_committed)
        except (KeyError, ValidationError) as error:
            problem = first_problem(error) if isinstance(error, ValidationError) else f"no {error}"
            raise StoreError(f"the snapshot is of another version: {problem}") from error
        self.critic.failures = state.critic_failures

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 (64 hex digits) of what each shared file holds as far as this run knows, by its name."""
        return {store.path.name: store.digest for store in self.stores() if store.digest is not None}

    def stores(self) -> list[SharedStore[Any]]:
        """Return what keeps the shared files, in the order in which they are written."""
        return [store for manager in self.managers for store in manager.stores()]

"""What every manager has in common: its collaborators, its life over turns and episodes, its files and its status."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import structlog
from pydantic import TypeAdapter
from pydantic_core import to_json
from structlog.typing import FilteringBoundLogger
from typing_extensions import TypedDict

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.token_counter import TokenCounter
from session.values import Observation, StoryFacts
from session.vocabulary import Vocabulary
from zorkgpt.llm.language_model import LanguageModel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from typing_extensions import Self

    from session.context import PromptSection
    from session.events import EpisodeEnd
    from session.files.document_store import SharedStore, Watch
    from session.files.run_folders import SharedFile
    from session.values import TurnRecord

M = TypeVar("M", bound="BaseManager")


class ManagerStatus(TypedDict):
    """How a manager stands, as it goes into ``current_state.json``."""

    type: str
    state: dict[str, str | int | float | bool | None]
    metrics: dict[str, int | float]


@dataclass(frozen=True, slots=True)
class ManagerSnapshot:
    """A manager between two turns: plain values, or what was read of their JSON.

    state: what ``state`` returned
    stores: what the ``state`` of each store returned, by the name of its file
    """

    state: Any
    stores: dict[str, Any]

    def to_json(self) -> bytes:
        """Return the values as JSON, each written by what is known of its type, which takes a third of the time."""
        stores = b",".join(b"%s:%s" % (to_json(name), _json(state)) for name, state in self.stores.items())
        return b'{"state":%s,"stores":{%s}}' % (_json(self.state), stores)


@dataclass(frozen=True, slots=True)
class ManagerParts:
    """All that a manager may be made of.

    managers: those that are made already; see :meth:`find`
    """

    logger: FilteringBoundLogger
    config: GameConfiguration
    game_state: GameState
    model: LanguageModel
    story: StoryFacts
    vocabulary: Vocabulary
    tokens: TokenCounter
    managers: list[BaseManager] = field(default_factory=list)

    def find(self, kind: type[M]) -> M | None:
        """Return the manager of that class, ``None`` where it takes no part in this run."""
        return next((manager for manager in self.managers if isinstance(manager, kind)), None)

    def get(self, kind: type[M]) -> M:
        """Return the manager of that class. Raises ``LookupError`` where it was not made yet."""
        found = self.find(kind)
        if found is None:
            raise LookupError(f"{kind.__name__} has to be made first")
        return found


class BaseManager(ABC):
    """Learns from turn records and says what it knows in prompts.

    A manager may use those that were made before it: ask them, and give them what it has learnt. They never use it, and
    none calls the orchestrator. To add one, write its module and put its class into
    ``orchestration.managers.MANAGERS``.
    """

    def __init__(
        self,
        logger: logging.Logger | FilteringBoundLogger,
        config: GameConfiguration,
        game_state: GameState,
    ) -> None:
        self.logger: FilteringBoundLogger = (
            structlog.wrap_logger(logger) if isinstance(logger, logging.Logger) else logger
        )
        self.config = config
        self.game_state = game_state

    @classmethod
    def build(cls, parts: ManagerParts) -> Self | None:
        """Make the manager for a run; ``None`` where the configuration leaves it out."""
        return cls(parts.logger, parts.config, parts.game_state)

    @classmethod
    def shared_files(cls, config: GameConfiguration) -> Sequence[SharedFile]:
        """Name the files in the work folder that the manager keeps what it learns in."""
        del config
        return ()

    def stores(self) -> Sequence[SharedStore[Any]]:
        """Return what keeps those files, one for each, in the order in which they are written."""
        return ()

    def reset(self, game_state: GameState | None = None) -> None:
        """Begin a new episode, in ``game_state`` where one is given; what outlives episodes stays."""
        if game_state is not None:
            self.game_state = game_state

    def learn(self, record: TurnRecord) -> object:
        """Learn from a turn that was played; ``game_state`` holds it already."""

    def recall(self, record: TurnRecord) -> None:
        """Take in a turn again when a run is resumed: what neither :meth:`state` nor a file holds."""

    def end(self, end: EpisodeEnd) -> object:
        """Draw the conclusions of an episode that is over; after the next :meth:`commit` the files have them."""

    def section(self, observation: Observation) -> PromptSection | None:
        """Return what the manager has to say in the agent's prompt at this moment, ``None`` for nothing."""

    def commit(self) -> None:
        """Write what is due into the files, and take in what others wrote there. Raises ``StoreError``."""
        for store in self.stores():
            store.commit()
            store.refresh()

    def hold(self, watch: Watch, copies: Path | None = None) -> None:
        """Let the files change in :meth:`commit` alone from now on, and tell ``watch`` of looks at them.

        copies: the run's folder for copies of them as they are at its snapshot
        """
        for store in self.stores():
            store.hold(watch, copies)

    def state(self) -> object:
        """Return what a snapshot has to hold besides the stores: a dataclass of plain values, ``None`` for nothing."""
        return None

    def restore(self, state: Any) -> None:  # noqa: ANN401  each manager has a state of its own type
        """Go back to what :meth:`state` returned; the stores are back already. Raises ``StoreError``."""

    def snapshot(self) -> ManagerSnapshot:
        """Return all that cannot be had from the files and the episode's records."""
        return ManagerSnapshot(self.state(), {store.path.name: store.state() for store in self.stores()})

    def restore_snapshot(self, snapshot: ManagerSnapshot, *, is_committed: bool = False) -> None:
        """Go back to what :meth:`snapshot` returned.

        is_committed: what was due then has reached the files since
        Raises ``KeyError`` or ``ValidationError`` for a snapshot of another version, and ``StoreError``.
        """
        for store in self.stores():
            state = store.states.validate_python(snapshot.stores[store.path.name], extra="forbid")
            store.restore(state.committed() if is_committed else state)
        own = self.state()
        self.restore(own if own is None else _read(type(own), snapshot.state))

    @abstractmethod
    def get_status(self) -> ManagerStatus:
        """Return how the manager stands now."""

    def present(self) -> tuple[str, ...]:
        """Return what a person who watches would like to know of it now, a line each. Nothing is read or changed."""
        return ()

    def log_info(self, event: str, **fields: object) -> None:
        """Log the event under this manager and episode."""
        self.logger.info(event, manager=type(self).__name__, episode=self.game_state.episode, **fields)

    def log_warning(self, event: str, **fields: object) -> None:
        """Log the warning under this manager and episode."""
        self.logger.warning(event, manager=type(self).__name__, episode=self.game_state.episode, **fields)

    def log_error(self, event: str, **fields: object) -> None:
        """Log what the user has to know under this manager and episode: event and ``error`` are on the screen, too."""
        self.logger.error(event, manager=type(self).__name__, episode=self.game_state.episode, **fields)


def _read(kind: type[object], state: object) -> object:
    """Read a state back; a field of another version is an error, so that nothing is lost in silence."""
    return _adapter(kind).validate_python(state, extra="forbid")


def _json(state: object) -> bytes:
    return _adapter(type(state)).dump_json(state)


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type[object]) -> TypeAdapter[Any]:
    """Return what writes and reads states of that type: one for all turns, for to make it takes milliseconds."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]

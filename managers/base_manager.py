"""What every manager has in common: its collaborators, its life over turns and episodes, its files and its status."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import structlog
from structlog.typing import FilteringBoundLogger
from typing_extensions import Self, TypedDict

from session.commands import Vocabulary
from session.context import PromptSection
from session.events import EpisodeEnd
from session.files.document_store import SharedStore
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import TokenCounter
from session.values import Observation, StoryFacts, TurnRecord
from zorkgpt.llm.language_model import LanguageModel

M = TypeVar("M", bound="BaseManager")


class ManagerStatus(TypedDict):
    """How a manager stands, as it goes into ``current_state.json``."""

    type: str
    state: dict[str, str | int | float | bool | None]
    metrics: dict[str, int | float]


@dataclass(frozen=True, slots=True)
class ManagerParts:
    """All that a manager may be made of.

    managers: those that are made already; see :meth:`find`
    considered: the classes of those that are made or left out already
    """

    logger: FilteringBoundLogger
    config: GameConfiguration
    game_state: GameState
    model: LanguageModel
    story: StoryFacts
    vocabulary: Vocabulary
    tokens: TokenCounter
    managers: list[BaseManager] = field(default_factory=list)
    considered: set[type[BaseManager]] = field(default_factory=set)

    def find(self, kind: type[M]) -> M | None:
        """Return the manager of that class, ``None`` if the configuration leaves it out.

        Raises ``LookupError`` if it is listed after the manager that needs it.
        """
        if kind not in self.considered:
            raise LookupError(f"{kind.__name__} is needed before it is made: list it earlier in MANAGERS")
        return next((manager for manager in self.managers if isinstance(manager, kind)), None)

    def get(self, kind: type[M]) -> M:
        """Return the manager of that class. Raises ``LookupError`` if it takes no part or is listed too late."""
        found = self.find(kind)
        if found is None:
            raise LookupError(f"{kind.__name__} takes no part in this run")
        return found


class BaseManager(ABC):
    """Learns from turn records and says what it knows in prompts.

    A manager may use those that were made before it: ask them, and give them what it has learnt. They never use it, and
    none calls the orchestrator. To add one, write its module and put its class into
    ``orchestration.learning.MANAGERS``.
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

    def stores(self) -> Sequence[SharedStore]:
        """Return the stores of those files, in the order in which they are written."""
        return ()

    def reset(self, game_state: GameState | None = None) -> None:
        """Begin a new episode, in ``game_state`` where one is given; what outlives episodes stays."""
        if game_state is not None:
            self.game_state = game_state

    def learn(self, record: TurnRecord) -> object:
        """Learn from a turn that was played; ``game_state`` holds it already."""

    def end(self, end: EpisodeEnd) -> object:
        """Draw the conclusions of an episode that is over."""

    def section(self, observation: Observation) -> PromptSection | None:
        """Return what the manager has to say in the agent's prompt at this moment, ``None`` for nothing."""

    def outlook(self) -> str:
        """Return what a plan for the next episode should take into account, a line each; "" for nothing."""
        return ""

    def commit(self) -> None:
        """Write what is due into the files, outside a run. Raises ``StoreError``."""
        for store in self.stores():
            store.commit()

    def followed(self) -> None:
        """Follow what others wrote into the files: the stores have just looked at them."""

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

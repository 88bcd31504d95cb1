"""What every manager has: its collaborators, its life over episodes, its status, its log (seed 0)."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import structlog
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from session.game_configuration import GameConfiguration
    from session.game_state import GameState


class ManagerStatus(TypedDict):
    """How a manager stands, as it goes into ``current_state.json``."""

    type: str
    state: dict[str, str | int | float | bool | None]
    metrics: dict[str, int | float]


class BaseManager(ABC):
    """A manager learns from turn records; it never calls the orchestrator, nor another manager back."""

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

    def reset(self, game_state: GameState | None = None) -> None:
        """A new episode begins, in ``game_state`` where one is given; what outlives episodes stays."""
        if game_state is not None:
            self.game_state = game_state

    @abstractmethod
    def get_status(self) -> ManagerStatus:
        """How the manager stands now."""

    def log_info(self, event: str, **fields: object) -> None:
        """The event is in the log, under this manager and episode."""
        self.logger.info(event, manager=type(self).__name__, episode=self.game_state.episode, **fields)

    def log_warning(self, event: str, **fields: object) -> None:
        """The warning is in the log, under this manager and episode."""
        self.logger.warning(event, manager=type(self).__name__, episode=self.game_state.episode, **fields)

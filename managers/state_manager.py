"""Writes the current state of a run to a file, for other processes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timezone

from pydantic_core import to_json
from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.known import merged
from session.errors import StoreError
from session.files.shared_files import CURRENT_STATE_FILE, write_atomically
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import TurnRecord

SHORTEST_PAUSE = 0.5  # seconds between two writes of the file while no model is asked


class StateManager(BaseManager):
    """Writes ``current_state.json`` in the work folder: the state of the episode and the status of every manager.

    The keys of the statuses are the class names of the managers.

    run: the name of the run's folder
    managers: returns those whose status is written
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        *,
        run: str = "",
        managers: Callable[[], Iterable[BaseManager]] = tuple,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self.path = config.zork_game_workdir / CURRENT_STATE_FILE
        self.run = run
        self._managers = managers
        self._failures = 0
        self._warned = False
        self._shown_at = -math.inf
        self._is_behind = True

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._warned, self._is_behind = False, True

    def learn(self, record: TurnRecord) -> None:
        """Mark the file as outdated after a turn on a route, because several of these are played between two writes."""
        self._is_behind = record.is_unasked

    def show_soon(self) -> None:
        """Write the file after a turn, at most every ``SHORTEST_PAUSE`` seconds."""
        if time.monotonic() - self._shown_at >= SHORTEST_PAUSE:
            self.export_current_state()

    def catch_up(self) -> None:
        """Write the file if it is older than the beginning of the episode or the latest turn of a route."""
        if self._is_behind:
            self.export_current_state()

    def export_current_state(self) -> None:
        """Write the file. The first failure in an episode is logged as a warning.

        The file is not synchronised to the disk, because that is slow and the journal contains the same values.
        """
        self._shown_at, self._is_behind = time.monotonic(), False
        state = self.game_state
        here, managers = state.current_room_id, [*self._managers()]
        current = {
            "run": self.run,
            "timestamp": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "episode": state.episode,
            "turn": state.turn_count,
            "location": None if here is None else {"id": here, "name": state.current_room_name_for_map},
            "score": state.previous_zork_score,
            "inventory": state.current_inventory,
            "game_over": state.game_over,
            "present": merged(manager.known() for manager in managers).present(here),
            "managers": {type(manager).__name__: manager.get_status() for manager in managers},
        }
        try:
            write_atomically(self.path, to_json(current, indent=2), durable=False)
        except StoreError as error:
            self._failures += 1
            if not self._warned:
                self.log_warning("the current state is not shown", error=str(error))
            self._warned = True

    @override
    def get_status(self) -> ManagerStatus:
        return {"type": "state", "state": {"file": str(self.path)}, "metrics": {"failures": self._failures}}

"""Everything that learns from the turns of an episode, and what it has to say to the players."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from managers.circling import CirclingDetector
from managers.context_manager import ContextManager
from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from managers.simple_memory_manager import SimpleMemoryManager
from managers.state_manager import StateManager
from session.context import Notes
from zorkgpt.players.critic import Critic

if TYPE_CHECKING:
    from session.game_state import GameState
    from session.values import Observation, TurnRecord


@dataclass(frozen=True, slots=True)
class Learning:
    """The managers of a run, and the critic. They get records; they never call back."""

    context: ContextManager
    critic: Critic
    map: MapManager
    memory: SimpleMemoryManager | None
    circling: CirclingDetector
    objectives: ObjectiveManager | None
    state: StateManager

    def begin(self, state: GameState) -> None:
        """A new episode begins in ``state``; what outlives episodes stays."""
        for manager in (self.context, self.map, self.memory, self.circling, self.objectives, self.state):
            if manager is not None:
                manager.reset(state)
        self.critic.reset()

    def notes(self, observation: Observation) -> Notes:
        """What has been learnt that bears on the present moment, ``observation``."""
        here = observation.location
        return Notes(
            memory=self.memory.get_location_memory(here.num) if self.memory and here else "",
            objectives=self.objectives.text() if self.objectives else "",
            map=self.map.local_view(),
            circling="\n".join(filter(None, (self.circling.text(), self.critic.repetitions.text(observation)))),
        )

    def learn(self, record: TurnRecord) -> None:
        """Every manager has learnt from the turn, which the game state holds already."""
        self.map.learn(record)
        if record.reading and record.before.location:
            self.map.note_exits(record.before.location, record.reading.exits)
        if self.memory:
            self.memory.learn(record)
        self.circling.learn(record)
        self.critic.learn(record)
        if self.objectives:
            self.objectives.learn(record)
            self.objectives.process_periodic_update()
        self.state.export_current_state()

    def end(self) -> None:
        """The episode is over; what outlives it is on disk."""
        self.map.save_map_state()
        if self.memory:
            self.memory.flush()
        self.state.export_current_state()

"""Everything that learns from the turns of an episode, and what it has to say to the players."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from managers.circling import CirclingDetector
from managers.context_manager import ContextManager
from managers.episode_synthesizer import EpisodeSynthesizer, SynthesizerState
from managers.knowledge_manager import KnowledgeManager, KnowledgeState
from managers.lexicon_manager import SYNTAX_TOKENS, LexiconManager, LexiconState
from managers.map_manager import MapManager
from managers.map_store import MapState
from managers.objective_manager import ObjectiveManager
from managers.simple_memory_manager import MemoryState, SimpleMemoryManager
from managers.state_manager import StateManager
from session.context import Notes
from session.errors import ConfigurationError
from session.game_configuration import GameConfiguration
from session.objective import ObjectivesState
from zorkgpt.players.critic import Critic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from managers.base_manager import BaseManager
    from session.events import EpisodeEnd
    from session.files.document_store import Watch
    from session.game_state import GameState
    from session.values import Observation, TurnRecord

SHARE_OF_KNOWLEDGE = 5  # it takes at most one in so many tokens of the agent's prompt


@dataclass(frozen=True, slots=True)
class LearningState:
    """What cannot be had from the shared files and the episode's records; ``None`` for what does not take part."""

    map: MapState
    lexicon: LexiconState
    knowledge: KnowledgeState
    episodes: SynthesizerState
    memory: MemoryState | None
    objectives: ObjectivesState | None
    critic_failures: int

    def committed(self) -> LearningState:
        """The same once what is due has reached the shared files."""
        return replace(
            self,
            map=self.map.committed(),
            lexicon=self.lexicon.committed(),
            knowledge=self.knowledge.committed(),
            episodes=self.episodes.committed(),
            memory=self.memory.committed() if self.memory else None,
        )


@dataclass(frozen=True, slots=True)
class Learning:
    """The managers of a run, and the critic. They get records; they never call back.

    Once they :meth:`hold`, shared files change in :meth:`commit` alone.
    """

    options: GameConfiguration
    context: ContextManager
    critic: Critic
    map: MapManager
    lexicon: LexiconManager
    memory: SimpleMemoryManager | None
    circling: CirclingDetector
    knowledge: KnowledgeManager
    objectives: ObjectiveManager | None
    episodes: EpisodeSynthesizer
    state: StateManager

    @property
    def managers(self) -> tuple[BaseManager, ...]:
        """Those that take part, in the order in which they are told of a new episode."""
        all_managers = (
            *(self.context, self.map, self.lexicon, self.memory, self.circling),
            *(self.knowledge, self.objectives, self.episodes, self.state),
        )
        return tuple(manager for manager in all_managers if manager is not None)

    def hold(self, watch: Watch) -> None:
        """Shared files wait for commits, and looks at them are told to ``watch``."""
        for manager in (self.map, self.lexicon, self.memory, self.knowledge, self.episodes):
            if manager is not None:
                manager.hold(watch)

    def begin(self, state: GameState) -> None:
        """A new episode begins in ``state``; what outlives episodes stays."""
        for manager in self.managers:
            manager.reset(state)
        self.critic.reset()

    def recall(self, state: GameState, records: Sequence[TurnRecord]) -> None:
        """The episode that began in ``state`` has come as far as these records; :meth:`restore` does the rest."""
        self.begin(state)
        for record in records:
            state.record(record)
            self.circling.learn(record)
            self.critic.learn(record)

    def notes(self, observation: Observation) -> Notes:
        """What has been learnt that bears on the present moment, ``observation``."""
        budget = self.options.prompt_budgets.agent // SHARE_OF_KNOWLEDGE
        return Notes(
            knowledge="\n\n".join(filter(None, (self.knowledge.text(budget), self.episodes.handover()))),
            syntax=self.lexicon.text(SYNTAX_TOKENS),
            memory=self._memory(observation),
            objectives=self.objectives.text() if self.objectives else "",
            map=self.map.local_view() if self.options.map.shown else "",
            circling="\n".join(filter(None, (self.circling.text(), self.critic.repetitions.text(observation)))),
        )

    def learn(self, record: TurnRecord) -> None:
        """Every manager has learnt from the turn, which the game state holds already."""
        self.map.learn(record)
        if record.reading and record.before.location:
            self.map.note_exits(record.before.location, record.reading.exits)
        self.lexicon.learn(record)
        if self.memory:
            self.memory.learn(record)
        self.circling.learn(record)
        self.critic.learn(record)
        self.episodes.learn(record)
        self.knowledge.learn(record)
        if self.memory and self.knowledge.is_due:
            self.memory.consider()
        self.knowledge.process_periodic_update()
        if self.objectives:
            self.objectives.learn(record)
            self.objectives.process_periodic_update()

    def tokens(self, text: str) -> int:
        """How long the text is for the agent's model, in tokens."""
        return self.context.tokens.estimate(text)

    def end(self, end: EpisodeEnd) -> None:
        """The episode is over, its last news are considered and its lessons drawn; files have it all once committed."""
        if self.memory:
            self.memory.conclude()
        self.map.conclude()
        self.lexicon.conclude()
        self.knowledge.update_at_end()
        self.episodes.end(end)

    def commit(self) -> None:
        """What was learnt since the last time is in the shared files, and whoever watches sees it.

        Raises ``StoreError``.
        """
        for manager in (self.map, self.lexicon, self.memory, self.knowledge, self.episodes):
            if manager is not None:
                manager.commit()
        self.state.export_current_state()

    def remove_memory(self, title: str) -> None:
        """Nobody remembers what had that title. Raises ``ConfigurationError`` where nobody did."""
        if self.memory is None or not self.memory.remove_memory(title):
            raise ConfigurationError(f"there is no memory of this title at that turn: {title}")

    def snapshot(self) -> LearningState:
        """What a snapshot has to hold."""
        return LearningState(
            map=self.map.state(),
            lexicon=self.lexicon.state(),
            knowledge=self.knowledge.state(),
            episodes=self.episodes.state(),
            memory=self.memory.state() if self.memory else None,
            objectives=self.objectives.state() if self.objectives else None,
            critic_failures=self.critic.failures,
        )

    def restore(self, state: LearningState) -> None:
        """Everybody knows what they knew when ``state`` was taken."""
        self.map.restore(state.map)
        self.lexicon.restore(state.lexicon)
        self.knowledge.restore(state.knowledge)
        self.episodes.restore(state.episodes)
        if self.memory and state.memory:
            self.memory.restore(state.memory)
        if self.objectives and state.objectives:
            self.objectives.restore(state.objectives)
        self.critic.failures = state.critic_failures

    def digests(self) -> dict[str, str]:
        """Of what each shared file holds as far as this run knows, by its name; 64 hex digits."""
        found = {manager.path.name: manager.digest for manager in (self.map, self.lexicon, self.episodes)}
        if self.memory:
            found[self.memory.memory_file.name] = self.memory.digest
        return found | self.knowledge.digests()

    def _memory(self, observation: Observation) -> str:
        """What is remembered of the place."""
        if self.memory is None or observation.location is None:
            return ""
        return self.memory.get_location_memory(self.memory.shown_location(observation.location.num))

"""Keeps memories of locations, for one episode or across episodes (docs/specification.md, Memory tiers)."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import Self, override

from managers.base_manager import BaseManager, Log, ManagerParts, ManagerStatus
from managers.map_manager import MapManager
from managers.memory.learner import MemoryLearner
from managers.memory.news import NewsLedger
from managers.memory.outcome import ZMachineContext
from managers.memory.prompt import last_turn, location_text, shuffled_location
from managers.memory.synthesis import Revision, require_location_id
from managers.memory.tiers import MemoryTiers
from managers.route_manager import RouteManager
from session.context import Place, PromptSection
from session.errors import StoreError
from session.events import EpisodeEnd
from session.files.markdown import MarkdownProblem
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import INVALIDATION_MARKER, Memory, MemoryStatus, MemoryStatusType, MemorySynthesisResponse
from session.text import TokenCounter
from session.values import Location, Observation, TurnRecord
from zorkgpt.llm.language_model import LanguageModel

__all__ = [
    "INVALIDATION_MARKER",
    "Memory",
    "MemoryStatus",
    "MemoryStatusType",
    "MemorySynthesisResponse",
    "SimpleMemoryManager",
    "ZMachineContext",
]

NEWS_FILE = "memory_news.txt"


class SimpleMemoryManager(BaseManager):
    """Owns ``Memories.md`` and the memories of the episode.

    memory_cache: core and permanent memories by location id, in the order of the file, including superseded ones
    ephemeral_cache: the episode's own memories by location id

    llm_client: the model that writes memories; without it nothing is learnt from play
    directions: the story's own direction words (``StoryFacts.directions``)
    tokens: counts the tokens of texts
    routes: reports the turn in which a route was interrupted
    map_manager: counts visits, including those before a location had a memory

    If the file cannot be written, one error is logged. The memories stay in the cache and are written with the next
    successful write. The constructor raises ``StoreError`` if the file cannot be read.
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        llm_client: LanguageModel | None = None,
        *,
        directions: Iterable[str] = (),
        tokens: TokenCounter | None = None,
        routes: RouteManager | None = None,
        map_manager: MapManager | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self.llm_client = llm_client
        self._map = map_manager
        self.tokens = tokens or TokenCounter()
        self.memory_file = config.zork_game_workdir / config.simple_memory.memory_file
        self._tiers = MemoryTiers(self.memory_file, self)
        self.memory_cache: dict[int, list[Memory]] = self._tiers.persistent
        self.ephemeral_cache: dict[int, list[Memory]] = self._tiers.ephemeral
        self._ledger = NewsLedger(config.zork_game_workdir / NEWS_FILE, self._note_failure)
        self.stores = (self._tiers.store, self._ledger)
        self._learner = MemoryLearner(
            self,
            self._tiers,
            self._ledger,
            lambda: self.llm_client,
            has_stopped=lambda: routes is not None and routes.has_stopped,
            directions=directions,
            rooms=lambda: {} if map_manager is None else map_manager.game_map.room_names,
            tokens=self.tokens,
        )

    @classmethod
    def build(cls, parts: ManagerParts) -> Self | None:
        """Build the manager, unless ``simple_memory.enabled`` is off."""
        if not parts.config.simple_memory.enabled:
            return None
        return cls(
            parts.logger,
            parts.config,
            parts.game_state,
            parts.model,
            directions=parts.story.directions,
            tokens=parts.tokens,
            routes=parts.find(RouteManager),
            map_manager=parts.find(MapManager),
        )

    @classmethod
    @override
    def shared_files(cls, config: GameConfiguration) -> tuple[SharedFile, ...]:
        return (SharedFile(config.simple_memory.memory_file, "Memories.md"), SharedFile(NEWS_FILE))

    def problems(self) -> list[MarkdownProblem]:
        """Return the parts of the memory file that cannot be parsed. They are kept in the file but not used."""
        return self._tiers.store.document.problems()

    def add_memory(self, location_id: int, location_name: str, memory: Memory) -> bool:
        """Add a memory to the location, and write it unless it is ephemeral.

        Returns false if the location already has a memory of that title, or if the file cannot be written. Raises
        ``ValueError`` for an invalid location id, like all methods that change memories.
        """
        return self._tiers.revise(Revision(location_id, location_name, memory))

    def supersede_memory(self, location_id: int, location_name: str, old_memory_title: str, new_memory: Memory) -> bool:
        """Supersede a memory with a new one, in one write.

        Returns false and changes nothing if the location has no such memory or the new one must not supersede it
        (docs/specification.md, Superseding and invalidating).
        """
        turn = last_turn(new_memory) or self.game_state.turn_count
        revision = Revision(location_id, location_name, new_memory, superseded=(old_memory_title,), turn=turn)
        if not revision.concerns(self._tiers.at(location_id)):
            self.log_warning("there is no such memory", location_id=location_id, title=old_memory_title)
            return False
        return self._tiers.revise(revision)

    def invalidate_memory(self, location_id: int, memory_title: str, reason: str, turn: int | None = None) -> bool:
        """Invalidate a memory, and return whether it existed. ``turn``: the current turn by default."""
        return self.invalidate_memories(location_id, [memory_title], reason, turn)[memory_title]

    def invalidate_memories(
        self, location_id: int, memory_titles: Iterable[str], reason: str, turn: int | None = None
    ) -> dict[str, bool]:
        """Invalidate memories in one write. Returns by title whether the memory existed."""
        titles = tuple(memory_titles)
        standing = self._tiers.at(location_id)
        found = {title: Revision(location_id, invalidated=(title,)).concerns(standing) for title in titles}
        turn = self.game_state.turn_count if turn is None else turn
        self._tiers.revise(Revision(location_id, invalidated=titles, reason=reason, turn=turn))
        return found

    def remove_memory(self, title: str) -> bool:
        """Remove the memories of that title at all locations. Returns whether any existed. Raises ``StoreError``."""
        return self._tiers.remove(title)

    def get_location_memory(self, location_id: int | None) -> str:
        """Return the location's memories in the agent's format, persistent ones first; "" if there are none."""
        if location_id is None:
            return ""
        text = location_text(
            self._tiers.at(location_id),
            self.config.simple_memory,
            self.tokens,
            show_markers=self.config.show_persistence_markers,
        )
        has_come = location_id == self.game_state.current_room_id != self._learner.visit.location_id
        on_map = (0, 0) if self._map is None else self._map.visits(location_id)
        visits = self._tiers.visits(location_id, self.game_state.episode if has_come else None, on_map)
        return f"{visits}{text}" if text else ""

    def shown_location(self, location_id: int) -> int | None:
        """Return the location whose memories are shown at ``location_id``: another one if an ablation shuffles them.

        Returns ``None`` if no memories are shown.
        """
        if not self.config.simple_memory.shuffled:
            return location_id
        known = {*self.memory_cache, *self.ephemeral_cache}
        return shuffled_location(location_id, known, self.config.game.seed)

    def get_ephemeral_count(self, location_id: int | None = None) -> int:
        """Count the ephemeral memories of the location, or of all locations."""
        return _count(self.ephemeral_cache, location_id)

    def get_persistent_count(self, location_id: int | None = None) -> int:
        """Count the core and permanent memories of the location, or of all locations."""
        return _count(self.memory_cache, location_id)

    def get_memory_breakdown(self, location_id: int) -> dict[str, int]:
        """Count the memories of the location by persistence, without superseded ones."""
        breakdown = {"core": 0, "permanent": 0, "ephemeral": 0}
        for memory in self._tiers.at(location_id):
            if memory.status != MemoryStatus.SUPERSEDED:
                breakdown[memory.persistence] += 1
        return breakdown

    def learn(self, record: TurnRecord) -> None:
        """Add the turn to its visit. See :meth:`MemoryLearner.learn`."""
        self._learner.learn(record)

    def record_action_outcome(
        self,
        location_id: int | None,
        location_name: str,
        action: str,
        response: str,
        z_machine_context: ZMachineContext,
    ) -> None:
        """Learn from a single command at ``location_id``, if its outcome is news.

        Without a location nothing is learnt and a warning is logged.
        """
        if location_id is None:
            self.log_warning("an action without a location teaches nothing", location=location_name, action=action)
            return
        history = self.game_state.action_history
        is_recorded = bool(history) and tuple(history[-1]) == (action, response)
        turn = self.game_state.turn_count + (0 if is_recorded else 1)
        require_location_id(location_id)
        location = Location(location_id, location_name)
        self._learner.learn_at_once(location, turn, action, response, z_machine_context)

    def section(self, observation: Observation) -> PromptSection | None:
        """Return the section with the memories of the location."""
        here = observation.location
        text = "" if here is None else self.get_location_memory(self.shown_location(here.num))
        return PromptSection("Location Memory", text, 2, Place.MEMORY)

    def commit(self) -> None:
        """Write pending memories. A failure to write is logged."""
        self._learner.commit()

    def consider(self) -> None:
        """Learn from the pending news of the current visit."""
        self._learner.conclude()

    def end(self, end: EpisodeEnd | None = None) -> None:
        """Learn from the last visit of the episode. The next commit writes all memories."""
        del end
        self._learner.conclude()
        self._tiers.store.demand()
        if not self._tiers.store.holds:
            self.commit()

    def flush(self) -> None:
        """Learn from the current visit, and write all memories."""
        self.end()
        self.commit()

    def reset_episode(self) -> None:
        """Begin a new episode in the same ``game_state``: see :meth:`reset`."""
        self.reset()

    def reset(self, game_state: GameState | None = None) -> None:
        """Learn from the last visit, remove all ephemeral memories, and begin a new episode."""
        self.end()
        self.log_info("ephemeral memories are gone", count=self.get_ephemeral_count())
        self.ephemeral_cache.clear()
        self._learner.forget()
        super().reset(game_state)

    @override
    def followed(self) -> None:
        self._tiers.follow_file()

    @override
    def present(self) -> tuple[str, ...]:
        here = self.game_state.current_room_id
        if here is None:
            return ()
        memories = [*self._tiers.persistent.get(here, ()), *self._tiers.ephemeral.get(here, ())]
        believed = [memory for memory in memories if memory.status != MemoryStatus.SUPERSEDED]
        return tuple(f"[{memory.persistence}] {memory.title}" for memory in believed)

    @override
    def get_status(self) -> ManagerStatus:
        names = ("synthesis_calls", "synthesis_failures", "memories_learnt", "core_validation_downgrade")
        return {
            "type": "simple_memory",
            "state": {"file": str(self.memory_file), "writable": not self._tiers.is_failing},
            "metrics": {
                "locations": len(self.memory_cache),
                "persistent_memories": self.get_persistent_count(),
                "ephemeral_memories": self.get_ephemeral_count(),
                "pending_news": len(self._learner.visit.news),
                "pending_edits": self._tiers.store.unsaved,
                "refused": self._tiers.refused,
                **{name: self._learner.counts[name] for name in names},
            },
        }

    def _note_failure(self, error: StoreError) -> None:
        if not self._learner.counts["notes_failed"]:
            self.log_warning("what was considered may be considered again in the next run", error=str(error))
        self._learner.counts["notes_failed"] += 1


def _count(cache: dict[int, list[Memory]], location_id: int | None) -> int:
    if location_id is not None:
        return len(cache.get(location_id, ()))
    return sum(map(len, cache.values()))

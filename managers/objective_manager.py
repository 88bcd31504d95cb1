"""Finds objectives, judges progress by facts, and shows the objectives to the agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from typing_extensions import Self, Unpack, override

from managers.base_manager import BaseManager, Log, ManagerParts, ManagerStatus, SharedParts
from managers.knowledge_manager import KnowledgeManager
from managers.lexicon_manager import LexiconManager
from managers.map_manager import MapManager
from managers.objectives import (
    NO_MEMORIES,
    RECENT_TURNS,
    SHORTEST_TEXT,
    Evidence,
    Objective,
    ObjectivesAnswer,
    ObjectiveUpdate,
    answer_of_player,
    evidence_of,
    map_part,
    memories_part,
    play_part,
    present_texts,
)
from managers.prompting import CHARACTERS_PER_TOKEN, LEFT_OUT, Line, Part, fitted_prompt, prologue, room_beside
from managers.simple_memory_manager import SimpleMemoryManager
from session.context import Place, PromptSection
from session.errors import LanguageModelError
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import LocationMemories, Memory
from session.values import Observation, TurnRecord
from zorkgpt.llm.language_model import Prompt
from zorkgpt.mapping.map_graph import adjacent_ids
from zorkgpt.prompts.loader import fill_prompt

KNOWLEDGE_SHARE = 0.25
NO_KNOWLEDGE = "No strategic knowledge available."


class ObjectiveManager(BaseManager):
    """Keeps the objectives of an episode.

    objectives: all of the episode, including those that have ended, oldest first
    asked_turn: the turn in which the model was last called, successfully or not; 0 for none
    adaptive_knowledge_manager: provides the knowledge and the language model
    map_manager, memory_manager: ``None`` to find objectives without a map, or without memories
    syntax: returns the forms of commands that worked, or "" if there are none
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        adaptive_knowledge_manager: KnowledgeManager,
        map_manager: MapManager | None = None,
        memory_manager: LocationMemories | None = None,
        *,
        syntax: Callable[[], str] = str,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self.adaptive_knowledge_manager = adaptive_knowledge_manager
        self.map_manager = map_manager
        self.memory_manager = memory_manager
        self.syntax = syntax
        self.reset()

    @classmethod
    def build(cls, parts: ManagerParts) -> Self | None:
        """Build the manager, with the map if ``map.shown`` is on, unless ``objectives.enabled`` is off."""
        if not parts.config.objectives.enabled:
            return None
        return cls(
            parts.logger,
            parts.config,
            parts.game_state,
            parts.get(KnowledgeManager),
            parts.find(MapManager) if parts.config.map.shown else None,
            parts.find(SimpleMemoryManager),
            syntax=parts.get(LexiconManager).latest_text,
            **parts.shared,
        )

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self.objectives: tuple[Objective, ...] = ()
        self.evidence: tuple[Evidence, ...] = ()
        self.asked_turn = 0
        self._known_turns: set[int] = set()  # of routes, without those in which the agent chose one
        self._counts: Counter[str] = Counter()

    @override
    def get_status(self) -> ManagerStatus:
        statuses = [objective.status for objective in self.objectives]
        return {
            "type": "objective",
            "state": {"enhanced": self.config.enable_enhanced_objectives, "asked_turn": self.asked_turn},
            "metrics": {
                "active": statuses.count("active"),
                "completed": statuses.count("completed"),
                "dropped": statuses.count("dropped"),
                "evidence": len(self.evidence),
                **{name: self._counts[name] for name in ("updates", "failures", "refused")},
            },
        }

    @override
    def present(self) -> tuple[str, ...]:
        return tuple(objective.text for objective in self.objectives if objective.is_active)

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        return PromptSection("Objectives", self.text(), 3, Place.OBJECTIVES)

    @override
    def outlook(self) -> str:
        return "\n".join(f"Objective not achieved: {text}" for text in self.present())

    def text(self) -> str:
        """Return the open objectives with their numbers for the agent, oldest first; "" if there are none.

        The text changes only when objectives are found or end, so that the server can cache the beginning of a prompt.
        """
        return "\n".join(f"{each.id}. {each.text}" for each in self.objectives if each.is_active)

    @override
    def learn(self, record: TurnRecord) -> None:
        """Record the facts of a turn and the agent's notes on objectives, and update the objectives if due.

        An update that is due on a route waits until the route ends.
        """
        self.evidence += evidence_of(record, self.game_state.visited_locations)
        if record.objective_notes:
            self._take(answer_of_player(record))
        if record.is_of_route and not record.proposals[-1].wants_way:
            self._known_turns.add(record.turn)
        if not record.is_of_route:
            self.process_periodic_update()

    def process_periodic_update(self) -> tuple[Objective, ...]:
        """Update the objectives with the model if due, and return those found, completed and dropped.

        An update is due every ``config.objective_update_interval`` turns, and after the first turn if earlier episodes
        have left knowledge or memories. It is delayed by a turn if the knowledge is updated in the same turn. If the
        model gives no answer, the objectives do not change until the next interval.
        """
        if not self._is_due():
            return ()
        self.asked_turn = self.game_state.turn_count
        prompt = self._prompt()
        try:
            completion = self.adaptive_knowledge_manager.model.complete("analysis", prompt, ObjectivesAnswer)
        except LanguageModelError as error:
            self._counts["failures"] += 1
            self.log_warning("objectives are not updated: the model gave no answer", error=str(error))
            return ()
        self._counts["updates"] += 1
        return self._take(completion.value)

    def _is_due(self) -> bool:
        turn = self.game_state.turn_count
        if not self.config.objectives.enabled or self.game_state.game_over:
            return False
        if turn >= self.config.max_turns_per_episode:
            return False  # the episode ends here, and its objectives with it
        memories = self.memory_manager.memory_cache.values() if self.memory_manager else ()
        episodes = {memory.episode for at_location in memories for memory in at_location}
        knows_earlier_ones = self.adaptive_knowledge_manager.full_text().strip() or episodes - {self.game_state.episode}
        is_first = self.asked_turn == 0 and self.config.enable_enhanced_objectives and knows_earlier_ones
        late = turn - self.asked_turn - (1 if is_first else self.config.objective_update_interval)
        return late > 0 or (late == 0 and turn != self.adaptive_knowledge_manager.asked_turn)

    def _take(self, answer: ObjectivesAnswer) -> tuple[Objective, ...]:
        here, options = self.game_state.current_room_id, self.config.objectives
        known = self.game_state.visited_locations | ({here} if here is not None else set())
        if self.map_manager is not None:
            known.update(self.map_manager.game_map.rooms)
        if self.memory_manager is not None:
            known.update(self.memory_manager.memory_cache, self.memory_manager.ephemeral_cache)
        update = ObjectiveUpdate(self.objectives, self.game_state.turn_count, here)
        update.take(answer, self.evidence, known, cap=options.max_active, stale_after=options.stale_after)
        self.objectives = tuple(update.objectives.values())
        self._counts["refused"] += len(update.refused)
        changed = tuple(update.changed.values())
        self.log_info(
            "objectives updated",
            found=[each.text for each in changed if each.status == "active"],
            completed=[each.text for each in changed if each.status == "completed"],
            dropped=[each.text for each in changed if each.status == "dropped"],
            refused=update.refused,
        )
        return changed

    def _prompt(self) -> Prompt:
        game, options, knowledge = self.game_state, self.config.objectives, self.adaptive_knowledge_manager
        turns = max(RECENT_TURNS, self.config.objective_update_interval)
        opening = prologue(game)
        templates, fields = ["objectives_play"], present_texts(game, self.objectives, self._here())
        parts = [
            Part("opening", [[Line("", opening)]] if opening else [], least=SHORTEST_TEXT),
            Part("notes", [[Line("- ", note)] for note in game.notes], least=SHORTEST_TEXT),
            play_part(game, self.evidence, turns, self._known_turns),
        ]
        system = fill_prompt("objectives", max_active=str(options.max_active))
        budget = min(options.max_tokens, self.config.prompt_budgets.analysis)
        if self.config.enable_enhanced_objectives:
            templates.insert(0, "objectives_context")
            syntax = self.syntax()
            parts += [
                Part("plan", [[Line("- ", line)] for line in knowledge.plan()], keeps="best", least=SHORTEST_TEXT),
                self._memories_part(game.current_room_id),
                self._map_part(),
                Part("syntax", [[Line(syntax)]] if syntax else []),
            ]
            room = int(KNOWLEDGE_SHARE * room_beside(system, templates, fields, budget=budget, tokens=self.tokens))
            fields["knowledge"] = NO_KNOWLEDGE
            if knowledge.full_text().strip():
                fields["knowledge"] = knowledge.text(room // CHARACTERS_PER_TOKEN) or LEFT_OUT
        return fitted_prompt(system, templates, fields, parts, budget=budget, tokens=self.tokens)

    def _here(self) -> str:
        """Return the name and id of the player's location."""
        here = self.game_state.current_room_id
        return "not known" if here is None else f"{self.game_state.current_room_name_for_map} (ID: {here})"

    def _memories_part(self, location_id: int | None) -> Part:
        """Return the memories of the location, of those that open objectives name and of adjacent ones."""
        if self.memory_manager is None:
            return Part("memories", (), empty="No memory data available")
        if location_id is None:
            return Part("memories", (), empty=NO_MEMORIES)
        aims = [place for objective in self.objectives if objective.is_active for place in objective.places]
        beside = adjacent_ids(location_id, self.map_manager.game_map.connections) if self.map_manager else ()
        return memories_part(
            self._label(location_id),
            self._memories(location_id),
            {self._label(each): self._memories(each) for each in aims if each != location_id},
            {self._label(each): self._memories(each) for each in beside if each not in aims},
        )

    def _label(self, location_id: int) -> str:
        """Return the id and the name of a location."""
        if location_id == self.game_state.current_room_id:
            return f"{location_id} ({self.game_state.current_room_name_for_map})"
        names = self.map_manager.game_map.room_names if self.map_manager else {}
        return f"{location_id} ({names.get(location_id, f'Location #{location_id}')})"

    def _memories(self, location_id: int) -> list[Memory]:
        """Return the memories shown at the location, including superseded ones."""
        manager = self.memory_manager
        shown = manager.shown_location(location_id) if manager else None
        if manager is None or shown is None:
            return []
        return [*manager.memory_cache.get(shown, ()), *manager.ephemeral_cache.get(shown, ())]

    def _map_part(self) -> Part:
        if self.map_manager is None:
            return Part("map", (), empty="No map data available")
        return map_part(self.map_manager.game_map, self.map_manager.local_view())

"""Finds objectives, judges progress by facts, and shows the objectives to the agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain

from typing_extensions import Self, override

from managers.base_manager import BaseManager, Log, ManagerParts, ManagerStatus
from managers.knowledge_manager import KnowledgeManager
from managers.lexicon_manager import SYNTAX_TOKENS, LexiconManager
from managers.map_manager import MapManager
from managers.objectives.answer import (
    Moment,
    ObjectivesAnswer,
    ObjectiveUpdate,
    answer_of_player,
    evidence_of,
    with_status,
)
from managers.objectives.prompt import (
    NO_MEMORIES,
    RECENT_TURNS,
    format_memories,
    location_line,
    map_part,
    memories_part,
    opening_part,
    play_part,
    present_texts,
)
from managers.prompting import CHARACTERS_PER_TOKEN, LEFT_OUT, Line, Part, fitted_prompt, room_beside
from managers.simple_memory_manager import SimpleMemoryManager
from session.context import Place, PromptSection
from session.errors import LanguageModelError
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import LocationMemories, Memory
from session.objective import Objective, ObjectivesState
from session.text import TokenCounter
from session.values import Observation, TurnRecord
from zorkgpt.llm.language_model import Prompt
from zorkgpt.mapping.map_graph import adjacent_ids, routing_summary
from zorkgpt.prompts.loader import fill_prompt

LONGEST_PART = 5000 * CHARACTERS_PER_TOKEN
KNOWLEDGE_SHARE = 0.25
NO_KNOWLEDGE = "No strategic knowledge available."


class ObjectiveManager(BaseManager):
    """Keeps the objectives of an episode.

    adaptive_knowledge_manager: provides the knowledge and the language model
    map_manager, memory_manager: ``None`` to find objectives without a map, or without memories
    tokens: estimates the number of tokens of a prompt
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
        tokens: TokenCounter | None = None,
        syntax: Callable[[], str] = str,
    ) -> None:
        super().__init__(logger, config, game_state)
        self.adaptive_knowledge_manager = adaptive_knowledge_manager
        self.map_manager = map_manager
        self.memory_manager = memory_manager
        self.tokens = tokens or TokenCounter()
        self.syntax = syntax
        self._state = ObjectivesState()

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
            tokens=parts.tokens,
            syntax=partial(parts.get(LexiconManager).latest_text, SYNTAX_TOKENS),
        )

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """Every objective of the episode, including those that have ended, oldest first."""
        return self._state.objectives

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._state = ObjectivesState()

    @override
    def get_status(self) -> ManagerStatus:
        state = self._state
        statuses = [objective.status for objective in state.objectives]
        return {
            "type": "objective",
            "state": {"enhanced": self.config.enable_enhanced_objectives, "asked_turn": state.asked_turn},
            "metrics": {
                "active": statuses.count("active"),
                "completed": statuses.count("completed"),
                "dropped": statuses.count("dropped"),
                "evidence": len(state.evidence),
                "updates": state.updates,
                "failures": state.failures,
                "refused": state.refused,
            },
        }

    @override
    def present(self) -> tuple[str, ...]:
        return tuple(objective.text for objective in self._state.active)

    def section(self, observation: Observation) -> PromptSection | None:
        """Return the section with the open objectives."""
        del observation
        return PromptSection("Objectives", self.text(), 3, Place.OBJECTIVES)

    @override
    def outlook(self) -> str:
        return "\n".join(f"Objective not achieved: {objective.text}" for objective in self._state.active)

    def text(self) -> str:
        """Return the open objectives with their numbers for the agent, oldest first; "" if there are none.

        The text changes only when objectives are found or end, so that the server can cache the beginning of a prompt.
        """
        return "\n".join(f"{objective.id}. {objective.text}" for objective in self._state.active)

    def learn(self, record: TurnRecord) -> None:
        """Record the facts of a turn and the agent's notes on objectives, and update the objectives if due.

        An update that is due on a route waits until the route ends.
        """
        new = evidence_of(record, self.game_state.visited_locations)
        self._state = replace(self._state, evidence=self._state.evidence + new)
        if record.objective_notes:
            self._take(answer_of_player(record))
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
        self._state = replace(self._state, asked_turn=self.game_state.turn_count)
        prompt = self._prompt()
        try:
            completion = self.adaptive_knowledge_manager.model.complete("analysis", prompt, ObjectivesAnswer)
        except LanguageModelError as error:
            self._state = replace(self._state, failures=self._state.failures + 1)
            self.log_warning("objectives are not updated: the model gave no answer", error=str(error))
            return ()
        self.tokens.learn(len(prompt.system) + len(prompt.user), completion.question_tokens)
        self._state = replace(self._state, updates=self._state.updates + 1)
        return self._take(completion.value)

    def _is_due(self) -> bool:
        if not self.config.objectives.enabled or self.game_state.game_over:
            return False
        turn, asked_turn = self.game_state.turn_count, self._state.asked_turn
        if turn >= self.config.max_turns_per_episode:
            return False  # the episode ends here, and its objectives with it
        is_first = asked_turn == 0 and self._knows_earlier_episodes()
        late = turn - asked_turn - (1 if is_first else self.config.objective_update_interval)
        return late > 0 or (late == 0 and turn != self.adaptive_knowledge_manager.asked_turn)

    def _knows_earlier_episodes(self) -> bool:
        """Return whether a prompt would show knowledge, or memories of another episode."""
        if not self.config.enable_enhanced_objectives:
            return False
        memories = self.memory_manager.memory_cache if self.memory_manager else {}
        episode = self.game_state.episode
        return self._get_full_knowledge() != NO_KNOWLEDGE or any(
            memory.episode != episode for at_location in memories.values() for memory in at_location
        )

    def _take(self, answer: ObjectivesAnswer) -> tuple[Objective, ...]:
        here = self.game_state.current_room_id
        state, options = self._state, self.config.objectives
        update = ObjectiveUpdate(state.objectives, Moment(self.game_state.turn_count, here, self._known_locations()))
        update.take(answer, state.evidence, cap=options.max_active, stale_after=options.stale_after)
        self._state = replace(state, objectives=update.objectives, refused=state.refused + len(update.refused))
        changed = tuple(update.changed.values())
        self.log_info(
            "objectives updated",
            found=with_status(changed, "active"),
            completed=with_status(changed, "completed"),
            dropped=with_status(changed, "dropped"),
            refused=update.refused,
        )
        return changed

    def _known_locations(self) -> set[int]:
        known = set(self.game_state.visited_locations)
        if self.game_state.current_room_id is not None:
            known.add(self.game_state.current_room_id)
        if self.map_manager is not None:
            known.update(self.map_manager.game_map.rooms)
        if self.memory_manager is not None:
            known.update(self.memory_manager.memory_cache, self.memory_manager.ephemeral_cache)
        return known

    def _prompt(self) -> Prompt:
        game, options = self.game_state, self.config.objectives
        turns = max(RECENT_TURNS, self.config.objective_update_interval)
        templates, fields = ["objectives_play"], present_texts(game, self._state)
        parts = [opening_part(game), play_part(game, self._state.evidence, turns)]
        system = fill_prompt("objectives", max_active=str(options.max_active))
        budget = min(options.max_tokens, self.config.prompt_budgets.analysis)
        if self.config.enable_enhanced_objectives:
            templates.insert(0, "objectives_context")
            syntax = self.syntax()
            parts += [
                self._memories_part(game.current_room_id),
                self._map_part(),
                Part("syntax", [[Line(syntax)]] if syntax else []),
            ]
            room = room_beside(system, templates, fields, budget=budget, tokens=self.tokens)
            fields["knowledge"] = self._knowledge_text(int(KNOWLEDGE_SHARE * room))
        return fitted_prompt(system, templates, fields, parts, budget=budget, tokens=self.tokens)

    def _knowledge_text(self, characters: int) -> str:
        knowledge = self.adaptive_knowledge_manager
        if not knowledge.full_text().strip():
            return NO_KNOWLEDGE
        return knowledge.text(characters // CHARACTERS_PER_TOKEN) or LEFT_OUT

    def _get_full_knowledge(self) -> str:
        return self.adaptive_knowledge_manager.full_text().strip() or NO_KNOWLEDGE

    def _get_memories_with_adjacent(self, current_location_id: int | None, characters: int = LONGEST_PART) -> str:
        """Return the memories of the location and of the five adjacent ones with the most useful memories, as text."""
        return self._memories_part(current_location_id).fit(characters)[0]

    def _memories_part(self, current_location_id: int | None) -> Part:
        if self.memory_manager is None:
            return Part("memories", (), empty="No memory data available")
        if current_location_id is None:
            return Part("memories", (), empty=NO_MEMORIES)
        adjacent = {
            f"{location_id} ({self._room_name(location_id)})": self._memories(location_id)
            for location_id in self._get_adjacent_room_ids(current_location_id)
        }
        here = f"{current_location_id} ({self.game_state.current_room_name_for_map})"
        return memories_part(here, self._memories(current_location_id), adjacent)

    def _memories(self, location_id: int) -> list[Memory]:
        """Return the memories shown at the location, including superseded ones."""
        manager = self.memory_manager
        shown = manager.shown_location(location_id) if manager else None
        if manager is None or shown is None:
            return []
        return [*manager.memory_cache.get(shown, ()), *manager.ephemeral_cache.get(shown, ())]

    def _format_memories(self, memories: list[Memory]) -> str:
        return format_memories(memories)

    def _get_adjacent_room_ids(self, location_id: int, max_depth: int = 1) -> list[int]:
        """Return the ids of the locations within ``max_depth`` moves in either direction, nearest first."""
        if self.map_manager is None:
            return []
        found, newest = [location_id], {location_id}
        for _ in range(max_depth):
            next_door = (adjacent_ids(each, self.map_manager.game_map.connections) for each in newest)
            newest = set(chain.from_iterable(next_door)).difference(found)
            found += sorted(newest)
        return found[1:]

    def _room_name(self, location_id: int) -> str:
        names = {} if self.map_manager is None else self.map_manager.game_map.room_names
        return names.get(location_id, f"Location #{location_id}")

    def _get_map_context(self, characters: int = LONGEST_PART) -> str:
        """Return the map, the routing summary, the untried exits and the exploration statistics, as text."""
        return self._map_part().fit(characters)[0]

    def _map_part(self) -> Part:
        if self.map_manager is None:
            return Part("map", (), empty="No map data available")
        here = self.game_state.current_room_id
        return map_part(
            self.map_manager.game_map,
            location_line(self.game_state),
            here,
            self._get_routing_summary(here),
            self.map_manager.frontier(),
        )

    def _get_routing_summary(self, current_location_id: int | None) -> str:
        """Return the exits of the location and of the adjacent ones, as text."""
        if self.map_manager is None or current_location_id is None:
            return "No routing data available"
        game_map = self.map_manager.game_map
        return routing_summary(current_location_id, game_map.room_names, game_map.connections)

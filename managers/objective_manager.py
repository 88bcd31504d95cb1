"""Finds objectives, judges progress by facts, and shows the objectives to the agent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Literal

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.course_manager import CourseManager, is_on_course
from managers.done import done_in, numbers_named, places_named, with_commands
from managers.knowledge_manager import KnowledgeManager
from managers.known import Known, objective_key
from managers.map_manager import MapManager
from managers.objectives import (
    AT_LAST,
    RECENT_TURNS,
    STALE,
    ChangedObjective,
    CompletedObjective,
    Evidence,
    FoundObjective,
    Objective,
    ObjectivesAnswer,
    answer_of_player,
    evidence_of,
    memory_lines,
    play_part,
    present_texts,
    usefulness,
)
from managers.plan import PLAN
from managers.prompting import (
    CHARACTERS_PER_TOKEN,
    LEFT_OUT,
    Line,
    Part,
    fitted_prompt,
    prologue,
    room_beside,
    turn_text,
)
from session.context import Place, PromptSection
from session.errors import LanguageModelError
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import LocationMemories, Memory
from session.text import counted, one_line, text_key
from session.values import Observation, TurnRecord
from zorkgpt.llm.language_model import Prompt
from zorkgpt.mapping.navigation import local_view, neighbourhood
from zorkgpt.prompts.loader import fill_prompt

KNOWLEDGE_SHARE, OPENING_SHARE, MEMORIES_SHARE = 0.25, 0.15, 0.2
MAX_ADJACENT = 5  # locations whose memories are shown
FIRST_TURNS = 5  # shown with the opening once they are no longer among the recent turns
NO_MEMORIES = "No memories available for current or adjacent locations"
NO_KNOWLEDGE = "No strategic knowledge available."
NO_MAP = "No map data available"


class ObjectiveManager(BaseManager):
    """Keeps the objectives of an episode.

    objectives: all of the episode, including those that have ended, oldest first
    asked_turn: the turn in which the model was last called, successfully or not; 0 for none
    adaptive_knowledge_manager: provides the knowledge and the language model
    map_manager, memory_manager: ``None`` to find objectives without a map, or without memories
    courses: reports whether a course has commands to play
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        adaptive_knowledge_manager: KnowledgeManager,
        map_manager: MapManager | None = None,
        memory_manager: LocationMemories | None = None,
        courses: CourseManager | None = None,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self.adaptive_knowledge_manager = adaptive_knowledge_manager
        self.map_manager = map_manager
        self.memory_manager = memory_manager
        self._courses = courses
        self.reset()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self.objectives: tuple[Objective, ...] = ()
        self.evidence: tuple[Evidence, ...] = ()
        self.asked_turn = 0
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
    def known(self) -> Known:
        return Known(episode=self.game_state.episode, objectives=self.objectives)

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        shows = tuple(objective_key(self.game_state.episode, each) for each in self.active)
        return PromptSection("Objectives", self.text(), 3, Place.OBJECTIVES, shows)

    @override
    def outlook(self) -> str:
        return "\n".join(f"Objective {each.id}, not marked as achieved: {each.text}" for each in self.active)

    def achieve_at_last(self, numbers: Iterable[int]) -> None:
        """Complete the open objectives of these numbers, which were achieved in the episode, in turns not named."""
        self._changed_since(self.objectives, [self._end(number, "completed", AT_LAST) for number in numbers])

    @property
    def active(self) -> list[Objective]:
        """The open objectives, oldest first."""
        return [each for each in self.objectives if each.status == "active"]

    def text(self) -> str:
        """Return the open objectives with their numbers for the agent, oldest first; "" if there are none.

        The text changes only when objectives are found or end, so that the server can cache the beginning of a prompt.
        """
        return "\n".join(f"{each.id}. {each.text}" for each in self.active)

    @override
    def learn(self, record: TurnRecord) -> None:
        """Record the facts of a turn and the agent's notes on objectives, and update the objectives if due.

        An update that is due on a course waits until the course ends.
        """
        self.evidence += evidence_of(record, self.game_state.visited_locations)
        if record.objective_notes:
            self._take(answer_of_player(record))
        if not is_on_course(self._courses, record):
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
        if turn >= self.config.max_turns_per_episode or self._is_on_course(turn):
            return False  # the episode ends here, and its objectives with it; or the plan says what is next
        memories = self.memory_manager.memory_cache.values() if self.memory_manager else ()
        learned = (memory.episode != self.game_state.episode for at_location in memories for memory in at_location)
        is_first = self.asked_turn == 0 and self.config.enable_enhanced_objectives
        is_first = is_first and bool(self.adaptive_knowledge_manager.full_text().strip() or any(learned))
        late = turn - self.asked_turn - (1 if is_first else self.config.objective_update_interval)
        return late > 0 or (late == 0 and turn != self.adaptive_knowledge_manager.asked_turn)

    def _is_on_course(self, turn: int) -> bool:
        """Return whether the plan is being followed: a command of it or of a route was played not long ago."""
        plan, interval = self.adaptive_knowledge_manager.plan(), self.config.objective_update_interval
        latest = self.game_state.turns[-interval:]
        names = {} if self.map_manager is None else self.map_manager.game_map.room_names
        return bool(plan) and (
            turn < interval
            or any(each.is_of_route or each.proposals[-1].follow == PLAN for each in latest)
            or any(done_in(line, with_commands(latest), places_named([line], names)) for line in plan)
        )

    def _take(self, answer: ObjectivesAnswer) -> tuple[Objective, ...]:
        """Apply the valid parts of the answer, and return the objectives found, completed and dropped."""
        before = self.objectives
        taken = {text_key(each.text) for each in before if each.status != "dropped"}
        refusals = [self._complete(each) for each in answer.completed]
        refusals += [self._change(each) for each in answer.changed]
        refusals += [self._end(each.id, "dropped", one_line(each.reason)) for each in answer.dropped]
        for objective in self.active:
            unchanged = self.game_state.turn_count - objective.last_progress(self.evidence)
            if unchanged >= self.config.objectives.stale_after:
                self._end(objective.id, "dropped", STALE)
        known = self.game_state.seen_locations
        if self.map_manager is not None:
            known.update(self.map_manager.game_map.rooms)
        if self.memory_manager is not None:
            known.update(self.memory_manager.memory_cache, self.memory_manager.ephemeral_cache)
        refusals += [self._add(found, known, taken) for found in answer.objectives]
        return self._changed_since(before, refusals)

    def _changed_since(self, before: Sequence[Objective], refusals: Iterable[str]) -> tuple[Objective, ...]:
        """Return the objectives that differ from those before, and log them with what was refused."""
        refused = list(filter(None, refusals))
        self._counts["refused"] += len(refused)
        changed = tuple(each for each, known in zip_longest(self.objectives, before) if each != known)
        self.log_info(
            "objectives updated",
            found=[each.text for each in changed if each.status == "active"],
            completed=[each.text for each in changed if each.status == "completed"],
            dropped=[each.text for each in changed if each.status == "dropped"],
            refused=refused,
        )
        return changed

    def _complete(self, completed: CompletedObjective) -> str:
        """Complete an objective, and return why that is refused, or ""."""
        id_, turn = completed.id, completed.turn
        objective = next((each for each in self.objectives if each.id == id_), None)
        if not 1 <= turn <= self.game_state.turn_count:
            return f"completion of {id_}: turn {turn} was not played"
        if objective is not None and turn < objective.turn:
            return f"completion of {id_}: it was set in turn {objective.turn}, after that turn"
        return self._end(id_, "completed", f"turn {turn}")

    def _end(self, id_: int, status: Literal["completed", "dropped"], ending: str) -> str:
        """End an objective, and return why that is refused, or ""."""
        if not any(each.id == id_ for each in self.active):
            return f"{status} {id_}: no such objective is open"
        turn = self.game_state.turn_count
        self.objectives = tuple(
            replace(each, status=status, ended_turn=turn, ending=ending) if each.id == id_ else each
            for each in self.objectives
        )
        return ""

    def _change(self, changed: ChangedObjective) -> str:
        """Let an objective be what is left to do of it, perhaps elsewhere, and return why that is refused, or ""."""
        objective = next((each for each in self.active if each.id == changed.id), None)
        rest = one_line(changed.rest)
        if objective is None or not rest:
            return f"rest of {changed.id}: no such objective is open, or nothing is left"
        new = replace(objective, text=rest, location_id=next(iter(numbers_named(rest)), None))
        self.objectives = tuple(new if each is objective else each for each in self.objectives)
        return ""

    def _add(self, found: FoundObjective, known_locations: Collection[int], taken: set[str]) -> str:
        """Add an objective, and return why that is refused, or "". ``taken``: keys of the texts of others."""
        location_id, cap = found.location_id, self.config.objectives.max_active
        text = _with_place(one_line(found.text), location_id)
        if not text:
            return "an objective without a text"
        if location_id is not None and location_id not in known_locations:
            return f"location {location_id} is not known: {text}"
        if text_key(text) in taken:
            return f"known already: {text}"
        if len(self.active) >= cap:
            return f"more than {cap} open: {text}"
        taken.add(text_key(text))
        number, turn = len(self.objectives) + 1, self.game_state.turn_count
        self.objectives += (Objective(number, text, turn, one_line(found.evidence), location_id),)
        return ""

    def _prompt(self) -> Prompt:
        game, options, knowledge = self.game_state, self.config.objectives, self.adaptive_knowledge_manager
        turns = max(RECENT_TURNS, self.config.objective_update_interval)
        first = game.turns[: max(0, min(FIRST_TURNS, game.turn_count - turns))]
        opening = [prologue(game, with_room=True)]
        opening += [turn_text(each.turn, f"{each.action}: {one_line(each.response)}") for each in first]
        templates, most = ["objectives_play"], self.config.max_turns_per_episode
        fields = present_texts(game, self.objectives, self.attribute_names, most)
        parts = [
            Part("opening", [[Line(text)] for text in opening if text], keeps="best", share=OPENING_SHARE),
            Part("notes", [[Line("- ", note)] for note in game.notes]),
            play_part(game, self.evidence, turns, above=len(first)),
        ]
        system = fill_prompt("objectives", max_active=str(options.max_active))
        characters = self.tokens.characters(min(options.max_tokens, self.config.prompt_budgets.analysis))
        if self.config.enable_enhanced_objectives:
            templates.insert(0, "objectives_context")
            parts += [
                Part("plan", [[Line("- ", line)] for line in knowledge.plan()], keeps="best"),
                self._memories_part(game.current_room_id),
                self._map_part(),
            ]
            room = int(KNOWLEDGE_SHARE * room_beside(system, templates, fields, characters))
            fields["knowledge"] = NO_KNOWLEDGE
            if knowledge.full_text().strip():
                fields["knowledge"] = knowledge.text(room // CHARACTERS_PER_TOKEN) or LEFT_OUT
        return fitted_prompt(system, templates, fields, parts, characters)

    def _memories_part(self, location_id: int | None) -> Part:
        """Return the memories of the location, of those that are named, and of at most five adjacent ones."""
        if self.memory_manager is None:
            return Part("memories", (), empty="No memory data available")
        if location_id is None:
            return Part("memories", (), empty=NO_MEMORIES)
        named = self.map_manager.named_places() if self.map_manager else ()
        aims = dict.fromkeys([*(place for objective in self.active for place in objective.places), *named])
        beside = self._get_adjacent_room_ids(location_id)
        adjacent = {self._label(each): self._memories(each) for each in beside if each not in aims}
        best = {label: max(map(usefulness, memories)) for label, memories in adjacent.items() if memories}
        doors = sorted(best, key=best.__getitem__, reverse=True)[:MAX_ADJACENT]
        others = {
            "Locations in Plan, Objectives or Notes": {
                self._label(each): self._memories(each) for each in aims if each != location_id
            },
            "Adjacent Locations": {label: memories for label, memories in adjacent.items() if label in doors},
        }
        items: list[list[Line]] = []
        for memory in sorted(self._memories(location_id), key=usefulness, reverse=True):
            heading = [] if items else [Line(f"## Memories for Current Location {self._label(location_id)}:")]
            items.append([*heading, *memory_lines(memory)])
        for title, places in others.items():
            heading = [Line(""), Line(f"## Memories for {title}:")]
            for label, memories in places.items():
                heading += [Line(""), Line(f"**Location {label}:**")] if memories else []
                for memory in sorted(memories, key=usefulness, reverse=True):
                    items.append([*heading, *memory_lines(memory)])
                    heading = []
        if len(best) > len(doors):
            items.append([Line(f"({counted(len(best) - len(doors), 'more adjacent location')} with memories)")])
        near = {location_id, *aims, *beside}
        elsewhere = sum(len(self._memories(room)) for room in self.memory_manager.memory_cache if room not in near)
        if elsewhere:
            items.append([Line(f"({counted(elsewhere, 'memory', 'memories')} of other locations not shown)")])
        return Part("memories", items, keeps="best", empty=NO_MEMORIES, share=MEMORIES_SHARE)

    def _get_full_knowledge(self) -> str:
        """Return the whole knowledge, or that there is none."""
        return self.adaptive_knowledge_manager.full_text().strip() or NO_KNOWLEDGE

    def _get_memories_with_adjacent(self, current_location_id: int | None) -> str:
        """Return the memories that a prompt at the location shows if it has room for them."""
        return self._memories_part(current_location_id).whole

    def _get_map_context(self) -> str:
        """Return the map that a prompt shows if it has room for it."""
        return self._map_part().whole

    def _get_routing_summary(self, current_location_id: int) -> str:
        """Return the ways out of the location and of those one move away."""
        return local_view(self.map_manager.game_map, current_location_id, 1) if self.map_manager else NO_MAP

    def _get_adjacent_room_ids(self, location_id: int, max_depth: int = 1) -> list[int]:
        """Return the locations at most ``max_depth`` moves away in either direction, in order of their ids."""
        near = neighbourhood(self.map_manager.game_map, location_id, max_depth) if self.map_manager else {}
        return sorted(near.keys() - {location_id})

    def _format_memories(self, memories: Sequence[Memory]) -> str:
        """Return the memories as a prompt shows them."""
        return Part("memories", [memory_lines(each) for each in memories], empty="  (No memories)").whole

    def _label(self, location_id: int) -> str:
        """Return the id and the name of a location."""
        if location_id == self.game_state.current_room_id:
            return one_line(f"{location_id} ({self.game_state.current_room_name_for_map})")
        names = self.map_manager.game_map.room_names if self.map_manager else {}
        return one_line(f"{location_id} ({names.get(location_id, f'Location #{location_id}')})")

    def _memories(self, location_id: int) -> list[Memory]:
        """Return the memories shown at the location.

        The arrival memory is left out if the story has described the location in this episode.
        """
        manager = self.memory_manager
        shown = manager.shown_location(location_id) if manager else None
        if manager is None or shown is None:
            return []
        found = [*manager.memory_cache.get(shown, ()), *manager.ephemeral_cache.get(shown, ())]
        is_described = location_id in self.game_state.room_descriptions
        return [memory for memory in found if not (memory.is_given_up or (memory.is_arrival and is_described))]

    def _map_part(self) -> Part:
        """Return the map: the text that the agent is shown, the number of rooms, and a drawing if there is room."""
        if self.map_manager is None:
            return Part("map", (), empty=NO_MAP)
        view, graph = self.map_manager.local_view(), self.map_manager.game_map.render_mermaid()
        here = f"**Current location**: L{self.game_state.current_room_id}\n**Available Exits:**"
        text = f"## Current and Adjacent Locations\n{here}\n{view}\n\n" if view else ""
        text += f"## Exploration Statistics\n- Rooms discovered in all games: {len(self.map_manager.game_map.rooms)}"
        drawing = f"## Map Visualization (Mermaid Format, without ways that were never walked)\n{graph}"
        note = "(the drawing of the map is left out)"
        return Part("map", [[Line(text)], [Line(drawing)]], keeps="best", separator="\n\n", note=note)


def _with_place(text: str, location_id: int | None) -> str:
    """Return the text with the location's id, which it contains once."""
    named = location_id is None or re.search(
        rf"\b(?:L|location #?){location_id}\b|\({location_id}\)", text, re.IGNORECASE
    )
    return text if not text or named else f"{text} (Location {location_id})"

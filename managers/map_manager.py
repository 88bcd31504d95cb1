"""Learns the map of a work folder turn by turn and keeps it across episodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import takewhile

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.done import places_named
from session.context import Place, PromptSection
from session.events import EpisodeEnd
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import asks, description_in, first_line, is_dark, one_line
from session.values import Location, Observation, TurnRecord
from zorkgpt.mapping.map_store import MapStore
from zorkgpt.mapping.map_values import LEADS_BACK, Carry, Edge, FatalExit
from zorkgpt.mapping.movement_analyzer import Attempt
from zorkgpt.mapping.navigation import local_view, untried_from

SAVE_INTERVAL = 10  # turns
_SPEECH = re.compile(r'["\u201c](?:(?!\n\s*\n)[^"\u201d])*["\u201d]?')
"""Quoted words up to their end, or that of the paragraph."""


class MapManager(BaseManager):
    """Owns the map graph ``game_map`` and its file, ``config.map_state_file`` in the work folder.

    aims: returns texts, such as the plan, whose locations are always shown with their distance
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        *,
        aims: Callable[[], Iterable[str]] = tuple,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self._aims = aims
        self._store = MapStore(config.zork_game_workdir / config.map_state_file, self.log_error)
        self.stores = (self._store,)
        self.game_map = self._store.graph
        self._asked = ""

    @classmethod
    @override
    def shared_files(cls, config: GameConfiguration) -> tuple[SharedFile, ...]:
        return (SharedFile(config.map_state_file, "map_state.json"),)

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._asked = ""  # what the story responded to with its last question
        self.game_map.begin_game()
        here = self.game_state.opening_location
        self._note_bearings(self.game_state.opening, here)
        if here is not None:
            self.game_map.add_room(here.num, here.name)
            self.game_map.add_visit(here.num, self.game_state.episode)

    @override
    def learn(self, record: TurnRecord) -> None:
        """Learn from the turn, and write the map if rooms or edges changed.

        In a run, changes are written with the commit of every ``SAVE_INTERVAL``-th turn. Raises ``StoreError`` if the
        file cannot be written. The map in memory is then up to date.
        """
        graph, store = self.game_map, self._store
        attempt = self.movements.attempt(record, graph)
        self._note_carry(record)
        exit_, here = self.movements.exit_tried(record), record.before.location
        if here and self.movements.is_direction(exit_) and self.movements.boards(record):
            graph.deny_exit(here.num, exit_)
        if record.after.refusal is None and not record.is_key:
            self._asked = "" if record.moved else self._with_question(record, self.movements.exit_of(record.action))
        for location in (record.before.location, record.after.location):
            if location is not None and graph.add_room(location.num, location.name):
                store.is_changed = True
        self._note_visit(record)
        ends_here = record.after.ending is not None and not record.moved  # so the exit did not lead nowhere
        if attempt is not None and not ends_here and self._learn_attempt(attempt, record):
            store.is_changed = True
        self._note_end(record, exit_)
        if store.is_changed and (record.turn % SAVE_INTERVAL == 0 or not store.holds):
            self.save_map_state()
        if not record.after.awaits_key:  # the screen is a menu or a page
            self._note_bearings(record.after.text, record.after.location)
        if here and not record.is_key:
            self._note_reading(record, here)

    @override
    def finish(self, end: EpisodeEnd) -> None:
        self.save_map_state()

    def save_map_state(self) -> None:
        """Write the map to its file; in a run, with the next commit. Raises ``StoreError``."""
        self._store.demand()
        if not self._store.holds:
            self.commit()

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        return PromptSection("Map", self.local_view(), 6, Place.MAP) if self.config.map.shown else None

    @override
    def outlook(self) -> str:
        start = self.game_state.opening_id
        return untried_from(self.game_map, start) if self.config.map.shown and start is not None else ""

    def local_view(self) -> str:
        """Describe the rooms within ``config.map.local_radius`` moves, one a line; "" if the location is not known."""
        here = self.game_state.current_room_id
        radius = self.config.map.local_radius
        return "" if here is None else local_view(self.game_map, here, radius, named=self.named_places())

    def named_places(self) -> list[int]:
        """Return the ids of the locations that the plan, an objective or a note names, each once."""
        return places_named(self._aims(), self.game_map.room_names)

    def visits(self, location_id: int) -> tuple[int, int]:
        """Return the numbers of visits to the location and of episodes with a visit, including the current visit."""
        room = self.game_map.rooms.get(location_id)
        return (room.visits, room.episodes) if room else (0, 0)

    @override
    def get_status(self) -> ManagerStatus:
        graph = self.game_map
        return {
            "type": "map",
            "state": {"file": str(self._store.path), "location_id": self.game_state.current_room_id},
            "metrics": {
                "rooms": len(graph.rooms),
                "connections": sum(map(len, graph.connections.values())),
                "pruned_exits": sum(map(len, graph.pruned_exits.values())),
            },
        }

    def _note_visit(self, record: TurnRecord) -> None:
        """Count that the player came to a room, and record whether it is dark there."""
        graph, there, text = self.game_map, record.after.location, record.after.text
        if record.moved and there is not None:
            graph.add_visit(there.num, record.episode, is_dark=is_dark(text, of_elsewhere=False))
        elif there and graph.rooms[there.num].is_dark and description_in(text, there.name):
            graph.rooms[there.num] = graph.rooms[there.num].model_copy(update={"is_dark": False})
            self._store.is_changed = True

    def _note_reading(self, record: TurnRecord, here: Location) -> None:
        """Correct the exits of the text before the turn by what a model read in it."""
        if record.reading and (record.reading.exits or record.reading.is_room_description):
            named = self.movements.exits_named(record.reading.exits)
            body = _body_of(record.before.text, here)
            seemed = {*self.movements.bearings_named(body), *self.movements.ways_named(body)}
            self.game_map.correct_exits(here.num, named, seemed.difference(named))
            if record.reading.is_room_description:
                self.game_map.name_exits(here.num, named)

    def _note_bearings(self, text: str, here: Location | None) -> None:
        """Add the exits named in the location's description, so that prompts have them before it is extracted."""
        body = _body_of(text, here) if here else ""
        bearings, ways = self.movements.bearings_named(body), self.movements.ways_named(body)
        if here and (bearings or ways):
            self.game_map.add_room(here.num, here.name)
            misread = self.game_map.misread_exits.get(here.num, ())
            self.game_map.name_exits(here.num, (*bearings, *ways) if bearings else ())
            if self.config.extractor.mode == "none":  # no model will read them, and a mark on all of them says nothing
                self.game_map.add_exits(here.num, [each for each in bearings if each not in misread])
            self.game_map.add_read_exits(here.num, [each for each in (*bearings, *ways) if each not in misread])

    def _note_carry(self, record: TurnRecord) -> None:
        """Record the room to which the story moved the player during a command that is not an exit."""
        command = self.movements.carrying(record, self.game_map)
        here, to = record.before.location, record.after.location
        if command and here and to and record.after.ending is None:
            line = self._with_question(record, command)
            earlier = takewhile(lambda each: not each.moved, reversed(self.game_state.turns[: record.turn - 1]))
            stayed = sum(not each.took_no_turn for each in earlier)
            self.game_map.record_carry(
                here.num, line, Carry(to.num, record.episode, record.turn, stayed, line != command)
            )
            self._store.is_changed = True

    def _with_question(self, turn: TurnRecord, command: str) -> str:
        """Return the command, if it answers a question of the story after the command that the story asked about."""
        return f"{self._asked}, then {command}" if self._asked and self.movements.is_answer(turn) else command

    def _note_end(self, turn: TurnRecord, exit_: str) -> None:
        """Record that taking an exit killed the player or ended the story. Then the location is the room behind it."""
        before, after, here = turn.before, turn.after, turn.before.location
        ending = after.ending if after.ending != "crashed" else None
        if not (after.died or ending) or here is None or not self.movements.is_direction(exit_):
            return
        reached = after.location if turn.moved and ending is not None else None
        if reached is not None:
            self.game_map.add_room(reached.num, reached.name)
        dark = after.died and any(is_dark(text) for text in (before.text, after.text))
        room = None if reached is None else reached.num
        end = FatalExit(turn.episode, turn.turn, first_line(after.text), room=room, is_dark=dark)
        if not after.died:
            end = replace(end, ending=ending, score=after.score, max_score=after.max_score)
        self.game_map.record_death(here.num, exit_, end)

    def _learn_attempt(self, attempt: Attempt, turn: TurnRecord) -> bool:
        """Record where the command led, or that it failed. Returns whether an edge was added, changed or pruned."""
        graph, from_id, exit_ = self.game_map, attempt.from_id, attempt.exit
        if attempt.to_id is not None:
            graph.tried_now[Edge(from_id, exit_)] = True
            was_pruned = graph.is_pruned(from_id, exit_)
            before, after = turn.before.inside, turn.after.inside
            ride = after.label if before and after and before.num == after.num else ""
            walk = graph.add_connection(from_id, exit_, attempt.to_id, attempt.confidence, ride=ride)
            return was_pruned or walk in {"new", "contradicted"}
        if not self.movements.is_direction(exit_) and exit_ not in graph.connections.get(from_id, {}):
            return False
        edge = Edge(from_id, exit_)
        is_first, graph.tried_now[edge] = edge not in graph.tried_now, False
        if turn.leads_back:
            graph.add_exits(from_id, (exit_,))
            graph.record_refusal(from_id, exit_, LEADS_BACK)
            return False
        if self.movements.asks(turn):
            if asks(turn.after.text):
                graph.record_refusal(from_id, exit_, one_line(turn.after.text))
            return False
        graph.record_refusal(from_id, exit_, first_line(turn.after.text))
        if is_first and graph.has_led(edge):  # in an earlier game
            graph.first_refusals.setdefault(edge, graph.exit_refusals[edge])
        return graph.record_failure(from_id, exit_, prune_after=self.config.map.prune_after) in {
            "contradicted",
            "pruned",
        }


def _body_of(text: str, here: Location) -> str:
    """Return the description of the location in the text, without the location's name and without speech."""
    _, _, body = (description_in(text, here.name) or "").partition("\n")
    return _SPEECH.sub(" ", body)

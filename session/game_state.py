"""The state and the progress of an episode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import chain
from typing import Any, NamedTuple

from session.commands import perceives, plain_command, typed
from session.text import RoomDescription, description_in, one_line
from session.values import GameObject, Location, Observation, Seed, TurnRecord


class Tries:
    """The turns of an episode, for queries about earlier ones like the present one.

    Turns whose command never reached the story are omitted. Locations are ids, ``None`` if unknown.

    in_vain: by location and command, the latest turn of each that never had an effect there, not even unseen
    """

    def __init__(self) -> None:
        self.in_vain: dict[tuple[int | None, str], TurnRecord] = {}
        self._turns: defaultdict[int | None, dict[str, list[TurnRecord]]] = defaultdict(dict)
        self._paragraphs: dict[str, int] = {}
        self._done: defaultdict[int | None, dict[str, TurnRecord]] = defaultdict(dict)
        self._stays: defaultdict[tuple[int | None, str], list[TurnRecord]] = defaultdict(list)

    def add(self, turn: TurnRecord) -> None:
        """Add the latest turn."""
        if turn.after.refusal is not None:
            return
        command = typed(turn.action, is_key=turn.is_key)
        here = turn.before.location_id
        at_location, done = self._turns[here], self._done[here]
        is_first, was_in_vain = command not in at_location, self.in_vain.pop((here, command), None)
        at_location[command] = at_location.pop(command, [])
        at_location[command].append(turn)
        if (is_first or was_in_vain) and turn.changed_nothing and not (turn.did_something or turn.after.died):
            self.in_vain[here, command] = turn
        if not turn.moved:
            self._stays[here, command].append(turn)
        if turn.did_something and not (turn.after.died or turn.took_no_turn):
            done.pop(command, None)
            done[command] = turn
        for paragraph in turn.after.text.split("\n\n"):
            self._paragraphs.setdefault(one_line(paragraph), turn.turn)

    def of(self, location_id: int | None, command: str, *, is_key: bool = False) -> Sequence[TurnRecord]:
        """Return the turns in which the command was typed, or the key pressed, at the location, oldest first."""
        return self._turns[location_id].get(typed(command, is_key=is_key), ())

    def latest_first(self, location_id: int | None) -> Iterator[tuple[str, Sequence[TurnRecord]]]:
        """Return each command that was typed at the location, the latest first, with its turns, oldest first.

        A key's name follows the word "key".
        """
        return reversed(self._turns[location_id].items())

    def done_at(self, location_id: int | None) -> Collection[tuple[str, TurnRecord]]:
        """Return each command that had an effect there, with its latest turn, without deaths, oldest first."""
        return self._done[location_id].items()

    @property
    def done(self) -> Iterator[tuple[str, TurnRecord]]:
        """Each command at each location that had an effect, with its latest turn, without deaths."""
        return chain.from_iterable(commands.items() for commands in self._done.values())

    def has_new_paragraph(self, turn: TurnRecord) -> bool:
        """Return whether a paragraph of the turn's text is new, not only their combination."""
        return turn.turn in (self._paragraphs.get(one_line(each)) for each in turn.after.text.split("\n\n"))

    def outcomes(self, now: Observation, command: str) -> list[str]:
        """Return the answers to the command in turns that began with the same perceptible state as now.

        Moves are omitted, because a way may be walked repeatedly. The list is empty unless the whole world state was
        the same at least once, with what no player sees if that is known.
        """
        noticed = now.noticed
        stays = self._stays.get((now.location_id, typed(command, is_key=False)), ())
        if noticed is None or not any(_is_same_world(turn.before, now) for turn in stays):
            return []
        return [one_line(turn.after.text) for turn in stays if turn.before.noticed == noticed]


def _is_same_world(one: Observation, other: Observation) -> bool:
    if one.state_hash and other.state_hash:
        return one.state_hash == other.state_hash
    return one.world_hash == other.world_hash != ""


@dataclass(frozen=True, slots=True)
class NewBest:
    """A new maximum of the score in the episode, and its turn."""

    turn: int
    score: int


class EpisodeProgress:
    """The figures of an episode.

    score, best_score, max_score: the last known one, the highest, the maximum; ``None`` if it was never known
    new_bests: every new maximum of the score, in order; the score of the opening does not count
    rooms: ids of the locations that were seen
    seconds: of its turns, from each observation to the next
    """

    def __init__(self, opening: Observation) -> None:
        self.turns = 0
        self.score: int | None = None
        self.max_score: int | None = None
        self.best_score = opening.score
        self.new_bests: list[NewBest] = []
        self.rooms: set[int] = set()
        self.seconds = 0.0
        self._see(opening)

    def count(self, record: TurnRecord, seconds: float = 0) -> None:
        """Add a turn. ``seconds``: its duration."""
        self.turns += 1
        self.seconds += seconds
        score = record.after.score
        if score is not None and (self.best_score is None or score > self.best_score):
            if self.best_score is not None:
                self.new_bests.append(NewBest(record.turn, score))
            self.best_score = score
        self._see(record.after)

    def _see(self, observation: Observation) -> None:
        self.score = self.score if observation.score is None else observation.score
        self.max_score = self.max_score if observation.max_score is None else observation.max_score
        if observation.location is not None:
            self.rooms.add(observation.location.num)


MOST_NOTES = 5
FEWEST_NOTED = 3
"""Things by which an attribute is known as a note of the story on what the player named."""
LONGEST_NOTE = 300  # characters, in an answer of a model
LONGEST_OBJECTIVE = 400
NOTHING_SEEN = Observation("")


class PlayedAction(NamedTuple):
    """A command and the story's answer: one entry of ``GameState.action_history``."""

    action: str
    response: str


@dataclass(slots=True)
class GameState:
    """One episode so far. Only :meth:`begin` and :meth:`record` change it.

    episode: its number, which increases across the runs of a work folder
    episode_id: its name, by default its number as text
    seed: the seed of the story's random numbers in this episode
    turn_count: turns recorded so far; the turn being played is ``turn_count + 1``
    turns: the turns recorded so far
    latest: the observation after the last of them, or the opening
    opening, opening_location: the story's text before the first turn, and the player's location then
    recorded_at: when each of ``turns`` was recorded (ISO 8601)
    scored: the turns in which the score changed, oldest first
    visited_locations: the ids of the locations in which at least one turn began
    tries: its turns by location and command
    held: the things that the player carried when a turn began, by number
    notes: at most ``MOST_NOTES`` lines that the agent keeps in view, oldest first
    room_descriptions: the last full description of each room that the story has printed in this episode, by its id
    last_room_description_location_id: the room that was described last
    arrival_turn: the turn in which the player came to the present room, 0 for the opening
    noted: what looks changed of things, as in ``TurnRecord.changed_attributes``
    """

    episode: int = 1
    episode_id: str = ""
    seed: Seed = 1
    turn_count: int = 0
    turns: list[TurnRecord] = field(default_factory=list)
    latest: Observation = NOTHING_SEEN
    opening: str = ""
    opening_location: Location | None = None
    recorded_at: list[str] = field(default_factory=list)
    scored: list[TurnRecord] = field(default_factory=list)
    visited_locations: set[int] = field(default_factory=set)
    tries: Tries = field(default_factory=Tries)
    held: dict[int, GameObject] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    room_descriptions: dict[int, RoomDescription] = field(default_factory=dict)
    last_room_description_location_id: int | None = None
    arrival_turn: int = 0
    noted: set[tuple[int, int, bool]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.episode_id = self.episode_id or str(self.episode)

    @property
    def opening_id(self) -> int | None:
        """The id of the location at the opening, ``None`` if it is unknown."""
        return self.opening_location.num if self.opening_location else None

    @property
    def action_history(self) -> list[PlayedAction]:
        """Every command with its response, oldest first."""
        return [PlayedAction(turn.action, turn.after.text) for turn in self.turns]

    @property
    def action_reasoning_history(self) -> list[dict[str, Any]]:
        """Dicts of turn, reasoning, action, and timestamp (ISO 8601), oldest first."""
        return [
            {"turn": turn.turn, "reasoning": turn.reasoning, "action": turn.action, "timestamp": at}
            for turn, at in zip(self.turns, self.recorded_at, strict=True)
        ]

    @property
    def memory_log_history(self) -> list[str]:
        """Always empty, kept for compatibility; memories are in ``Memories.md``."""
        return []

    @property
    def current_room_id(self) -> int | None:
        """The player's location, ``None`` if it is unknown."""
        return self.latest.location_id

    @property
    def seen_locations(self) -> set[int]:
        """The ids of the locations at which the player has been, the present one included."""
        here = self.latest.location
        return self.visited_locations | ({here.num} if here else set())

    @property
    def current_room_name_for_map(self) -> str:
        """The label of the player's location, "" if it is unknown."""
        return self.latest.location_label

    @property
    def current_inventory(self) -> list[str]:
        """The names of what the player carries."""
        return [thing.name for thing in self.latest.inventory or ()]

    @property
    def previous_zork_score(self) -> int | None:
        """The points after the last recorded turn; ``None`` if the story has no score."""
        return self.latest.score

    @property
    def is_dead(self) -> bool:
        """Whether the player died in the last turn."""
        return self.latest.died

    @property
    def game_over(self) -> bool:
        """Whether the story has ended."""
        return self.latest.ending is not None

    @property
    def last_room_description(self) -> str:
        """The text of the last description of a room."""
        known = self.room_descriptions.get(self.last_room_description_location_id or 0)
        return known.text if known else ""

    @property
    def last_room_description_turn(self) -> int:
        """The turn of the last description of a room."""
        known = self.room_descriptions.get(self.last_room_description_location_id or 0)
        return known.turn if known else 0

    def begin(self, opening: Observation) -> None:
        """Start with the opening of the story."""
        self.opening, self.opening_location, self.latest = opening.text, opening.location, opening
        self._find_description(opening, 0)

    def has_effect(self, turn: TurnRecord) -> bool:
        """Return whether the command changed more than the story's notes on which things the player named.

        Such a note is an attribute that looks changed of several things. For other commands it only is if looks cleared
        it, too, because it is on the thing that was named last. It may still matter later.
        """
        is_look = perceives(plain_command(turn.action))
        changed = {attribute for attribute, _, _ in turn.changed_attributes}
        for attribute in changed:
            noted = [is_set for each, _, is_set in self.noted if each == attribute]
            if len(noted) < FEWEST_NOTED or (all(noted) and not is_look):
                return True
        return turn.did_something and (not changed or turn.rearranged or turn.is_decisive)

    def record(self, turn: TurnRecord) -> None:
        """Add a turn to the history, and update the state with its outcome."""
        self._believe_reading(turn)
        self.turn_count, self.latest = turn.turn, turn.after
        self.turns.append(turn)
        self.recorded_at.append(datetime.now(timezone.utc).isoformat(timespec="seconds"))
        self.tries.add(turn)
        if perceives(plain_command(turn.action)) and not turn.rearranged:
            self.noted |= turn.changed_attributes
        self.held |= {thing.num: thing for thing in turn.before.inventory or ()}
        if turn.score_change:
            self.scored.append(turn)
        if turn.before.location is not None:
            self.visited_locations.add(turn.before.location.num)
        for note in turn.notes:
            text = one_line(note.text)
            place = note.number - 1 if note.number and note.number > 0 else MOST_NOTES
            self.notes[place : place + 1] = [text] if text else []
            del self.notes[:-MOST_NOTES]
        if turn.moved or turn.before.location is None:
            self.arrival_turn = turn.turn
        self._find_description(turn.after, turn.turn)

    def _find_description(self, seen: Observation, turn: int) -> None:
        """Store the description of the room if the text certainly contains it.

        It does on a first visit, and if it repeats the known description. If the player has not moved, it also does if
        the room's name is followed by a text of about the same length: a lamp was lit, or the room has changed.
        """
        here = seen.location
        if here is None or seen.refusal is not None:
            return
        known, described = self.room_descriptions.get(here.num), description_in(seen.text, here.name)
        has_come = turn == self.arrival_turn
        if known is None:
            is_full = described is not None or (has_come and turn > 0)
        else:
            is_as_long = described is not None and 2 * len(described) >= len(known.text)
            is_full = known.is_repeated_in(seen.text) or (is_as_long and not has_come)
        if is_full:
            self._keep_description(here.num, described or seen.text, turn)

    def _believe_reading(self, turn: TurnRecord) -> None:
        """Store the text of the last turn if the model read it as the room's description.

        The model decides if no known description has the room's name.
        """
        here, text = turn.before.location, turn.before.text
        if here is None or not (turn.reading and turn.reading.is_room_description):
            return
        known = self.room_descriptions.get(here.num)
        if known is None or description_in(known.text, here.name) is None:
            self._keep_description(here.num, description_in(text, here.name) or text, turn.turn - 1)

    def _keep_description(self, location_id: int, text: str, turn: int) -> None:
        self.room_descriptions[location_id] = RoomDescription(text, turn)
        self.last_room_description_location_id = location_id

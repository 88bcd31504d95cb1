"""The outcome of a turn, as the memories of its location need it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from typing_extensions import Self, TypedDict

from session.commands import is_routine, passes_time
from session.memory import Persistence
from session.text import one_line
from session.values import GameObject, Location, Observation, Proposal, TurnRecord
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

SUBSTANTIAL = 100  # characters of a response
ARRIVAL = "Long description on arrival at a first visit"
"""A signal about the turn before that of its outcome, or about the opening."""

_FAILING = re.compile(
    r"n['\u2019]t\b|\b(?:cannot|not|no|nothing|impossible|fails?|locked|already|unable)\b", re.IGNORECASE
)
_WORD = re.compile(r"\w+")
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_SENTENCE_END = re.compile(r"[.!?]+(?=\s|$)|\n")
_PLACING = re.compile(r"\b(?:drop|put|place|insert|leave)\b", re.IGNORECASE)


class ZMachineContext(TypedDict, total=False):
    """What a caller of ``record_action_outcome`` knows of a command that was played; any part may be missing.

    A change may be given as such, or as what was before and after it (docs/specification.md, What is news).
    """

    first_visit: bool
    score_delta: int | None
    score_before: int | None
    score_after: int | None
    location_changed: bool
    location_before: int | None
    location_after: int | None
    inventory_changed: bool
    inventory_before: Sequence[object] | None
    inventory_after: Sequence[object] | None
    world_changed: bool
    sight_changed: bool
    died: bool
    response_length: int
    arrival_text: str


def as_record(
    location: Location, episode: int, turn: int, action: str, response: str, context: ZMachineContext
) -> TurnRecord:
    """Return a turn at ``location`` with the facts of the context. What changed without a name stays nameless."""
    score, new_score = context.get("score_before"), context.get("score_after")
    if "score_delta" in context:
        score, new_score = 0, context["score_delta"]
    moved = context.get("location_changed", context.get("location_before") != context.get("location_after"))
    carried = context.get("inventory_changed", context.get("inventory_before") != context.get("inventory_after"))
    there = context.get("location_after")
    unknown = Location(0, "an unknown location")
    destination = unknown if there is None else Location(there, "")
    before = Observation(context.get("arrival_text", ""), location, (), (), score, world_hash="0", attributes_hash="0")
    after = Observation(
        response,
        destination if moved else location,
        (GameObject(0, ""),) if carried else (),
        (),
        new_score,
        world_hash="1" if context.get("world_changed") else "0",
        died=context.get("died", False),
        attributes_hash="1" if context.get("sight_changed") else "0",
    )
    return TurnRecord(episode, turn, before, (Proposal(action),), (), after)


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """A turn that began at a location, with what the memories of the location need to know of it.

    command: in the normal form that the map uses
    first_visit: no turn of the episode began there before
    destination: the location to which it led, ``None`` if the player stayed
    is_idle: the player only waited or looked about, so that what happened is not the command's doing
    is_substantial: the response is long enough to contain more than a confirmation of the command
    taken, laid_down: names of objects that are now carried and were not before, and the reverse
    revealed: names of objects that appeared, if the story's answer names them
    """

    record: TurnRecord
    location: Location
    command: str
    is_direction: bool
    first_visit: bool
    destination: Location | None
    inventory_changed: bool
    is_idle: bool
    is_substantial: bool
    taken: tuple[str, ...]
    laid_down: tuple[str, ...]
    revealed: tuple[str, ...]

    @classmethod
    def of(
        cls, record: TurnRecord, location: Location, movements: MovementAnalyzer, *, first_visit: bool = False
    ) -> Self:
        """Return the outcome of a turn that began at ``location``."""
        command = movements.exit_of(record.action)
        before, after = record.before.inventory, record.after.inventory
        return cls(
            record,
            location,
            command,
            is_direction=movements.is_direction(command),
            first_visit=first_visit,
            destination=record.after.location if record.moved else None,
            inventory_changed={thing.num for thing in before or ()} != {thing.num for thing in after or ()},
            is_idle=is_routine(command),
            is_substantial=len(record.after.text) > SUBSTANTIAL,
            taken=_names_missing(after, before),
            laid_down=_names_missing(before, after),
            revealed=tuple(sorted(names(record.after.text, [thing.name for thing in record.came_to_light]))),
        )

    @property
    def key(self) -> str:
        """A digest that is equal for the same command with the same outcome at the same location.

        For a walk it covers only the destination, and for points and deaths their number, regardless of the story's
        words. Otherwise it covers the first paragraph of the answer, because the rest is often about other
        characters. If an object was taken or put down, the command does not matter.
        """
        record, here = self.record, self.location.num
        won = (record.score_change, record.after.died) if record.score_change or record.after.died else ()
        if self.destination is not None:
            return digest("moved", here, self.command, self.destination.num, *won)
        if won:
            return digest("won", here, self.command, *won)
        words = _words(_PARAGRAPH_END.split(record.after.text.strip())[0])
        if self.taken or self.laid_down:
            return digest("handled", here, *self.taken, "for", *self.laid_down, words)
        return digest("did", here, self.command, self.inventory_changed, words)

    @property
    def passage_key(self) -> str:
        """A digest of the location to which the player was brought from here, by any command."""
        return digest("brought", self.location.num, self.destination and self.destination.num)

    @property
    def arrival_keys(self) -> dict[str, int]:
        """For each sentence of the text on arrival a digest with the location, and its length in characters."""
        return _sentence_keys(self.arrival_text, "arrived", self.location.num)

    @property
    def aside_keys(self) -> dict[str, int]:
        """The digests of the text after the first paragraph, without the location; none for short texts."""
        aside = "\n".join(_PARAGRAPH_END.split(self.record.after.text.strip())[1:])
        return _sentence_keys(aside, "aside") if len(aside) > SUBSTANTIAL else {}

    @property
    def arrival_text(self) -> str:
        """On a first visit the text printed on arrival, "" if it is unknown."""
        return self.record.before.text if self.first_visit else ""

    @property
    def seems_failed(self) -> bool:
        """Whether the response reads like a refusal, which is a hint and no more."""
        return _FAILING.search(self.record.after.text) is not None

    @property
    def had_effect(self) -> bool:
        """Whether the machine shows that it did something which the player could notice."""
        record = self.record
        changed = record.moved or self.inventory_changed or record.did_something
        return changed or bool(record.score_change) or record.after.died

    @property
    def was_understood(self) -> bool:
        """Whether the story accepted the command; otherwise no turn of the story passed and nothing changed."""
        moves = self.record.before.moves
        return moves is None or moves != self.record.after.moves or self.record.did_something

    @property
    def is_significant(self) -> bool:
        """Whether there may be something to learn from it.

        The map learns plain moves, and directions that lead nowhere with a short answer. Invisible changes while the
        player waited or looked at something are due to a clock. A look around is not significant if the story
        described the room.
        """
        record, name = self.record, self.location.name
        if self.is_direction and (record.moved or not (self.had_effect or self.is_substantial)):
            return False
        if self.had_effect:
            return True
        if self.is_idle and name and one_line(record.after.text).startswith(name):
            return False
        is_world_changed = record.before.world_hash != record.after.world_hash
        changed_hidden = is_world_changed and " " in self.command and not passes_time(self.command)
        return changed_hidden or self.is_substantial or self.seems_failed


def signals_of(outcome: ActionOutcome) -> Iterator[tuple[str, Persistence]]:
    """Yield each sign for a tier of memory as text, with the tier (docs/specification.md, Context signals).

    A sign is a fact of the machine. A sign in the words alone is labelled as a hint. It is given only if the command
    changed nothing visible and the answer is as short as a refusal.
    """
    record = outcome.record
    if outcome.first_visit and len(outcome.arrival_text) > SUBSTANTIAL:
        yield ARRIVAL, "core"
    elif outcome.first_visit and not outcome.arrival_text and outcome.is_substantial:
        yield "Long response on first visit suggests room description", "core"
    if outcome.inventory_changed and not record.moved and not record.after.died:
        yield "Inventory changed without movement suggests item manipulation", "ephemeral"
        if _PLACING.search(record.action):
            yield "Placement action detected", "ephemeral"
    if (record.score_change or 0) > 0:
        yield "Score increase suggests game mechanic discovered", "permanent"
    if record.after.died:
        yield "Death suggests a danger", "permanent"
    if not (outcome.had_effect or outcome.is_substantial or outcome.is_idle) and outcome.seems_failed:
        yield "Failed action, as a hint from the wording alone", "permanent"


def names(text: str, things: Collection[str]) -> set[str]:
    """Return those of the things that the text names, by the last word of their names."""
    words = set(_WORD.findall(text.casefold()))
    found = set()
    for thing in filter(str.split, things):
        last = thing.split()[-1].casefold()
        if words & {last, f"{last}s", f"{last}es"}:
            found.add(thing)
    return found


def digest(*parts: object) -> str:
    """Return 16 hex digits that are equal for equal parts."""
    return blake2b("\x00".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _names_missing(things: Sequence[GameObject] | None, others: Sequence[GameObject] | None) -> tuple[str, ...]:
    """Return the names of the objects that are not among the others, or nothing if either group is unknown."""
    if things is None or others is None:
        return ()
    known = {thing.num for thing in others}
    return tuple(thing.name for thing in things if thing.num not in known and thing.name)


def _sentence_keys(text: str, *parts: object) -> dict[str, int]:
    """Return a digest of each sentence with these parts, and the length of the sentence."""
    sentences = filter(None, map(_words, _SENTENCE_END.split(text)))
    return {digest(*parts, sentence): len(sentence) for sentence in sentences}


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))

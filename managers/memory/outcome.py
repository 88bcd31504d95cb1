"""The outcome of an action, as the memories of its location need it, and the content of the text on arrival."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from typing_extensions import Self, TypedDict

from session.commands import is_routine, passes_time
from session.memory import Persistence
from session.text import one_line
from session.values import GameObject, Location, TurnRecord
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

LEAST_SHARED = 0.25  # of the words of a title or of a text, for a model uses words of its own, too
SHORTEST_WORD = 4  # letters; shorter ones say nothing about the matter, and longer ones are compared by so many
_ARRIVAL_WORD = re.compile(rf"\w{{{SHORTEST_WORD},}}")


def names(text: str, things: Collection[str]) -> set[str]:
    """Return those of the things that the text names, by the last word of their names."""
    words = set(re.findall(r"\w+", text.casefold()))
    return {thing for thing in things if thing.split() and words & _forms(thing.split()[-1].casefold())}


def was_shown(title: str, text: str, arrival: str) -> bool:
    """Return whether the words of a memory's title or text are in a text on arrival.

    Returns true if the memory has no words to compare.
    """
    shown = _stems(arrival)
    parts = [stems for stems in (_stems(title), _stems(text)) if stems]
    return not parts or any(len(stems & shown) >= LEAST_SHARED * len(stems) for stems in parts)


def _stems(text: str) -> set[str]:
    return {word[:SHORTEST_WORD] for word in _ARRIVAL_WORD.findall(text.casefold())}


def _forms(word: str) -> set[str]:
    return {word, f"{word}s", f"{word}es"}


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


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """One command at one location, and its outcome.

    command: in the normal form that the map uses
    is_direction: the command is a plain direction
    destination_id, destination: the location to which it led; ``None`` and "" if the player stayed or it is unknown
    score_change: points, ``None`` if the score is unknown
    sight_changed: the effect may be visible to the player (``TurnRecord.did_something``)
    arrival_text: on a first visit the text printed on arrival, "" if it is unknown
    was_understood: the story accepted the command; otherwise no turn of the story passed and nothing changed
    in_fight: another character was fighting the player, as read by a model
    taken, laid_down: names of objects that are now carried and were not before, and the reverse
    revealed: names of objects that appeared, if the story's answer names them
    """

    location_id: int
    location_name: str
    turn: int
    action: str
    command: str
    response: str
    is_direction: bool = False
    first_visit: bool = False
    score_change: int | None = None
    moved: bool = False
    destination_id: int | None = None
    destination: str = ""
    inventory_changed: bool = False
    world_changed: bool = False
    sight_changed: bool = False
    died: bool = False
    arrival_text: str = ""
    was_understood: bool = True
    in_fight: bool = False
    taken: tuple[str, ...] = ()
    laid_down: tuple[str, ...] = ()
    revealed: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        record: TurnRecord,
        location: Location,
        movements: MovementAnalyzer,
        *,
        first_visit: bool,
    ) -> Self:
        """Return the outcome of a turn that began at ``location``.

        first_visit: no turn of the episode began there before
        """
        before, after = record.before, record.after
        command = movements.exit_of(record.action)
        destination = after.location if record.moved else None
        return cls(
            location_id=location.num,
            location_name=location.name,
            turn=record.turn,
            action=record.action,
            command=command,
            response=after.text,
            is_direction=movements.is_direction(command),
            first_visit=first_visit,
            score_change=record.score_change,
            moved=record.moved,
            destination_id=destination.num if destination else None,
            destination=destination.label if destination else "",
            inventory_changed=_numbers(before.inventory) != _numbers(after.inventory),
            world_changed=before.world_hash != after.world_hash,
            sight_changed=record.did_something,
            died=after.died,
            arrival_text=before.text if first_visit else "",
            was_understood=before.moves is None or before.moves != after.moves or record.did_something,
            in_fight=record.is_in_fight,
            taken=_names_missing(after.inventory, before.inventory),
            laid_down=_names_missing(before.inventory, after.inventory),
            revealed=tuple(sorted(names(after.text, [thing.name for thing in record.came_to_light]))),
        )

    @property
    def key(self) -> str:
        """A digest that is equal for the same command with the same outcome at the same location.

        For a walk it covers only the destination, and for points and deaths their number, regardless of the story's
        words. Otherwise it covers the first paragraph of the answer, because the rest is often about other
        characters. If an object was taken or put down, the command does not matter.
        """
        won = (self.score_change, self.died) if self.score_change or self.died else ()
        if self.moved:
            return digest("moved", self.location_id, self.command, self.destination_id, *won)
        if won:
            return digest("won", self.location_id, self.command, *won)
        words = _words(_PARAGRAPH_END.split(self.response.strip())[0])
        if self.taken or self.laid_down:
            return digest("handled", self.location_id, *self.taken, "for", *self.laid_down, words)
        return digest("did", self.location_id, self.command, self.inventory_changed, words)

    @property
    def passage_key(self) -> str:
        """A digest of the location to which the player was brought from here, by any command."""
        return digest("brought", self.location_id, self.destination_id)

    @property
    def is_idle(self) -> bool:
        """Whether the player only waited or looked about, so that what happened is not the command's doing."""
        return is_routine(self.command)

    @property
    def arrival_keys(self) -> dict[str, int]:
        """For each sentence of the text on arrival a digest with the location, and its length in characters."""
        return _sentence_keys(self.arrival_text, "arrived", self.location_id)

    @property
    def aside_keys(self) -> dict[str, int]:
        """The digests of the text after the first paragraph, without the location; none for short texts."""
        aside = "\n".join(_PARAGRAPH_END.split(self.response.strip())[1:])
        return _sentence_keys(aside, "aside") if len(aside) > SUBSTANTIAL else {}

    @property
    def seems_failed(self) -> bool:
        """Whether the response reads like a refusal, which is a hint and no more."""
        return _FAILING.search(self.response) is not None

    @property
    def had_effect(self) -> bool:
        """Whether the machine shows that it did something which the player could notice."""
        return any((self.moved, self.inventory_changed, self.sight_changed, self.score_change, self.died))

    @property
    def is_substantial(self) -> bool:
        """Whether the response is long enough to contain more than a confirmation of the command."""
        return len(self.response) > SUBSTANTIAL

    @property
    def is_significant(self) -> bool:
        """Whether there may be something to learn from it.

        The map learns plain moves, and directions that lead nowhere with a short answer. Invisible changes while the
        player waited or looked at something are due to a clock.
        """
        if self.is_direction and (self.moved or not (self.had_effect or self.is_substantial)):
            return False
        if self._is_look:
            return False
        changed_hidden = self.world_changed and " " in self.command and not passes_time(self.command)
        return any((self.had_effect, changed_hidden, self.is_substantial, self.seems_failed))

    @property
    def _is_look(self) -> bool:
        """Whether the player looked around and the story described the room."""
        is_told = bool(self.location_name) and one_line(self.response).startswith(self.location_name)
        return self.is_idle and is_told and not self.had_effect

    @property
    def is_walk_through(self) -> bool:
        """Whether the player only walked on. The next visit describes the room again."""
        return self.is_direction and self.moved


def outcome_of(
    location: Location,
    turn: int,
    action: str,
    response: str,
    context: ZMachineContext,
    movements: MovementAnalyzer,
) -> ActionOutcome:
    """Return the outcome of a command that was typed at ``location``, from the context's keys."""
    command = movements.exit_of(action)
    points = context.get("score_before"), context.get("score_after")
    gained = None if points[0] is None or points[1] is None else points[1] - points[0]
    moved = context.get("location_changed", context.get("location_before") != context.get("location_after"))
    carried = context.get("inventory_before") != context.get("inventory_after")
    return ActionOutcome(
        location_id=location.num,
        location_name=location.name,
        turn=turn,
        action=action,
        command=command,
        response=response,
        is_direction=movements.is_direction(command),
        first_visit=context.get("first_visit", False),
        score_change=context.get("score_delta", gained),
        moved=moved,
        destination_id=context.get("location_after") if moved else None,
        inventory_changed=context.get("inventory_changed", carried),
        world_changed=context.get("world_changed", False),
        sight_changed=context.get("sight_changed", False),
        died=context.get("died", False),
        arrival_text=context.get("arrival_text", ""),
    )


def signals_of(outcome: ActionOutcome) -> Iterator[tuple[str, Persistence]]:
    """Yield each sign for a tier of memory as text, with the tier (docs/specification.md, Context signals).

    A sign is a fact of the machine. A sign in the words alone is labelled as a hint. It is given only if the command
    changed nothing visible and the answer is as short as a refusal.
    """
    if outcome.first_visit and len(outcome.arrival_text) > SUBSTANTIAL:
        yield ARRIVAL, "core"
    elif outcome.first_visit and not outcome.arrival_text and outcome.is_substantial:
        yield "Long response on first visit suggests room description", "core"
    if outcome.inventory_changed and not outcome.moved and not outcome.died:
        yield "Inventory changed without movement suggests item manipulation", "ephemeral"
        if _PLACING.search(outcome.action):
            yield "Placement action detected", "ephemeral"
    if (outcome.score_change or 0) > 0:
        yield "Score increase suggests game mechanic discovered", "permanent"
    if outcome.died:
        yield "Death suggests a danger", "permanent"
    if not (outcome.had_effect or outcome.is_substantial or outcome.is_idle) and outcome.seems_failed:
        yield "Failed action, as a hint from the wording alone", "permanent"


def _names_missing(things: Sequence[GameObject] | None, others: Sequence[GameObject] | None) -> tuple[str, ...]:
    """Return the names of the objects that are not among the others, or nothing if either group is unknown."""
    if things is None or others is None:
        return ()
    known = _numbers(others)
    return tuple(thing.name for thing in things if thing.num not in known and thing.name)


def _numbers(things: Sequence[GameObject] | None) -> frozenset[int]:
    return frozenset(thing.num for thing in things or ())


def _sentence_keys(text: str, *parts: object) -> dict[str, int]:
    """Return a digest of each sentence with these parts, and the length of the sentence."""
    sentences = filter(None, map(_words, _SENTENCE_END.split(text)))
    return {digest(*parts, sentence): len(sentence) for sentence in sentences}


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def digest(*parts: object) -> str:
    """Return 16 hex digits that are equal for equal parts."""
    return blake2b("\x00".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

"""The values of a turn: observations, proposals, verdicts and records, and the seeds of episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Literal, NamedTuple

from typing_extensions import override

from session.text import description_in

Ending = Literal["won", "lost", "over", "crashed"]
"""``over``: the story ended neither in victory nor defeat. ``crashed``: the interpreter failed on the story's code."""
ENDINGS: Mapping[Ending, str] = {
    "won": "the story was WON",
    "lost": "the story was LOST",
    "over": "the story ENDED, without a sign that it was won or lost",
    "crashed": "the story's program FAILED",
}
"""What the interpreter and the story's banner show of the end, for a model."""

Seed = int | Literal["jericho"]
"""The seed of a story's random numbers, 1 or more. ``jericho``: the seed of Jericho's walkthrough."""
HIGHEST_SEED = 2**31 - 1
"""The interpreter takes a C int. It would truncate a higher seed, possibly to 0, which means "no seed"."""

Role = Literal["agent", "critic", "info_ext", "analysis", "memory"]
ROLES: tuple[Role, ...] = ("agent", "critic", "info_ext", "analysis", "memory")


def derived_seed(seed: int, number: int, purpose: str) -> int:
    """Return the seed with this ``number`` for ``purpose``, far from the others (ADR 6). Number 1 is ``seed`` itself.

    Each other one is 1 plus the remainder of the SHA-256 of ``purpose/seed/number``, as a big-endian number, divided by
    ``HIGHEST_SEED``.
    """
    if number == 1:
        return seed
    digest = sha256(f"{purpose}/{seed}/{number}".encode()).digest()
    return 1 + int.from_bytes(digest, "big") % HIGHEST_SEED


@dataclass(frozen=True, slots=True)
class Location:
    """A room of the story.

    num: the Z-machine's object number, the only identity of a room
    name: the room's full short name, or its printed heading; it may be empty, and several rooms may share it
    """

    num: int
    name: str

    @property
    def label(self) -> str:
        """The name, or ``Location #ID`` (docs/records/specification.md, Rooms without a name)."""
        return self.name or f"Location #{self.num}"


def require_location_id(*location_ids: object) -> None:
    """Raise ``ValueError`` if one of these is not a location id."""
    for location_id in location_ids:
        if not isinstance(location_id, int) or isinstance(location_id, bool) or location_id < 0:
            raise ValueError(f"{location_id!r} is not a location id: expected a whole number, not negative")


@dataclass(frozen=True, slots=True)
class GameObject:
    """An object of the story at one moment.

    num, parent: Z-machine object numbers of the object and its parent (0: none)
    name: its short name; without one, up to three of the words by which the parser knows it and that the story has
        printed in this episode, as in ``dino/toy``
    attributes: the numbers of its set attributes
    """

    num: int
    name: str
    parent: int = 0
    attributes: frozenset[int] = frozenset()

    @property
    def label(self) -> str:
        """The name, or ``object #ID``."""
        return self.name or f"object #{self.num}"

    @property
    def words(self) -> list[str]:
        """The words of the name, in lower case."""
        return self.name.lower().replace("/", " ").split()


@dataclass(frozen=True)
class Observation:
    """Everything that is known after one step of the game.

    ``None`` means unknown, never zero or empty.

    text: the story's answer, without a status line
    location: the room the player is in (for a vehicle: the room around it)
    inventory: what the player carries, one level deep, in the machine's order
    visible: other visible objects, including those in open containers and on surfaces, carried or not, and concealed
        ones, which Inform's library leaves out of its lists
    moves: the story's own count of turns
    world_hash: 8 hex digits, equal if all objects, their attributes and their properties are equal
    died: the player died in this step, as the story or its profile has it; some stories continue after a death
    ending: how the story ended, until a restart or a restore
    refusal: why the command was not passed to the story; no turn of the story passed then
    parents: for each object number the number of its parent; empty if there is no object tree
    awaits_key: the story waits for a single key, not for a command
    awaits_answer: the story reads the next line in a part of its program for answers, as after "Are you sure?"
    attributes_hash: 8 hex digits, equal if all objects have the same attributes, wherever they are
    inside: the innermost thing that the player is in or on, such as a boat or a chair
    state_hash: 8 hex digits, equal if the story's whole memory, its prompt and its random numbers are equal, apart from
        clocks and notes of the parser (ADR 24)
    """

    text: str
    location: Location | None = None
    inventory: tuple[GameObject, ...] | None = None
    visible: tuple[GameObject, ...] | None = None
    score: int | None = None
    max_score: int | None = None
    moves: int | None = None
    world_hash: str = ""
    died: bool = False
    ending: Ending | None = None
    refusal: str | None = None
    parents: tuple[int, ...] = field(default=(), repr=False)
    awaits_key: bool = False
    attributes_hash: str = ""
    inside: GameObject | None = None
    state_hash: str = ""
    awaits_answer: bool = False

    @property
    def is_defeat(self) -> bool:
        """Whether the player died, or lost the story without a death."""
        return self.died or self.ending == "lost"

    @property
    def location_id(self) -> int | None:
        """The id of the location."""
        return self.location.num if self.location else None

    @property
    def location_label(self) -> str:
        """The label of the location, "" if it is unknown."""
        return self.location.label if self.location else ""

    @cached_property
    def carried(self) -> frozenset[int]:
        """The numbers of the objects that the player is known to carry."""
        return frozenset(thing.num for thing in self.inventory or ())

    @cached_property
    def in_reach(self) -> dict[int, GameObject]:
        """The carried and visible objects by number."""
        return {thing.num: thing for thing in (*(self.inventory or ()), *(self.visible or ()))}

    @cached_property
    def noticed(self) -> tuple[object, ...] | None:
        """A value that is equal for two moments that look the same to the player; ``None`` if too little is known.

        It consists of place, score, vehicle, belongings, and the visible objects with their attributes, in any order
        (ADR 20). While the story waits for a key, what the screen shows counts, too.
        """
        inside = (self.inside.num,) if self.inside else ()
        screen = (self.text,) if self.awaits_key else ()
        standing = (self.location_id, self.score, *inside, *screen)
        if self.inventory is not None and self.visible is not None:
            return (*standing, frozenset(self.inventory), frozenset(self.visible))
        return (*standing, self.world_hash) if self.world_hash else None


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's reading of an observation's text (docs/records/specification.md, Reading the text).

    exits: the ways out that the text mentions, in the model's words
    """

    is_room_description: bool = False
    exits: tuple[str, ...] = ()
    in_combat: bool = False


@dataclass(frozen=True, slots=True)
class ObjectiveNote:
    """A change of the agent's objectives that comes with its command.

    done: the number of an objective that the latest text shows to be achieved
    rest: what is left to do of that objective, if only a part of it is achieved
    also_done, also_new: further objectives that are achieved or new
    dropped: numbers of objectives to give up
    """

    done: int | None = None
    new: str = ""
    rest: str = ""
    also_done: tuple[int, ...] = ()
    also_new: tuple[str, ...] = ()
    dropped: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentNote:
    """A line that the agent keeps in view for the rest of the episode.

    number: of the note to replace; ``None`` for an additional one
    text: "" drops the note of that number
    """

    text: str = ""
    number: int | None = None


StopAt = Literal["news", "failure", "place", "end"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A command that the agent wants to play, with its reasoning and its reading of the text before it.

    follow, go_to: the number of a route to follow instead, or the id of a location to walk to; ``action`` is then the
        first command of the way
    until: the number of the route's last command to play, from 1 and counted from here; ``None``: all of them
    then: further commands, to be played after the action or the way until something unexpected happens
    stop_at: what of these is unexpected: a new sentence of the story, a failure, or only a place that was not meant,
        with or without points and things that come into sight
    """

    action: str
    reasoning: str = ""
    reading: Reading | None = None
    objective: ObjectiveNote | None = None
    follow: int | None = None
    go_to: int | None = None
    until: int | None = None
    then: tuple[str, ...] = ()
    stop_at: StopAt = "news"
    note: AgentNote | None = None

    @property
    def wants_way(self) -> bool:
        """Whether the agent wants to follow a route or walk to a location."""
        return self.follow is not None or self.go_to is not None

    @property
    def wish(self) -> str:
        """The route or the location that the agent wants, or else its command."""
        if self.follow is not None:
            return f"follow {self.follow}" if self.until is None else f"follow {self.follow} until {self.until}"
        return self.action if self.go_to is None else f"go_to {self.go_to}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a proposal.

    source: ``route``: a command with a known result; ``then``: the player wrote it in an earlier answer; ``only``: the
        player had nothing else to choose from. It was not asked about any of these
    confidence: of a model, 0 to 1; ``None`` if no model decided
    """

    accepted: bool
    reason: str = ""
    source: Literal["parser", "object_tree", "map", "llm", "route", "then", "only", "person", "none"] = "none"
    confidence: float | None = None


_UNASKED = ("route", "then", "only")


class Rejection(NamedTuple):
    """A command, a route or a location that was proposed but not played, and the reason."""

    wish: str
    reason: str


@dataclass(frozen=True)
class TurnRecord:
    """One complete turn: the observations before and after it, the proposals and the verdicts.

    turn: its number within the episode, from 1; a rejected proposal takes no turn
    proposals, verdicts: in their order, one verdict for each proposal; the last proposal was played
    """

    episode: int
    turn: int
    before: Observation
    proposals: tuple[Proposal, ...]
    verdicts: tuple[Verdict, ...]
    after: Observation

    @property
    def action(self) -> str:
        """The command that was played; for "again" the command that it repeated, as far as that is known."""
        return self.typed

    @property
    def typed(self) -> str:
        """The command as the story got it."""
        return self.proposals[-1].action

    @property
    def command_text(self) -> str:
        """The command for a prompt, with the word that was typed for it: ``north (typed: g)``."""
        return self.action if self.action == self.typed else f"{self.action} (typed: {self.typed})"

    @property
    def rejections(self) -> list[Rejection]:
        """What was proposed before the command and not played."""
        pairs = zip(self.proposals[:-1], self.verdicts, strict=False)
        return [Rejection(proposal.wish, verdict.reason) for proposal, verdict in pairs]

    @property
    def response(self) -> str:
        """The story's response for a prompt; for a command that did not reach the story, in brackets, why not."""
        text = self.after.text
        return text if self.after.refusal is None else f"(The command did not reach the story: {text})"

    @property
    def is_decisive(self) -> bool:
        """Whether it changed the score, killed the player or ended the story."""
        return bool(self.score_change) or self.after.died or self.after.ending is not None

    @property
    def is_key(self) -> bool:
        """Whether the story waited for a key, so that the action was no command."""
        return self.before.awaits_key

    @property
    def reasoning(self) -> str:
        """The agent's reasoning for it."""
        return self.proposals[-1].reasoning

    @property
    def is_of_route(self) -> bool:
        """Whether the command was part of a route, so that no model chose it."""
        return bool(self.verdicts) and self.verdicts[-1].accepted and self.verdicts[-1].source == "route"

    @property
    def is_unasked(self) -> bool:
        """Whether the player was not asked for the command, or only for the way that begins with it."""
        return bool(self.verdicts) and self.verdicts[-1].accepted and self.verdicts[-1].source in _UNASKED

    @property
    def is_of_course(self) -> bool:
        """Whether it is a further command of a course, for which as a whole the agent gave its reason."""
        is_further = self.is_unasked and not self.proposals[-1].wants_way
        return is_further and self.verdicts[-1].source != "only"

    @property
    def reading(self) -> Reading | None:
        """The reading of the text before the turn; ``None`` if there is none."""
        return self.proposals[0].reading

    @property
    def is_in_fight(self) -> bool:
        """Whether the player was being attacked when the command was chosen, according to a model's reading."""
        return self.reading is not None and self.reading.in_combat

    @property
    def objective_notes(self) -> tuple[ObjectiveNote, ...]:
        """The agent's changes of its objectives in this turn, each once."""
        return tuple(dict.fromkeys(each.objective for each in self.proposals if each.objective is not None))

    @property
    def notes(self) -> tuple[AgentNote, ...]:
        """The agent's changes of its notes in this turn, each once."""
        return tuple(dict.fromkeys(each.note for each in self.proposals if each.note is not None))

    @property
    def score_change(self) -> int | None:
        """The points won (or lost, below 0) in this turn; ``None`` if the score is unknown."""
        if self.before.score is None or self.after.score is None:
            return None
        return self.after.score - self.before.score

    @property
    def gained(self) -> tuple[GameObject, ...]:
        """The objects that are carried now and were not before; empty if that is unknown."""
        return _not_among(self.before.inventory, self.after.inventory)

    @property
    def lost(self) -> tuple[GameObject, ...]:
        """The objects that were carried before and are not now; empty if that is unknown."""
        return _not_among(self.after.inventory, self.before.inventory)

    @property
    def newly_held(self) -> tuple[GameObject, ...]:
        """What was gained, without what is in the place of a lost thing of the same name."""
        return _without_names(self.gained, self.lost)

    @property
    def no_longer_held(self) -> tuple[GameObject, ...]:
        """What was lost, without what has a gained thing of the same name in its place."""
        return _without_names(self.lost, self.gained)

    @cached_property
    def did_something(self) -> bool:
        """Whether the command changed something: what the player notices, the attributes of any object, or places here.

        Attributes of all objects count, since a thing at hand, such as a window between two rooms, need not be visible
        in the object tree. Movements elsewhere do not count, because in many stories characters always walk around.
        """
        before, after = self.before, self.after
        is_seen = before.noticed != after.noticed or before.attributes_hash != after.attributes_hash
        return is_seen or self._moves_things_here

    @property
    def rearranged(self) -> bool:
        """Whether the player or a thing here came, went or changed its place, or a thing got another name."""
        before, after = self.before, self.after
        one, other = ({(each.num, each.name, each.parent) for each in now.in_reach.values()} for now in (before, after))
        has_seat = (before.inside and before.inside.num) != (after.inside and after.inside.num)
        return one != other or has_seat or self.moved or self._moves_things_here

    @property
    def _moves_things_here(self) -> bool:
        before, after = self.before, self.after
        is_placed = before.location is not None and after.location is not None
        return is_placed and bool(places_changed(before, after) - self.moved_unseen)

    @property
    def changed_attributes(self) -> frozenset[tuple[int, int, bool]]:
        """The attributes that things in reach got (true) or lost, each with the number of the thing."""
        one, other = self.before.in_reach, self.after.in_reach
        return frozenset(
            (attribute, num, attribute in other[num].attributes)
            for num in one.keys() & other
            for attribute in one[num].attributes ^ other[num].attributes
        )

    @property
    def changed_nothing(self) -> bool:
        """Whether the story's whole state was the same before and after it, without clocks; false if it is unknown."""
        return self.before.state_hash == self.after.state_hash != ""

    @property
    def changed_unseen(self) -> bool:
        """Whether properties of objects changed, but no places and attributes, as of a dial; false if it is unknown."""
        before, after = self.before, self.after
        is_same = (before.parents, before.attributes_hash) == (after.parents, after.attributes_hash)
        return is_same and "" not in (before.world_hash, after.world_hash) and before.world_hash != after.world_hash

    @property
    def took_no_turn(self) -> bool:
        """Whether the story counted no turn and the player can notice no change, as when it was not understood.

        A parser may still have marked things out of sight that it tried to understand.
        """
        before, after = self.before, self.after
        is_same = before.noticed == after.noticed and not (self._moves_things_here or self.is_decisive)
        return is_same and before.moves is not None and before.moves == after.moves

    @cached_property
    def came_to_light(self) -> tuple[GameObject, ...]:
        """The objects that are carried or visible now and were not before; empty if the player moved or it is unknown.

        Things that only changed their places in the room do not count, even if they were on something, and neither does
        what the player was in or on, or what is in the place of a thing of the same name.
        """
        known, before = self.before.in_reach, self.before
        if self.moved or not known:
            return ()
        changed = {*places_changed(before, self.after), *self.after.carried}
        stirred = {num for num in changed if before.location and before.location.num in holders_of(num, before.parents)}
        known = {**known, before.inside.num: before.inside} if before.inside else known
        found = (thing for number, thing in self.after.in_reach.items() if number not in {*known, *stirred})
        return _without_names(found, (thing for number, thing in known.items() if number not in self.after.in_reach))

    @property
    def replaced(self) -> Mapping[int, GameObject]:
        """The things that went out of the game at the place that another one came to from there, by its number.

        Stories exchange objects so that a thing changes: a man gets a name, an egg is broken. Two that go from or come
        to one place in the same turn are not told apart, and left out.
        """
        before, after = self.before, self.after
        gone: dict[int, list[GameObject]] = {}
        come: dict[int, list[int]] = {}
        for num in places_changed(before, after):
            if after.parents[num] == 0 and num in before.in_reach:
                gone.setdefault(before.parents[num], []).append(before.in_reach[num])
            elif before.parents[num] == 0:
                come.setdefault(after.parents[num], []).append(num)
        return {
            come[place][0]: things[0] for place, things in gone.items() if len(things) == len(come.get(place, ())) == 1
        }

    @property
    def moved_unseen(self) -> frozenset[int]:
        """The objects that changed their places without being at the player's location before or after the turn."""
        before, after = self.before, self.after
        if before.location is None or after.location is None:
            return frozenset()
        here = (before.location.num, after.location.num)
        return frozenset(
            num
            for num in places_changed(before, after)
            if not any(place in holders_of(num, each.parents) for place in here for each in (before, after))
        )

    @property
    def leads_back(self) -> bool:
        """Whether the player stayed at the location, by its number, and the story described it under its name."""
        here = self.after.location
        is_here = here is not None and here == self.before.location
        return is_here and here is not None and description_in(self.after.text, here.name) is not None

    @property
    def moved(self) -> bool:
        """Whether the player is known to have come to another location."""
        before, after = self.before.location, self.after.location
        return before is not None and after is not None and before.num != after.num


@dataclass(frozen=True, slots=True)
class Repetition(TurnRecord):
    """A turn in which the player typed "again". The journal has the turn as it was typed.

    repeats: the command before, which the story's parser is taken to have repeated, by the convention of parsers
    """

    repeats: str = ""

    @property
    @override
    def action(self) -> str:
        return self.repeats


def died_in_vain(before: Observation, after: Observation) -> bool:
    """Return whether the player died after the first moment, and won no points by it."""
    has_won = before.score is not None and after.score is not None and after.score > before.score
    return after.died and not has_won


def places_changed(one: Observation, other: Observation) -> frozenset[int]:
    """Return the objects that are in different places at two moments."""
    places = enumerate(zip(one.parents, other.parents, strict=False))
    return frozenset(num for num, (holder, other_holder) in places if holder != other_holder)


def _not_among(others: tuple[GameObject, ...] | None, things: tuple[GameObject, ...] | None) -> tuple[GameObject, ...]:
    known = {thing.num for thing in others or ()}
    return () if others is None else tuple(thing for thing in things or () if thing.num not in known)


def _without_names(things: Iterable[GameObject], others: Iterable[GameObject]) -> tuple[GameObject, ...]:
    """Return the things without one of them for each other thing of the same name, as of an envelope that is open."""
    left, kept = Counter(other.label for other in others), list[GameObject]()
    for thing in things:
        if left[thing.label]:
            left[thing.label] -= 1
        else:
            kept.append(thing)
    return tuple(kept)


def things_around(number: int, moment: Observation) -> frozenset[int]:
    """Return the things in reach that an object is in or on, directly or not."""
    reach, parents, holder, found = moment.in_reach, moment.parents, number, {number}
    while True:
        holder = reach[holder].parent if holder in reach else parents[holder] if holder < len(parents) else 0
        if holder in found:  # 0 of 0, or a circle in a broken tree
            return frozenset(found - {number}) & reach.keys()
        found.add(holder)


def holders_of(number: int, parents: tuple[int, ...]) -> Iterator[int]:
    """Yield the objects that an object is in, innermost first; a circle in a broken tree ends after one round."""
    for _ in parents:
        number = parents[number] if number < len(parents) else 0
        if not number:
            return
        yield number


@dataclass(frozen=True, slots=True)
class StoryFacts:
    """The constant facts of a story file.

    sha256: of the story, which may be part of an archive
    known: whether Jericho has a profile of this file
    directions: the known direction words of the story's dictionary
    attribute_names: the numbers of the attributes with a known meaning, by its name
    """

    path: str
    name: str
    sha256: str
    version: int
    release: int
    serial: str
    known: bool
    max_score: int | None = None
    directions: tuple[str, ...] = ()
    attribute_names: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens of a model call as counted by the server; ``cached`` is the part of ``prompt`` from its cache."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0

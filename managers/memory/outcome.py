"""The outcome of a turn, as memories need it, and whether it is news (docs/records/specification.md, What is news)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from typing_extensions import TypedDict, override

from session.commands import is_routine, only_informs, passes_time, typed
from session.errors import StoreError, reported_as
from session.files.document_store import SharedStore
from session.files.shared_files import append_whole, locked, open_to_append, read_shared, write_atomically
from session.memory import Memory, Persistence
from session.text import ASIDE, description_in, one_line, text_key
from session.values import ENDINGS, GameObject, Location, Observation, Proposal, TurnRecord
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

SUBSTANTIAL = 100  # characters of a response
MOST_REMEMBERED = 50_000  # outcomes in the ledger, of 17 or 34 bytes each
ARRIVAL = "Long description at a first visit"
"""A signal about the turn before that of its outcome, or about the opening."""

_FAILING = re.compile(
    r"n['\u2019]t\b|\b(?:cannot|not|no|nothing|impossible|fails?|locked|already|unable)\b", re.IGNORECASE
)
_SPEECH = re.compile(r"\"[^\"]{20,}\"|(?<!\w)['\u2018].{20,}?['\u2019](?!\w)", re.DOTALL)
_WORD = re.compile(r"\w+")
_FIGURE = re.compile(r"[+-]\d+")
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_SENTENCE_END = re.compile(r"[.!?]+(?=\s|$)|\n")
_PLACING = re.compile(r"\b(?:drop|put|place|insert|leave)\b", re.IGNORECASE)


class ZMachineContext(TypedDict, total=False):
    """What a caller of ``record_action_outcome`` knows of a command; a change, or what was before and after it."""

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


class ActionOutcome:
    """A turn that began at a location, with what the memories of the location need to know of it.

    first_visit: no turn of the episode began there before
    arrival_text: on a first visit the text printed on arrival, from the location's name on; all of the opening; "" if
        it is unknown
    command: in the normal form that the map uses
    destination: the location to which it led, ``None`` if the player stayed
    is_idle: the player only waited or looked about, so that the command did not cause what happened
    is_substantial: the response contains speech or more than a confirmation of the command
    taken, laid_down: names of objects that are now carried and were not before, and the reverse
    revealed: names of objects that appeared, as the story's answer has them, without those that replaced others
    replaced: things that are gone, and the names of those in their places, as the answer has them
    seems_failed: the response, without speech, reads like a refusal; this is only a hint
    had_effect: the machine shows that it did something which the player could notice
    was_understood: a turn of the story passed or something changed, and the story asked nothing
    leads_back: it is a direction after which the story described the same location again
    """

    def __init__(
        self, record: TurnRecord, location: Location, movements: MovementAnalyzer, *, first_visit: bool = False
    ) -> None:
        before, after, text = record.before, record.after, record.after.text
        had, has = before.carried, after.carried
        self.record = record
        self.location = location
        self.first_visit = first_visit
        here = description_in(before.text, location.name) if record.turn > 1 else None
        self.arrival_text = (here or before.text) if first_visit else ""
        self.describes_arrival = len(self.arrival_text) > SUBSTANTIAL
        self.command = typed(record.action, is_key=True) if record.is_key else movements.exit_of(record.action)
        self.is_direction = movements.is_direction(self.command)
        self.destination = after.location if record.moved else None
        self.inventory_changed = had != has
        self.is_idle = is_routine(self.command)
        self.has_speech = _SPEECH.search(text) is not None
        self.is_substantial = len(text) > SUBSTANTIAL or self.has_speech
        self.taken = tuple(thing.name for thing in record.newly_held if thing.name)
        self.laid_down = tuple(thing.name for thing in record.no_longer_held if thing.name)
        exchanged = record.replaced
        new = {thing.num: thing.name for thing in (*record.came_to_light, *record.gained)}
        shown = {num: name if num in has else as_printed(name, text) for num, name in new.items()}
        self.replaced = [(exchanged[num], shown[num]) for num in new if num in exchanged and shown[num]]
        come = {shown[thing.num] for thing in record.came_to_light if thing.num not in exchanged}
        self.revealed = sorted(come - {""})
        self.seems_failed = _FAILING.search(_SPEECH.sub("", text)) is not None
        self.had_effect = record.moved or self.inventory_changed or record.did_something or record.is_decisive
        has_counted = before.moves is None or before.moves != after.moves or record.did_something
        self.was_understood = has_counted and not after.awaits_answer
        self.leads_back = self.is_direction and record.leads_back

    @property
    def key(self) -> str:
        """A digest that is equal for the same command with the same outcome at the same location.

        The outcome is the destination, or the points or the death; else the first paragraph, because the rest is often
        about other characters. If an object was taken or put down, the command does not matter.
        """
        record, here = self.record, self.location.num
        won: tuple[object, ...] = (record.after.ending,) if record.is_decisive else ()
        if record.score_change or record.after.died:
            won = record.score_change, record.after.died
        if self.destination is not None:
            return digest("moved", here, self.command, self.destination.num, *won)
        if won:
            return digest("won", here, self.command, *won)
        words = _words(_PARAGRAPH_END.split(ASIDE.sub("", record.after.text).strip())[0])
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
    def walk_key(self) -> str:
        """A digest of the points of a walk in a direction, wherever it began; "" for other outcomes."""
        record = self.record
        is_walk = self.is_direction and record.moved and not record.after.died and record.after.ending is None
        return digest("walked for", record.score_change) if is_walk and record.score_change else ""

    @property
    def is_significant(self) -> bool:
        """Whether there may be something to learn from it.

        The map learns plain moves and exits. Invisible changes while the player waited or looked are due to a clock.
        """
        record, name = self.record, self.location.label
        if self.is_direction and (record.moved or not (self.had_effect or self.is_substantial)):
            return False
        if self.had_effect:
            return True
        if self.is_idle and name and one_line(record.after.text).startswith(name):
            return False
        is_world_changed = record.before.world_hash != record.after.world_hash
        changed_hidden = is_world_changed and " " in self.command and not passes_time(self.command)
        return changed_hidden or self.is_substantial or self.seems_failed


def signals_of(outcome: ActionOutcome, *, is_only_noted: bool = False) -> Iterator[tuple[str, Persistence]]:
    """Yield each sign for a tier of memory as text, with the tier (docs/records/specification.md, Context signals).

    is_only_noted: all that it changed are the story's notes on what the player named
    """
    record = outcome.record
    if outcome.describes_arrival:
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
    if record.after.ending is not None:
        yield f"With this command {ENDINGS[record.after.ending]}", "permanent"
    is_talk = outcome.has_speech or only_informs(outcome.command)
    may_have_failed = not (outcome.is_idle or is_talk or outcome.leads_back)
    if (is_only_noted or not outcome.had_effect) and outcome.was_understood and may_have_failed:
        yield f"Nothing {'' if record.changed_nothing else 'visible '}changed", "permanent"


def as_printed(name: str, text: str) -> str:
    """Return the name of a thing if the text has all of it, else its last word if the text has that, else ""."""
    if f" {_words(name)} " in f" {_words(text)} ":
        return name
    return name.rsplit(maxsplit=1)[-1] if names(text, [name]) else ""


def names(text: str, things: Iterable[str]) -> set[str]:
    """Return those of the things that the text names, by the last word of their names, also as a plural."""
    words = {*_WORD.findall(text.casefold())}
    return {
        thing
        for thing in things
        if not words.isdisjoint(f"{last}{end}" for last in thing.casefold().split()[-1:] for end in ("", "s", "es"))
    }


def digest(*parts: object) -> str:
    """Return 16 hex digits that are equal for equal parts."""
    return blake2b("\x00".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _sentence_keys(text: str, *parts: object) -> dict[str, int]:
    """Return a digest of each sentence with these parts, and the length of the sentence."""
    sentences = filter(None, map(_words, _SENTENCE_END.split(text)))
    return {digest(*parts, sentence): len(sentence) for sentence in sentences}


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


class NewsLedger(SharedStore):
    """Keeps the keys of all outcomes that were submitted to a model, in this and earlier runs, in the file ``path``.

    Each is appended as a line, with a digest of the title of the resulting memory, if any; the last line of a key
    applies. A run does not read what others append meanwhile, and writes without preparation: lines do not depend on
    each other.

    warn: called with the first error if the file cannot be written; the run continues

    Raises ``StoreError`` if the file cannot be read.
    """

    def __init__(self, path: Path, warn: Callable[[StoreError], None]) -> None:
        super().__init__(path)
        self._warn = warn
        self._has_warned = False
        lines = _lines(read_shared(path))
        if len(lines) > 2 * MOST_REMEMBERED:  # before the file has more bytes than are read
            with locked(path):
                lines = _lines(read_shared(path))[-MOST_REMEMBERED:]
                write_atomically(path, _written(lines), durable=False)
        self._made = _titles_by_key(lines)
        self._unwritten: tuple[str, ...] = ()
        self._known: int | None = None  # lines that the file had before turns were repeated, until it is compared

    def is_news(self, outcome: ActionOutcome, memories: Sequence[Memory]) -> bool:
        """Return whether the outcome should be submitted to a model (docs/records/specification.md, What is news).

        memories: all memories of the location, including superseded ones
        """
        record = outcome.record
        known = {"", *(_digested(memory.title) for memory in memories)}
        standing = [memory for memory in memories if not memory.is_given_up]
        walked_through = outcome.is_direction and record.moved
        has_core = any(memory.persistence == "core" for memory in standing)
        if outcome.first_visit and not walked_through and not has_core:
            arrival = outcome.arrival_keys
            if not arrival or self._is_mostly_new(arrival, known):
                return True
        if record.is_decisive:
            if outcome.walk_key in self._made:
                return False
            believed = [memory for memory in memories if not memory.is_invalidated]
            is_remembered = self._made.get(outcome.key) in {_digested(memory.title) for memory in believed}
            return not is_remembered and not any(has_same_points(memory, outcome) for memory in standing)
        if record.is_in_fight and any(names_command(memory, outcome) for memory in standing):
            return False
        if any(key not in self._made for key in _contradictions(outcome, standing)):
            return True
        return outcome.is_significant and self._is_new(outcome, known)

    def belongs_to_news(self, outcome: ActionOutcome) -> bool:
        """Return whether the outcome is shown beside the news of its visit: it was not considered before."""
        record = outcome.record
        is_known = record.moved or record.is_decisive or record.is_in_fight or outcome.is_idle
        return not is_known and outcome.key not in self._made

    def note(
        self, outcomes: Collection[ActionOutcome], made: Sequence[Memory] = (), known: Sequence[Memory] = ()
    ) -> None:
        """Record that these outcomes were submitted to a model. The next :meth:`write` adds them to the file.

        Points and deaths without a new memory of their own are attributed to the other memories.

        made: the new persistent memories
        """
        new: dict[str, str] = {}
        standing = [memory for memory in known if not memory.is_given_up]
        cores = ["", *(_digested(memory.title) for memory in made if memory.persistence == "core")]
        for outcome in outcomes:
            record = outcome.record
            telling = [memory for memory in made if record.turn in memory.span]
            if record.is_decisive:
                telling = telling or [*made] or standing
            new[outcome.key] = _digested(telling[-1].title) if telling else ""
            if record.moved:
                new[outcome.passage_key] = ""
            if outcome.walk_key and not made:
                new[outcome.walk_key] = ""
            new.update(dict.fromkeys(outcome.arrival_keys, cores[-1]))
            new.update(dict.fromkeys(outcome.aside_keys, ""))
            new.update(dict.fromkeys(_contradictions(outcome, known), ""))
        self._add({key: title for key, title in new.items() if self._made.get(key) != title})

    def has_kept_arrival(self, location_id: int) -> bool:
        """Return whether the text on arrival at the location was kept before; a person may have deleted it since."""
        return digest("arrival", location_id) in self._made

    def note_arrival(self, location_id: int) -> None:
        """Record that the text on arrival at the location is kept. The next :meth:`write` adds it to the file."""
        self._add({digest("arrival", location_id): ""})

    def _add(self, new: Mapping[str, str]) -> None:
        self._unwritten += tuple(f"{key}:{title}" if title else key for key, title in sorted(new.items()))
        self.is_due = bool(self._unwritten)
        self._made |= new

    @override
    def _return_to(self, base: bytes | None) -> None:
        lines = _lines(base)
        self._known, self._made = len(lines), _titles_by_key(lines)

    @override
    def commit(self) -> None:
        if self._unwritten:
            self._append()

    @override
    def look(self) -> None:
        if self._known is not None and not self._is_repeating:
            self._append()

    @override
    def write(self) -> None:
        if self._is_repeating:
            self.is_due = False
        else:
            self._append()

    def _append(self) -> None:
        """Append the new entries; those of repeated turns only if the file has not got them since."""
        try:
            with reported_as(f"{self.path} cannot be written"), locked(self.path):
                since = [] if self._known is None else _lines(read_shared(self.path))[self._known :]
                if entries := [entry for entry in self._unwritten if entry not in since]:
                    with open_to_append(self.path) as file:
                        append_whole(file, _written(entries))
        except StoreError as error:
            if not self._has_warned:
                self._warn(error)
            self._has_warned = True
        else:
            self._unwritten, self._known, self.is_due = (), None, False

    def _is_new(self, outcome: ActionOutcome, known: Collection[str]) -> bool:
        """Return whether the outcome was not considered before; ``known``: digests of standing titles, and ""."""
        is_mostly_new = self._is_mostly_new(outcome.aside_keys, known)
        if outcome.is_idle and outcome.destination is not None:
            return self._made.get(outcome.passage_key) not in known
        if outcome.is_idle and outcome.aside_keys:
            return is_mostly_new
        return is_mostly_new or self._made.get(outcome.key) not in known

    def _is_mostly_new(self, sentences: Mapping[str, int], known: Collection[str]) -> bool:
        """Return whether most of a text was not considered before. ``sentences``: their lengths by key."""
        new = sum(length for key, length in sentences.items() if self._made.get(key) not in known)
        return new > sum(sentences.values()) / 2


def has_same_points(memory: Memory, outcome: ActionOutcome) -> bool:
    """Return whether the memory contains the command of the outcome and its change of score."""
    change = outcome.record.score_change
    if not change or not names_command(memory, outcome):
        return False
    return memory.score_change == change or f"{change:+d}" in _FIGURE.findall(memory.text)


def names_command(memory: Memory, outcome: ActionOutcome) -> bool:
    """Return whether the memory contains the command: in quotation marks, or without them if it has several words."""
    text = one_line(f"{memory.title} {memory.text}").casefold()
    for command in {one_line(outcome.record.action).casefold(), outcome.command.casefold()}:
        words = rf"\b{re.escape(command)}\b" if " " in command else rf"[`'\"]{re.escape(command)}[`'\"]"
        if command and re.search(words, text):
            return True
    return False


def _contradictions(outcome: ActionOutcome, memories: Iterable[Memory]) -> list[str]:
    """Return a key for each memory of a failure that the outcome, a success, contradicts."""
    if not outcome.had_effect or outcome.record.after.is_defeat:
        return []
    failures = (memory for memory in memories if memory.category == "FAILURE" and names_command(memory, outcome))
    return [digest("against", memory.title, outcome.key) for memory in failures]


def _digested(title: str) -> str:
    return digest("title", text_key(title))


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("ascii", "replace").split()


def _titles_by_key(entries: Sequence[str]) -> dict[str, str]:
    """Return the digest of the memory's title for each key, or "" if there was no memory."""
    return {key: title for key, _, title in (entry.partition(":") for entry in entries)}


def _written(keys: Iterable[str]) -> bytes:
    return "".join(f"{key}\n" for key in keys).encode()

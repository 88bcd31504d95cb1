"""The news of a visit, what a model answers about them, and how the answer changes the memories.

The docstrings and descriptions of the answers are part of what the model reads. A change is made as a whole or not at
all (docs/specification.md, Superseding and invalidating, and Memory titles).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from managers.memory.document import MemoriesDocument
from managers.memory.outcome import ActionOutcome, names, was_shown
from session.memory import DEFAULT_CATEGORY, Memory, MemoryStatus, MemorySynthesisResponse, Persistence
from session.text import one_line, text_key

LONGEST_TITLE = 120  # characters
LONGEST_TEXT = 1000  # characters


class VisitMemory(MemorySynthesisResponse):
    """One memory of a visit."""

    turn: int | None = Field(default=None, description="the turn in which it showed")
    location_id: int | None = Field(default=None, description="of another location that it is about, else null")

    @field_validator("persistence", mode="before")
    @classmethod
    def _in_any_case(cls, value: object) -> object:
        """Take capitals, too, in which prompts name the tiers."""
        return value.lower() if isinstance(value, str) else value


class VisitSynthesis(BaseModel):
    """What a visit taught."""

    memories: list[VisitMemory]

    @model_validator(mode="before")
    @classmethod
    def _one_is_a_list_of_one(cls, answer: object) -> object:
        """Take a memory alone as well."""
        if isinstance(answer, dict) and "memories" not in answer and "should_remember" in answer:
            return {"memories": [answer]}
        return answer


@dataclass(frozen=True, slots=True)
class VisitNews:
    """The news of one visit to a location, for a model.

    outcomes: at least one, oldest first
    memories: all memories of the location, including superseded ones
    elsewhere: memories of other locations that the player has seen in this episode, by location id
    rooms: the names of all known locations, by id
    worked: by the title of a tentative memory, a command that it names and that worked again, with the turn
    """

    outcomes: tuple[ActionOutcome, ...]
    memories: tuple[Memory, ...]
    elsewhere: Mapping[int, tuple[Memory, ...]] = field(default_factory=dict)
    rooms: Mapping[int, str] = field(default_factory=dict)
    worked: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_worth_a_question(self) -> bool:
        """Whether to call a model: not about a single command that the parser did not understand."""
        return len(self.outcomes) > 1 or any(each.was_understood or each.is_substantial for each in self.outcomes)

    @property
    def is_first(self) -> bool:
        """Whether this is the episode's first visit there, with its first turn among the news."""
        return any(outcome.first_visit for outcome in self.outcomes)

    @property
    def score_change(self) -> int | None:
        """The points won or lost in total, ``None`` if the score is unknown."""
        changes = [outcome.score_change for outcome in self.outcomes if outcome.score_change is not None]
        return sum(changes) if changes else None

    @property
    def turns(self) -> str:
        """The first and the last turn: ``12-14``, or ``12``."""
        first, last = self.outcomes[0].turn, self.outcomes[-1].turn
        return str(first) if first == last else f"{first}-{last}"

    def tier(self, answer: VisitMemory, laid_down: Collection[str]) -> Persistence | None:
        """Return the tier that the facts allow for the answer's memory.

        - core: the named turn is the episode's first at the location or that of the arrival, and the memory's content
          was shown on arrival and not revealed since
        - ephemeral: it names something that the player put down here
        - permanent: otherwise

        laid_down: names of objects that the player put down at the location in this episode
        """
        if answer.persistence != "core":
            return answer.persistence
        if self._place(answer) != self.outcomes[-1].location_id:
            return "permanent"
        first = next((outcome for outcome in self.outcomes if outcome.first_visit), None)
        title, text = answer.memory_title or "", answer.memory_text or ""
        arrival = first.arrival_text.strip() if first else ""
        if names(f"{title} {text}", laid_down) - names(arrival, laid_down):
            return "ephemeral"
        if first is None or not self._is_of_arrival(answer, first.turn):
            return "permanent"
        if not arrival:
            return "core"
        found = [name for outcome in self.outcomes for name in outcome.revealed]
        is_found = bool(names(title, found) - names(arrival, found))
        return "core" if was_shown(title, text, arrival) and not is_found else "permanent"

    def _is_of_arrival(self, answer: VisitMemory, first_turn: int) -> bool:
        """Return whether the answer names the first turn at the location or the one before.

        Without other turns in the question it need not name one.
        """
        if answer.turn is None:
            return self.outcomes[-1].turn == first_turn
        return answer.turn in {first_turn, first_turn - 1}

    def revisions(self, answer: VisitMemory, episode: int) -> tuple[Revision, ...]:
        """Return the changes of the answer: at its location, then at others whose memories it names.

        A memory of another location that is superseded is invalidated there, with the new one as the reason.
        """
        last, place = self.outcomes[-1], self._place(answer)
        main = Revision(
            location_id=place,
            location_name=last.location_name if place == last.location_id else self.rooms[place],
            new=self._memory(answer, episode) if answer.should_remember else None,
            superseded=tuple(sorted(answer.supersedes_memory_titles)),
            invalidated=tuple(sorted(answer.invalidate_memory_titles)),
            reason=answer.invalidation_reason or "",
            turn=last.turn,
        )
        everywhere = {last.location_id: self.memories, **self.elsewhere}
        at_place = everywhere.pop(place, ())
        given_up = main.invalidated if main.new_persistent is None else (*main.invalidated, *main.superseded)
        reason = main.reason or f"Location {place}: {one_line(answer.memory_title or '')}"
        others = []
        for room, memories in everywhere.items():
            found = tuple(title for title in given_up if stands(memories, title) and not stands(at_place, title))
            if found:
                others.append(Revision(room, invalidated=found, reason=reason, turn=last.turn))
        return (main, *others)

    def _place(self, answer: VisitMemory) -> int:
        """Return the location that the answer is about: this one, unless it names another one that is known."""
        here = self.outcomes[-1].location_id
        named = answer.location_id
        return here if named is None or named not in self.rooms else named

    def _memory(self, answer: VisitMemory, episode: int) -> Memory:
        """Return the memory of the answer, about the turn that it names, or else about the whole visit."""
        shown = next((outcome for outcome in self.outcomes if outcome.turn == answer.turn), None)
        if answer.persistence == "core":  # it may name the turn that led here
            shown = next((outcome for outcome in self.outcomes if outcome.first_visit), shown)
        return Memory(
            category=answer.category or DEFAULT_CATEGORY,
            title=one_line(answer.memory_title or "")[:LONGEST_TITLE],
            episode=episode,
            turns=str(shown.turn) if shown else self.turns,
            score_change=shown.score_change if shown else self.score_change,
            text=(answer.memory_text or "").strip()[:LONGEST_TEXT],
            persistence=answer.persistence or "permanent",
            # A memory cannot be given up before it is known: what the model doubts so is tentative.
            status=MemoryStatus.ACTIVE if answer.status == MemoryStatus.ACTIVE else MemoryStatus.TENTATIVE,
        )


@dataclass(frozen=True, slots=True)
class Revision:
    """A new memory, and the titles of those that it supersedes or that were proven false; any of them may be missing.

    reason: why the invalidated ones are false
    turn: the turn in which the old memories were superseded or invalidated

    Raises ``ValueError`` for an invalid location id.
    """

    location_id: int
    location_name: str = ""
    new: Memory | None = None
    superseded: tuple[str, ...] = ()
    invalidated: tuple[str, ...] = ()
    reason: str = ""
    turn: int | None = None
    kind: Literal["revision"] = "revision"

    def __post_init__(self) -> None:
        require_location_id(self.location_id)

    @property
    def title(self) -> str | None:
        """Return the title of the new memory, if there is one."""
        return None if self.new is None else self.new.title

    @property
    def new_persistent(self) -> Memory | None:
        """Return the new memory, if it is for the file."""
        return None if self.new is None or self.new.persistence == "ephemeral" else self.new

    @property
    def new_ephemeral(self) -> Memory | None:
        """Return the new memory, if it is for this episode alone."""
        return None if self.new_persistent is not None else self.new

    def refusal(self, persistent: Sequence[Memory], ephemeral: Sequence[Memory]) -> str:
        """Return why the revision is not allowed, or "".

        persistent, ephemeral: the location's core and permanent memories, and its ephemeral ones
        """
        if self.new is None:
            return ""
        old = next((memory for memory in persistent if any(stands([memory], title) for title in self.superseded)), None)
        if self.new_ephemeral is not None and old is not None:
            return (
                f"a {old.persistence} memory is never superseded by an ephemeral one: it would be gone with the episode"
            )
        if stands(map(self.revised, (*persistent, *ephemeral)), self.new.title):
            return "a memory of this title already exists"
        return ""

    def concerns(self, memories: Sequence[Memory]) -> bool:
        """Return whether the revision gives up one of these memories."""
        return any(stands(memories, title) for title in (*self.superseded, *self.invalidated))

    def revised(self, memory: Memory) -> Memory:
        """Return the memory, superseded or invalidated if the revision gives it up."""
        if memory.status == MemoryStatus.SUPERSEDED:
            return memory
        key = text_key(memory.title)
        if key in map(text_key, self.invalidated):
            return memory.invalidated(self.reason, self.turn)
        if self.new is not None and key in map(text_key, self.superseded):
            return memory.superseded(self.new.title, self.turn)
        return memory

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """Return the document with the revision.

        Returns the same document if nothing changes or a memory of the new title already exists.
        """
        new = self.new_persistent
        for_file = self if new is not None else replace(self, superseded=())
        revised = document.revise(self.location_id, for_file.revised)
        if new is None:
            return revised
        if stands(revised.memories_at(self.location_id), new.title):
            return document
        return revised.add_memory(self.location_id, self.location_name, new)


@dataclass(frozen=True, slots=True)
class CountedVisit:
    """One more visit to a location, which the file counts if it has a section for it.

    name: of the location, for a user's heading without a name
    """

    location_id: int
    episode: int
    name: str = ""
    kind: Literal["visited"] = "visited"

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """Return the document with the visit."""
        return document.update_visits(self.location_id, self.episode).with_name(self.location_id, self.name)


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of all memories of a title, wherever they are."""

    title: str
    kind: Literal["removed"] = "removed"

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """Return the document without those memories."""
        return document.remove_memory(self.title)


MemoryEdit = Revision | CountedVisit | Removal


def require_location_id(location_id: object) -> None:
    """Raise ``ValueError`` for an invalid location id, which the file could not represent."""
    if not isinstance(location_id, int) or isinstance(location_id, bool) or location_id < 0:
        raise ValueError(f"{location_id!r} is not a location id: expected a whole number, not negative")


def stands(memories: Iterable[Memory], title: str) -> bool:
    """Return whether one of the memories has that title and was not given up."""
    key = text_key(title)
    return any(memory.status != MemoryStatus.SUPERSEDED and text_key(memory.title) == key for memory in memories)

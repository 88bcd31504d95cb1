"""The memories of a location, and a model's proposal of one (docs/records/specification.md, Memory tiers)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, get_args

from pydantic import BaseModel, Field, ValidationInfo, field_serializer, field_validator, model_validator
from typing_extensions import Self

from session.text import one_line, text_key

Persistence = Literal["core", "permanent", "ephemeral"]
MemoryStatusType = Literal["ACTIVE", "TENTATIVE", "SUPERSEDED"]

PERSISTENCES: Final[tuple[Persistence, ...]] = get_args(Persistence)
STATUSES: Final[tuple[MemoryStatusType, ...]] = get_args(MemoryStatusType)

INVALIDATION_MARKER: Final = "INVALIDATED"
"""The value of ``superseded_by`` for a memory that was proven false and has no replacement."""

DEFAULT_CATEGORY: Final = "NOTE"
ARRIVAL_TITLE: Final = "Arrival at "
"""The beginning of the title of an arrival memory; the name of the location follows."""


class MemoryStatus:
    """The three statuses of a memory, as plain strings."""

    ACTIVE: Final = "ACTIVE"
    TENTATIVE: Final = "TENTATIVE"
    SUPERSEDED: Final = "SUPERSEDED"


@dataclass(frozen=True, slots=True)
class Memory:
    """What was learned at one location.

    category: SUCCESS, FAILURE, DISCOVERY, DANGER, NOTE or other words in capitals; becomes NOTE if it has no word or is
        the name of a persistence or a status
    title: one line with single spaces, like ``superseded_by`` and ``invalidation_reason``
    episode: 0 if it is unknown
    turns: "45", "12-14", or "" if they are unknown
    score_change: points won or lost, ``None`` if it is unknown
    persistence: required, so that the caller must choose
    superseded_by: the title of the replacement, or INVALIDATION_MARKER

    Raises ``ValueError`` for an empty title, for an unknown persistence or status, for invalid turns, for
    ``superseded_…`` in a memory that is not superseded, and for an ``invalidation_reason`` in one not invalidated.
    """

    category: str
    title: str
    episode: int
    turns: str
    score_change: int | None
    text: str
    persistence: str
    status: MemoryStatusType = MemoryStatus.ACTIVE
    superseded_by: str | None = None
    superseded_at_turn: int | None = None
    invalidation_reason: str | None = None

    def __post_init__(self) -> None:
        if self.persistence not in PERSISTENCES:
            raise ValueError(f"persistence must be core|permanent|ephemeral, got: {self.persistence}")
        if self.status not in STATUSES:
            raise ValueError(f"status must be ACTIVE|TENTATIVE|SUPERSEDED, got: {self.status}")
        if not self.is_given_up:
            if (self.superseded_by, self.superseded_at_turn, self.invalidation_reason) != (None, None, None):
                raise ValueError(f"{self.status} and superseded at once: {self.title}")
        elif self.invalidation_reason is not None and not self.is_invalidated:
            raise ValueError(f"an invalidation_reason needs superseded_by={INVALIDATION_MARKER}: {self.title}")
        title = one_line(self.title)
        if not title:
            raise ValueError("a memory needs a title, which identifies it")
        category = " ".join(_WORD.findall(self.category.upper()))
        normalised = {
            "category": DEFAULT_CATEGORY if not category or category in MARKERS else category,
            "title": title,
            "turns": _normalised_turns(self.turns),
            "superseded_by": self.superseded_by and one_line(self.superseded_by),
            "invalidation_reason": self.invalidation_reason and one_line(self.invalidation_reason),
        }
        for field, value in normalised.items():
            object.__setattr__(self, field, value)

    @property
    def is_arrival(self) -> bool:
        """Whether it is the text that the story printed on arrival."""
        return self.persistence == "core" and self.title.startswith(ARRIVAL_TITLE)

    @property
    def span(self) -> range:
        """The turns that the memory is about; empty if they are unknown."""
        numbers = sorted(map(int, self.turns.split("-"))) if self.turns else ()
        return range(numbers[0], numbers[-1] + 1) if numbers else range(0)

    @property
    def last_turn(self) -> int:
        """The last of these turns, 0 if they are unknown."""
        return self.span[-1] if self.span else 0

    @property
    def is_given_up(self) -> bool:
        """Whether it was superseded or invalidated."""
        return self.status == MemoryStatus.SUPERSEDED

    @property
    def is_invalidated(self) -> bool:
        """Whether it was found to be false."""
        return self.superseded_by == INVALIDATION_MARKER

    def headline(self, *marks: str) -> str:
        """Return marks in brackets and the title, as prompts and screens list a memory.

        A status other than ACTIVE is one of the marks.
        """
        if self.status != MemoryStatus.ACTIVE:
            marks = (*marks, self.status)
        return f"[{' - '.join(marks)}] {self.title}" if marks else self.title

    def superseded(self, by: str, turn: int | None) -> Memory:
        """Return the memory as superseded by the one with the title ``by``."""
        return replace(
            self, status=MemoryStatus.SUPERSEDED, superseded_by=by, superseded_at_turn=turn, invalidation_reason=None
        )

    def invalidated(self, reason: str | None, turn: int | None) -> Memory:
        """Return the memory as invalidated."""
        return replace(self.superseded(INVALIDATION_MARKER, turn), invalidation_reason=reason)


class LocationMemories(Protocol):
    """The part of the memory manager that other managers use.

    memory_cache: core and permanent memories by location id
    ephemeral_cache: this episode's own memories by location id
    """

    memory_cache: dict[int, list[Memory]]
    ephemeral_cache: dict[int, list[Memory]]

    def consider(self) -> None:
        """Learn from the current visit so far."""

    def shown_location(self, location_id: int) -> int | None:
        """Return the id of the location whose memories are shown at this one, ``None`` if none are."""


MARKERS: Final = frozenset((*STATUSES, *(persistence.upper() for persistence in PERSISTENCES)))
"""The words that may follow a category in ``Memories.md``, and that are not allowed as categories."""

_WORD = re.compile(r"\w+")
_TURNS = re.compile(r"T?([0-9]{1,9})(?:\s?[-\u2013]\s?([0-9]{1,9}))?")


def _normalised_turns(turns: str) -> str:
    if not turns:
        return turns
    span = _TURNS.fullmatch(turns.strip())
    if span is None:
        raise ValueError(f"turns must be like 45 or 12-14, got: {turns}")
    return span[1] if span[2] is None else f"{span[1]}-{span[2]}"


class MemorySynthesisResponse(BaseModel):
    """A model's answer to the question what to remember of what just happened.

    Only ``persistence``, ``memory_title`` and ``memory_text`` are required, and only with ``should_remember``;
    ``invalidation_reason`` is with ``invalidate_memory_titles``. A title is superseded or invalidated, not both.
    """

    should_remember: bool
    category: str | None = None
    memory_title: str | None = None
    memory_text: str | None = None
    status: MemoryStatusType = MemoryStatus.ACTIVE
    persistence: Persistence | None = Field(default=None, validate_default=True)
    supersedes_memory_titles: set[str] = Field(default_factory=set)
    invalidate_memory_titles: set[str] = Field(default_factory=set)
    invalidation_reason: str | None = None
    reasoning: str = ""

    @field_serializer("supersedes_memory_titles", "invalidate_memory_titles")
    def _in_order(self, titles: set[str]) -> list[str]:
        return sorted(titles)

    @field_validator("persistence", mode="before")
    @classmethod
    def _persistence_is_chosen(cls, value: object, given: ValidationInfo) -> object:
        if not given.data.get("should_remember"):
            return None
        if value is None:
            raise ValueError("persistence required when should_remember=True")
        if value not in PERSISTENCES:
            raise ValueError(f"persistence must be core|permanent|ephemeral, got: {value}")
        return value

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.should_remember and not ((self.memory_title or "").strip() and (self.memory_text or "").strip()):
            raise ValueError("memory_title and memory_text required when should_remember=True")
        if self.invalidate_memory_titles and not (self.invalidation_reason or "").strip():
            raise ValueError("invalidation_reason must be non-empty when titles are invalidated")
        superseded = {text_key(title) for title in self.supersedes_memory_titles}
        both = [title for title in self.invalidate_memory_titles if text_key(title) in superseded]
        if both:
            raise ValueError(f"titles cannot be both superseded and invalidated: {', '.join(sorted(both))}")
        return self

"""The lines and sections of the knowledge base (docs/records/specification.md, Knowledge base)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from session.text import one_line

NEXT_EPISODE: Final = "NEXT EPISODE"
"""The heading of the plan for the next episode. The plan may contain guesses, and is not knowledge."""
PLAN_LINES: Final = 5

CROSS_EPISODE: Final = "CROSS-EPISODE INSIGHTS"
DEATH_ANALYSIS: Final = "DEATH & DANGER ANALYSIS"
COMMAND_SYNTAX: Final = "COMMAND SYNTAX"
"""A section for people only: the program learns commands from the story, not from a model."""

SECTIONS: Final[tuple[str, ...]] = (
    "DANGERS & THREATS",
    "PUZZLE SOLUTIONS",
    "STRATEGIC PATTERNS",
    DEATH_ANALYSIS,
    COMMAND_SYNTAX,
    "LESSONS LEARNED",
    CROSS_EPISODE,
)
"""The headings of ``knowledgebase.md``, in order."""

INSIGHTS: Final[tuple[str, ...]] = (
    "Death Patterns Across Episodes",
    "Environmental Knowledge",
    "Strategic Meta-Patterns",
    "Major Discoveries",
)
"""The headings below ``CROSS_EPISODE``, in order."""


class Source(NamedTuple):
    """Consecutive turns of one episode that a line cites; ``first_turn`` equals ``last_turn`` for a single one.

    A tuple, since a line that each of 500 episodes confirmed has hundreds: they are compared and hashed fast.
    """

    episode: int
    first_turn: int
    last_turn: int

    @property
    def span(self) -> range:
        """The turns."""
        return range(self.first_turn, self.last_turn + 1)

    @property
    def turns(self) -> str:
        """The turns in words: "45", "12-14"."""
        return str(self.first_turn) if self.first_turn == self.last_turn else f"{self.first_turn}-{self.last_turn}"


@dataclass(frozen=True, slots=True)
class KnowledgeLine:
    """One thing that is known about the game.

    text: one line; each run of white space becomes one space
    sources: its turns, earliest first, consecutive turns merged; empty for a line that a person wrote
    """

    text: str
    sources: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", one_line(self.text))
        object.__setattr__(self, "sources", merged_sources(self.sources))

    def __hash__(self) -> int:
        return hash((self.text, len(self.sources), self.sources[-1:]))  # hundreds of sources take long


@dataclass(frozen=True, slots=True)
class KnowledgeEntry:
    """A line of knowledge in its section: one of ``SECTIONS`` or ``INSIGHTS``, or another heading."""

    section: str
    line: KnowledgeLine

    @property
    def is_ours(self) -> bool:
        """Whether the program wrote the line, so that it may also replace it."""
        return bool(self.line.sources)


def as_sources(episode: int, turns: Iterable[int]) -> tuple[Source, ...]:
    """Return the turns of an episode as sources, consecutive turns merged, earliest first."""
    return merged_sources(Source(episode, turn, turn) for turn in turns)


def merged_sources(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return the same turns in as few sources as possible, earliest first."""
    merged: list[Source] = []
    for source in sorted(set(sources)):
        last = merged[-1] if merged else None
        if last is not None and last.episode == source.episode and source.first_turn <= last.last_turn + 1:
            merged[-1] = Source(last.episode, last.first_turn, max(last.last_turn, source.last_turn))
        else:
            merged.append(source)
    return tuple(merged)

"""What is known, as the agent reads it: the most useful lines that there is room for."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from session.knowledge import COMMAND_SYNTAX, INSIGHTS, SECTIONS, KnowledgeEntry
from session.text import cut_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CHARACTERS_A_TOKEN = 4  # fixed: an estimate that drifts would change the text between updates and undo a cache
LONGEST_LINE = 400  # characters
LONGEST_MARK = len("999. \n")

_DANGERS, _PUZZLES, _PATTERNS, _DEATHS, _, _LESSONS, _ = SECTIONS
_MOST_USEFUL_FIRST = (_DANGERS, _PUZZLES, *INSIGHTS, _PATTERNS, _DEATHS, _LESSONS, COMMAND_SYNTAX)
_RANK = {title: rank for rank, title in enumerate(_MOST_USEFUL_FIRST)}


def by_usefulness(entries: Iterable[KnowledgeEntry]) -> list[KnowledgeEntry]:
    """The best line of each section, then the second of each, and so on; dangers before all else.

    Within a section people's lines come first, then those that most episodes bear out, then the newest.
    """
    sections: dict[str, list[KnowledgeEntry]] = defaultdict(list)
    for entry in entries:
        sections[entry.section].append(entry)
    places = {
        entry: place
        for lines in sections.values()
        for place, entry in enumerate(sorted(lines, key=_worth, reverse=True))
    }
    return sorted(places, key=lambda entry: (places[entry], _rank(entry.section)))


def within(entries: Iterable[KnowledgeEntry], characters: int) -> list[KnowledgeEntry]:
    """Those of the entries that there is room for in so many characters when they are listed, earlier ones first."""
    kept: list[KnowledgeEntry] = []
    sections: set[str] = set()
    for entry in entries:
        length = min(len(entry.line.text), LONGEST_LINE) + LONGEST_MARK
        if entry.section not in sections:
            length += len(entry.section) + 3
        if length <= characters:
            characters -= length
            sections.add(entry.section)
            kept.append(entry)
    return kept


def laid_out(entries: Sequence[KnowledgeEntry]) -> str:
    """A list below the title of each section, the most useful section first; "" where there is nothing."""
    sections: dict[str, list[str]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: _rank(entry.section)):
        sections[entry.section].append(f"- {shown(entry)}")
    return "\n\n".join("\n".join([*([f"{title}:"] if title else []), *lines]) for title, lines in sections.items())


def shown(entry: KnowledgeEntry) -> str:
    """The words of the line, those of a very long one cut."""
    return cut_at(entry.line.text, LONGEST_LINE)


def size(entries: Iterable[KnowledgeEntry]) -> int:
    """Characters of the words alone."""
    return sum(len(entry.line.text) for entry in entries)


def _worth(entry: KnowledgeEntry) -> tuple[bool, int, int, int]:
    sources = entry.line.sources
    newest = sources[-1] if sources else None
    return (
        not sources,
        len({source.episode for source in sources}),
        newest.episode if newest else 0,
        newest.last_turn if newest else 0,
    )


def _rank(section: str) -> int:
    return _RANK.get(section, len(_RANK))

"""Which of what is known is shown, in which order, and how it is laid out in a prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from managers.prompting import NONE
from session.knowledge import COMMAND_SYNTAX, INSIGHTS, SECTIONS, KnowledgeEntry
from session.text import cut_middle

LONGEST_LINE = 400  # characters
LONGEST_MARK = len("999. \n")
TITLE_MARKS = len(":\n\n")

_DANGERS, _PUZZLES, _PATTERNS, _DEATHS, _, _LESSONS, _ = SECTIONS
_MOST_USEFUL_FIRST = (_DANGERS, _PUZZLES, *INSIGHTS, _PATTERNS, _DEATHS, _LESSONS, COMMAND_SYNTAX)
_RANK = {title: rank for rank, title in enumerate(_MOST_USEFUL_FIRST)}


def by_usefulness(entries: Iterable[KnowledgeEntry]) -> list[KnowledgeEntry]:
    """Return the best entry of each section, then the second of each, and so on, those about dangers first.

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


def most_useful(entries: Sequence[KnowledgeEntry], characters: int) -> list[KnowledgeEntry]:
    """Return the most useful entries that there is room for when they are listed, in their own order."""
    chosen = set(within(by_usefulness(entries), characters))
    return [entry for entry in entries if entry in chosen]


def within(entries: Iterable[KnowledgeEntry], characters: int) -> list[KnowledgeEntry]:
    """Return the entries that fit when they are listed, earlier ones first.

    A later, shorter entry may fit when an earlier one does not.
    """
    kept: list[KnowledgeEntry] = []
    titles: set[str] = set()
    for entry in entries:
        length = min(len(entry.line.text), LONGEST_LINE) + LONGEST_MARK
        if entry.section not in titles:
            length += len(entry.section) + TITLE_MARKS
        if length <= characters:
            kept.append(entry)
            titles.add(entry.section)
            characters -= length
    return kept


def laid_out(entries: Sequence[KnowledgeEntry]) -> str:
    """Return a list below the title of each section, the most useful section first, or "" if there is nothing."""
    sections: dict[str, list[str]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: _rank(entry.section)):
        sections[entry.section].append(f"- {shown(entry)}")
    return "\n\n".join("\n".join(_titled(title, lines)) for title, lines in sections.items())


def numbered_list(entries: Iterable[KnowledgeEntry], numbered: Sequence[KnowledgeEntry]) -> str:
    """Return the entries below the titles of their sections, those that a model may name with their number.

    numbered: the first of these has the number 1; all other entries have a dash
    """
    numbers = {entry: number for number, entry in enumerate(numbered, start=1)}
    sections: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        mark = f"{numbers[entry]}." if entry in numbers else "-"
        sections[entry.section].append(f"{mark} {shown(entry)}")
    return "\n".join("\n".join(_titled(title, lines)) for title, lines in sections.items()) or NONE


def shown(entry: KnowledgeEntry) -> str:
    """Return the text of the entry, without its middle if it is very long."""
    return cut_middle(entry.line.text, LONGEST_LINE)


def size(entries: Iterable[KnowledgeEntry]) -> int:
    """Return how many characters the texts of the entries have."""
    return sum(len(entry.line.text) for entry in entries)


def _titled(title: str, lines: Iterable[str]) -> Iterator[str]:
    if title:
        yield f"{title}:"
    yield from lines


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

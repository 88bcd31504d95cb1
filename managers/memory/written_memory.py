"""One memory in ``Memories.md``, as Markdown that people read, write and correct.

    **[CATEGORY - PERSISTENCE - STATUS] Title** *(Ep1, T12-14, +5)*
    [Superseded at T50 by "Better approach"]
    ~~Text, on as many lines as it has.~~

Only the category and the title are required. ACTIVE is left out; a missing persistence means permanent
(docs/specification.md, Memories.md format).

Text that would be parsed as something else is escaped. White space around a line does not count. An empty line ends
the text, so an empty line within it is written as a lone backslash, Markdown's line break.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from session.files.markdown import by_number, escape, escape_all, unescape
from session.memory import (
    INVALIDATION_MARKER,
    MARKERS,
    PERSISTENCES,
    STATUSES,
    Memory,
    MemoryStatus,
    MemoryStatusType,
)

EMPTY_LINE: Final = "\\"

_METADATA = (
    r"\s*(?:Ep(?:isode|ep)?[\s_]*(?P<episode>[0-9]{1,9}))?[\s,]*"
    r"(?:T(?:urns?)?\s*(?P<turns>[0-9]{1,9}(?:\s?[-\u2013]\s?[0-9]{1,9})?))?[\s,]*"
    r"(?P<score>[+-]?[0-9]{1,9})?\s*"
)
_HEADER = re.compile(rf"\*\*\[([^\]]*)\](\s.*|)\*\*(?:\s*\*\((?:(?i:{_METADATA})|(?P<unknown>[^()]*))\)\*)?")
_DASH = re.compile(r"\s*[-\u2013\u2014]\s*")
_SUPERSEDED = re.compile(r'\[Superseded(?: at T(?:(\d{1,9})|\w+))?(?: by "(.*)")?\]', re.ASCII | re.IGNORECASE)
_INVALIDATED = re.compile(r'\[Invalidated(?: at T(?:(\d{1,9})|\w+))?(?:: ?"(.*)")?\]', re.ASCII | re.IGNORECASE)
_STRIKETHROUGH = re.compile(r"~~(.*)~~", re.DOTALL)
_REFERENCE_STARTS = ("[superseded", "[invalidated")

_ENDS_TEXT = re.compile(r"##|#(?:\s|$)|#\s*location\b|\*\*\[|\*\*Visits:|(?:-{3,}|\*{3,}|_{3,})$|<!--", re.IGNORECASE)
_STARTS_OF_ENDS = frozenset("#*-_<")
_FENCE = "```"

_MARGINS = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)
_LEADING_MARKS = re.compile(r"([^\w\s])\1*")


class NotUnderstood(Exception):
    """Lines begin like a memory but are not one. The message is one sentence for the user who wrote them."""


@dataclass(frozen=True, slots=True)
class Markers:
    """The content of the brackets in a memory's header."""

    category: str
    persistence: str
    status: MemoryStatusType


@dataclass(frozen=True, slots=True)
class _Supersession:
    by: str | None = None
    turn: int | None = None
    reason: str | None = None


_NOTHING_SAID = _Supersession()


def ends_text(line: str) -> bool:
    """Return whether a line, given without the white space around it, cannot belong to a memory's text."""
    return not line or (line[0] in _STARTS_OF_ENDS and _ENDS_TEXT.match(line) is not None)


def is_reference(line: str) -> bool:
    """Return whether a line explains why a memory is superseded, or tries to."""
    return line.startswith("[") and line.lower().startswith(_REFERENCE_STARTS)


def write_memory(memory: Memory, line_end: str = "\n") -> str:
    """Return the memory's lines, the last without a line end.

    Raises ``ValueError`` for an ephemeral memory: none is ever written.
    """
    if memory.persistence == "ephemeral":
        raise ValueError(f"ephemeral memories are never written: {memory.title}")
    markers = f"{memory.category} - {memory.persistence.upper()}"
    if memory.status != MemoryStatus.ACTIVE:
        markers += f" - {memory.status}"
    title = escape(memory.title).replace("*", r"\*")
    known = [
        f"Ep{memory.episode}" if memory.episode else "",
        f"T{memory.turns}" if memory.turns else "",
        "" if memory.score_change is None else f"{memory.score_change:+d}",
    ]
    metadata = ", ".join(filter(None, known))
    header = f"**[{markers}] {title}**" + (f" *({metadata})*" if metadata else "")
    return line_end.join([header, *_written_body(memory)])


def write_superseded(lines: str, memory: Memory, line_end: str) -> str:
    """Return the lines of a memory that has been superseded since, updated to ``memory``.

    The header stays as it was written, except for the status.
    """
    header = re.split(r"[\r\n]", lines, maxsplit=1)[0]
    markers = header[header.index("[") + 1 : header.index("]")]
    struck, found = re.subn(
        r"([-\u2013\u2014]\s*)(?:ACTIVE|TENTATIVE)\b", r"\1SUPERSEDED", markers, flags=re.IGNORECASE
    )
    if not found:
        struck = f"{markers.rstrip()} - SUPERSEDED"
    last_end = line_end if lines.endswith(("\n", "\r")) else ""
    return line_end.join([header.replace(markers, struck, 1), *_written_body(memory)]) + last_end


def read_memory(lines: Sequence[str]) -> tuple[Memory, str]:
    """Return the memory in the lines, and one sentence about what was not understood, or "".

    lines: a header, a reference, blank lines, text, all without white space around them

    Raises ``NotUnderstood`` for lines that are not a memory.
    """
    header = _HEADER.fullmatch(lines[0])
    if header is None:
        raise NotUnderstood("A memory begins with a line like **[NOTE - PERMANENT] Title** *(Ep1, T12, +5)*.")
    markers_text, title, episode, turns, score, unknown = header.groups()
    markers = read_markers(markers_text)
    title = unescape(title.strip())
    if not title.strip():
        raise NotUnderstood("This memory has no title.")

    supersession = _read_reference(lines[1]) if len(lines) > 1 else None
    text_at = 1 if supersession is None else 2
    status = markers.status if supersession is None else MemoryStatus.SUPERSEDED
    supersession = supersession or _NOTHING_SAID
    memory = Memory(
        category=markers.category,
        title=title,
        episode=int(episode or 0),
        turns=turns or "",
        score_change=None if score is None else int(score),
        text=_read_text(lines[text_at:], struck=status == MemoryStatus.SUPERSEDED),
        persistence=markers.persistence,
        status=status,
        superseded_by=supersession.by,
        superseded_at_turn=supersession.turn,
        invalidation_reason=supersession.reason,
    )
    if unknown is not None:
        return memory, f"*({unknown})* is not like *(Ep1, T12-14, +5)*, so it is not used."
    if status != markers.status:
        return memory, "This memory is given up below its header, which does not say SUPERSEDED."
    if text_at < len(lines) and is_reference(lines[text_at]):
        return memory, f'{lines[text_at]} is not like [Superseded at T50 by "Title"].'
    return memory, ""


@lru_cache(maxsize=256)
def read_markers(text: str) -> Markers:
    """Read what the brackets hold: the category, behind it the markers in any order, all in any case.

    Raises ``NotUnderstood``.
    """
    category, *others = (part.upper() for part in _DASH.split(text.strip()))
    if not category or category in MARKERS:
        raise NotUnderstood(f"[{text}] begins with no category: write [NOTE - PERMANENT] or the like.")
    persistence, status = "permanent", "ACTIVE"
    for marker in others:
        if marker == "EPHEMERAL":
            raise NotUnderstood("An EPHEMERAL memory ends with its episode, so none is read from this file.")
        if marker in STATUSES:
            status = marker
        elif marker.lower() in PERSISTENCES:
            persistence = marker.lower()
        else:
            raise NotUnderstood(f"{marker} in [{text}] is neither CORE nor PERMANENT nor a status.")
    return Markers(category, persistence, cast("MemoryStatusType", status))


def _read_reference(line: str) -> _Supersession | None:
    """Read the line below a header that explains why the memory was superseded; ``None`` for any other line."""
    if not is_reference(line):
        return None
    superseded = _SUPERSEDED.fullmatch(line)
    if superseded:
        return _Supersession(_quoted(superseded[2]), _turn(superseded[1]))
    invalidated = _INVALIDATED.fullmatch(line)
    if invalidated:
        return _Supersession(INVALIDATION_MARKER, _turn(invalidated[1]), _quoted(invalidated[2]))
    return None


def _read_text(lines: Sequence[str], *, struck: bool) -> str:
    text = "\n".join(lines).lstrip("\n")
    strikethrough = _STRIKETHROUGH.fullmatch(text) if struck else None
    if strikethrough:
        text = strikethrough[1]
    if "\\" not in text and "&#" not in text and not struck:
        return text
    stripped = (line.strip() for line in text.split("\n"))
    return "\n".join("" if line == EMPTY_LINE else unescape(line) for line in stripped)


def _written_body(memory: Memory) -> list[str]:
    lines = [_written_line(line) for line in memory.text.split("\n")]
    if memory.status != MemoryStatus.SUPERSEDED:
        return lines
    if memory.text:
        lines[0] = f"~~{lines[0]}"
        lines[-1] = f"{lines[-1]}~~"
    return [*_written_reference(memory), *lines]


def _written_reference(memory: Memory) -> list[str]:
    at = "" if memory.superseded_at_turn is None else f" at T{memory.superseded_at_turn}"
    if memory.superseded_by == INVALIDATION_MARKER:
        reason = memory.invalidation_reason
        return [f"[Invalidated{at}]" if reason is None else f'[Invalidated{at}: "{escape(reason)}"]']
    if memory.superseded_by is not None:
        return [f'[Superseded{at} by "{escape(memory.superseded_by)}"]']
    return [f"[Superseded{at}]"] if at else []


def _written_line(line: str) -> str:
    if not line:
        return EMPTY_LINE
    margins = cast("re.Match[str]", _MARGINS.fullmatch(line))
    written = f"{by_number(margins[1])}{escape(margins[2])}{by_number(margins[3])}"
    if ends_text(written) or is_reference(written) or written.startswith(_FENCE):
        return _LEADING_MARKS.sub(escape_all, written, count=1)
    return written


def _quoted(text: str | None) -> str | None:
    return None if text is None else unescape(text)


def _turn(digits: str | None) -> int | None:
    return int(digits) if digits else None

"""What a model says that is known, and what of it is taken."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field, create_model

from managers.knowledge.base import KnowledgeEdit
from managers.knowledge.text import read_line
from managers.knowledge.view import by_usefulness, size
from session.knowledge import KnowledgeEntry, KnowledgeLine, as_sources
from session.text import cut_at, text_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from managers.knowledge.play import LearntTurn

LONGEST_LINE = 300  # characters
LONGEST_SPAN = 100  # turns

FilledSection = Literal[
    "DANGERS & THREATS",
    "PUZZLE SOLUTIONS",
    "STRATEGIC PATTERNS",
    "DEATH & DANGER ANALYSIS",
    "LESSONS LEARNED",
]
"""The sections that a model fills while it plays."""
DEFAULT_SECTION: FilledSection = "LESSONS LEARNED"

_SECTIONS = {text_key(title): title for title in get_args(FilledSection)}
_SPAN = re.compile(r"T?([0-9]{1,9})(?:\s*[-\u2013]\s*T?([0-9]{1,9}))?", re.IGNORECASE)


def _as_section(value: object) -> object:
    return _SECTIONS.get(text_key(value), DEFAULT_SECTION) if isinstance(value, str) else value


def _as_turns(value: object) -> object:
    parts = value if isinstance(value, list) else str(value).split(",")
    return [turn for part in parts for turn in _spelt_out(str(part))]


def _spelt_out(part: str) -> Iterator[int]:
    """The turns of ``12``, ``T12`` or ``12-14``; none of what is no turn."""
    span = _SPAN.fullmatch(part.strip())
    if span is not None:
        first, last = int(span[1]), int(span[2] or span[1])
        yield from range(first, min(last, first + LONGEST_SPAN) + 1)


Turns = Annotated[list[int], BeforeValidator(_as_turns)]


class ProposedLine(BaseModel):
    """A line that the model wants to be known. ``turns``: those that show it."""

    section: Annotated[FilledSection, BeforeValidator(_as_section)] = DEFAULT_SECTION
    text: str = Field(description="one sentence that holds in every episode")
    turns: Turns = Field(default_factory=list, description="numbers of the turns that show it")
    replaces: list[int] = Field(default_factory=list, description="numbers of the known lines that it is better than")


class KnowledgeAnswer(BaseModel):
    """What the model is asked for."""

    lines: list[ProposedLine] = Field(default_factory=list)


class BriefKnowledge(BaseModel):
    """What a small model is asked for: which turn taught most, and of what kind that is. The words are the story's."""

    turn: int
    section: FilledSection


class MergedLine(BaseModel):
    """One line in the place of others."""

    text: str
    replaces: list[int]


class ConsolidationAnswer(BaseModel):
    """Which lines say the same or belong together, and which are of no use."""

    lines: list[MergedLine] = Field(default_factory=list)
    cut: list[int] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Grounds:
    """By what an answer is judged.

    episode: the one being played
    known: the numbered lines that the model was shown; the first has the number 1
    turns: those that it was shown
    ephemeral: those of the episode's turns that an ephemeral memory is about
    """

    episode: int
    known: Sequence[KnowledgeEntry]
    turns: Collection[int]
    ephemeral: Collection[int]


@dataclass(frozen=True, slots=True)
class Judged:
    """What an answer changes, and what was not taken, each with the reason.

    ephemeral: lines that rest on nothing but what this episode's player did
    """

    edit: KnowledgeEdit
    refused: tuple[str, ...] = ()
    ephemeral: tuple[str, ...] = ()


def likely_sections(turn: LearntTurn) -> list[FilledSection]:
    """The sections that the facts of a telling turn speak for, the likeliest first."""
    sections: list[FilledSection] = []
    if turn.died:
        sections += ["DEATH & DANGER ANALYSIS", "DANGERS & THREATS"]
    elif turn.score_change < 0:
        sections += ["DANGERS & THREATS", "LESSONS LEARNED"]
    if turn.score_change > 0:
        sections += ["PUZZLE SOLUTIONS", "STRATEGIC PATTERNS", "LESSONS LEARNED"]
    return sections


def brief_schema(turns: Sequence[LearntTurn]) -> type[BriefKnowledge]:
    """A ``BriefKnowledge`` of one of these telling turns, with a section that is likely for one of them."""
    offered = tuple(dict.fromkeys(section for turn in turns for section in likely_sections(turn)))

    def as_offered(value: object) -> object:
        section = _as_section(value)
        return section if section in offered or not isinstance(value, str) else offered[0]

    turn: Any = Literal[tuple(turn.turn for turn in turns)]
    section: Any = Annotated[Literal[offered], BeforeValidator(as_offered)]
    return create_model(BriefKnowledge.__name__, __base__=BriefKnowledge, turn=(turn, ...), section=(section, ...))


def cites_unplayed(line: KnowledgeLine, episode: int, last_turn: int) -> bool:
    """The line comes from a turn of the episode that was not played, ``last_turn`` being the last."""
    return any(
        source.episode == episode and not 1 <= source.first_turn <= source.last_turn <= last_turn
        for source in line.sources
    )


def is_ephemeral(line: KnowledgeLine, episode: int, ephemeral: Collection[int]) -> bool:
    """Every turn that the line comes from is one of this episode that an ephemeral memory is about."""
    return all(
        source.episode == episode and turn in ephemeral
        for source in line.sources
        for turn in range(source.first_turn, source.last_turn + 1)
    )


def ephemeral_entries(
    entries: Iterable[KnowledgeEntry], learnt: Collection[str], episode: int, ephemeral: Collection[int]
) -> tuple[KnowledgeEntry, ...]:
    """The program's lines that rest on ephemeral turns alone, of those that ``learnt`` has the keys of.

    Others are none of the episode's: an older file may number its episodes alike.
    """
    return tuple(
        entry
        for entry in entries
        if entry.is_ours and text_key(entry.line.text) in learnt and is_ephemeral(entry.line, episode, ephemeral)
    )


def judged(answer: KnowledgeAnswer, grounds: Grounds) -> Judged:
    """What of the answer is taken: lines that cite turns which were shown, and not only ephemeral ones.

    A line has the sources of those it replaces, too.
    """
    removed: list[KnowledgeEntry] = []
    added: list[KnowledgeEntry] = []
    refused, ephemeral = [], []
    for proposed in answer.lines:
        line = KnowledgeLine(_text(proposed.text), as_sources(grounds.episode, proposed.turns))
        refusal = _refusal(proposed, line, grounds.turns)
        if refusal:
            refused.append(f"{refusal}: {line.text}")
        elif is_ephemeral(line, grounds.episode, grounds.ephemeral):
            ephemeral.append(line.text)
        else:
            replaced = [entry for entry in _numbered(proposed.replaces, grounds.known) if entry not in removed]
            added.append(KnowledgeEntry(proposed.section, _with_sources_of(replaced, line)))
            removed += replaced
    return Judged(KnowledgeEdit(tuple(removed), tuple(added)), tuple(refused), tuple(ephemeral))


def consolidation(answer: ConsolidationAnswer, known: Sequence[KnowledgeEntry], excess: int) -> KnowledgeEdit:
    """What the answer merges, and of what it cuts as much as has to go; nothing where that makes it no shorter.

    A merged line stands in the section of the first that it replaces, and has the sources of all. A line goes once.
    Of the lines to cut the least useful go first, until ``excess`` characters are gone.
    """
    gone: list[KnowledgeEntry] = []
    added: list[KnowledgeEntry] = []
    for merged in answer.lines:
        replaced = [entry for entry in _numbered(merged.replaces, known) if entry not in gone]
        text = _text(merged.text)
        if text and len(text) < size(replaced):
            gone += replaced
            added.append(KnowledgeEntry(replaced[0].section, _with_sources_of(replaced, KnowledgeLine(text))))
    to_cut = [entry for entry in _numbered(answer.cut, known) if entry not in gone]
    for entry in reversed(by_usefulness(to_cut)):
        if size(gone) - size(added) >= excess:
            break
        gone.append(entry)
    return KnowledgeEdit(tuple(gone), tuple(added))


def _refusal(proposed: ProposedLine, line: KnowledgeLine, turns: Collection[int]) -> str:
    if not line.text:
        return "no text"
    if not proposed.turns:
        return "cites no turn"
    unknown = [turn for turn in proposed.turns if turn not in turns]
    return f"cites turn {unknown[0]}, which was not shown" if unknown else ""


def _text(text: str) -> str:
    """One line, without a citation of its own: that of the prompt is easily copied."""
    return cut_at(read_line(text).text, LONGEST_LINE)


def _numbered(numbers: Iterable[int], known: Sequence[KnowledgeEntry]) -> list[KnowledgeEntry]:
    return [known[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(known)]


def _with_sources_of(replaced: Iterable[KnowledgeEntry], line: KnowledgeLine) -> KnowledgeLine:
    inherited = (source for entry in replaced for source in entry.line.sources)
    return replace(line, sources=(*line.sources, *inherited))

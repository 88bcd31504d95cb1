"""Questions a model about what turns have taught and which lines can go, and checks its answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field, create_model

from managers.knowledge.document import KnowledgeEdit, read_line
from managers.knowledge.prompt import (
    LONGEST_LINE,
    Played,
    Question,
    brief_question,
    by_usefulness,
    consolidation_question,
    size,
    told_in_brief,
    update_question,
)
from managers.prompting import is_for_a_small_model
from session.knowledge import KnowledgeEntry, KnowledgeLine, as_sources
from session.text import TokenCounter, cut_middle, text_key
from zorkgpt.llm.language_model import LanguageModel

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
HARD_WON: tuple[FilledSection, ...] = ("DANGERS & THREATS", "PUZZLE SOLUTIONS", "DEATH & DANGER ANALYSIS")
"""The sections of what won points or killed."""

_LOCATION = re.compile(r"\b(?:L|[Ll]ocation |ID:? )(\d+)\b")
_QUOTED = re.compile(r"[`'\"\u2018\u201c]([^`'\"\u2019\u201d]+)[`'\"\u2019\u201d]")
_TELLING_WORD = re.compile(r"\b(?!(?:the|and|you|for|with|from|then|that|this)\b)\w{3,}")
_SPAN = re.compile(r"T?([0-9]{1,9})(?:\s*[-\u2013]\s*T?([0-9]{1,9}))?", re.IGNORECASE)


def _as_section(value: object) -> object:
    return _SECTIONS.get(text_key(value), DEFAULT_SECTION) if isinstance(value, str) else value


def _as_turns(value: object) -> object:
    """Return the turns of a list or of a text like ``12, T14-16``, without what is neither a turn nor a span."""
    turns: list[int] = []
    for part in value if isinstance(value, list) else str(value).split(","):
        span = _SPAN.fullmatch(str(part).strip())
        if span is not None:
            first, last = int(span[1]), int(span[2] or span[1])
            turns += range(first, min(last, first + LONGEST_SPAN) + 1)
    return turns


Turns = Annotated[list[int], BeforeValidator(_as_turns)]


class ProposedLine(BaseModel):
    """A line that is worth knowing."""

    section: Annotated[FilledSection, BeforeValidator(_as_section)] = DEFAULT_SECTION
    text: str = Field(description="one sentence that holds in every episode")
    turns: Turns = Field(default_factory=list, description="numbers of the turns that show it")
    replaces: list[int] = Field(default_factory=list, description="numbers of the known lines that it is better than")


class KnowledgeAnswer(BaseModel):
    """All lines that are worth knowing."""

    lines: list[ProposedLine] = Field(default_factory=list)


class BriefKnowledge(BaseModel):
    """The turn that is most worth knowing."""

    turn: int


class MergedLine(BaseModel):
    """One line in the place of others."""

    text: str
    replaces: list[int]


class ConsolidationAnswer(BaseModel):
    """Which lines say the same or belong together, and which are of no use."""

    lines: list[MergedLine] = Field(default_factory=list)
    cut: list[int] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class KnowledgeUpdate:
    """What an answer changes in the knowledge base, and which of its lines were not taken.

    refused: each line that breaks a rule, with the reason in front of it
    ephemeral: lines that rest on nothing but what this episode's player did
    """

    edit: KnowledgeEdit
    refused: tuple[str, ...] = ()
    ephemeral: tuple[str, ...] = ()


def ask_what_is_new(
    model: LanguageModel, played: Played, entries: Sequence[KnowledgeEntry], budget: int, tokens: TokenCounter
) -> KnowledgeUpdate | None:
    """Return what the model adds to these lines of knowledge, or ``None`` if there is no question.

    A small model, whose prompts have few tokens, only chooses a turn; the words are the story's. Raises
    ``LanguageModelError``.
    """
    if is_for_a_small_model(budget, "knowledge", tokens):
        question = brief_question(played, budget, tokens)
        answer = _brief_answer(model, played, question) if question.turns else None
    else:
        question = update_question(played, entries, budget, tokens)
        answer = model.complete("analysis", question.prompt, KnowledgeAnswer).value
    return None if answer is None else _update(answer, question, played)


def ask_what_can_go(
    model: LanguageModel, entries: Sequence[KnowledgeEntry], excess: int, budget: int, tokens: TokenCounter
) -> KnowledgeEdit:
    """Return which lines the model would merge and cut, so that about ``excess`` characters less remain.

    Raises ``LanguageModelError``.
    """
    question = consolidation_question(entries, excess, budget, tokens)
    answer = model.complete("analysis", question.prompt, ConsolidationAnswer).value
    gone: list[KnowledgeEntry] = []
    added: list[KnowledgeEntry] = []
    for merged in answer.lines:
        replaced = [entry for entry in entries_numbered(merged.replaces, question.known) if entry not in gone]
        text = proposed_text(merged.text)
        if text and len(text) < size(replaced):
            gone += replaced
            added.append(KnowledgeEntry(replaced[0].section, with_sources_of(replaced, KnowledgeLine(text))))
    to_cut = [entry for entry in entries_numbered(answer.cut, question.known) if entry not in gone]
    for entry in reversed(by_usefulness(to_cut)):
        if size(gone) - size(added) >= excess:
            break
        gone.append(entry)
    return KnowledgeEdit(tuple(gone), tuple(added))


def is_ephemeral(line: KnowledgeLine, episode: int, ephemeral: Collection[int]) -> bool:
    """Return whether all turns that the line cites are of this episode and among its ``ephemeral`` turns."""
    return all(
        source.episode == episode and turn in ephemeral
        for source in line.sources
        for turn in range(source.first_turn, source.last_turn + 1)
    )


def _brief_answer(model: LanguageModel, played: Played, question: Question) -> KnowledgeAnswer:
    """Return the turn that the model chose as an answer of one line. A single turn needs no call."""
    chosen = question.turns[0]
    if len(question.turns) > 1:
        turns: Any = Literal[question.turns]
        schema = create_model(BriefKnowledge.__name__, __base__=BriefKnowledge, turn=(turns, ...))
        chosen = model.complete("analysis", question.prompt, schema).value.turn
    record = next(turn.record for turn in played.turns if turn.record.turn == chosen)
    section: FilledSection = "DANGERS & THREATS" if (record.score_change or 0) < 0 else "PUZZLE SOLUTIONS"
    if record.after.died:
        section = "DEATH & DANGER ANALYSIS"
    return KnowledgeAnswer(lines=[ProposedLine(section=section, text=told_in_brief(record), turns=[chosen])])


def _update(answer: KnowledgeAnswer, question: Question, played: Played) -> KnowledgeUpdate:
    """Take the lines of the answer that cite turns which were shown and are not all ephemeral.

    A line replaces those that it names. If one of these is about points or a danger and the new line is about something
    else, both stay, because the model may have given a wrong number.
    """
    removed: list[KnowledgeEntry] = []
    added: list[KnowledgeEntry] = []
    refused, ephemeral = [], []
    for proposed in answer.lines:
        line = KnowledgeLine(proposed_text(proposed.text), as_sources(played.episode, proposed.turns))
        unknown = [turn for turn in proposed.turns if turn not in question.turns]
        if not line.text:
            refused.append(f"no text: {line.text}")
        elif not proposed.turns:
            refused.append(f"cites no turn: {line.text}")
        elif unknown:
            refused.append(f"cites turn {unknown[0]}, which was not shown: {line.text}")
        elif is_ephemeral(line, played.episode, played.ephemeral_turns):
            ephemeral.append(line.text)
        else:
            replaced = [entry for entry in entries_numbered(proposed.replaces, question.known) if entry not in removed]
            removed += [entry for entry in replaced if entry.section not in HARD_WON or _is_about(line, entry.line)]
            added.append(KnowledgeEntry(proposed.section, line))
    return KnowledgeUpdate(KnowledgeEdit(tuple(removed), tuple(added)), tuple(refused), tuple(ephemeral))


def _is_about(line: KnowledgeLine, known: KnowledgeLine) -> bool:
    """Return whether a line can be about the same as a known one.

    It can if it cites one of its turns, names one of its locations or commands, or has half of its telling words.
    """
    cites_its_turn = any(
        one.episode == other.episode and one.first_turn <= other.last_turn and other.first_turn <= one.last_turn
        for one in line.sources
        for other in known.sources
    )
    locations = set(_LOCATION.findall(line.text)) & set(_LOCATION.findall(known.text))
    commands = set(map(text_key, _QUOTED.findall(line.text))) & set(map(text_key, _QUOTED.findall(known.text)))
    if cites_its_turn or locations or commands:
        return True
    words = set(_TELLING_WORD.findall(known.text.casefold()))
    return 2 * len(words & set(_TELLING_WORD.findall(line.text.casefold()))) >= len(words) > 0


def proposed_text(text: str) -> str:
    """Return the text on one line without a citation of its own, because models often copy that of the prompt."""
    return cut_middle(read_line(text).text, LONGEST_LINE)


def entries_numbered(numbers: Iterable[int], known: Sequence[KnowledgeEntry]) -> list[KnowledgeEntry]:
    """Return the known lines with these numbers, counted from 1, each once."""
    return [known[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(known)]


def with_sources_of(replaced: Iterable[KnowledgeEntry], line: KnowledgeLine) -> KnowledgeLine:
    """Return the line with its own sources and those of the entries that it replaces."""
    inherited = (source for entry in replaced for source in entry.line.sources)
    return replace(line, sources=(*line.sources, *inherited))

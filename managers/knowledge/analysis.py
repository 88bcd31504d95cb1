"""Asks a model what the latest turns show of the game as a whole and which lines can go, and checks its answers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field

from managers.knowledge.document import KnowledgeEdit, read_line
from managers.prompting import (
    LONGEST_ACTION,
    NONE,
    Line,
    Part,
    fit,
    lines_of,
    place,
    room_beside,
    turn_text,
)
from session.knowledge import (
    COMMAND_SYNTAX,
    DEATH_ANALYSIS,
    INSIGHTS,
    KnowledgeEntry,
    KnowledgeLine,
    Source,
    as_sources,
)
from session.memory import Memory
from session.text import counted, cut_at, cut_middle, one_line, points_changed, quotation, text_key
from session.values import ENDINGS, Location, TurnRecord
from zorkgpt.llm.language_model import LanguageModel, Prompt, at_most
from zorkgpt.prompts.loader import fill_prompt

FEWEST_TURNS = 5
LONGEST_LINE = 400  # of a line in an answer
LONGEST_SHOWN = 2000  # of a line of the file; a longer one loses its middle in prompts
LONGEST_MARK = len("999. \n")
TITLE_MARKS = len(":\n\n")
KNOWLEDGE_SHARE, EPHEMERAL_SHARE, MEMORIES_SHARE = 0.4, 0.15, 0.15
BRIEF_TURNS = 8
BRIEF_ACTION, BRIEF_RESPONSE = 80, 160  # characters
LONGEST_SPAN = 100  # turns

OtherSection = Literal["DANGERS & THREATS", "PUZZLE SOLUTIONS", "STRATEGIC PATTERNS", "LESSONS LEARNED"]
FilledSection = Literal[
    "DANGERS & THREATS", "PUZZLE SOLUTIONS", "STRATEGIC PATTERNS", "DEATH & DANGER ANALYSIS", "LESSONS LEARNED"
]
"""The sections that a model fills while it plays."""
DEFAULT_SECTION: OtherSection = "LESSONS LEARNED"

_FILLED: tuple[FilledSection, ...] = get_args(FilledSection)
_SECTIONS = {text_key(title): title for title in _FILLED}
_RANK = {title: rank for rank, title in enumerate((*_FILLED[:2], *INSIGHTS, *_FILLED[2:], COMMAND_SYNTAX))}
"""Of each section, the most useful first."""
WORDS_IN_COMMON = 3
HARD_WON: tuple[FilledSection, ...] = ("DANGERS & THREATS", "PUZZLE SOLUTIONS", DEATH_ANALYSIS)
"""The sections of what won points or killed."""

_TELLING_WORD = re.compile(r"\b(?!(?:the|and|you|for|with|from|then|that|this)\b)\w{3,}")
_SPAN = re.compile(r"T?([0-9]{1,9})(?:\s*[-\u2013]\s*T?([0-9]{1,9}))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LearnedTurn:
    """A turn with its facts as text; ``has_stopped``: whether it stopped a route before its end."""

    record: TurnRecord
    facts: tuple[str, ...] = ()
    has_stopped: bool = False

    @property
    def shown_facts(self) -> tuple[str, ...]:
        """The facts in words, with a route's end."""
        return (*self.facts, *(["the route stopped here"] if self.has_stopped else []))


@dataclass(frozen=True, slots=True)
class Played:
    """What was played and remembered in this episode, for questions to a model.

    turns: those played since the knowledge was last updated, oldest first
    ephemeral, persistent: the memories of all episodes by location id
    names: of locations, by id
    ephemeral_turns: the turns whose effects end with this episode
    """

    episode: int
    turns: Sequence[LearnedTurn]
    ephemeral: Mapping[int, Sequence[Memory]]
    persistent: Mapping[int, Sequence[Memory]]
    names: Mapping[int, str]
    ephemeral_turns: frozenset[int]


@dataclass(frozen=True, slots=True)
class KnowledgePrompt:
    """A prompt and what its answer may refer to.

    known: the lines of knowledge that are numbered in the prompt, starting with 1
    turns: the turns in the prompt, which may be cited
    beside: the prompt in a call with the question about an episode, which contains the insights
    """

    prompt: Prompt
    known: tuple[KnowledgeEntry, ...] = ()
    turns: tuple[int, ...] = ()
    beside: Prompt | None = None


def is_trivial(turns: Sequence[LearnedTurn]) -> bool:
    """Return whether nothing can be learned: no turn has a fact, or few turns have and none scored or killed."""
    if any(turn.record.is_decisive for turn in turns):
        return False
    return len(turns) < FEWEST_TURNS or not any(turn.facts for turn in turns)


def update_question(played: Played, entries: Sequence[KnowledgeEntry], characters: int) -> KnowledgePrompt:
    """Return the question what the turns taught, in at most ``characters`` characters if possible.

    Known lines and memories have a share of the room each; turns have the rest. Beside the question about the episode,
    that one has the lessons from deaths.
    """
    templates, fields = ["knowledge_play"], {"episode": str(played.episode)}
    system = fill_prompt("knowledge", deaths=f"{fill_prompt('knowledge_deaths')}\n")
    room = room_beside(system, templates, fields, characters)
    known = most_useful(entries, int(KNOWLEDGE_SHARE * room))
    numbered = tuple(entry for entry in known if entry.is_ours and entry.section not in INSIGHTS)
    left_out = len(entries) - len(known)
    fields["knowledge"] = numbered_list(known, numbered, left_out)
    memories = [
        _remembered("memories", played, played.persistent, MEMORIES_SHARE),
        _remembered("ephemeral", played, played.ephemeral, EPHEMERAL_SHARE),
    ]
    fields.update({name: each.text for name, each in fit(memories, room).items()})
    room = room_beside(system, templates, fields, characters)
    stretches = _stretches(played.turns)
    parts = [_stretch_lines(each, played.ephemeral_turns) for each in stretches]
    play, count, _ = Part("play", parts, joins=" ").fit(room)
    shown = tuple(turn.record.turn for stretch in stretches[len(stretches) - count :] for turn in stretch)
    others = numbered_list([entry for entry in known if entry.section not in INSIGHTS], numbered, left_out)
    alone, beside = (
        Prompt(instructions, fill_prompt("knowledge_play", **{**fields, "knowledge": text}, play=play))
        for instructions, text in ((system, fields["knowledge"]), (fill_prompt("knowledge", deaths=""), others))
    )
    return KnowledgePrompt(alone, numbered, shown, beside)


def brief_question(turns: Sequence[LearnedTurn], characters: int) -> KnowledgePrompt:
    """Return the question which of the latest turns that scored or killed, if there are any, taught most."""
    decisive = [turn.record for turn in turns if turn.record.is_decisive][-BRIEF_TURNS:]
    numbers = tuple(record.turn for record in decisive)
    system, fields = fill_prompt("knowledge_brief"), {"turns": ", ".join(map(str, numbers))}
    room = room_beside(system, ["knowledge_brief_play"], fields, characters)
    lines = [[Line(turn_text(record.turn, result_in_brief(record)))] for record in decisive]
    play, count, _ = Part("play", lines).fit(room)
    shown = numbers[len(numbers) - count :]
    user = fill_prompt("knowledge_brief_play", play=play, turns=", ".join(map(str, shown)))
    return KnowledgePrompt(Prompt(system, user), turns=shown)


def result_in_brief(record: TurnRecord) -> str:
    """Return what a turn taught as command and result, with the story's words unless they are about another place."""
    died, points, results = record.after.died, record.score_change or 0, []
    if points:
        results.append(points_changed(points))
    if died:
        results.append("the player died")
    if record.after.ending is not None:
        results.append(ENDINGS[record.after.ending])
    elif record.moved and not died:
        results.append(f"leads to {place(record.after.location)}")
    response = cut_middle(one_line(record.after.text), BRIEF_RESPONSE)
    quote = f": {quotation(response)}" if record.after.is_defeat or not record.moved else ""
    command = cut_at(one_line(record.action), BRIEF_ACTION)
    return f"`{command}` at {place(record.before.location)}: {', '.join(results)}{quote}"


def _remembered(name: str, played: Played, memories: Mapping[int, Sequence[Memory]], share: float) -> Part:
    """Return a line for each memory of the episode but arrivals and those given up, the latest first."""
    found = [
        (Location(number, played.names.get(number, "Location")), memory)
        for number, at_location in sorted(memories.items())
        for memory in at_location
        if memory.episode == played.episode and not memory.is_given_up and not memory.is_arrival
    ]
    found.sort(key=lambda each: each[1].last_turn, reverse=True)
    items = []
    for location, memory in found:
        when = f"T{memory.turns}, " if memory.turns else ""
        items.append([Line("- ", f"{when}{place(location)}: {memory.headline()}: {one_line(memory.text)}")])
    return Part(name, items, keeps="best", share=share)


def _stretches(turns: Sequence[LearnedTurn]) -> list[list[LearnedTurn]]:
    """Return the turns, those on one route or walk together, but for the turn that stopped it."""
    stretches: list[list[LearnedTurn]] = []
    for turn in turns:
        record = turn.record
        is_as_known = record.is_of_route and not turn.has_stopped and not (record.after.died or record.after.ending)
        goes_on = is_as_known and not record.proposals[-1].wants_way
        if goes_on and stretches and stretches[-1][-1].record.is_of_route:
            stretches[-1].append(turn)
        else:
            stretches.append([turn])
    return stretches


def _stretch_lines(stretch: Sequence[LearnedTurn], ephemeral: Collection[int]) -> list[Line]:
    """Return a turn, or a route in one line; the story's answers to turns with facts get room first."""
    record, last = stretch[0].record, stretch[-1].record
    if len(stretch) > 1:
        way = record.proposals[-1]
        name = f"route {way.follow}" if way.follow is not None else f"the way to {place(last.after.location)}"
        return [Line(f"Turns {record.turn}-{last.turn}: {name}, as known")]
    facts = stretch[0].shown_facts
    mark = " EPHEMERAL" if record.turn in ephemeral else ""
    command = cut_at(one_line(record.command_text), LONGEST_ACTION)
    head = turn_text(record.turn, command, at=record.before.location, mark=mark, facts=facts)
    text = "\n".join(lines_of(record.response, record.after.location_label))
    return [Line(head), Line("  ", text, rank=0 if facts else 1, turn=record.turn)]


def _as_section(value: object) -> object:
    return _SECTIONS.get(text_key(value), DEFAULT_SECTION) if isinstance(value, str) else value


def _as_other_section(value: object) -> object:
    section = _as_section(value)
    return "DANGERS & THREATS" if section == DEATH_ANALYSIS else section


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
    text: Annotated[str, at_most(LONGEST_LINE)] = Field(
        description=f"one or two short sentences that hold in every episode, at most {LONGEST_LINE} characters"
    )
    turns: Turns = Field(default_factory=list, description="numbers of the turns that show it")
    replaces: list[int] = Field(default_factory=list, description="numbers of the known lines that it is better than")


class KnowledgeAnswer(BaseModel):
    """All lines that are worth knowing."""

    lines: list[ProposedLine] = Field(default_factory=list)


class LineBesideDeaths(ProposedLine):
    """A line that is worth knowing, beside a field for deaths."""

    section: Annotated[OtherSection, BeforeValidator(_as_other_section)] = DEFAULT_SECTION


class AnswerBesideEpisode(BaseModel):
    """All lines that are worth knowing, beside the answer about an episode, which has a field for its deaths."""

    lines: list[LineBesideDeaths] = Field(default_factory=list)


class MergedLine(BaseModel):
    """One line in the place of others."""

    text: Annotated[str, at_most(LONGEST_LINE)] = Field(description=f"at most {LONGEST_LINE} characters")
    replaces: list[int]


class ConsolidationAnswer(BaseModel):
    """Which lines say the same or belong together, and which are of no use."""

    lines: list[MergedLine] = Field(default_factory=list)
    cut: list[int] = Field(default_factory=list)


def line_in_brief(record: TurnRecord) -> ProposedLine:
    """Return what a turn that scored or killed taught, in the story's words."""
    section: FilledSection = "DANGERS & THREATS" if (record.score_change or 0) < 0 else "PUZZLE SOLUTIONS"
    if record.after.is_defeat:
        section = DEATH_ANALYSIS
    return ProposedLine(section=section, text=result_in_brief(record), turns=[record.turn])


def ask_what_can_go(
    model: LanguageModel, entries: Sequence[KnowledgeEntry], excess: int, characters: int
) -> KnowledgeEdit:
    """Return which of the program's lines the model would merge and cut, so that ``excess`` characters less remain.

    It is shown the least useful lines that fit into ``characters`` characters. Raises ``LanguageModelError``.
    """
    figures = {"size": str(size(entries)), "excess": str(excess)}
    system, template = fill_prompt("knowledge_consolidation"), "knowledge_consolidation_lines"
    room = room_beside(system, [template], figures, characters)
    ours = by_usefulness(entry for entry in entries if entry.is_ours)
    least_useful = set(within(reversed(ours), room))
    known = [entry for entry in entries if entry in least_useful]
    prompt = Prompt(system, fill_prompt(template, knowledge=numbered_list(known, known), **figures))
    answer = model.complete("analysis", prompt, ConsolidationAnswer).value
    gone: list[KnowledgeEntry] = []
    added: list[KnowledgeEntry] = []
    for merged in answer.lines:
        replaced = [entry for entry in entries_numbered(merged.replaces, known) if entry not in gone]
        text = proposed_text(merged.text)
        if text and len(text) < size(replaced):
            gone += replaced
            added.append(KnowledgeEntry(replaced[0].section, with_sources_of(replaced, KnowledgeLine(text))))
    to_cut = [entry for entry in entries_numbered(answer.cut, known) if entry not in gone]
    for entry in reversed(by_usefulness(to_cut)):
        if size(gone) - size(added) >= excess:
            break
        gone.append(entry)
    return KnowledgeEdit(tuple(gone), tuple(added))


def is_ephemeral(line: KnowledgeLine, episode: int, ephemeral: frozenset[int]) -> bool:
    """Return whether all turns that the line cites are of this episode and among its ``ephemeral`` turns."""
    return all(source.episode == episode and ephemeral.issuperset(source.span) for source in line.sources)


def edit_of(
    answer: KnowledgeAnswer, known: Sequence[KnowledgeEntry], episode: int, admits: Callable[[KnowledgeLine], bool]
) -> KnowledgeEdit:
    """Return the edit that adds the lines of the answer which may be added, in place of those of ``known`` they name.

    One about points or a danger stays if the new line is about something else: the number may be wrong.
    """
    removed: list[KnowledgeEntry] = []
    added: list[KnowledgeEntry] = []
    for proposed in answer.lines:
        line = KnowledgeLine(proposed_text(proposed.text), as_sources(episode, proposed.turns))
        if admits(line):
            replaced = [entry for entry in entries_numbered(proposed.replaces, known) if entry not in removed]
            removed += [entry for entry in replaced if entry.section not in HARD_WON or _is_about(line, entry.line)]
            added.append(KnowledgeEntry(proposed.section, line))
    return KnowledgeEdit(tuple(removed), tuple(added))


def _is_about(line: KnowledgeLine, known: KnowledgeLine) -> bool:
    """Return whether a line can be about the same as a known one: it cites one of its turns or has words of it.

    These are half of its distinctive words or ``WORDS_IN_COMMON`` of them: a correction often has other words.
    """
    turns = {(source.episode, turn) for source in known.sources for turn in source.span}
    if any((source.episode, turn) in turns for source in line.sources for turn in source.span):
        return True
    words = {*_TELLING_WORD.findall(known.text.casefold())}
    shared = words.intersection(_TELLING_WORD.findall(line.text.casefold()))
    return len(shared) >= min(WORDS_IN_COMMON, max(1, len(words) / 2))


def proposed_text(text: str) -> str:
    """Return the text on one line without a citation of its own, because models often copy that of the prompt."""
    return read_line(text).text


def entries_numbered(numbers: Iterable[int], known: Sequence[KnowledgeEntry]) -> list[KnowledgeEntry]:
    """Return the known lines with these numbers, counted from 1, each once."""
    return [known[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(known)]


def with_sources_of(replaced: Iterable[KnowledgeEntry], line: KnowledgeLine) -> KnowledgeLine:
    """Return the line with its own sources and those of the entries that it replaces."""
    inherited = (source for entry in replaced for source in entry.line.sources)
    return replace(line, sources=(*line.sources, *inherited))


def by_usefulness(entries: Iterable[KnowledgeEntry]) -> list[KnowledgeEntry]:
    """Return the best entry of each section, then the second of each, and so on, those about dangers first.

    Within a section people's lines come first, then those that most episodes bear out, then the newest.
    """
    sections: dict[str, list[KnowledgeEntry]] = defaultdict(list)
    for entry in entries:
        sections[entry.section].append(entry)
    places: dict[KnowledgeEntry, int] = {}
    for lines in sections.values():
        places.update({entry: place for place, entry in enumerate(sorted(lines, key=_worth, reverse=True))})
    return sorted(places, key=lambda entry: (places[entry], _rank(entry)))


def most_useful(entries: Sequence[KnowledgeEntry], characters: int) -> list[KnowledgeEntry]:
    """Return the most useful entries that there is room for when they are listed, in their own order."""
    chosen = set(within(by_usefulness(entries), characters))
    return [entry for entry in entries if entry in chosen]


def within(entries: Iterable[KnowledgeEntry], characters: int) -> list[KnowledgeEntry]:
    """Return the entries that fit when they are listed, earlier ones first; a shorter one may fit after others."""
    kept: list[KnowledgeEntry] = []
    titles: set[str] = set()
    for entry in entries:
        length = len(_shown(entry)) + LONGEST_MARK
        if entry.section not in titles:
            length += len(entry.section) + TITLE_MARKS
        if length <= characters:
            kept.append(entry)
            titles.add(entry.section)
            characters -= length
    return kept


def laid_out(entries: Sequence[KnowledgeEntry], others: int) -> str:
    """Return a list below the title of each section, the most useful section first; "" if there is no entry.

    others: number of entries that are not shown
    """
    return "\n\n".join([*_by_section(sorted(entries, key=_rank), {}), *_more_lines(others)]) if entries else ""


def numbered_list(entries: Iterable[KnowledgeEntry], numbered: Sequence[KnowledgeEntry], others: int = 0) -> str:
    """Return the entries below the titles of their sections, those that a model may name with their number.

    numbered: the first of these has the number 1; all other entries have a dash
    others: number of entries that are not shown
    """
    marks = {entry: f"{number}." for number, entry in enumerate(numbered, start=1)}
    return "\n".join([*_by_section(entries, marks), *_more_lines(others)]) or NONE


def _more_lines(others: int) -> list[str]:
    """Return a line with the number of lines that are left out; none for 0."""
    return [f"({counted(others, 'more line')} left out)"] if others else []


def size(entries: Iterable[KnowledgeEntry]) -> int:
    """Return how many characters the texts of the entries have."""
    return sum(len(entry.line.text) for entry in entries)


def _by_section(entries: Iterable[KnowledgeEntry], marks: Mapping[KnowledgeEntry, str]) -> list[str]:
    """Return the text of each section: its title, and its entries with these marks or a dash."""
    sections: dict[str, list[str]] = {}
    for entry in entries:
        lines = sections.setdefault(entry.section, [f"{entry.section}:"] if entry.section else [])
        lines.append(f"{marks.get(entry, '-')} {_shown(entry)}")
    return ["\n".join(lines) for lines in sections.values()]


def _shown(entry: KnowledgeEntry) -> str:
    """Return the text of an entry, without its middle if a person has written more than ``LONGEST_SHOWN``."""
    text = entry.line.text
    return text if len(text) <= LONGEST_SHOWN else cut_middle(text, LONGEST_LINE)


def _worth(entry: KnowledgeEntry) -> tuple[bool, int, int, int]:
    sources = entry.line.sources
    newest = sources[-1] if sources else Source(0, 0, 0)
    return not sources, len({source.episode for source in sources}), newest.episode, newest.last_turn


def _rank(entry: KnowledgeEntry) -> int:
    return _RANK.get(entry.section, len(_RANK))

"""The questions about what the latest turns show of the game as a whole, and knowledge as prompts show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from managers.memory.prompt import last_turn
from managers.prompting import LONGEST_ACTION, NONE, Line, Part, fit, room_beside, turn_text
from session.knowledge import COMMAND_SYNTAX, INSIGHTS, SECTIONS, KnowledgeEntry
from session.memory import LocationMemories, Memory, MemoryStatus
from session.text import TokenCounter, counted, cut_at, cut_middle, one_line
from session.values import Location, TurnRecord
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt

FEWEST_TURNS = 5
LONGEST_NAME = 60  # characters
LONGEST_LINE = 400
LONGEST_MARK = len("999. \n")
TITLE_MARKS = len(":\n\n")
KNOWLEDGE_SHARE, EPHEMERAL_SHARE, MEMORIES_SHARE = 0.4, 0.15, 0.15
BRIEF_TURNS = 8
BRIEF_ACTION, BRIEF_RESPONSE = 80, 160  # characters

_DANGERS, _PUZZLES, _PATTERNS, _DEATHS, _, _LESSONS, _ = SECTIONS
_MOST_USEFUL_FIRST = (_DANGERS, _PUZZLES, *INSIGHTS, _PATTERNS, _DEATHS, _LESSONS, COMMAND_SYNTAX)
_RANK = {title: rank for rank, title in enumerate(_MOST_USEFUL_FIRST)}


@dataclass(frozen=True, slots=True)
class LearntTurn:
    """A turn with its facts as text: points, possessions, a first visit, a death."""

    record: TurnRecord
    facts: tuple[str, ...] = ()

    @property
    def is_telling(self) -> bool:
        """Whether it changed the score or ended in death; what such a turn shows holds in every episode."""
        return bool(self.record.score_change) or self.record.after.died


@dataclass(frozen=True, slots=True)
class Played:
    """What was played and remembered in this episode, for questions to a model.

    turns: those played since the knowledge was last updated, oldest first
    ephemeral, persistent: the memories made in this episode, each with the label of its location
    ephemeral_turns: the turns whose effects end with this episode
    """

    episode: int
    turns: Sequence[LearntTurn]
    ephemeral: Sequence[tuple[str, Memory]] = ()
    persistent: Sequence[tuple[str, Memory]] = ()
    ephemeral_turns: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt and what its answer may refer to.

    known: the lines of knowledge that are numbered in the prompt, starting with 1
    turns: the turns in the prompt, which may be cited
    """

    prompt: Prompt
    known: tuple[KnowledgeEntry, ...] = ()
    turns: tuple[int, ...] = ()


def is_trivial(turns: Sequence[LearntTurn]) -> bool:
    """Return whether nothing can be learnt from the turns.

    That is the case if none has a fact, or if they are few and none changed the score or ended in death.
    """
    if any(turn.is_telling for turn in turns):
        return False
    return len(turns) < FEWEST_TURNS or not any(turn.facts for turn in turns)


def ephemeral_turns(memories: LocationMemories | None, episode: int, evidence: Collection[int]) -> frozenset[int]:
    """Return the turns of an episode whose effects end with it.

    These are the turns of an ephemeral memory, superseded or not, that no permanent memory covers. A core memory does
    not count, because it describes the place before any action. Turns in ``evidence`` are excluded because of their
    own facts. Without memories there are no such turns.
    """
    told: dict[str, set[int]] = {"ephemeral": set(), "permanent": set(evidence), "core": set()}
    for cache in (memories.ephemeral_cache, memories.memory_cache) if memories else ():
        for at_location in cache.values():
            for memory in at_location:
                if memory.episode == episode:
                    told[memory.persistence].update(memory.span)
    return frozenset(told["ephemeral"] - told["permanent"])


def memories_of(
    episode: int, memories: Mapping[int, Sequence[Memory]], names: Mapping[int, str]
) -> list[tuple[str, Memory]]:
    """Return the memories of an episode that were not superseded, each with the name and id of its location.

    names: of locations, by id
    """
    return [
        (f"{cut_at(names.get(location_id, 'Location'), LONGEST_NAME)} ({location_id})", memory)
        for location_id, at_location in sorted(memories.items())
        for memory in at_location
        if memory.episode == episode and memory.status != MemoryStatus.SUPERSEDED
    ]


def update_question(played: Played, entries: Sequence[KnowledgeEntry], budget: int, tokens: TokenCounter) -> Question:
    """Return the question what the turns taught, in at most ``budget`` tokens if possible.

    Known lines and memories have a share of the room each; turns have the rest. What never changes is in the system
    role, so that the server can cache it.
    """
    system, templates, fields = fill_prompt("knowledge"), ["knowledge_play"], {"episode": str(played.episode)}
    room = room_beside(system, templates, fields, budget=budget, tokens=tokens)
    known = most_useful(entries, int(KNOWLEDGE_SHARE * room))
    numbered = tuple(entry for entry in known if entry.is_ours and entry.section not in INSIGHTS)
    fields["knowledge"] = numbered_list(known, numbered)
    memories = [
        _remembered("memories", played.persistent, MEMORIES_SHARE),
        _remembered("ephemeral", played.ephemeral, EPHEMERAL_SHARE),
    ]
    fields.update(fit(memories, room))
    room = room_beside(system, templates, fields, budget=budget, tokens=tokens)
    play, count = Part("play", [_told(turn, played.ephemeral_turns) for turn in played.turns]).fit(room)
    shown = tuple(turn.record.turn for turn in played.turns)[len(played.turns) - count :]
    user = fill_prompt("knowledge_play", **fields, play=play)
    return Question(Prompt(system, user), numbered, shown)


def brief_question(played: Played, budget: int, tokens: TokenCounter) -> Question:
    """Return the question about which turn taught most, in at most ``budget`` tokens if possible.

    It lists the latest turns that scored or killed. If there are none, the question has no ``turns``.
    """
    telling = [turn.record for turn in played.turns if turn.is_telling][-BRIEF_TURNS:]
    numbers = tuple(record.turn for record in telling)
    system, fields = fill_prompt("knowledge_brief"), {"turns": ", ".join(map(str, numbers))}
    room = room_beside(system, ["knowledge_brief_play"], fields, budget=budget, tokens=tokens)
    lines = [[Line(turn_text(record.turn, told_in_brief(record)))] for record in telling]
    play, count = Part("play", lines).fit(room)
    shown = numbers[len(numbers) - count :]
    user = fill_prompt("knowledge_brief_play", play=play, turns=", ".join(map(str, shown)))
    return Question(Prompt(system, user), turns=shown)


def consolidation_question(
    entries: Sequence[KnowledgeEntry], excess: int, budget: int, tokens: TokenCounter
) -> Question:
    """Return the question about which of the program's lines to merge or cut, in at most ``budget`` tokens.

    If there is no room for all lines, it lists the least useful ones. ``excess``: by how many characters the
    knowledge is too long.
    """
    figures = {"size": str(size(entries)), "excess": str(excess)}
    system, template = fill_prompt("knowledge_consolidation"), "knowledge_consolidation_lines"
    room = room_beside(system, [template], figures, budget=budget, tokens=tokens)
    ours = by_usefulness(entry for entry in entries if entry.is_ours)
    least_useful = set(within(reversed(ours), room))
    known = tuple(entry for entry in entries if entry in least_useful)
    user = fill_prompt(template, knowledge=numbered_list(known, known), **figures)
    return Question(Prompt(system, user), known)


def told_in_brief(record: TurnRecord) -> str:
    """Return what a turn taught as command and result, with the story's words unless they are about another place."""
    died, points, results = record.after.died, record.score_change or 0, []
    if points:
        results.append(f"{points:+d} {counted(abs(points), 'point').split()[1]}")
    if died:
        results.append("the player died")
    elif record.moved:
        results.append(f"leads to {_place(record.after.location)}")
    response = cut_middle(one_line(record.after.text), BRIEF_RESPONSE)
    quote = f': "{response}"' if died or not record.moved else ""
    command = cut_at(one_line(record.action), BRIEF_ACTION)
    return f"`{command}` at {_place(record.before.location)}: {', '.join(results)}{quote}"


def _place(location: Location | None) -> str:
    return "an unknown place" if location is None else f"{cut_at(location.label, LONGEST_NAME)} ({location.num})"


def _remembered(name: str, memories: Sequence[tuple[str, Memory]], share: float) -> Part:
    """Return a line for each memory, the latest first."""
    latest_first = sorted(memories, key=lambda each: last_turn(each[1]), reverse=True)
    lines = [
        Line("- ", f"T{memory.turns}, {place}: {memory.title}: {one_line(memory.text)}")
        for place, memory in latest_first
    ]
    return Part(name, [[line] for line in lines], keeps="best", share=share)


def _told(turn: LearntTurn, ephemeral: Collection[int]) -> list[Line]:
    """Return a turn; the story's answers to turns with facts get room first."""
    record = turn.record
    facts = f" [{', '.join(turn.facts)}]" if turn.facts else ""
    mark = " EPHEMERAL" if record.turn in ephemeral else ""
    where = f" at {_place(record.before.location)}{mark}{facts}"
    head = turn_text(record.turn, cut_at(one_line(record.action), LONGEST_ACTION), where=where)
    return [Line(head), Line("  ", one_line(record.after.text), matters=bool(turn.facts))]


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
    return sorted(places, key=lambda entry: (places[entry], _rank(entry)))


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
    return "\n\n".join(_by_section(sorted(entries, key=_rank), {}))


def numbered_list(entries: Iterable[KnowledgeEntry], numbered: Sequence[KnowledgeEntry]) -> str:
    """Return the entries below the titles of their sections, those that a model may name with their number.

    numbered: the first of these has the number 1; all other entries have a dash
    """
    marks = {entry: f"{number}." for number, entry in enumerate(numbered, start=1)}
    return "\n".join(_by_section(entries, marks)) or NONE


def size(entries: Iterable[KnowledgeEntry]) -> int:
    """Return how many characters the texts of the entries have."""
    return sum(len(entry.line.text) for entry in entries)


def _by_section(entries: Iterable[KnowledgeEntry], marks: Mapping[KnowledgeEntry, str]) -> list[str]:
    """Return the text of each section: its title, and its entries with these marks or a dash, without long middles."""
    sections: dict[str, list[str]] = {}
    for entry in entries:
        lines = sections.setdefault(entry.section, [f"{entry.section}:"] if entry.section else [])
        lines.append(f"{marks.get(entry, '-')} {cut_middle(entry.line.text, LONGEST_LINE)}")
    return ["\n".join(lines) for lines in sections.values()]


def _worth(entry: KnowledgeEntry) -> tuple[bool, int, int, int]:
    sources = entry.line.sources
    newest = sources[-1] if sources else None
    return (
        not sources,
        len({source.episode for source in sources}),
        newest.episode if newest else 0,
        newest.last_turn if newest else 0,
    )


def _rank(entry: KnowledgeEntry) -> int:
    return _RANK.get(entry.section, len(_RANK))

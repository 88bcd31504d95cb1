"""Keeps the prompts of all managers within their token budgets (docs/records/specification.md, Prompt budgets).

Most prompts are templates, see :func:`fitted_prompt`. Short fields are never cut; the others are :class:`Part` values
and share the remaining room. The agent's prompt consists of sections with priorities instead, see
:func:`fit_sections`.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeVar

from session.context import PromptSection, render_sections
from session.game_state import GameState
from session.text import (
    CUT_MARK,
    TokenCounter,
    cut_at,
    cut_middle,
    description_in,
    one_line,
    prologue_of,
    shared_room,
    with_numbers,
    without_padding,
)
from session.values import Location, Observation, TurnRecord
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt, prompt_fields

NONE = "(none)"
LEFT_OUT = "(left out for want of room)"
CUT = CUT_MARK.strip()
LONGEST_ACTION = 200  # characters
LONGEST_PLACE = 60  # characters of a location's name
SHORTEST = 160  # characters of a text that is cut and worth showing, with the number of those left out
SHORTEST_REPEATED = 80
"""Characters. A line of at least this length is shortened in later turns, with a reference to the first turn."""
MARKED = ("worn", "lit")
"""Attributes that are shown with the name of a carried object."""
BEGINNING = 40  # characters of such a line
CHARACTERS_PER_TOKEN = 4
"""For texts that a server caches over many turns. A changing estimate would cut them differently each time."""

T = TypeVar("T")


class Line(NamedTuple):
    """A line of an item.

    rank: a text of rank 0 is kept if its item is, others if there is room, the lowest ranks first and then the latest
    weight: the number that its item counts for if it is left out, in the first line of an item
    key: what the prompt shows if it contains the whole item, in the first line of an item; "" for none
    turn: of the story's text, whose lines are references if an earlier text has them; 0 for other texts
    """

    head: str
    text: str = ""
    rank: int = 0
    weight: int = 1
    key: str = ""
    turn: int = 0


class Fitted(NamedTuple):
    """The text of a part, the number of items in it, and the keys of those that are whole."""

    text: str
    number: int
    shows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a prompt that lists items, each of which is kept or left out as a whole.

    A text is cut only if it is the first of the kept ones and longer than the whole room.

    keeps: the items to keep if not all fit: the last ones (``newest``) or the first ones (``best``)
    share: maximum share of the room for all parts
    others: the number of items that were left out before, which is added
    note: text that replaces the number of the items left out
    joins: between the lines of a text

    The text says how many items are left out, and marks at its place each text of the others that is.
    """

    name: str
    items: Sequence[Sequence[Line]]
    keeps: Literal["newest", "best"] = "newest"
    share: float = 1
    others: int = 0
    separator: str = "\n"
    empty: str = NONE
    note: str = ""
    joins: str = "\n"

    @property
    def whole(self) -> str:
        """The text with all items."""
        return self.fit(sys.maxsize).text

    def fit(self, characters: int) -> Fitted:
        """Return the part in at most ``characters`` characters."""
        count = len(self.items)
        if not count:
            return Fitted(self.empty, 0)
        if self._is_too_long(count, characters):
            count = bisect_left(range(1, count), True, key=lambda each: self._is_too_long(each, characters))
        if count:
            keys = tuple(item[0].key for item in self._kept(count) if item[0].key)
            return Fitted(self._written(count, characters), count, keys)
        room = characters + 1 - len(self._framed("-", 1))
        if room >= SHORTEST:
            item = "\n".join(
                line.head + line.text.replace("\n", self.joins) for line in self._kept(1)[0] if not line.rank
            )
            return Fitted(self._framed(cut_middle(item, room), 1), 1)
        return Fitted(LEFT_OUT, 0)

    def _framed(self, text: str, count: int) -> str:
        """Return the text of that many items with the number of earlier or further ones."""
        is_newest = self.keeps == "newest"
        out = self.items[: len(self.items) - count] if is_newest else self.items[count:]
        others = self.others + sum(item[0].weight for item in out)
        left_out = (self.note or f"({others} {'earlier' if is_newest else 'more'} left out)") if others else ""
        parts = [left_out, text] if is_newest else [text, left_out]
        return self.separator.join(filter(None, parts))

    def _kept(self, count: int) -> Sequence[Sequence[Line]]:
        return self.items[len(self.items) - count :] if self.keeps == "newest" else self.items[:count]

    def _loose(self, count: int) -> list[tuple[int, Line]]:
        """Return the texts that are left out if they have no room, each with the number of its item."""
        return [
            (number, line)
            for number, item in enumerate(self._kept(count))
            for line in item
            if line.rank and len(line.text) > len(CUT)
        ]

    def _is_too_long(self, count: int, characters: int) -> bool:
        """Return whether that many items have no room. Then no more of them have."""
        return len(self._text(count, {*self._loose(count)})) > characters

    def _written(self, count: int, characters: int) -> str:
        """Return that many items as text, with the optional texts that fit."""
        loose = sorted(self._loose(count), key=lambda each: (each[1].rank, -each[0]))
        kept = as_many_as_fit(
            loose, lambda kept: len(self._text(count, {*loose}.difference(kept))) <= characters, skips=True
        )
        return self._text(count, {*loose}.difference(kept))

    def _text(self, count: int, out: Collection[tuple[int, Line]]) -> str:
        """Return that many items as text, without the texts ``out``."""
        turn_of: dict[str, int] = {}
        shown = []
        for number, item in enumerate(self._kept(count)):
            texts = list[str]()
            for line in item:
                text = line.text
                if (number, line) in out:
                    before = texts.pop().removesuffix(CUT_MARK) if texts else line.head.rstrip()
                    texts.append(before + CUT_MARK)
                    continue
                if line.turn and text != CUT:
                    lines = text.split("\n")
                    earlier = {each: turn_of[each] for each in lines if turn_of.get(each, line.turn) != line.turn}
                    for each in lines:
                        if len(each) >= SHORTEST_REPEATED:
                            turn_of.setdefault(each, line.turn)
                    text = without_repeats(lines, earlier).replace("\n", self.joins)
                texts.append(line.head + text)
            shown.append("\n".join(texts))
        return self._framed(self.separator.join(shown), count)


def fit(parts: Sequence[Part], characters: int) -> dict[str, Fitted]:
    """Return the parts by name, in at most ``characters`` characters together.

    All parts have equal shares. The room that a short part does not need is given to longer ones.
    """
    most = [int(part.share * characters) for part in parts]
    lengths = [len(part.fit(room).text) for part, room in zip(parts, most, strict=True)]
    fitted: dict[str, Fitted] = {}
    left = characters
    for done, number in enumerate(sorted(range(len(parts)), key=lengths.__getitem__)):
        room = min(most[number], left // (len(parts) - done))
        fitted[parts[number].name] = parts[number].fit(room)
        left -= len(fitted[parts[number].name].text)
    return fitted


def fitted_prompt(
    system: str, templates: Sequence[str], fields: Mapping[str, str], parts: Sequence[Part], characters: int
) -> Prompt:
    """Fill the templates, within ``characters`` characters if the instructions and the fields leave any room.

    templates: names of the templates of the user message, joined by blank lines
    fields: texts that are never cut
    """
    room = room_beside(system, templates, fields, characters)
    fitted = fit(parts, room)
    texts = {**fields, **{name: each.text for name, each in fitted.items()}}
    shows = tuple(key for each in fitted.values() for key in each.shows)
    return Prompt.of(system, _filled(templates, texts), shows)


def room_beside(system: str, templates: Sequence[str], fields: Mapping[str, str], characters: int) -> int:
    """Return how many characters a prompt of ``characters`` has for the other fields of the templates together."""
    others = {name: LEFT_OUT for template in templates for name in prompt_fields(template)}
    return characters - Prompt.of(system, _filled(templates, {**others, **fields})).length


def is_for_a_small_model(budget: int, template: str, tokens: TokenCounter, *, share: int = 2) -> bool:
    """Return whether a template's instructions need more than ``1 / share`` of the prompt's budget.

    Only small models have such a budget. They get a simpler prompt, or none.
    """
    instructions = fill_prompt(template, **dict.fromkeys(prompt_fields(template), ""))
    return share * tokens.estimate(instructions) > budget


def carried_labels(
    now: Observation, attribute_names: Mapping[str, int], known: Mapping[int, str] | None = None
) -> list[str]:
    """Return the names of carried things with their state: ``lamp (lit)``, ``2 x vial``, ``bag (with coin)``.

    known: names of things that the player has had or seen, by number; those in a carried thing are named with it
    """
    marks = {attribute_names[name]: name for name in MARKED if name in attribute_names}
    holders = dict(enumerate(now.parents)) | {thing.num: thing.parent for thing in now.visible or ()}

    def labelled(number: int, name: str, states: Iterable[str]) -> str:
        within = [labelled(each, known[each], ()) for each in known if holders.get(each) == number] if known else []
        states = [*states, *([f"with {', '.join(with_numbers(Counter(within)))}"] if within else [])]
        return "".join([name, *(f" ({each})" for each in states)])

    labels = [
        labelled(thing.num, thing.label, [marks[each] for each in marks if each in thing.attributes])
        for thing in now.inventory or ()
    ]
    return with_numbers(Counter(labels))


def as_many_as_fit(items: Iterable[T], fits: Callable[[list[T]], bool], *, skips: bool = False) -> list[T]:
    """Return the items that fit together, preferring earlier ones.

    fits: returns whether a list fits; if it does not, no longer list may fit
    skips: leave out only the items that do not fit, instead of everything after the first of them
    """
    wanted, kept = list(items), list[T]()
    if fits(wanted):
        return wanted
    for item in wanted:
        if fits([*kept, item]):
            kept.append(item)
        elif not skips:
            break
    return kept


def fit_sections(sections: Sequence[PromptSection], characters: int) -> list[PromptSection]:
    """Shorten the sections to at most ``characters`` rendered characters.

    Sections are dropped in descending order of their priority numbers, except those with priority 0. If the rest is too
    long, its longest texts are cut; such a text is not known to show any item. Titles are kept even if there is no
    room for them. A section that refers to one that is missing is replaced.
    """
    whole = list(sections)
    kept = _without_false_references(whole)
    for dropped in sorted((each for each in sections if each.priority), key=lambda section: -section.priority):
        if len(render_sections(kept)) <= characters:
            return kept
        whole = [section for section in whole if section is not dropped]
        kept = _without_false_references(whole)
    if len(render_sections(kept)) <= characters:
        return kept
    room = characters - len(render_sections([replace(section, text="") for section in kept]))
    shares = shared_room([len(section.text) for section in kept], room)
    return [
        section if len(section.text) <= share else replace(section, text=cut_middle(section.text, share), shows=())
        for section, share in zip(kept, shares, strict=True)
    ]


def _without_false_references(sections: Sequence[PromptSection]) -> list[PromptSection]:
    titles = {section.title for section in sections}
    return [section if titles.issuperset(section.refers_to) else section.instead or section for section in sections]


def prologue(state: GameState, *, with_room: bool = False) -> str:
    """Return the story's text before its first room, which often states the aim of the game; else that of the room.

    with_room: return both, since the first may be a licence alone
    """
    first_room = state.opening_location.name if state.opening_location else ""
    texts = [*filter(None, (prologue_of(state.opening, first_room), description_in(state.opening, first_room)))]
    return without_padding("\n\n".join(texts if with_room else texts[:1]))


def without_repeats(lines: Sequence[str], turn_of_line: Mapping[str, int | str]) -> str:
    """Join the lines. A line that an earlier turn contains is replaced by its beginning and the number of that turn.

    The number of the start is 0. Instead of a number, words say where another game is that contains the line.
    """
    shown = []
    for line in lines:
        turn = turn_of_line.get(line)
        if turn is None:
            shown.append(line)
            continue
        where = turn if isinstance(turn, str) else f"in turn {turn}" if turn else "at the start"
        beginning = line[:BEGINNING].rpartition(" ")[0] or line[:BEGINNING]
        shown.append(f"{beginning}… [line as {where}]")
    return "\n".join(shown)


def lines_of(text: str, room: str) -> list[str]:
    """Return the lines of a text, each without runs of white space, with a colon after the name of that room."""
    lines = [*filter(None, map(one_line, text.splitlines()))]
    return [*(f"{line}:" if line == room else line for line in lines[:-1]), *lines[-1:]]


def place(location: Location | None) -> str:
    """Return the name of a location with its id, because rooms may share a name."""
    if location is None:
        return "an unknown place"
    return f"{cut_at(one_line(location.label), LONGEST_PLACE)} ({location.num})"


def turn_text(
    turn: int, action: str, *details: str, at: Location | None = None, mark: str = "", facts: Collection[str] = ()
) -> str:
    """Return a turn as text: its number, location, facts and command, and the details on lines of their own."""
    where = f" at {place(at)}" if at else ""
    remarks = f" [{', '.join(facts)}]" if facts else ""
    return "\n".join([f"Turn {turn}{where}{mark}{remarks}: {action}", *details])


def own_reasons(played: Sequence[TurnRecord], first: int) -> dict[int, str]:
    """Return the agent's reasons for the turns from index ``first`` on; that for a course is of its first turn.

    If the turn at ``first`` is of a course, its reason is that of an earlier turn, which is returned, too.
    """
    while 0 < first < len(played) and played[first].is_of_course:
        first -= 1
    return {each.turn: each.reasoning for each in played[first:] if each.reasoning and not each.is_of_course}


def _filled(templates: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    return [fill_prompt(name, **{field: texts[field] for field in prompt_fields(name)}) for name in templates]

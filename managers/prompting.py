"""Keeps prompts within their token budgets, for every manager alike (docs/specification.md, Prompt budgets).

A question to a model is a template. Some of its fields are short and always whole; the others are :class:`Part` values,
which share the room that those leave: see :func:`fitted_prompt`. The agent's prompt is made of sections with
priorities instead: see :func:`fit_sections`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeVar

from session.context import PromptSection, render_sections
from session.text import TokenCounter, cut_middle, shared_room
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt, prompt_fields

NONE = "(none)"
LEFT_OUT = "(left out for want of room)"
LONGEST_ACTION = 200  # characters
LEAST = 160  # characters of a text that is cut, before other items are left out instead
SHORTEST = 10  # characters of a text that is worth showing at all
CHARACTERS_PER_TOKEN = 4
"""For texts that stay the same over many turns: cut by an estimate that drifts, they would not stay in a cache."""

T = TypeVar("T")


class Line(NamedTuple):
    """A line of an item.

    head: always whole
    text: cut in its middle if there is no room; if nothing of it is left, the head goes, too
    matters: gets room before the texts that do not
    """

    head: str
    text: str = ""
    matters: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a prompt that lists items, each of which stays or goes as a whole.

    name: of the field
    items: the lines of each
    keeps: which items stay if there is no room for all: the last ones (``newest``) or the first ones (``best``)
    share: of the room for all parts, at most
    least: characters to which a text that matters may be cut before an item is left out
    """

    name: str
    items: Sequence[Sequence[Line]]
    keeps: Literal["newest", "best"] = "newest"
    share: float = 1
    least: int = LEAST
    separator: str = "\n"
    empty: str = NONE

    def fit(self, characters: int) -> tuple[str, int]:
        """Return the text of the part in at most so many characters, and how many items it has."""
        for count in range(len(self.items), 0, -1):
            kept = self.items[-count:] if self.keeps == "newest" else self.items[:count]
            text = self._written(kept, characters)
            if text is not None:
                return text, count
        if self.items and characters >= max(self.least, SHORTEST):
            return cut_middle("\n".join(line.head + line.text for line in kept[0]), characters), 1
        return (LEFT_OUT if self.items else self.empty), 0

    def _written(self, items: Sequence[Sequence[Line]], characters: int) -> str | None:
        """Return the items as text, ``None`` if they have no room."""
        lines = [line for item in items for line in item]
        line_ends = len(lines) - len(items) + len(self.separator) * (len(items) - 1)
        room = characters - sum(len(line.head) for line in lines) - line_ends
        if room < 0:
            return None
        firm = shared_room([len(line.text) * line.matters for line in lines], room)
        loose = shared_room([len(line.text) * (not line.matters) for line in lines], room - sum(firm))
        cut: list[str] = []
        for line, share in zip(lines, map(max, firm, loose), strict=True):
            is_too_short = share < min(max(self.least, SHORTEST), len(line.text))
            if is_too_short and line.matters:
                return None
            cut.append("" if is_too_short else cut_middle(line.text, share))
        left = iter(cut)
        told = ([(line, next(left)) for line in item] for item in items)
        return self.separator.join(
            "\n".join(line.head + text for line, text in item if text or not line.text) for item in told
        )


def fit(parts: Sequence[Part], characters: int) -> dict[str, str]:
    """Return the texts of the parts, by their names, in at most so many characters together.

    They share the room alike; what a short one leaves of its share goes to the longer ones.
    """
    most = [int(part.share * characters) for part in parts]
    lengths = [len(part.fit(room)[0]) for part, room in zip(parts, most, strict=True)]
    texts: dict[str, str] = {}
    left = characters
    for done, number in enumerate(sorted(range(len(parts)), key=lengths.__getitem__)):
        room = min(most[number], left // (len(parts) - done))
        texts[parts[number].name] = parts[number].fit(room)[0]
        left -= len(texts[parts[number].name])
    return texts


def fitted_prompt(
    system: str,
    templates: Sequence[str],
    fields: Mapping[str, str],
    parts: Sequence[Part],
    *,
    budget: int,
    tokens: TokenCounter,
) -> Prompt:
    """Fill the templates, in at most ``budget`` tokens if the instructions and the fields leave any room.

    templates: names of the templates that make up the user's part, with a blank line between them
    fields: the texts that are never cut
    """
    room = room_beside(system, templates, fields, budget=budget, tokens=tokens)
    return Prompt(system, _filled(templates, {**fields, **fit(parts, room)}))


def room_beside(
    system: str, templates: Sequence[str], fields: Mapping[str, str], *, budget: int, tokens: TokenCounter
) -> int:
    """Return how many characters the other fields of the templates may have together."""
    others = {name: LEFT_OUT for template in templates for name in prompt_fields(template)}
    return tokens.characters(budget) - len(system) - len(_filled(templates, {**others, **fields}))


def is_for_a_small_model(budget: int, template: str, tokens: TokenCounter, *, share: int = 2) -> bool:
    """Return whether the instructions of a template take more than one in ``share`` tokens of a prompt's budget.

    Only a small model has such a budget; it is asked something simpler, or nothing.
    """
    return share * tokens.estimate(fill_prompt(template)) > budget


def as_many_as_fit(items: Iterable[T], fits: Callable[[list[T]], bool], *, skips: bool = False) -> list[T]:
    """Return the items that fit together, earlier ones before later ones.

    fits: returns whether a list fits; if it does not, no longer one does
    skips: an item that does not fit is left out alone; otherwise everything after it is left out, too
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


def share_out(texts: Sequence[str], characters: int) -> list[str]:
    """Cut the longest of the texts alike, so that all have at most so many characters together."""
    shares = shared_room(list(map(len, texts)), characters)
    return [cut_middle(text, share) for text, share in zip(texts, shares, strict=True)]


def fit_sections(sections: Sequence[PromptSection], characters: int) -> list[PromptSection]:
    """Shorten the sections until they have at most so many characters when they are rendered.

    Sections are dropped, that with the greatest priority number first, and those with priority 0 never; if what
    remains is too long, its longest texts are cut. The titles stay, even if there is no room for them.
    """
    kept = list(sections)
    for dropped in sorted((each for each in sections if each.priority), key=lambda section: -section.priority):
        if len(render_sections(kept)) <= characters:
            return kept
        kept = [section for section in kept if section is not dropped]
    if len(render_sections(kept)) <= characters:
        return kept
    room = characters - len(render_sections([replace(section, text="") for section in kept]))
    texts = share_out([section.text for section in kept], room)
    return [replace(section, text=text) for section, text in zip(kept, texts, strict=True)]


def turn_text(turn: int, action: str, *details: str, where: str = "") -> str:
    """Return a played turn as text: its number, its location and its command, and the details on lines below."""
    return "\n".join([f"Turn {turn}{where}: {action}", *details])


def _filled(templates: Sequence[str], texts: Mapping[str, str]) -> str:
    filled = (fill_prompt(name, **{field: texts[field] for field in prompt_fields(name)}) for name in templates)
    return "\n\n".join(filled)

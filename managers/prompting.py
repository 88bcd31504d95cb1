"""Keeps prompts within their token budgets, for every manager alike.

Whoever asks a model says what its prompt consists of and what goes first when there is no room
(docs/specification.md, Prompt budgets). The ways to leave something out are here:
:func:`first_that_fits` takes ever shorter forms of a text and returns the first one that fits, which
:func:`fit_sections` and :func:`fit_prompt` do for sections and for the fields of templates; :func:`as_many_as_fit`
takes the items of a list, most important first, while there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import inf
from operator import or_
from typing import Generic, TypeVar

from session.context import PromptSection, render_sections
from session.text import TokenCounter, cut_middle, shared_room
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt, prompt_fields

NONE = "(none)"
LEFT_OUT = "(left out for want of room)"
LONGEST_ACTION = 200  # characters
CHARACTERS_PER_TOKEN = 4
"""For texts that stay the same over many turns: cut by an estimate that drifts, they would not stay in a cache."""

T = TypeVar("T")


def is_for_a_small_model(budget: int, template: str, tokens: TokenCounter, *, share: int = 2) -> bool:
    """Tell whether the instructions of a template would take more than one in ``share`` tokens of a prompt's budget.

    Only a small model has such a budget; it is asked something simpler, or nothing.
    """
    return share * tokens.estimate(fill_prompt(template)) > budget


class MadeOnce(Generic[T]):
    """Items that may be gone through more than once, but are made once, and only as far as somebody has gone."""

    def __init__(self, items: Iterable[T]) -> None:
        self._coming = iter(items)
        self._made: list[T] = []

    def __iter__(self) -> Iterator[T]:
        """Yield those that are made, then make the others."""
        yield from self._made
        for item in self._coming:
            self._made.append(item)
            yield item


def first_that_fits(forms: Iterable[T], fits: Callable[[T], bool]) -> T:
    """Return the first of the forms that fits, or the last one where none does. There is at least one."""
    for form in forms:
        if fits(form):
            break
    return form


def as_many_as_fit(items: Iterable[T], fits: Callable[[list[T]], bool], *, skips: bool = False) -> list[T]:
    """Return the items that fit together, earlier ones before later ones.

    fits: tells whether a list fits; one that has more never fits where one that has less does not
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


def share_out(texts: Sequence[str], characters: int) -> tuple[list[str], float]:
    """Cut the longest of the texts alike, so that all have at most so many characters together.

    Returns them with how many characters each of those has that were cut: infinitely many where none was.
    """
    shares = shared_room(texts, characters)
    cut = [cut_middle(text, share) for text, share in zip(texts, shares, strict=True)]
    return cut, min((share for text, share in zip(texts, shares, strict=True) if share < len(text)), default=inf)


def fit_sections(sections: Sequence[PromptSection], characters: int) -> list[PromptSection]:
    """Shorten the sections until they have at most so many characters when they are rendered.

    Sections are dropped, that with the greatest priority number first, and those with priority 0 never; if what
    remains is too long, its longest texts are cut. The titles stay, even where there is no room for them.
    """
    droppable = sorted((each for each in sections if each.priority), key=lambda section: -section.priority)
    forms = accumulate(droppable, _without, initial=list(sections))
    kept = first_that_fits(forms, lambda kept: len(render_sections(kept)) <= characters)
    return kept if len(render_sections(kept)) <= characters else _cut_longest(kept, characters)


def fit_prompt(
    system: str,
    templates: Sequence[str],
    texts: Mapping[str, str],
    shorter: Iterable[Mapping[str, str]],
    *,
    budget: int,
    tokens: TokenCounter,
) -> Prompt:
    """Fill the templates and shorten their texts until the prompt has at most ``budget`` tokens.

    templates: names of the templates that make up the user's part, which follow each other after a blank line
    texts: by field; those that no template asks for are ignored
    shorter: what is shortened, step by step: each step gives some fields another text
    If all the steps are not enough, the prompt is longer than the budget.
    """
    forms = (Prompt(system, _filled(templates, form)) for form in accumulate(shorter, or_, initial=dict(texts)))
    return first_that_fits(forms, lambda prompt: fits_budget(prompt, budget, tokens))


def fits_budget(prompt: Prompt, budget: int, tokens: TokenCounter) -> bool:
    """Tell whether the prompt has at most ``budget`` tokens."""
    return tokens.estimate(prompt.system + prompt.user) <= budget


def room_for_fields(system: str, template: str, budget: int, tokens: TokenCounter) -> int:
    """Return how many characters the fields may have in all, so that the prompt has at most ``budget`` tokens.

    system, template: names of the templates for the system's and the user's part
    """
    empty = fill_prompt(template, **dict.fromkeys(prompt_fields(template), NONE))
    return tokens.characters(budget) - len(fill_prompt(system)) - len(empty)


def turn_text(turn: int, action: str, *details: str, where: str = "") -> str:
    """Return a played turn as text: its number, where it began and its command, and the details on lines below."""
    return "\n".join([f"Turn {turn}{where}: {action}", *details])


def _filled(templates: Sequence[str], texts: Mapping[str, str]) -> str:
    filled = (fill_prompt(name, **{field: texts[field] for field in prompt_fields(name)}) for name in templates)
    return "\n\n".join(filled)


def _without(sections: list[PromptSection], dropped: PromptSection) -> list[PromptSection]:
    return [section for section in sections if section is not dropped]


def _cut_longest(sections: Sequence[PromptSection], characters: int) -> list[PromptSection]:
    """Cut the sections to so many characters; what a short one leaves of its share goes to the longer ones."""
    room = characters - len(render_sections([replace(section, text="") for section in sections]))
    texts, _ = share_out([section.text for section in sections], room)
    return [replace(section, text=text) for section, text in zip(sections, texts, strict=True)]

"""The text in which a model is asked what an episode taught."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from managers.episodes.notes import STEPS_KEPT
from managers.episodes.texts import death_lines, outcome_line, points_text, step_text
from managers.knowledge.view import by_usefulness, within
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from managers.episodes.summary import Death, EpisodeSummary
    from session.knowledge import KnowledgeEntry
    from session.token_counter import TokenCounter

INSTRUCTIONS_SHARE: Final = 3  # at most one in so many tokens of the prompt
EARLIER_SHOWN: Final = 5
POINTS_SHOWN: Final = 40
LATEST_POINTS: Final = 5
DEATHS_SHOWN: Final = 5
LATEST_STEPS: Final = 2
NONE: Final = "(none)"
LEFT_OUT: Final = "(left out for want of room)"


def has_room(budget: int, tokens: TokenCounter) -> bool:
    """The instructions take at most a third of the budget; else it is a small model's, which would invent things."""
    return INSTRUCTIONS_SHARE * tokens.estimate(fill_prompt("episode")) <= budget


def with_room(insights: Sequence[KnowledgeEntry], characters: int) -> list[KnowledgeEntry]:
    """Those that there is room for in so many characters, the most useful ones, in their own order."""
    shown = set(within(by_usefulness(insights), characters))
    return [entry for entry in insights if entry in shown]


def numbered(insights: Sequence[KnowledgeEntry]) -> list[KnowledgeEntry]:
    """Those that a model can name, by their place counted from 1: the program's."""
    return [entry for entry in insights if entry.is_ours]


def episode_prompt(
    summary: EpisodeSummary,
    *,
    insights: Sequence[KnowledgeEntry],
    knowledge: str,
    earlier: Sequence[EpisodeSummary],
    budget: int,
    tokens: TokenCounter,
) -> Prompt:
    """The question what the episode taught, within ``budget`` tokens where ``has_room``.

    insights: with the numbers that they have in :func:`numbered`
    earlier: the episodes before, oldest first
    Knowledge goes first where room is wanted, then earlier episodes, early points, the way to each death, and all
    deaths but the last.
    """
    points = list(map(points_text, summary.scored))
    texts = {
        "insights": _listed(insights) or NONE,
        "knowledge": knowledge or NONE,
        "earlier": "\n".join(map(_earlier, earlier[-EARLIER_SHOWN:])) or NONE,
        "episode": outcome_line(summary),
        "points": "\n".join(points[-POINTS_SHOWN:]) or NONE,
        "deaths": _deaths(summary.deaths) or NONE,
    }
    shorter = (
        ("knowledge", LEFT_OUT),
        ("earlier", LEFT_OUT),
        ("points", "\n".join(points[-LATEST_POINTS:]) or NONE),
        ("deaths", _deaths(summary.deaths, LATEST_STEPS) or NONE),
        ("deaths", _deaths(summary.deaths[-1:], LATEST_STEPS) or NONE),
    )
    system, longest = fill_prompt("episode"), tokens.characters(budget)
    for name, text in shorter:
        if len(system) + len(fill_prompt("episode_play", **texts)) <= longest:
            break
        texts[name] = text
    return Prompt(system, fill_prompt("episode_play", **texts))


def _earlier(summary: EpisodeSummary) -> str:
    return "\n".join([outcome_line(summary), *death_lines(summary, 1)])


def _listed(insights: Sequence[KnowledgeEntry]) -> str:
    """The insights below their headings, as they are in the order of these."""
    numbers = {entry: f"{number}." for number, entry in enumerate(numbered(insights), start=1)}
    return "\n".join(
        line
        for heading, below in groupby(insights, lambda entry: entry.section)
        for line in (f"{heading}:", *(f"{numbers.get(entry, '-')} {entry.line.text}" for entry in below))
    )


def _deaths(deaths: Sequence[Death], steps: int = STEPS_KEPT) -> str:
    """The latest deaths with the last so many turns that led to each."""
    return "\n\n".join(
        "\n".join([f"Death in turn {death.last.turn}:", *map(step_text, death.steps[-steps:])])
        for death in deaths[-DEATHS_SHOWN:]
    )

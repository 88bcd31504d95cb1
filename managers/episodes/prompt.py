"""The prompt that asks a model what an episode taught (docs/specification.md, Episode synthesis)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from managers.episodes.notes import STEPS_KEPT
from managers.episodes.texts import death_lines, outcome_line, points_text, step_text
from managers.knowledge.view import numbered_list
from managers.prompting import LEFT_OUT, NONE, fit_prompt, is_for_a_small_model, share_out
from zorkgpt.prompts.loader import fill_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from managers.episodes.summary import Death, EpisodeSummary
    from session.knowledge import KnowledgeEntry
    from session.text import TokenCounter
    from zorkgpt.llm.language_model import Prompt

INSTRUCTIONS_SHARE: Final = 3  # at most one in so many tokens of the prompt
SHARE_OF_DEATHS: Final = 4  # the story's words about them have at most one in so many characters of the prompt
EARLIER_SHOWN: Final = 5
EARLIER_DEATH: Final = 400  # characters
LAST_DEATH: Final = 400  # characters of the story's words, where there is no room for more
POINTS_SHOWN: Final = 40
LATEST_POINTS: Final = 5
DEATHS_SHOWN: Final = 5
LATEST_STEPS: Final = 2


def has_room(budget: int, tokens: TokenCounter) -> bool:
    """Tell whether a model with prompts of ``budget`` tokens is asked; a small one would invent lessons."""
    return not is_for_a_small_model(budget, "episode", tokens, share=INSTRUCTIONS_SHARE)


def nameable(insights: Sequence[KnowledgeEntry]) -> list[KnowledgeEntry]:
    """Return the insights that a model can name by their number, the first of which is 1: the program's own."""
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
    """Return the question what the episode taught, in at most ``budget`` tokens where ``has_room``.

    insights: those that are known; the model can name those in :func:`nameable` by their number
    earlier: the episodes before, oldest first

    Where there is no room, knowledge goes first, then earlier episodes, early points, the way to each death, and all
    deaths but the last.
    """
    points = list(map(points_text, summary.scored))
    room = tokens.characters(budget) // SHARE_OF_DEATHS
    texts = {
        "insights": numbered_list(insights, nameable(insights)),
        "knowledge": knowledge or NONE,
        "earlier": "\n".join(map(_earlier, earlier[-EARLIER_SHOWN:])) or NONE,
        "episode": outcome_line(summary),
        "points": "\n".join(points[-POINTS_SHOWN:]) or NONE,
        "deaths": _deaths(summary.deaths, room) or NONE,
    }
    shorter = (
        {"knowledge": LEFT_OUT},
        {"earlier": LEFT_OUT},
        {"points": "\n".join(points[-LATEST_POINTS:]) or NONE},
        {"deaths": _deaths(summary.deaths, room, LATEST_STEPS) or NONE},
        {"deaths": _deaths(summary.deaths[-1:], room, LATEST_STEPS) or NONE},
        {"deaths": _deaths(summary.deaths[-1:], LAST_DEATH, LATEST_STEPS) or NONE},
    )
    return fit_prompt(fill_prompt("episode"), ["episode_play"], texts, shorter, budget=budget, tokens=tokens)


def _earlier(summary: EpisodeSummary) -> str:
    return "\n".join([outcome_line(summary), *death_lines(summary, 1, EARLIER_DEATH)])


def _deaths(deaths: Sequence[Death], characters: int, steps: int = STEPS_KEPT) -> str:
    """Return the latest deaths as text, each with the last turns that led to it.

    The story's answers share so many characters.
    """
    told = [(death, death.steps[-steps:]) for death in deaths[-DEATHS_SHOWN:]]
    responses, _ = share_out([step.response for _, steps in told for step in steps], characters)
    left = iter(responses)
    return "\n\n".join(
        "\n".join([f"Death in turn {death.last.turn}:", *(step_text(step, next(left)) for step in steps)])
        for death, steps in told
    )

"""Tells an episode in sentences: in the past tense and with its number, since nothing of it holds in the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from managers.prompting import turn_text
from session.knowledge import KnowledgeLine, Source
from session.text import counted, cut_at, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from managers.episodes.summary import Death, EpisodeSummary, Scored, Step
    from session.events import EpisodeEnd
    from session.values import Location

LONGEST_HANDOVER: Final = 1200  # characters, about 300 tokens
COMMANDS_SHOWN: Final = 3
DEATHS_SHOWN: Final = 3
GAINS_SHOWN: Final = 8
LONGEST_NAME: Final = 80  # characters of a command or a location
LONGEST_QUOTE: Final = 160
OUTCOMES: Final[Mapping[EpisodeEnd, str]] = {
    "won": "was won",
    "lost": "was lost",
    "over": "came to the story's end",
    "turn_limit": "reached its turn limit",
}


def handover_text(summary: EpisodeSummary) -> str:
    """Return what the player of the next episode is told of this one, in at most ``LONGEST_HANDOVER`` characters."""
    lines = [
        f"This was in episode {summary.episode}. The story has begun anew since: nothing done then is done now.",
        outcome_line(summary),
        *death_lines(summary),
    ]
    gains = [scored for scored in summary.scored if scored.change > 0][:GAINS_SHOWN]
    if gains:
        lines.append(f"Points came in episode {summary.episode} by {'; '.join(map(points_text, gains))}.")
    return cut_at("\n".join(lines), LONGEST_HANDOVER)


def outcome_line(summary: EpisodeSummary) -> str:
    """Return a sentence that says how the episode ended."""
    return (
        f"Episode {summary.episode} {OUTCOMES[summary.end]} after {counted(summary.turns, 'turn')}{_figures(summary)}."
    )


def points_text(scored: Scored) -> str:
    """Return where, when and by which command the score changed."""
    return f"`{_short(scored.action)}` at {place(scored.location)} ({scored.change:+d}, turn {scored.turn})"


def place(location: Location | None) -> str:
    """Return the name of a location with its id, so that a model can tell rooms of one name apart."""
    return "an unknown place" if location is None else f"{_short(one_line(location.label))} ({location.num})"


def step_text(step: Step) -> str:
    """Return the turn as text on two lines."""
    return turn_text(step.turn, _short(step.action), f"  Response: {step.response}", where=f", {place(step.location)}")


def plain_lesson(death: Death, episode: int) -> KnowledgeLine:
    """Return what a death teaches in the story's own words, for want of a model's.

    The same death in two episodes gives the same text.
    """
    return KnowledgeLine(_deadly(death), (Source(episode, death.steps[0].turn, death.last.turn),))


def death_lines(summary: EpisodeSummary, most: int = DEATHS_SHOWN) -> list[str]:
    """Return a sentence for each of the latest deaths: where, on which command and after which commands."""
    return [
        f"In turn {death.last.turn} of episode {summary.episode}: {_deadly(death)}" for death in summary.deaths[-most:]
    ]


def _deadly(death: Death) -> str:
    before = [f"`{_short(step.action)}`" for step in death.steps[-COMMANDS_SHOWN - 1 : -1]]
    after = f" after {', '.join(before)}" if before else ""
    return (
        f"the player died at {place(death.last.location)} on `{_short(death.last.action)}`{after}: "
        f'"{cut_at(death.last.response, LONGEST_QUOTE)}"'
    )


def _figures(summary: EpisodeSummary) -> str:
    figures = []
    if summary.score is not None:
        of = "" if summary.max_score is None else f" out of {summary.max_score}"
        best = "" if summary.best_score == summary.score else f" ({summary.best_score} at best)"
        figures.append(f"{counted(summary.score, 'point')}{of}{best}")
    if summary.rooms:
        figures.append(f"{counted(summary.rooms, 'room')} seen")
    return f", with {' and '.join(figures)}" if figures else ""


def _short(text: str) -> str:
    return cut_at(text, LONGEST_NAME)

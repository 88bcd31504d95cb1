"""Tells an episode in sentences: in the past tense and with its number, since nothing of it holds in the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from managers.prompting import share_out, turn_text
from session.knowledge import KnowledgeLine, Source
from session.text import counted, cut_at, cut_middle, one_line

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
LONGEST_QUOTE: Final = 160  # characters of the story's words, where there is no room for more
OUTCOMES: Final[Mapping[EpisodeEnd, str]] = {
    "won": "was won",
    "lost": "was lost",
    "over": "came to the story's end",
    "crashed": "broke off, for the story's program failed",
    "turn_limit": "reached its turn limit",
    "left": "was left by its player",
}


def handover_text(summary: EpisodeSummary) -> str:
    """Return what the player of the next episode is told of this one, in at most ``LONGEST_HANDOVER`` characters."""
    outcome = [f"{outcome_line(summary)} The story has begun anew since: nothing done then is done now."]
    found = [scored for scored in summary.scored if scored.change > 0][:GAINS_SHOWN]
    gains = [f"Points came in episode {summary.episode} by {'; '.join(map(points_text, found))}."] if found else []
    room = LONGEST_HANDOVER - sum(len(line) + 1 for line in (*outcome, *gains))
    return cut_at("\n".join([*outcome, *death_lines(summary, DEATHS_SHOWN, room), *gains]), LONGEST_HANDOVER)


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


def step_text(step: Step, response: str) -> str:
    """Return the turn as text on two lines. ``response``: what is told of the story's answer."""
    return turn_text(step.turn, _short(step.action), f"  Response: {response}", where=f", {place(step.location)}")


def plain_lesson(death: Death, episode: int) -> KnowledgeLine:
    """Return what a death teaches in the story's own words, for want of a model's.

    The same death in two episodes gives the same text.
    """
    text = f'{_deadly(death)}: "{cut_middle(death.last.response, LONGEST_QUOTE)}"'
    return KnowledgeLine(text, (Source(episode, death.steps[0].turn, death.last.turn),))


def death_lines(summary: EpisodeSummary, most: int, characters: int) -> list[str]:
    """Return a sentence for each of the latest deaths: where, on which command, after which commands, in which words.

    The story's words share what is left of the characters, of which each has some at least.
    """
    deaths = summary.deaths[-most:]
    heads = [f"In turn {death.last.turn} of episode {summary.episode}: {_deadly(death)}" for death in deaths]
    room = characters - sum(len(head) + len(': ""\n') for head in heads)
    quotes, _ = share_out([death.last.response for death in deaths], max(room, LONGEST_QUOTE * len(deaths)))
    return [f'{head}: "{quote}"' for head, quote in zip(heads, quotes, strict=True)]


def _deadly(death: Death) -> str:
    before = [f"`{_short(step.action)}`" for step in death.steps[-COMMANDS_SHOWN - 1 : -1]]
    after = f" after {', '.join(before)}" if before else ""
    return f"the player died at {place(death.last.location)} on `{_short(death.last.action)}`{after}"


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

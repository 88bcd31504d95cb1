"""Shows how the episodes of a run compare: a bar for each, with its points, the turn of the last point and its cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from session.game_configuration import GameConfiguration
from session.game_state import EpisodeProgress
from session.text import counted
from zorkgpt.llm.budget import Spending
from zorkgpt.report.played_run import PlayedEpisode

LONGEST_BAR = 20  # characters
MOST_SHOWN, FIRST_SHOWN = 12, 4  # episodes: of a longer run the first few and the last ones


@dataclass(frozen=True, slots=True)
class EpisodeGain:
    """What an episode brought, and what it cost.

    score: at its end, in points; ``None`` if it is unknown
    result: the score, and when it was reached, in words
    """

    episode: int
    score: int | None
    result: str


def gains_of(episodes: Iterable[PlayedEpisode], configuration: GameConfiguration) -> list[EpisodeGain]:
    """Return what each episode brought; ``configuration``: of the run, for the prices."""
    gains = []
    for episode in episodes:
        progress, spending = EpisodeProgress(episode.started.opening), Spending(configuration)
        for turn in episode.turns:
            progress.count(turn.played.record, turn.played.seconds)
        for event in episode.events:
            spending.count(event)
        score = progress.score
        points = "points unknown" if score is None else counted(score, "point")
        if score is not None and progress.new_bests:
            best = progress.new_bests[-1]
            points += "" if best.score == score else f" at the end, {best.score}"
            points += f" after {counted(best.turn, 'turn')}"
        gains.append(EpisodeGain(episode.started.episode, score, ", ".join((points, *spending.words))))
    return gains


def episode_bars(gains: Sequence[EpisodeGain], columns: int) -> list[str]:
    """Return a line for each of several episodes, in at most so many columns if there is room for its words.

    Bars have one scale. Of more than ``MOST_SHOWN`` episodes, those in the middle are counted in a line.
    """
    if len(gains) <= 1:
        return []
    most = max((gain.score or 0 for gain in gains), default=0)
    shown = list(gains)
    if len(gains) > MOST_SHOWN:
        shown = [*gains[:FIRST_SHOWN], *gains[FIRST_SHOWN - MOST_SHOWN :]]
    names = [f"episode {gain.episode}" for gain in shown]
    name_columns = max(map(len, names))
    room = max(0, min(LONGEST_BAR, columns - name_columns - max(len(gain.result) for gain in shown) - 4))

    def bar(score: int) -> str:
        return "█" * max(1, round(room * score / most)) if room and score > 0 else ""

    lines = [
        f"{name:<{name_columns}}  {bar(gain.score or 0):<{room}}  {gain.result}"
        for name, gain in zip(names, shown, strict=True)
    ]
    if len(shown) < len(gains):
        lines.insert(FIRST_SHOWN, f"and {len(gains) - len(shown)} episodes between these")
    return lines

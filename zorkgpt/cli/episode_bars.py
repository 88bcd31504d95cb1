"""Shows how the episodes of a run compare: a bar for each, with its points, the turn of the last point and its cost."""

from __future__ import annotations

from collections.abc import Sequence

from session.game_configuration import GameConfiguration
from session.text import counted
from zorkgpt.llm.budget import Spending
from zorkgpt.report.figures import EpisodeFigures
from zorkgpt.report.played_run import PlayedEpisode

LONGEST_BAR = 20  # characters
MOST_SHOWN, FIRST_SHOWN = 12, 4  # episodes: of a longer run the first few and the last ones


def episode_bars(
    episodes: Sequence[PlayedEpisode],
    figures: Sequence[EpisodeFigures],
    configuration: GameConfiguration,
    columns: int,
) -> list[str]:
    """Return a line for each of several episodes, in at most so many columns if there is room for its words.

    Bars have one scale. Of more than ``MOST_SHOWN`` episodes, those in the middle are counted in a line.

    configuration: of the run, for the prices
    """
    if len(figures) <= 1:
        return []
    most = max(each.score or 0 for each in figures)
    shown = list(zip(episodes, figures, strict=True))
    if len(figures) > MOST_SHOWN:
        shown = [*shown[:FIRST_SHOWN], *shown[FIRST_SHOWN - MOST_SHOWN :]]
    names = [f"episode {each.episode}" for _, each in shown]
    results = [_result(played, each, configuration) for played, each in shown]
    name_columns = max(map(len, names))
    room = max(0, min(LONGEST_BAR, columns - name_columns - max(map(len, results)) - 4))

    def bar(score: int) -> str:
        return "█" * max(1, round(room * score / most)) if room and score > 0 else ""

    lines = [
        f"{name:<{name_columns}}  {bar(each.score or 0):<{room}}  {result}"
        for name, (_, each), result in zip(names, shown, results, strict=True)
    ]
    if len(shown) < len(figures):
        lines.insert(FIRST_SHOWN, f"and {len(figures) - len(shown)} episodes between these")
    return lines


def _result(played: PlayedEpisode, figures: EpisodeFigures, configuration: GameConfiguration) -> str:
    """Return the score at the end, when the best one was reached, and the cost, in words."""
    spending = Spending(configuration)
    for event in played.events:
        spending.count(event)
    points = "points unknown" if figures.score is None else counted(figures.score, "point")
    if figures.score is not None and figures.milestones:
        best = figures.milestones[-1]
        points += "" if best.score == figures.score else f" at the end, {best.score}"
        points += f" after {counted(best.turn, 'turn')}"
    return ", ".join((points, *spending.words))

"""Draws an ablation: the scores from episode to episode, and how much the arms differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from session.files.shared_files import write_atomically
from session.text import counted
from zorkgpt.ablation.comparison import Comparison
from zorkgpt.ablation.measures import DECISIVE, RunMeasures
from zorkgpt.ablation.results import Results
from zorkgpt.report.map_picture import Picture, drawing, picture_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 11.0, 5.0  # inches; the height is that of a story
RESOLUTION = 120  # dots an inch


def write_plot(results: Results, folder: Path) -> None:
    """Write ``plot.png`` and ``plot.svg``, the same bytes for the same results. Raises ``StoreError``."""
    with drawing():
        figure = draw(results)
        kinds: tuple[Picture, ...] = ("png", "svg")
        for kind in kinds:
            write_atomically(folder / f"plot.{kind}", picture_of(figure, kind, RESOLUTION))


def draw(results: Results) -> Figure:
    """Return the figure, drawn without a screen: a row for each story; its caption names the assistance."""
    plan = results.plan
    figure = Figure(figsize=(WIDTH, HEIGHT * len(plan.stories)), layout="constrained")
    FigureCanvasAgg(figure)
    rows = figure.subplots(len(plan.stories), 2, squeeze=False)
    for (scores, differences), story in zip(rows, plan.stories, strict=True):
        _draw_scores(scores, [run for run in results.runs if run.story == story])
        _draw_differences(differences, [each for each in results.comparisons if each.story == story])
        scores.set_title(story)
    figure.suptitle(f"{counted(plan.pairs, 'pair')} of {counted(plan.episodes, 'episode')}")
    points = " Points: milestones." if any(run.points and run.score is not None for run in results.runs) else ""
    caption = f"Model: {', '.join(results.models)}. Assistance: {results.assistance}.{points}"
    figure.supxlabel(caption, fontsize="small")
    return figure


def _draw_scores(axes: Axes, runs: Sequence[RunMeasures]) -> None:
    """Draw a thin line for each run and a thick one for the mean of an arm."""
    for colour, arm in enumerate(dict.fromkeys(run.arm for run in runs)):
        lines = [[episode.score for episode in run.episodes] for run in runs if run.arm == arm]
        known = [[score for score in line if score is not None] for line in lines]
        known = [line for line in known if len(line) == len(lines[0])]
        if not known:
            continue
        numbers = range(1, len(known[0]) + 1)
        for line in known:
            axes.plot(numbers, line, color=f"C{colour}", alpha=0.25, linewidth=1)
        means = [sum(column) / len(column) for column in zip(*known, strict=True)]
        axes.plot(numbers, means, color=f"C{colour}", linewidth=2.5, marker="o", label=arm)
    axes.set_xlabel("episode of a run")
    axes.set_ylabel("points at its end")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(_widened(axes.get_ylim()))
    if axes.has_data():
        axes.legend()


def _draw_differences(axes: Axes, comparisons: Sequence[Comparison]) -> None:
    """Draw a dot for each mean difference, with its interval if there is one."""
    shown = [each for each in comparisons if each.measure == DECISIVE]
    for row, each in enumerate(shown):
        if each.difference is not None:
            axes.plot(each.difference, row, "o", color="black")
        if each.low is not None and each.high is not None:
            axes.plot([each.low, each.high], [row, row], color="black", linewidth=2)
    axes.axvline(0, color="grey", linewidth=1, linestyle="--")
    axes.set_yticks(range(len(shown)), [f"{each.first} - {each.other}" for each in shown])
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    axes.set_xlim(_widened(axes.get_xlim()))
    axes.set_xlabel("difference in points, mean of a run's episodes, with 95 % interval")


def _widened(limits: tuple[float, float]) -> tuple[float, float]:
    """Return the limits of an axis at least two points apart, so that equal scores look equal."""
    middle, half = sum(limits) / 2, (limits[1] - limits[0]) / 2
    return (middle - 1, middle + 1) if half < 1 else limits

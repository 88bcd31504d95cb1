"""Does a long run still learn? Mean scores by tens of episodes, and a plot, from the folders of ablations.

    zorkgpt ablate --player random --arms full --pairs 3 --episodes 100 --max-turns 100 --out AFTER \
        --games zork1.z5 library.z5 tidehouse.z5 --max-scores tidehouse=100
    python -m benchmarks.learning_curve before=BEFORE after=AFTER [--plot FILE.svg]

Bar of the project, for the last folder: on each story the mean score of the last ten episodes is above that of
episodes 11 to 20. Exit status 1: it is not met.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.tables import Row, show
from zorkgpt.ablation.results import read_results

TEN = 10


@dataclass(frozen=True, slots=True)
class Curve:
    """The mean score of each ten episodes of a run.

    label: of the folder, as in ``before=FOLDER``
    pair: the number of the run within its story, from 1; runs of one number have the same seeds
    """

    story: str
    label: str
    pair: str
    means: list[float]
    digest: str


def main(arguments: Sequence[str]) -> int:
    """Print a row for each run and one for each story. Returns 1 if the bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="LABEL=FOLDER", help="folders of ablations with the arm `full`")
    parser.add_argument("--plot", type=Path, help="the picture to write, .svg or .png")
    options = parser.parse_args(arguments)
    labels = [each.partition("=") for each in options.folders]
    curves = [curve for label, _, folder in labels for curve in curves_of(label, Path(folder))]
    if not curves:
        parser.error("these folders have no runs of the arm `full`")
    curves.sort(key=lambda curve: curve.story)  # stable: before and after stay in the order given
    show([{**_row(each.story, each.label, each.pair, each.means), "SHA-256": each.digest[:16]} for each in curves])
    means = {
        key: [statistics.fmean(column) for column in zip(*(each.means for each in runs), strict=True)]
        for key, runs in groupby(curves, key=lambda curve: (curve.story, curve.label))
    }
    show([_row(story, label, "mean", mean) for (story, label), mean in means.items()])
    if options.plot:
        plot(curves, means, options.plot)
    flat = [story for (story, label), mean in means.items() if label == labels[-1][0] and mean[-1] <= mean[1]]
    print("Last ten episodes above episodes 11 to 20:", f"not on {', '.join(flat)}." if flat else "on each story.")
    return 1 if flat else 0


def curves_of(label: str, folder: Path) -> list[Curve]:
    """Return the curves of an ablation's runs. Raises ``ValueError`` if the score at an episode's end is unknown."""
    results, found = read_results(folder), []
    for run in results.runs if results else ():
        if run.arm == "full":
            scores = [each.score for each in run.episodes if each.score is not None]
            if len(scores) < len(run.episodes):
                raise ValueError("the score at an episode's end is unknown; choose a story that shows its score")
            means = [statistics.fmean(scores[first : first + TEN]) for first in range(0, len(scores), TEN)]
            found.append(Curve(run.story, label, str(run.pair), means, run.journal_sha256))
    return found


def plot(curves: Sequence[Curve], means: dict[tuple[str, str], list[float]], file: Path) -> None:
    """Draw a panel for each story: a thin line for each run, a thick one for the mean of each label."""
    stories, labels = (list(dict.fromkeys(names)) for names in zip(*means, strict=True))
    figure = Figure(figsize=(4 * len(stories), 3.5), layout="constrained")
    panels = figure.subplots(1, len(stories), squeeze=False)[0]
    for story, axes in zip(stories, panels, strict=True):
        for curve in curves:
            if curve.story == story:
                axes.plot(
                    _ends(curve.means), curve.means, color=f"C{labels.index(curve.label)}", alpha=0.3, linewidth=1
                )
        for number, label in enumerate(labels):
            mean = means.get((story, label), [])  # a folder may lack the story
            if mean:
                axes.plot(_ends(mean), mean, color=f"C{number}", linewidth=2.5, label=label)
        axes.set_title(story)
        axes.set_xlabel("episode")
        axes.set_ylabel("points, mean of ten episodes")
        axes.set_ylim(bottom=0)
        axes.legend()
    with mpl.rc_context({"svg.hashsalt": "zorkgpt", "svg.fonttype": "none"}):
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def _ends(means: Sequence[float]) -> range:
    return range(TEN, TEN * len(means) + 1, TEN)


def _row(story: str, label: str, pair: str, means: Sequence[float]) -> Row:
    tens = {f"{end - TEN + 1}-{end}": mean for end, mean in zip(_ends(means), means, strict=True)}
    return {"story": story, "code": label, "pair": pair, **tens}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

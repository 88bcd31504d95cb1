"""An ablation on one page of Markdown: how it was played, what came of it, and the digests of its journals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from session.files.shared_files import write_atomically
from session.text import counted
from zorkgpt.ablation.comparison import ArmScore
from zorkgpt.ablation.measures import DECISIVE, SCORES, RunMeasures
from zorkgpt.ablation.plan import WrittenPlan
from zorkgpt.ablation.results import Results, interval, number

REPORT_FILE = "report.md"


def write_report(results: Results, folder: Path) -> None:
    """Write ``report.md``. Raises ``StoreError``."""
    text = "\n\n".join(_parts(results)) + "\n"
    write_atomically(folder / REPORT_FILE, text.encode("utf-8", "backslashreplace"))


def score_rows(scores: Iterable[ArmScore]) -> Iterator[Sequence[str]]:
    """Yield for each story and arm what it scored, in every measure of a score, and the interval of the first."""
    for (story, arm), group in groupby(scores, key=lambda each: (each.story, each.arm)):
        by_measure = {each.measure: each for each in group}
        scored = by_measure[DECISIVE]
        yield (
            f"{story}, % of the maximum" if scored.is_share else story,
            arm,
            *(number(by_measure[measure].score) for measure in SCORES),
            interval(scored),
        )


def _parts(results: Results) -> Iterator[str]:
    plan = results.plan
    yield f"# {', '.join(plan.arms)}: {', '.join(plan.stories)}"
    yield f"    {results.command}"
    yield "\n".join(
        [
            f"- {_planned(results.plan)}{_unfinished(results)}; {results.unit}",
            f"- Model: {', '.join(results.models)}. Assistance: {results.assistance}",
            f"- {'; '.join(results.versions)}",
            *(f"- {story}: SHA-256 of the story file {digest}" for story, digest in plan.stories.items()),
        ]
    )
    if results.conclusions:
        yield "\n".join(f"- {sentence}" for sentence in results.conclusions)
    yield "Scores, the means of the runs (of each story in points):"
    yield _markdown(("story", "arm", *SCORES, "95 % interval of the score"), score_rows(results.scores))
    if results.comparisons:
        yield "Differences, first arm minus other:"
        yield _markdown(
            ("story", "against", "measure", "pairs", "difference", "95 % interval", "p"),
            (
                (
                    *(each.story, each.other, f"{each.measure}, %" if each.is_share else each.measure, str(each.pairs)),
                    *(number(each.difference, sign=True), interval(each), number(each.p)),
                )
                for each in results.comparisons
            ),
        )
    yield "Runs:"
    heading = ("story", "arm", "pair", "seeds", "scores at the ends of the episodes", "SHA-256 of the journal")
    yield _markdown(heading, map(_run_row, results.runs))


def _planned(plan: WrittenPlan) -> str:
    return f"{counted(plan.pairs, 'pair')} of {counted(plan.episodes, 'episode')}"


def _unfinished(results: Results) -> str:
    planned = results.plan.pairs * len(results.plan.stories) * len(results.plan.arms)
    return "" if len(results.runs) == planned else f", of whose {planned} runs {len(results.runs)} are told of so far"


def _run_row(run: RunMeasures) -> Sequence[str]:
    seeds = f"{run.episodes[0].seed} to {run.episodes[-1].seed}"
    scores = " ".join("-" if each.score is None else str(each.score) for each in run.episodes)
    return (run.story, run.arm, str(run.pair), seeds, scores, run.journal_sha256)


def _markdown(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; what a cell holds of its signs is written so that it does not end the cell."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

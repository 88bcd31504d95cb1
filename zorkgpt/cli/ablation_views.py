"""How the results of an ablation look."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from session.invocation import program
from zorkgpt.ablation.conclusions import interval, number
from zorkgpt.ablation.measures import SCORES
from zorkgpt.ablation.report import REPORT_FILE, score_rows
from zorkgpt.cli.printable import columns, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from zorkgpt.ablation.rehearsal import Estimate
    from zorkgpt.ablation.results import Results

PIPED_WIDTH = 140  # columns, where no terminal says how many there are
_COUNTS = ("turns", "calls", "prompt_tokens", "answer_tokens")
OTHER_FILES = ("results.csv", "episodes.csv", "results.json", "plot.png", "plot.svg")


def print_results(results: Results, out: Path) -> None:
    """Print what the arms scored, how they differ, what follows from it, and where the files are."""
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=PIPED_WIDTH)
    console.print(score_table(results))
    if results.comparisons:
        console.print("", comparison_table(results), sep="\n")
    for sentence in results.conclusions:
        console.print(Text(printable(sentence)))
    stories, models = ", ".join(results.plan.stories), ", ".join(results.models)
    console.print(Text(printable(f"Story: {stories}. Model: {models}. Assistance: {results.assistance}.")))
    console.print(Text(f"{results.unit.capitalize()}."))
    console.print(Text(printable(f"Files: {', '.join([f'{out}/{REPORT_FILE}', *OTHER_FILES])}")))


def score_table(results: Results) -> Table:
    """Draw what each arm scored."""
    drawn = _table("Scores", "Story", "Arm", right=(*SCORES, "95 % interval of the score"))
    for row in score_rows(results.scores):
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    return drawn


def comparison_table(results: Results) -> Table:
    """Draw every measure of every arm against the first one."""
    title = f"Differences, first arm minus other (assistance: {results.assistance})"
    figures = ("pairs", "difference", "95 % interval", "p", "pairs to see it", "to see --detect")
    drawn = _table(title, "Story", "Against", "Measure", right=figures)
    for each in results.comparisons:
        cells = (
            *(each.story, each.other, f"{each.measure}, %" if each.is_share else each.measure, str(each.pairs)),
            *(number(each.difference, sign=True), interval(each), number(each.p)),
            *(number(each.pairs_needed), number(each.pairs_to_detect)),
        )
        drawn.add_row(*(Text(printable(cell)) for cell in cells), style="bold" if each.is_shown else "")
    return drawn


def _table(title: str, *left: str, right: Sequence[str]) -> Table:
    drawn = Table(*left, box=None, pad_edge=False, title=Text(printable(title)), title_justify="left")
    for column in right:
        drawn.add_column(column, justify="right")
    return drawn


def cost_lines(estimates: Sequence[Estimate], seconds_a_call: float, workers: int) -> Iterator[str]:
    """Yield a line for each arm and story, their sum, and what the figures rest on."""
    rows = [_cost_row(each.story, each.arm, [each], seconds_a_call, workers) for each in estimates]
    heading = ("STORY", "ARM", "TURNS", "CALLS", "PROMPT TOKENS", "ANSWER TOKENS", "DOLLARS", "HOURS")
    yield from columns([heading, *rows, _cost_row("all", "", estimates, seconds_a_call, workers)])
    yield ""
    yield f"Hours: {seconds_a_call:g} seconds a call (--call-seconds), {workers} runs side by side (--workers)."
    yield (
        "Tokens: as many as a rehearsal without a model takes, four characters each; what a model thinks before it "
        "answers comes on top, what the server has in its cache costs less."
    )
    if any(each.dollars is None for each in estimates):
        yield f"Dollars: a model without a known price; the option prices names it ({program()} config show)."


def _cost_row(
    story: str, arm: str, estimates: Sequence[Estimate], seconds_a_call: float, workers: int
) -> tuple[str, ...]:
    dollars = [each.dollars for each in estimates]
    known = [each for each in dollars if each is not None]
    return (
        story,
        arm,
        *(f"{sum(getattr(each, name) for each in estimates):,}" for name in _COUNTS),
        f"{sum(known):.2f}" if len(known) == len(dollars) else "-",
        f"{sum(each.hours(seconds_a_call, workers) for each in estimates):.1f}",
    )

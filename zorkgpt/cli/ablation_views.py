"""How the results of an ablation look."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from zorkgpt.ablation.conclusions import interval, number
from zorkgpt.cli.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

    from zorkgpt.ablation.results import Results

PIPED_WIDTH = 140  # columns, where no terminal says how many there are


def print_results(results: Results, out: Path) -> None:
    """Print the differences between the arms, what follows from them, and where the files are."""
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=PIPED_WIDTH)
    console.print(comparison_table(results))
    for sentence in results.conclusions:
        console.print(Text(printable(sentence)))
    models = ", ".join(results.models)
    console.print(Text(printable(f"Story: {results.story}. Model: {models}. Assistance: {results.assistance}.")))
    console.print(Text(f"{results.unit.capitalize()}."))
    console.print(Text(printable(f"Files: {out}/results.csv, episodes.csv, results.json, plot.png, plot.svg")))


def comparison_table(results: Results) -> Table:
    """Draw every measure of every arm against the first one."""
    title = Text(printable(f"Differences, first arm minus other (assistance: {results.assistance})"))
    drawn = Table("Against", "Measure", box=None, pad_edge=False, title=title, title_justify="left")
    for column in ("pairs", "difference", "95 % interval", "p", "pairs to see it", "to see --detect"):
        drawn.add_column(column, justify="right")
    for each in results.comparisons:
        cells = (
            *(printable(each.other), each.measure, str(each.pairs), number(each.difference, sign=True), interval(each)),
            *(number(each.p), number(each.pairs_needed), number(each.pairs_to_detect)),
        )
        drawn.add_row(*(Text(cell) for cell in cells), style="bold" if each.is_shown else "")
    return drawn

"""Shows the figures of a benchmark as tables, and keeps them for the report."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from zorkgpt.cli.terminal import table_lines

TABLES_VARIABLE = "ZORKGPT_BENCHMARK_TABLES"
"""Names the file to which the report wants the tables added, a line of JSON each."""

Value = str | float | None
Row = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures with the same headings. ``title`` is "" if the benchmark has only one table."""

    title: str
    rows: Sequence[Row]

    def cells(self) -> list[list[str]]:
        """Return the headings and the rows as texts."""
        return [list(self.rows[0]), *([as_text(value) for value in row.values()] for row in self.rows)]

    def markdown(self) -> str:
        """Return the table in Markdown, below its title."""
        heading, *rows = [[cell.replace("|", "\\|") for cell in row] for row in self.cells()]
        lines = [heading, ["---" if isinstance(value, str) else "---:" for value in self.rows[0].values()], *rows]
        drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{self.title}:\n\n{drawn}" if self.title else drawn


def show(rows: Sequence[Row], title: str = "") -> None:
    """Print the rows below their headings, and add them to the report's file if there is one."""
    table = Table(title, rows)
    print("\n".join([*([f"{title}:"] if title else []), *table_lines(table.cells()), ""]), flush=True)
    file = os.environ.get(TABLES_VARIABLE)
    if file:
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(table)) + "\n")


def as_text(value: Value) -> str:
    """Return a number with four digits that count, a text as it is, and an en dash for what was not measured."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004  thousands

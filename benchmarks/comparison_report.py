"""Runs every benchmark that needs no model, and prints one report.

    python benchmarks/comparison_report.py [--json FILE] [--markdown FILE] [NAME ...]

The stories are those of the folder ZORKGPT_STORIES and the project's own. Benchmarks that need the folder are left
out without it, and the report lists them. Exit status 1: a benchmark failed or a bar is not met.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # if this file is run instead of the module

from benchmarks.stories import STORIES_VARIABLE, user_stories
from benchmarks.tables import TABLES_VARIABLE, Table

ROOT = Path(__file__).parents[1]
MARK = "<!-- figures -->"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A command that prints figures.

    question: the question that the figures answer
    missing: why it cannot be run here, or ""
    """

    question: str
    command: Sequence[str]
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What came of a benchmark. ``seconds`` is how long it took."""

    question: str
    failed: bool
    missing: str
    seconds: float
    tables: Sequence[Table]


def benchmarks(*, has_stories: bool) -> Mapping[str, Benchmark]:
    """Return the benchmarks that need no model, by name. ``has_stories``: there are stories of the user's own."""
    missing = "" if has_stories else f"{STORIES_VARIABLE} names no folder of story files"
    questions = {
        "performance_metrics": "How fast is a story played?",
        "turn_cost": "What does a turn cost?",
        "resume_time": "How long does it take to resume a run, and to replay one?",
        "critic_verdicts": "What does the critic refuse?",
        "going_in_circles": "Is it noticed that play goes in circles?",
        "map_truth": "Is the map true?",
        "route_truth": "Do routes bring the points that they promise?",
        "joined_routes": "Do they, if they are joined in the middle of another game?",
        "valid_actions": "Can points be won by valid actions alone?",
        "general_way": "Are unknown stories read rightly?",
        "memories_file": "How fast is Memories.md read, edited and written?",
        "memory_reader": "What is memory worth to a player that needs it?",
        "report_page": "How long does the page of a run take?",
    }
    return {
        name: Benchmark(
            question,
            (sys.executable, "-m", f"benchmarks.{name}"),
            missing if name in {"map_truth", "general_way"} else "",
        )
        for name, question in questions.items()
    }


def report(chosen: Mapping[str, Benchmark]) -> dict[str, Measurement]:
    """Run each benchmark, which prints its figures, and return what came of it."""
    found = {}
    for name, benchmark in chosen.items():
        print(f"\n## {name}: {benchmark.question}\n", flush=True)
        found[name] = _run(benchmark)
        print(f"Left out: {benchmark.missing}." if benchmark.missing else f"({found[name].seconds:.0f} s)")
    failed = [name for name, measurement in found.items() if measurement.failed]
    print(f"\nFailed: {', '.join(failed)}" if failed else "\nNone failed.")
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the report on the benchmarks of these names, or on all. Returns 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file, too")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help=f"write them as Markdown tables, too, below the line {MARK}"
    )
    options = parser.parse_args(arguments)
    known = benchmarks(has_stories=bool(user_stories()))
    unknown = [name for name in options.names if name not in known]
    if unknown:
        print(f"no benchmark: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    machine = f"Python {sys.version.split()[0]} on {sys.platform}, {os.cpu_count()} processors"
    print(f"# Benchmarks, {machine}")
    found = report({name: known[name] for name in options.names or known})
    if options.json:
        options.json.write_text(as_json(machine, found), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(text_above(options.markdown) + as_markdown(machine, found), encoding="utf-8")
    return 1 if any(measurement.failed for measurement in found.values()) else 0


def text_above(page: Path) -> str:
    """Return what stays of a page: all down to the mark."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    above, mark, _ = text.partition(f"{MARK}\n\n")
    return above + mark if mark else ""


def _run(benchmark: Benchmark) -> Measurement:
    start = time.monotonic()
    tables: list[Table] = []
    failed = False
    if not benchmark.missing:
        with tempfile.TemporaryDirectory() as folder:
            lines = Path(folder) / "tables.jsonl"
            lines.touch()
            environment = os.environ | {"PYTHONPATH": str(ROOT), TABLES_VARIABLE: str(lines)}
            failed = subprocess.run(benchmark.command, env=environment, check=False).returncode != 0
            tables = [Table(**json.loads(line)) for line in lines.read_text(encoding="utf-8").splitlines()]
    seconds = round(time.monotonic() - start, 1)
    return Measurement(benchmark.question, failed, benchmark.missing, seconds, tables)


def as_json(machine: str, found: Mapping[str, Measurement]) -> str:
    """Return all figures as one object."""
    figures = {"machine": machine, "benchmarks": {name: asdict(each) for name, each in found.items()}}
    return json.dumps(figures, indent=2) + "\n"


def as_markdown(machine: str, found: Mapping[str, Measurement]) -> str:
    """Return all figures as tables in Markdown, each with the command that printed it."""
    parts = [f"{machine}."]
    for name, measurement in found.items():
        parts += [f"## {measurement.question}", f"`python -m benchmarks.{name}`"]
        parts += [f"Left out: {measurement.missing}."] if measurement.missing else []
        parts += [table.markdown() for table in measurement.tables]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

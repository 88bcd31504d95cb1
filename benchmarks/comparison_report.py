"""Every benchmark that needs no model, as one report.

    python benchmarks/comparison_report.py [NAME ...]

Stories are those of the folder ZORKGPT_STORIES and our own; what cannot be measured without that folder is left out,
and the report says so. Exit status 1: a benchmark failed, or what it measures does not hold.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

OWN_STORY = str(files("game_interface.stories") / "tidehouse.z5")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A command with its figures on standard output.

    question: what the figures answer
    missing: why it cannot be run here; "" where it can
    """

    question: str
    command: Sequence[str]
    missing: str = ""


def benchmarks(stories: Path | None) -> Mapping[str, Benchmark]:
    """The benchmarks that need no model, by name; ``stories`` is the folder of the user's stories."""
    known = [] if stories is None else sorted(map(str, stories.glob("*.z?")))
    missing = "" if known else "ZORKGPT_STORIES names no folder of story files"
    return {
        "performance_metrics": Benchmark("How fast is a story played?", _module("performance_metrics")),
        "turn_cost": Benchmark("What does a turn cost in calls and tokens?", _module("turn_cost")),
        "critic_verdicts": Benchmark("What does the critic refuse?", _module("critic_verdicts", OWN_STORY, *known)),
        "going_in_circles": Benchmark("Is it noticed that play goes in circles?", _module("going_in_circles")),
        "map_truth": Benchmark("Is the map true?", _module("map_truth", *known), missing),
        "general_way": Benchmark("Are unknown stories read rightly?", _module("general_way"), missing),
        "memories_file": Benchmark("How fast is Memories.md read and edited?", _module("memories_file")),
        "memory_writes": Benchmark("What does it cost to keep a memory?", _module("memory_writes")),
        "memory_reader": Benchmark("What is memory worth to a player that needs it?", _module("memory_reader")),
    }


def report(chosen: Mapping[str, Benchmark]) -> int:
    """Each benchmark's figures, or why there are none, are printed; 1 where one failed."""
    failed = []
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    for name, benchmark in chosen.items():
        print(f"\n## {name}: {benchmark.question}\n", flush=True)
        if benchmark.missing:
            print(f"Left out: {benchmark.missing}.")
            continue
        start = time.monotonic()
        if subprocess.run(benchmark.command, env=environment, check=False).returncode:
            failed.append(name)
        print(f"({time.monotonic() - start:.0f} s)")
    print(f"\nFailed: {', '.join(failed)}" if failed else "\nNone failed.")
    return 1 if failed else 0


def main(names: Sequence[str]) -> int:
    """The report on the benchmarks of these names, or on all, is printed."""
    folder = os.environ.get("ZORKGPT_STORIES")
    known = benchmarks(Path(folder) if folder else None)
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    print(f"# Benchmarks, Python {sys.version.split()[0]} on {sys.platform}, {os.cpu_count()} processors")
    return report({name: known[name] for name in names or known})


def _module(name: str, *arguments: str) -> Sequence[str]:
    return sys.executable, "-m", f"benchmarks.{name}", *arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

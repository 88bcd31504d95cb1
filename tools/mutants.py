"""Measures the share of the program's mutants that the tests find, by package: ``make mutants``.

mutmut changes the functions of the packages in ``[tool.mutmut]``, one place at a time, and runs the tests that
execute them. It changes neither constants outside functions nor decorated functions.

If it fails to collect stats, a test fails on the changed files. ``pytest`` in the folder ``mutants`` then shows which
one, and ``[tool.mutmut]`` can exclude it. On Python 3.11 the interpreter may crash instead: use
``make mutants PYTHON=python3.13``.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path

MUTMUT = Path(sys.executable).with_name("mutmut")
FOUND = ("killed", "caught by type check", "timeout")
COLUMNS = (*FOUND, "survived", "no tests", "other")
NO_MUTANT = "no.such.mutant"


def main() -> None:
    """Run mutmut, and print the share of mutants that were found, by package."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="try so many of the mutants only")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--jobs", type=int, default=0, help="processes; by default one a core")
    given = parser.parse_args()
    jobs = ["--max-children", str(given.jobs)] if given.jobs else []
    shutil.rmtree("mutants", ignore_errors=True)
    chosen: list[str] = []
    if given.sample:
        # Asked for one that does not exist, mutmut makes them all, times the tests and gives up.
        made = subprocess.run([MUTMUT, "run", NO_MUTANT], check=False, capture_output=True, text=True)
        if NO_MUTANT not in made.stderr:
            raise SystemExit(made.stdout + made.stderr)
        known = sorted(results())
        chosen = random.Random(given.seed).sample(known, min(given.sample, len(known)))
    status = subprocess.run([MUTMUT, "run", *jobs, *chosen], check=False).returncode
    if status:
        raise SystemExit(status)
    sys.stdout.write(f"{table(results(), chosen)}\n{MUTMUT} results | show NAME | browse: those that were not found\n")


def results() -> dict[str, str]:
    """The result of each mutant by its name; empty if none were made."""
    listed = subprocess.run([MUTMUT, "results", "--all", "true"], check=True, capture_output=True, text=True)
    lines = (line.strip().rpartition(": ") for line in listed.stdout.splitlines())
    return {name: result for name, _, result in lines if name}


def table(found: Mapping[str, str], chosen: Collection[str] = ()) -> str:
    """A line of figures for each package, and one for all, limited to the ``chosen`` mutants if there are any."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name in chosen or found:
        for package in (package_of(name), "all"):
            counts[package][found[name] if found[name] in COLUMNS else "other"] += 1
    titles = ("mutants", *COLUMNS, "found")
    width = max(map(len, ("package", *counts)))
    lines = ["  ".join(["package".ljust(width), *titles])]
    for package in (*sorted(counts.keys() - {"all"}), "all"):
        numbers = counts[package]
        share = sum(numbers[each] for each in FOUND) / max(1, numbers.total())
        cells = (numbers.total(), *(numbers[each] for each in COLUMNS), f"{share:.1%}")
        padded = (f"{cell!s:>{len(title)}}" for title, cell in zip(titles, cells, strict=True))
        lines.append("  ".join([package.ljust(width), *padded]))
    return "\n".join(lines)


def package_of(mutant: str) -> str:
    """``managers.memory`` for a mutant ``managers.memory.prompt.x_text__mutmut_3``."""
    module, _, _function = mutant.rpartition(".")
    package, _, name = module.rpartition(".")
    return package or name


if __name__ == "__main__":
    main()

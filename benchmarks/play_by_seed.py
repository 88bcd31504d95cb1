"""Does a run end above its first episode, whatever its seed? The embedded model plays as ``make play`` lets it.

    python -m benchmarks.play_by_seed [--seeds 10] [--episodes 5] [--max-turns 60] [--to FOLDER]

A run that FOLDER has is not played again. It takes minutes of processor time for each seed. Bar of the project: of ten
seeds at least nine end with more points than their first episode. Exit status 1: it is not met.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.tables import show
from session.files.run_folders import find_run
from zorkgpt.report.figures import EpisodeFigures, figures_of
from zorkgpt.report.played_run import read_run

BAR = 0.9  # of the seeds
SECONDS_FILE = "processor_seconds.txt"


def main(arguments: Sequence[str]) -> int:
    """Print a row for each seed. Returns 1 if the bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="the seeds from 1 to this one")
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--max-turns", type=int, default=60)
    parser.add_argument("--to", type=Path, help="the folder of the runs, by default a new temporary one")
    options = parser.parse_args(arguments)
    to = options.to or Path(mkdtemp(prefix="play-by-seed-"))
    rows: list[dict[str, str | float | None]] = []
    above = 0
    for seed in range(1, options.seeds + 1):
        workdir = to / f"seed-{seed}"
        if not (workdir / SECONDS_FILE).is_file():
            play(workdir, seed, options.episodes, options.max_turns)
        figures = figures_of(read_run(find_run(workdir)))
        scores = [episode.score for episode in figures.episodes]
        is_above = None not in scores and (scores[-1] or 0) > (scores[0] or 0)
        above += is_above
        rows.append(
            {
                "seed": seed,
                "points by episode": ", ".join(map(str, scores)),
                "turns to the last point": ", ".join(_last_turn(episode) for episode in figures.episodes),
                "ends above": "yes" if is_above else "no",
                "calls": sum(use.calls for use in figures.usage),
                "processor s": (workdir / SECONDS_FILE).read_text(),
            }
        )
        print(rows[-1], flush=True)
    show(rows)
    return int(above < BAR * options.seeds)


def _last_turn(episode: EpisodeFigures) -> str:
    return str(episode.milestones[-1].turn) if episode.milestones else "-"


def play(workdir: Path, seed: int, episodes: int, max_turns: int) -> None:
    """Play a run, and keep beside it the seconds that its processes had a processor."""
    story = files("game_interface.stories") / "tidehouse.z5"
    length = ("--episodes", str(episodes), "--max-turns", str(max_turns), "--seed", str(seed))
    command = (sys.executable, "-m", "zorkgpt", "run", "--quiet", "--game", str(story), "--workdir", str(workdir))
    before = _children()
    subprocess.run([*command, *length], check=True)
    (workdir / SECONDS_FILE).write_text(f"{_children() - before:.0f}")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

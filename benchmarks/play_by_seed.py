"""Does a run end above its first episode, whatever its seed? The embedded model plays as ``make play`` lets it.

    python -m benchmarks.play_by_seed [--seeds 10] [--episodes 5] [--max-turns 60] [--jobs 1] [--so-far] [--to FOLDER]

A run that FOLDER has is not played again, one that was stopped begins again. It takes minutes of processor time for
each seed. Bar of the project: of ten seeds at least nine end with more points than their first episode. Exit status 1:
it is not met.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.stories import OWN_STORY
from benchmarks.tables import Row, show
from session.files.run_folders import find_run
from zorkgpt.ablation.measures import LAST, RunMeasures, measure
from zorkgpt.report.figures import mean, total

BAR = 0.9  # of the seeds
SECONDS_FILE = "processor_seconds.txt"


def main(arguments: Sequence[str]) -> int:
    """Print a row for each seed. Returns 1 if the bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="the seeds from 1 to this one")
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--max-turns", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="runs that are played at once")
    parser.add_argument("--so-far", action="store_true", help="report the runs that are done, and play none")
    parser.add_argument("--to", type=Path, help="the folder of the runs, by default a new temporary one")
    options = parser.parse_args(arguments)
    to = options.to or Path(mkdtemp(prefix="play-by-seed-"))
    workdirs = {seed: to / f"seed-{seed}" for seed in range(1, options.seeds + 1)}
    length = ("--episodes", str(options.episodes), "--max-turns", str(options.max_turns))
    with ThreadPoolExecutor(options.jobs) as pool:
        missing = [seed for seed, workdir in workdirs.items() if not (workdir / SECONDS_FILE).is_file()]
        for _ in pool.map(lambda seed: play(workdirs[seed], seed, length), [] if options.so_far else missing):
            pass
    done = {seed: workdir for seed, workdir in workdirs.items() if (workdir / SECONDS_FILE).is_file()}
    runs = {seed: measure(find_run(workdir), OWN_STORY.stem, "", seed) for seed, workdir in done.items()}
    if not runs:
        parser.error(f"no run in {to} is done")
    show([row_of(run, (done[seed] / SECONDS_FILE).read_text()) for seed, run in runs.items()])
    settings = (f"{each.model}, assisted by {', '.join(each.assistance)}; {each.versions}." for each in runs.values())
    print(*dict.fromkeys(settings), sep="\n")
    above = sum((run.last_score or 0) > (run.episodes[0].score or 0) for run in runs.values())
    print(f"{above} of {len(runs)} runs end above their first episode; {options.seeds - len(runs)} are not done.")
    return int(above < BAR * options.seeds)


def row_of(run: RunMeasures, processor_seconds: str) -> Row:
    """Return the scores of a run's episodes, when the last point of each was won, and what routes had to do with it."""
    last_points = (str(each.milestones[-1].turn) if each.milestones else "-" for each in run.episodes)
    return {
        "seed": run.pair,
        **{f"episode {number}": each.score for number, each in enumerate(run.episodes, start=1)},
        f"mean of the last {LAST}": mean(each.score for each in run.episodes[-LAST:]),
        "turns to the last point": ", ".join(last_points),
        "turns on routes": sum(each.route_turns for each in run.episodes),
        "points on routes": total(each.route_points for each in run.episodes),
        "calls": run.calls,
        "processor s": processor_seconds,
        "SHA-256 of the journal": run.journal_sha256,
    }


def play(workdir: Path, seed: int, length: Sequence[str]) -> None:
    """Play a run, and keep beside it the seconds that its processes had a processor."""
    shutil.rmtree(workdir, ignore_errors=True)
    command = (sys.executable, "-m", "zorkgpt", "run", "--quiet", "--game", str(OWN_STORY), "--workdir", str(workdir))
    process = subprocess.Popen([*command, *length, "--seed", str(seed)])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    (workdir / SECONDS_FILE).write_text(f"{used.ru_utime + used.ru_stime:.0f}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

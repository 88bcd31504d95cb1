"""Does what an episode has learned show in the score of later ones? The embedded model plays our own story.

    python -m benchmarks.first_return [--folder DIR] [--seeds 8] [--jobs 2] [--so-far]

For each seed a run of 5 episodes of at most 60 turns, in a work folder of its own, with the options that everybody
gets. In DIR it can be stopped and gone on with. Bar of the project: the mean score of episodes 3 to 5 is below that
of episode 1 with no seed, and above it with 6 of 8. Exit status 1: it is not held.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path

from benchmarks.tables import show
from session.events import EpisodeEnded, Event, RunEnded, TurnPlayed
from session.files.journal import JOURNAL_FILE, read_journal, read_manifest
from session.files.run_folders import RUNS, find_run

EPISODES, TURNS = 5, 60
LATER = 3  # episodes, the last ones
BETTER_SHARE = 6 / 8


def main(arguments: Sequence[str]) -> int:
    """Play the missing runs, and print a row for each seed. Returns 1 if the bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("first_return"), help="where the runs are kept")
    parser.add_argument("--seeds", type=int, default=8, help="how many runs there are")
    parser.add_argument("--jobs", type=int, default=2, help="runs that are played at once")
    parser.add_argument("--so-far", action="store_true", help="tell of the runs that are done, and play none")
    options = parser.parse_args(arguments)
    seeds = [seed for seed in range(1, options.seeds + 1) if not options.so_far or is_done(options.folder, seed)]
    if not seeds:
        parser.error(f"no run in {options.folder} is done")
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = list(pool.map(partial(events_of, options.folder), seeds))
    folders = [find_run(_workdir(options.folder, seed)) for seed in seeds]
    rows = [row_of(seed, events) for seed, events in zip(seeds, runs, strict=True)]
    show([row | {"SHA-256 of the journal": digest_of(folder)} for row, folder in zip(rows, folders, strict=True)])
    print(*dict.fromkeys(map(setting_of, folders)), sep="\n")
    gains = [gain(scores_of(events)) for events in runs]
    worse, better = sum(each < 0 for each in gains), sum(each > 0 for each in gains)
    print(f"Later episodes below the first with {worse} seeds, above it with {better} of {len(gains)}.")
    # The small model often chooses alike with different seeds, so that such runs are one sample.
    distinct = [scores_of(events) for events in {first_commands(events): events for events in reversed(runs)}.values()]
    above_first, above_second = sum(gain(each) > 0 for each in distinct), sum(each[-1] > each[1] for each in distinct)
    print(
        f"{len(distinct)} first episodes differ. Of these runs {above_first} have later episodes above the first, "
        f"and {above_second} the last above the second."
    )
    if len(gains) < options.seeds:
        print(f"{options.seeds - len(gains)} of {options.seeds} runs are not done.")
    return 1 if worse or better < BETTER_SHARE * options.seeds else 0


def is_done(folder: Path, seed: int) -> bool:
    """Return whether the run with a seed was played to its end."""
    workdir = _workdir(folder, seed)
    return (workdir / RUNS).is_dir() and isinstance(_journal(workdir)[-1], RunEnded)


def events_of(folder: Path, seed: int) -> list[Event]:
    """Return the events of the run with a seed, which is first played to its end if necessary."""
    workdir = _workdir(folder, seed)
    if is_done(folder, seed):
        return _journal(workdir)
    if (workdir / RUNS).is_dir():
        command = ["resume", str(find_run(workdir)), "--quiet"]
    else:
        # Seeds of the story's chance, an episode each; the model's own is another one in each run, too.
        first = (seed - 1) * EPISODES + 1
        command = ["run", "--workdir", str(workdir), "--seed", str(first), "--quiet"]
        command += ["--episodes", str(EPISODES), "--max-turns", str(TURNS)]
    # One thread each, for several wait for each other where others play, too.
    options = {"ZORKGPT_LLM__THREADS": "1", "ZORKGPT_AGENT_SAMPLING__SEED": str(seed)}
    environment = os.environ | options
    subprocess.run([sys.executable, "-m", "zorkgpt", *command], check=True, stdout=subprocess.DEVNULL, env=environment)
    return _journal(workdir)


def row_of(seed: int, events: Sequence[Event]) -> dict[str, str | float | None]:
    """Return the scores of a run's episodes, and what routes had to do with them."""
    scores = scores_of(events)
    led = [event.record for event in events if isinstance(event, TurnPlayed) and event.record.is_of_route]
    return {
        "seed": seed,
        **{f"episode {number}": score for number, score in enumerate(scores, start=1)},
        "mean of 3 to 5": statistics.fmean(scores[-LATER:]),
        "gain": gain(scores),
        "turns on routes": len(led),
        "points on routes": sum(record.score_change or 0 for record in led),
    }


def digest_of(run: Path) -> str:
    """Return the SHA-256 of a run's journal."""
    return sha256((run / JOURNAL_FILE).read_bytes()).hexdigest()


def setting_of(run: Path) -> str:
    """Return what a run was played with."""
    manifest = read_manifest(run)
    versions = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    return f"{manifest.model}, assisted by {', '.join(manifest.assistance)}; {versions}."


def scores_of(events: Sequence[Event]) -> list[int]:
    """Return the score at each episode's end. Raises ``ValueError`` if one is unknown."""
    ends = [event for event in events if isinstance(event, EpisodeEnded)]
    if any(event.score is None for event in ends):
        raise ValueError("the score at an episode's end is unknown; choose a story that shows its score")
    return [event.score for event in ends if event.score is not None]


def first_commands(events: Sequence[Event]) -> tuple[str, ...]:
    """Return the commands of a run's first episode."""
    records = [event.record for event in events if isinstance(event, TurnPlayed)]
    return tuple(record.action for record in records if record.episode == records[0].episode)


def gain(scores: Sequence[int]) -> float:
    """Return by how much the last episodes are better than the first."""
    return statistics.fmean(scores[-LATER:]) - scores[0]


def _workdir(folder: Path, seed: int) -> Path:
    return folder / f"seed-{seed}"


def _journal(workdir: Path) -> list[Event]:
    return [line.event for line in read_journal(find_run(workdir)) if line.event is not None]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Measures how long the page of a long run takes to write, including the repetition of the run, and its size.

    python -m benchmarks.report_page [TURNS]

Plays 1,000 turns, or TURNS, in episodes of 100: the walkthrough of Zork I in the folder ZORKGPT_STORIES, otherwise of
the packaged story, over and over, with a model that returns plausible answers for every role without delay. All
learning is switched on. Then it writes the page like ``zorkgpt report``. Temporary files only; no network. Exit
status 1: the page is too large.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.stories import walkthrough_of, zork_or_own
from benchmarks.tables import show
from benchmarks.turn_cost import play
from session.files.journal import JOURNAL_FILE
from session.files.run_folders import find_run
from session.game_configuration import GameConfiguration
from zorkgpt.report.pages import write_report

TURNS, OF_EPISODE = 1000, 100
MOST_SECONDS, MOST_MEGABYTES = 20.0, 10.0  # of a run of 1,000 turns


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def main(turns: int = TURNS) -> int:
    """Print the figures."""
    whole = walkthrough_of(zork_or_own())
    walkthrough = replace(whole, commands=whole.commands[:OF_EPISODE])
    with TemporaryDirectory() as workdir:
        configuration = GameConfiguration(
            zork_game_workdir=Path(workdir),
            game={"file": walkthrough.story, "seed": max(1, walkthrough.seed)},
            max_turns_per_episode=OF_EPISODE,
        )
        play(walkthrough, Path(workdir), episodes=turns // OF_EPISODE)
        folder, page = find_run(Path(workdir)), Path(workdir) / "report.html"
        start, used = perf_counter(), processor_seconds()
        said = write_report([folder], page, configuration)
        seconds, used = perf_counter() - start, processor_seconds() - used
        megabytes = page.stat().st_size / 1e6
        journal = (folder / JOURNAL_FILE).stat().st_size / 1e6
    bar = turns == TURNS
    rows = [
        ("seconds to write the page", seconds, MOST_SECONDS if bar else None),
        ("processor seconds of these", used, None),
        ("page, MB", megabytes, MOST_MEGABYTES if bar else None),
        ("journal, MB", journal, None),
        ("notes on what is missing", len(said) - 1, 0),
    ]
    show([{"figure": name, "value": value, "at most": most} for name, value, most in rows], f"{turns:,} turns")
    return int((bar and megabytes > MOST_MEGABYTES) or len(said) > 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))

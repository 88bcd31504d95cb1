"""Measures how long it takes to resume a run in the middle of an episode, and to replay one.

    python -m benchmarks.resume_time [STORY]

Plays a long episode of STORY (Zork I in the folder ZORKGPT_STORIES, otherwise the packaged story) with all learning
switched on, interrupts it at a turn, and resumes it up to the next model call. A second run shows valid actions,
which a resume does not search again. The replay rebuilds and compares every prompt. The model answers without delay.
Temporary files only; no network.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event as Flag

from benchmarks.stories import Walkthrough, walkthrough_of, zork_or_own
from benchmarks.tables import Row, show
from benchmarks.turn_cost import TOUR, Player, play
from orchestration.history import open_resumed_run
from orchestration.parts import open_story
from orchestration.recorded_configuration import recorded
from session.events import RunPaused, TurnPlayed
from session.files.journal import read_journal
from session.files.run_folders import find_run
from session.game_configuration import GameConfiguration
from zorkgpt.llm.run_model import ChosenModel
from zorkgpt.report.pages import repeat

STOPPED_AT = (220, 1764)
REPLAYED = 1200


def stopped_run(walkthrough: Walkthrough, folder: Path, turn: int, **options: object) -> bool:
    """Play an episode in that work folder and interrupt it after that turn; return false if the story ended before."""

    def is_there(event: object) -> bool:
        return isinstance(event, TurnPlayed) and event.record.turn == turn

    played = replace(walkthrough, commands=TOUR)
    play(played, folder, turns=turn + 1, episodes=1, stop=is_there, clock=time.perf_counter, **options)
    return any(isinstance(line.event, RunPaused) for line in read_journal(find_run(folder)))


def resume_seconds(folder: Path) -> float:
    """Resume the run of that work folder, and return the seconds until it would go on live."""
    run = find_run(folder)
    configuration = recorded(run, GameConfiguration())
    stop, end = Flag(), 0.0

    def repeated(done: int, turns: int) -> None:
        nonlocal end
        if done == turns:
            end = time.perf_counter()
            stop.set()

    start = time.perf_counter()
    with (
        open_story(configuration) as parts,
        open_resumed_run(
            configuration,
            replace(parts, model=ChosenModel(Player(TOUR), ("scripted",))),
            run,
            show=lambda _event: None,
            stop=stop,
            repeated=repeated,
        ) as resumed,
    ):
        resumed.play()
    return end - start


def replay_seconds(folder: Path) -> float:
    """Replay the run of that work folder, and return the seconds. Raises ``AssertionError`` if it differs."""
    start = time.perf_counter()
    replayed = repeat(find_run(folder), GameConfiguration())
    assert replayed.difference is None, replayed.difference
    return time.perf_counter() - start


def main() -> int:
    """Measure, and print the table."""
    walkthrough = walkthrough_of(Path(sys.argv[1]) if len(sys.argv) > 1 else zork_or_own())
    rows: list[Row] = []
    for label, options in (("", {}), (", valid actions shown", {"assist": ["valid-actions"]})):
        for turn in STOPPED_AT:
            for seed in count(max(1, walkthrough.seed)):  # some commands that would do something end the story
                with tempfile.TemporaryDirectory() as name:
                    if stopped_run(replace(walkthrough, seed=seed), Path(name), turn, **options):
                        rows.append({"what": f"resume at turn {turn:,}{label}", "seconds": resume_seconds(Path(name))})
                        break
    with tempfile.TemporaryDirectory() as name:
        stopped_run(walkthrough, Path(name), REPLAYED)
        rows.append({"what": f"replay of {REPLAYED:,} turns", "seconds": replay_seconds(Path(name))})
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs that an earlier version of the program recorded, which read less from memory or judged otherwise."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from session.events import TurnPlayed
from session.files.journal import read_journal
from session.files.run_folders import CHECKPOINTS, find_run
from tests.episodes.test_episode_ends import INTO_THE_MUD, player_of
from tests.fixtures.doomed_run import STORY
from tests.fixtures.prompted_run import actions_of, play_prompted
from tests.fixtures.rewritten_journal import rewrite, tamper
from tests.fixtures.whole_run import play_run


def test_a_run_of_a_version_that_saw_fewer_things_is_repeated_from_its_commands(tmp_path: Path) -> None:
    play_prompted(STORY, tmp_path, turns=4, episodes=1)
    run = find_run(tmp_path)
    shutil.rmtree(run / CHECKPOINTS)

    def sees_nothing(entry: dict[str, Any]) -> dict[str, Any]:
        for seen in (entry["event"].get("opening"), entry["event"].get("record", {}).get("after")):
            if seen:
                seen["visible"] = []
        return entry

    rewrite(run, sees_nothing)
    repeated = actions_of(STORY, tmp_path)
    assert (repeated.turns, repeated.difference) == (4, None)


def test_a_run_of_a_version_that_called_a_lost_game_something_else_is_repeated_from_its_commands(
    tmp_path: Path,
) -> None:
    play_run(STORY, player_of(INTO_THE_MUD), tmp_path)
    run = find_run(tmp_path)
    last = [line.seq for line in read_journal(run) if isinstance(line.event, TurnPlayed)][-1]
    tamper(run, last, lambda event: event["record"]["after"].update(died=False))
    assert actions_of(STORY, tmp_path).difference is None

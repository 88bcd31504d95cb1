"""A run that is killed, wherever, and resumed leaves what a run leaves that was never stopped."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from session.events import RunEnded
from session.files.run_folders import find_run
from tests.fixtures.doomed_run import STORY, effects_of_a_run, go_on, killed
from tests.fixtures.run_traces import files_of, journal_of
from tests.fixtures.whole_run import verify_run

if TYPE_CHECKING:
    from pathlib import Path

FEW, MANY = 3, 100


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The work folder of a run that nobody stopped, and how many points it has at which it could be killed."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    return folder, effects_of_a_run(folder)


def survives(folder: Path, uninterrupted: tuple[Path, int], seed: int) -> None:
    chance = random.Random(seed)
    whole, effects = uninterrupted
    kill_at = chance.randint(2, effects)
    assert killed(folder, kill_at=kill_at)
    if list((folder / "runs").glob("*/manifest.json")):
        while chance.random() < 0.3 and not has_ended(folder):
            killed(folder, kill_at=chance.randint(1, effects // 4), resumes=True)
        if not has_ended(folder):
            tear(folder, chance)
            go_on(folder)
        assert journal_of(folder) == journal_of(whole), f"killed before effect {kill_at}"
        assert files_of(folder) == files_of(whole), f"killed before effect {kill_at}"


def has_ended(folder: Path) -> bool:
    """The run was killed after it had told of its end."""
    events = journal_of(folder)
    return bool(events) and isinstance(events[-1], RunEnded)


def tear(folder: Path, chance: random.Random) -> None:
    """As a power cut may do it, the journal ends in what was meant to be a line."""
    with (find_run(folder) / "journal.jsonl").open("ab") as journal:
        journal.write(chance.choice([b"", b'{"v": 2, "seq": 99', b"\0" * 512]))


@pytest.mark.parametrize("seed", range(FEW))
def test_a_killed_run_that_is_resumed_equals_one_that_was_never_stopped(
    tmp_path: Path, uninterrupted: tuple[Path, int], seed: int
) -> None:
    survives(tmp_path, uninterrupted, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FEW, FEW + MANY))
def test_a_hundred_killed_runs_equal_one_that_was_never_stopped(
    tmp_path: Path, uninterrupted: tuple[Path, int], seed: int
) -> None:
    survives(tmp_path, uninterrupted, seed)


def test_a_resumed_run_can_be_replayed(tmp_path: Path, uninterrupted: tuple[Path, int]) -> None:
    assert killed(tmp_path, kill_at=uninterrupted[1] // 2)
    go_on(tmp_path)
    replayed = verify_run(STORY, tmp_path)
    assert replayed.difference is None
    assert replayed.is_whole

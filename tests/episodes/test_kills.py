"""A run that is killed, wherever, and resumed leaves what a run leaves that was never stopped."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from session.events import RunEnded
from session.files.run_folders import find_run
from tests.fixtures.doomed_run import STORY, Effects, effects_of_a_run, go_on, killed
from tests.fixtures.run_traces import files_of, journal_of
from tests.fixtures.whole_run import verify_run

FEW, CUTS = 3, 50
KILLS = {"anywhere": 90, "on a route": 40, "at the end of an episode": 20, "while it resumes": 20}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Effects]:
    """The work folder of a run without a stop, and the points at which it could be killed."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    effects = effects_of_a_run(folder)
    assert len(effects.ends) > 20
    assert len(effects.on_routes) > 3
    return folder, effects


def survives(
    folder: Path, uninterrupted: tuple[Path, Effects], seed: int, *, where: str = "anywhere", disks: Path | None = None
) -> None:
    """A run is killed and resumed; if there is a folder for ``disks``, what was not forced to the disk is lost."""
    chance = random.Random(f"{where} {seed}")
    whole, (effects, ends, on_routes) = uninterrupted
    places = {"on a route": on_routes, "at the end of an episode": ends}.get(where, range(2, effects + 1))
    kill_at = chance.choice(places)
    was_killed = killed(folder, kill_at=kill_at, disk=new_disk(disks))
    assert was_killed or has_ended(folder)  # a faster run shows less often how it stands, and so has fewer effects
    if list((folder / "runs").glob("*/manifest.json")):
        if where == "while it resumes" and not has_ended(folder):
            assert killed(folder, kill_at=chance.randint(1, 6), resumes=True)
        while chance.random() < 0.3 and not has_ended(folder):
            killed(folder, kill_at=chance.randint(1, effects // 4), resumes=True, disk=new_disk(disks))
        if not has_ended(folder):
            tear(folder, chance)
            go_on(folder)
        assert journal_of(folder) == journal_of(whole), f"killed before effect {kill_at}"
        assert files_of(folder) == files_of(whole), f"killed before effect {kill_at}"


def new_disk(disks: Path | None) -> Path | None:
    if disks is None:
        return None
    disk = disks / str(len(list(disks.iterdir())))
    disk.mkdir()
    return disk


def has_ended(folder: Path) -> bool:
    """Whether the run was killed after it had reported its end."""
    events = journal_of(folder)
    return bool(events) and isinstance(events[-1], RunEnded)


def tear(folder: Path, chance: random.Random) -> None:
    """As a power cut may do it, the journal ends in what was meant to be a line."""
    with (find_run(folder) / "journal.jsonl").open("ab") as journal:
        journal.write(chance.choice([b"", b'{"v": 4, "seq": 99', b"\0" * 512]))


@pytest.mark.parametrize("seed", range(FEW))
def test_a_killed_run_that_is_resumed_equals_one_that_was_never_stopped(
    tmp_path: Path, uninterrupted: tuple[Path, Effects], seed: int
) -> None:
    survives(tmp_path, uninterrupted, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("where", "seed"), [(where, seed) for where, many in KILLS.items() for seed in range(many)])
def test_many_killed_runs_equal_one_that_was_never_stopped(
    tmp_path: Path, uninterrupted: tuple[Path, Effects], where: str, seed: int
) -> None:
    survives(tmp_path, uninterrupted, seed, where=where)


@pytest.mark.parametrize("seed", range(FEW))
def test_after_a_power_cut_a_run_is_resumed_as_if_it_had_never_stopped(
    tmp_path_factory: pytest.TempPathFactory, uninterrupted: tuple[Path, Effects], seed: int
) -> None:
    survives(tmp_path_factory.mktemp("work"), uninterrupted, seed, disks=tmp_path_factory.mktemp("disks"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FEW, FEW + CUTS))
def test_after_fifty_power_cuts_runs_are_resumed_as_if_they_had_never_stopped(
    tmp_path_factory: pytest.TempPathFactory, uninterrupted: tuple[Path, Effects], seed: int
) -> None:
    survives(tmp_path_factory.mktemp("work"), uninterrupted, seed, disks=tmp_path_factory.mktemp("disks"))


def test_a_run_that_was_cut_off_while_it_was_made_outlives_a_second_power_cut(
    tmp_path_factory: pytest.TempPathFactory, uninterrupted: tuple[Path, Effects]
) -> None:
    folder, disks = tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("disks")
    assert killed(folder, kill_at=uninterrupted[1].total // 8)
    run = find_run(folder)
    for made_later in ("start", "checkpoints"):
        shutil.rmtree(run / made_later, ignore_errors=True)
    (run / "journal.jsonl").write_bytes(b"")
    for path in folder.iterdir():
        if path.is_file() and path.name != "episodes.json":
            path.unlink()
    assert killed(folder, kill_at=uninterrupted[1].total // 4, resumes=True, disk=new_disk(disks))
    assert journal_of(folder)
    go_on(folder)
    assert journal_of(folder) == journal_of(uninterrupted[0])
    assert files_of(folder) == files_of(uninterrupted[0])


def test_a_resumed_run_can_be_replayed(tmp_path: Path, uninterrupted: tuple[Path, Effects]) -> None:
    assert killed(tmp_path, kill_at=uninterrupted[1].total // 2)
    go_on(tmp_path)
    replayed = verify_run(STORY, tmp_path)
    assert replayed.difference is None
    assert replayed.is_whole

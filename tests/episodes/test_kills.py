"""A run that is killed, wherever, and resumed leaves what a run leaves that was never stopped."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from threading import Event as Flag

import pytest

from managers.memory.document import Revision, open_memories
from managers.simple_memory_manager import NEWS_FILE
from orchestration.history import open_resumed_run
from orchestration.recorded_configuration import continued, recorded
from session.errors import ConfigurationError, LanguageModelUnavailable
from session.events import Event, RunEnded, RunPaused
from session.files.run_folders import find_run
from session.files.shared_files import CURRENT_STATE_FILE
from session.game_configuration import GameConfiguration
from session.memory import Memory
from session.values import ROLES
from tests.fixtures.doomed_run import Effects, effects_of_a_run, go_on, killed
from tests.fixtures.prompted_run import Before, play_prompted, prompted, resume_with
from tests.fixtures.run_traces import files_of, journal_of
from tests.fixtures.whole_run import newest_run, parts_of, verify_run

KILLS = {"anywhere": 90, "on a route": 40, "at the end of an episode": 20, "while it resumes": 20}
MANY_KILLS = [
    pytest.param(where, seed, marks=pytest.mark.slow) for where, many in KILLS.items() for seed in range(1, many + 1)
]
MANY_CUTS = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 51)]


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


@pytest.mark.parametrize(("where", "seed"), [("anywhere", 0), *MANY_KILLS])
def test_a_killed_run_that_is_resumed_equals_one_that_was_never_stopped(
    tmp_path: Path, uninterrupted: tuple[Path, Effects], where: str, seed: int
) -> None:
    survives(tmp_path, uninterrupted, seed, where=where)


@pytest.mark.parametrize("seed", [0, *MANY_CUTS])
def test_after_a_power_cut_a_run_is_resumed_as_if_it_had_never_stopped(
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


TURNS = 12
ONCE = {"mode": "object_tree", "max_rejections": 0}


def stop() -> None:
    raise LanguageModelUnavailable("gone for now")


def add_by_hand(folder: Path, title: str, location_id: int = 32) -> None:
    memory = Memory("NOTE", title, 0, "", None, "Written by somebody.", "permanent")
    assert open_memories(folder / "Memories.md").apply(Revision(location_id, "Somewhere", memory).apply_to)


def stopped(story: Path, folder: Path, at: int) -> None:
    """A run that was paused in turn ``at``. No critic rejects proposals, so the agent is called once a turn."""
    assert play_prompted(story, folder, turns=TURNS, model=prompted(Before({at: stop})), critic=ONCE).end == "paused"


def test_a_memory_added_before_the_first_commit_is_part_of_how_the_run_begins(own_story: Path, tmp_path: Path) -> None:
    stopped(own_story, tmp_path, at=1)
    add_by_hand(tmp_path, "By hand")
    assert resume_with(own_story, tmp_path).end == "done"
    assert verify_run(own_story, tmp_path).difference is None


def test_a_pause_before_all_is_repeated_leaves_the_rest_to_be_repeated(own_story: Path, tmp_path: Path) -> None:
    stopped(own_story, tmp_path, at=6)
    before, (run, configuration, _) = journal_of(tmp_path), newest_run(tmp_path)
    stop, shown = Flag(), list[Event]()

    present = (tmp_path / CURRENT_STATE_FILE).read_text()
    assert '"turn": 5,' in present

    def interrupt(done: int, _all: int) -> None:
        assert (tmp_path / CURRENT_STATE_FILE).read_text() == present
        if done == 2:
            stop.set()

    with (
        parts_of(own_story, prompted(), 1) as parts,
        open_resumed_run(configuration, parts, run, show=shown.append, stop=stop, repeated=interrupt) as resumed,
    ):
        assert resumed.play() == "interrupted"
    assert [type(event) for event in shown] == [RunPaused]
    assert journal_of(tmp_path) == before
    assert (tmp_path / CURRENT_STATE_FILE).read_text() == present
    assert resume_with(own_story, tmp_path).end == "done"
    assert verify_run(own_story, tmp_path).difference is None


def test_a_run_folder_outside_of_a_work_folder_is_not_played_in(own_story: Path, tmp_path: Path) -> None:
    stopped(own_story, tmp_path / "work", at=3)
    copied = tmp_path / "elsewhere" / "copied"
    shutil.copytree(find_run(tmp_path / "work"), copied)
    with pytest.raises(ConfigurationError, match="is not in a work folder"):
        recorded(copied, GameConfiguration())


def test_a_run_of_the_embedded_model_goes_on_with_it_though_a_key_has_been_set_since(
    own_story: Path, tmp_path: Path
) -> None:
    stopped(own_story, tmp_path, at=3)
    run = find_run(tmp_path)
    now = GameConfiguration(llm={"api_key": "sk-for-another-day", "base_url": "http://localhost:9/v1"})
    then = continued(run, now)
    assert {then.role(role).engine for role in ROLES} == {"embedded"}


def test_a_role_with_a_server_of_its_own_goes_on_with_its_own_key(own_story: Path, tmp_path: Path) -> None:
    there = {"base_url": "http://localhost:8/v1", "critic": {"base_url": "http://localhost:9/v1"}}
    play_prompted(own_story, tmp_path, turns=1, llm=there)
    run = find_run(tmp_path)
    now = GameConfiguration(llm={"api_key": "sk-of-all", "critic": {"api_key": "sk-of-the-critic"}})
    then = continued(run, now)
    keys = {role: key.get_secret_value() for role in ROLES if (key := then.role(role).api_key)}
    assert keys == {role: "sk-of-the-critic" if role == "critic" else "sk-of-all" for role in ROLES}


def test_what_another_run_was_asked_about_meanwhile_stays_news_to_a_run_that_is_resumed(
    own_story: Path, tmp_path: Path
) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "stopped"
    assert play_prompted(own_story, whole, turns=TURNS, critic=ONCE).end == "done"
    stopped(own_story, folder, at=4)
    with (folder / NEWS_FILE).open("ab") as news:
        news.write((whole / NEWS_FILE).read_bytes())
    assert resume_with(own_story, folder).end == "done"
    assert verify_run(own_story, folder).difference is None

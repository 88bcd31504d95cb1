"""``zorkgpt status``: a table of the managers, JSON, or one line if no run was played."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import structlog

from managers.base_manager import BaseManager
from managers.circling import CirclingDetector
from managers.map_manager import MapManager
from managers.state_manager import StateManager
from session.events import RunEnded, RunPaused
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Location, Observation
from tests.fixtures.typed_command import printed, refused
from tests.unit.zorkgpt.report.dye_runs import played as turn_played
from tests.unit.zorkgpt.report.dye_runs import started, turn, write_run

RUN = "20260131-184500-1a2b"
run = partial(printed, "status")


@pytest.fixture(autouse=True)
def workdir(in_own_folder: Path) -> Path:
    return in_own_folder / "game_files"


def played(workdir: Path, name: str = "Blue Vats", run: str = RUN) -> None:
    """A run's seventh turn was played in the folder."""
    workdir.mkdir()
    parts = (structlog.get_logger(), GameConfiguration(zork_game_workdir=workdir), GameState(3, turn_count=7))
    parts[-1].begin(Observation("", Location(31, name), score=5))
    managers: list[BaseManager] = [MapManager(*parts), CirclingDetector(*parts)]
    manager = StateManager(*parts, run=run, managers=lambda: managers)
    managers.append(manager)
    manager.export_current_state()


def test_it_is_one_table_of_all_managers_under_the_present_moment_of_the_folder_that_is_named(tmp_path: Path) -> None:
    other = tmp_path / "other"
    played(other, "Blue \x1b[2J Vats")
    folder, heading, blank, *rows = run("--verbose", "--workdir", str(other)).splitlines()
    assert folder == f"in {other}"
    assert heading.startswith("Episode 3, turn 7 at Blue \\x1b[2J Vats, score 5; written 20")
    assert blank == ""
    assert [row.split()[0] for row in rows if not row.startswith(" ")] == ["map", "circling", "state"]
    cells = [row.split() for row in rows]
    assert ["location", "id", "31"] in cells
    assert ["circling", "text", "-"] in cells
    assert ["turns", "without", "score", "0"] in cells
    as_json = json.loads(run("--json", "--workdir", str(other)))
    assert as_json == json.loads((other / "current_state.json").read_text())
    assert not GameConfiguration().zork_game_workdir.exists()


def test_it_says_which_run_it_speaks_of_and_whether_that_can_go_on(workdir: Path) -> None:
    played(workdir)
    write_run(workdir, [RunPaused("max-tokens 3000 reached", episode=1, turns=2)], RUN)
    assert run().splitlines()[:2] == [
        f"run {RUN}, in game_files",
        f"The run is paused: max-tokens 3000 reached; zorkgpt resume game_files/runs/{RUN} continues it.",
    ]


@pytest.mark.parametrize(("player", "way"), [("function", "zorkgpt.api.resume"), ("client", "mcp"), ("person", "")])
def test_a_run_of_a_program_names_what_continues_it(workdir: Path, player: str, way: str) -> None:
    played(workdir)
    write_run(workdir, [RunPaused("interrupted", episode=1, turns=2)], RUN, configuration={"agent": {"player": player}})
    state = " ".join(run().split())
    assert way in state
    assert ("--model M" in state) == bool(way)


def test_the_moment_of_an_earlier_run_is_not_printed_as_that_of_the_latest(workdir: Path) -> None:
    played(workdir, run="20260130-120000-9f8e")
    write_run(workdir, [started()], RUN)
    heading, state = run().splitlines()
    assert heading == f"run {RUN}, in game_files"
    assert state.startswith("The run is killed")


def test_it_tells_the_score_of_the_storys_maximum_and_what_the_run_learned_last(workdir: Path) -> None:
    played(workdir)
    scored = turn(7, "dip", episode=3, score=5)
    folder = write_run(workdir, [started(3), turn_played(scored), RunEnded(1)], RUN)
    (folder / "start").mkdir()
    old = "## Location 31: Blue Vats\n**[NOTE - PERMANENT] Old** *(Ep1, T2)*\nKnown.\n"
    (folder / "start" / "Memories.md").write_text(old)
    new = [f"\n**[NOTE - PERMANENT] New {number}** *(Ep3, T{number})*\nIt is so.\n" for number in range(1, 6)]
    (workdir / "Memories.md").write_text(old + "".join(new))
    _, state, moment, *learned = run().splitlines()
    assert state == "The run is done."
    assert moment.startswith("Episode 3, turn 7 at Blue Vats, score 5 of 50; written 20")
    assert learned == [
        *(f"  learned at Blue Vats: New {number}" for number in (5, 4, 3)),
        "  and 2 more memories in this run",
    ]


def test_locations_of_one_name_have_their_numbers(workdir: Path) -> None:
    played(workdir)
    (write_run(workdir, [started(3)], RUN) / "start").mkdir()
    (workdir / "runs" / RUN / "start" / "Memories.md").touch()
    mazes = [f"## Location {number}: Maze\n**[NOTE] Exit** *(Ep3, T{number})*\nEast.\n" for number in (31, 32)]
    (workdir / "Memories.md").write_text("".join(mazes))
    assert run().splitlines()[-2:] == ["  learned at L32 Maze: Exit", "  learned at L31 Maze: Exit"]


def test_where_nothing_was_played_it_says_so_in_a_line() -> None:
    assert run() == "Nothing has been played in game_files yet; zorkgpt run plays.\n"
    assert run("--json") == "null\n"


@pytest.mark.parametrize("content", [b"{", b"\xff", b'{"episode": 1}', None])
def test_a_file_that_is_no_state_or_cannot_be_read_is_an_error_in_a_line(workdir: Path, content: bytes | None) -> None:
    workdir.mkdir()
    file = workdir / "current_state.json"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    assert str(file.relative_to(workdir.parent)) in refused(1, "status")

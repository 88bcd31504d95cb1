"""``zorkgpt routes``, and a script of commands played by ``zorkgpt replay``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from managers.route_manager import open_routes
from managers.routes.document import RouteBook
from session.route import Goal, Route, RouteStep, Waypoint
from tests.fixtures.command_line import Ran
from tests.fixtures.typed_command import typed

YARD, HALL = Waypoint(1, "Yard", 0, ()), Waypoint(2, "Hall", 5, ())
SCORE = Route(0, Goal("score", 5), YARD, (RouteStep("up", YARD), RouteStep("north", HALL)), 1)
ROOM = Route(0, Goal("room", 2, "Hall"), YARD, (RouteStep("north", HALL),), 1)


@pytest.fixture(autouse=True)
def folder(in_own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work folder with two routes, as the current one."""
    open_routes(in_own_folder).apply(lambda book: book.with_episode(RouteBook(routes=(SCORE, ROOM)), (2,)))
    monkeypatch.setenv("ZORKGPT_ZORK_GAME_WORKDIR", str(in_own_folder))
    return in_own_folder


def output(*arguments: str) -> str:
    ran = typed(*arguments)
    assert ran.status == 0, ran
    return ran.out.decode()


def test_every_route_has_a_line_with_all_its_commands(folder: Path) -> None:
    assert output("routes", "show") == (
        f"Routes, {folder}/routes.json:\n"
        "1: +5 in 2 turns, worked in 1 of 1 episode: 1. up, 2. north (+5)\n"
        "2: to Hall, +5 in 1 turn, worked in 1 of 1 episode: 1. north (+5)\n"
    )
    long = Route(0, Goal("score", 9), YARD, (RouteStep("wait", HALL),) * 20, 1)
    open_routes(folder).apply(lambda book: book.with_episode(RouteBook(routes=(long,)), (2,)))
    assert f": 1. wait (+5), {', '.join(f'{number}. wait' for number in range(2, 21))}\n" in output("routes", "show")


def test_a_route_that_was_followed_from_a_later_command_on_has_these_episodes_as_well(folder: Path) -> None:
    open_routes(folder).apply(lambda book: replace(book, routes=(SCORE.with_try(1, worked=True),)))
    assert output("routes", "show").endswith("2. north (+5); from command 2 on it worked in 1 of 1 episode\n")


def test_one_route_has_a_line_for_each_command() -> None:
    assert output("routes", "show", "1").splitlines()[1:] == [
        "   (opening)  Yard",
        "1  up         Yard  score 0",
        "2  north      Hall  score 5",
    ]
    (shown,) = json.loads(output("routes", "show", "2", "--json"))
    assert [step["command"] for step in shown["steps"]] == ["north"]


def test_a_removed_route_is_gone_and_what_there_was_is_in_the_backup(folder: Path) -> None:
    assert output("routes", "remove", "1") == f"Route 1 is removed from {folder / 'routes.json'}.\n"
    assert [route.number for route in open_routes(folder).document.routes] == [2]
    assert '"number": 1' in (folder / "routes.json.backup").read_text()


@pytest.mark.parametrize("command", ["show", "remove", "export"])
def test_a_route_that_there_is_not_is_an_error_that_names_the_others(folder: Path, command: str) -> None:
    ran = typed("routes", command, "7")
    assert ran == Ran(2, b"", f"zorkgpt: there is no route 7 in {folder / 'routes.json'}; it has 1, 2\n".encode())


def test_a_broken_file_is_an_error_in_a_line_and_stays_and_without_one_no_route_is_known(folder: Path) -> None:
    file = folder / "routes.json"
    file.write_text('{"version": 1, "routes": [{"number": 1}]}')
    ran = typed("routes", "remove", "1")
    assert (ran.status, len(ran.lines)) == (1, 1)
    assert "contains no routes that this version reads (routes.0.goal" in ran.lines[0]
    assert file.read_text() == '{"version": 1, "routes": [{"number": 1}]}'
    file.unlink()
    assert output("routes", "show") == f"No route is known in {file}.\n"


def test_an_exported_route_is_played(own_story: Path) -> None:
    assert output("routes", "export", "1") == "# Route 1: +5 in 2 commands\nup\nnorth\n"
    assert output("routes", "export", "1", "--to", "way.txt") == "Route 1 is written to way.txt.\n"
    shown = output("replay", "--from-actions", "way.txt", "--game", str(own_story)).splitlines()
    assert [line for line in shown if line.startswith("> ")] == ["> up", "> north"]
    assert shown[-1] == "2 commands played: it ends at Forecourt, score 0"


def test_what_is_no_text_is_no_script(own_story: Path) -> None:
    ran = typed("replay", "--from-actions", str(own_story))
    assert ran.status == 2
    assert ran.err.startswith(f"zorkgpt: {own_story} is not a script of commands: ".encode())


def test_a_script_without_a_command_tests_nothing_and_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "way.txt"
    for text in ("", "# Nothing yet.\n\n"):
        script.write_text(text)
        assert typed("replay", "--from-actions", str(script)).status == 2

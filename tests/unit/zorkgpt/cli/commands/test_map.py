"""``zorkgpt map`` as typed."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.fixtures.command_line import environment, ran_on_a_terminal
from tests.fixtures.typed_command import typed
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.played_run import CurrentLocation, CurrentState

DRAWN = """\
in game_files: 4 rooms

┌────────────────┐    ┌────────────────┐    ┌────────────────┐
│Drying Loft     │────│Dye \\x1b[2JWorks│    │Roof            │
└────────────────┘    └────────────────┘    └────────────────┘
         │
┌────────────────┐
│Blue Vats       │
└────────────────┘

Other ways:
  Drying Loft > Roof: climb

Untried:
  Blue Vats: west
"""


@pytest.fixture(autouse=True)
def workdir(in_own_folder: Path) -> Path:
    """A work folder with a map of four rooms, one of which has a name with codes that clear the screen."""
    graph = MapGraph()
    for number, name in {31: "Blue Vats", 44: "Drying Loft", 45: "Dye \x1b[2JWorks", 46: "Roof"}.items():
        graph.add_room(number, name)
    graph.add_connection(31, "north", 44)
    graph.add_connection(44, "east", 45)
    graph.add_connection(44, "climb", 46)
    graph.add_exits(31, ("west",))
    folder = in_own_folder / "game_files"
    folder.mkdir()
    graph.save_to_json(folder / "map_state.json")
    return folder


def test_the_map_is_drawn_with_what_no_line_can_show_below() -> None:
    assert typed("map").text == DRAWN


def test_a_room_that_the_saved_map_does_not_have_yet_is_named(workdir: Path) -> None:
    now = CurrentState(
        timestamp="", episode=1, turn=16, location=CurrentLocation(id=50, name="Cellar"), score=5, managers={}
    )
    (workdir / "current_state.json").write_text(now.model_dump_json())
    assert (
        typed("map").text
        == f"{DRAWN}\nThe player is at Cellar, which is not on the map yet: it is saved every 10 turns.\n"
    )


def test_a_state_that_cannot_be_read_leaves_the_map_without_the_player(
    workdir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (workdir / "current_state.json").write_text("{")
    shown = typed("map")
    assert (shown.status, shown.out.decode()) == (0, DRAWN)
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("zorkgpt: game_files/current_state.json is not a state file of this version (")


def test_rooms_of_one_name_are_told_apart_by_their_numbers(workdir: Path) -> None:
    graph = MapGraph()
    graph.add_connection(7, "north", 8)
    graph.add_connection(8, "up", 7)
    for number in (7, 8):
        graph.add_room(number, "Maze")
    graph.save_to_json(workdir / "map_state.json")
    shown = typed("map").text
    assert "│L7 Maze         │" in shown
    assert "  L8 Maze > L7 Maze: up\n" in shown
    assert typed("map", "--to", "map.svg").status == 0
    assert "L8 Maze" in (workdir.parent / "map.svg").read_text()


def test_mermaid_is_printed_alone_and_other_formats_go_to_files_by_their_endings(tmp_path: Path) -> None:
    assert typed("map", "--format", "mermaid").text.startswith("graph TD\n")
    shown = typed("map", "--format", "svg", "--to", "map.svg")
    assert (shown.status, shown.out) == (0, b"The map of 4 rooms is written to map.svg.\n")
    texts = "".join(ET.parse(tmp_path / "map.svg").getroot().itertext())
    assert "Roof" in texts
    assert "climb > Roof" in texts  # another room lies between: no line could be told from two
    for name, beginning in {"m.svg": b"<?xml", "m.png": b"\x89PNG", "m.mmd": b"graph TD", "m.txt": b"\xe2"}.items():
        assert typed("map", "--to", name).status == 0
        assert (tmp_path / name).read_bytes().lstrip().startswith(beginning)


def test_of_a_broken_entry_the_rest_is_drawn_and_a_broken_file_is_one_line_and_both_stay_as_they_are(
    workdir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = workdir / "map_state.json"
    path.write_text(path.read_text().replace('"rooms": {', '"rooms": {"3": "Attic", '))
    assert typed("map").text == DRAWN
    assert "map_state.json: rooms.3 is left out: " in capfd.readouterr().err
    path.write_text("{")
    shown = typed("map")
    assert (shown.status, len(shown.lines)) == (1, 1)
    assert "map_state.json holds no map (the file: " in shown.lines[0]
    assert list(workdir.iterdir()) == [path]
    assert path.read_text() == "{"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--format", "png"), "name a file for it with --to FILE"),
        (("--format", "text", "--to", "m.svg"), "--format text does not fit the file m.svg, whose ending means svg"),
        (("--format", "svg", "--to", "m.PNG"), "--format svg does not fit the file m.PNG, whose ending means png"),
        (("--to", "m.gif"), "m.gif: the ending .gif is not a format of a map; use .txt, .mmd, .svg or .png"),
        (("--to", "nowhere/map.txt"), "cannot write nowhere/map.txt: No such file"),
        (("--game", "moor"), "has no run of this story"),
    ],
)
def test_what_cannot_be_done_is_one_line(workdir: Path, arguments: tuple[str, ...], words: str) -> None:
    (workdir / "story.json").write_text('{"name": "vats", "sha256": ""}')
    shown = typed("map", *arguments)
    assert shown.status != 0
    assert words in shown.err.decode()


def test_on_a_terminal_that_is_too_narrow_each_room_is_a_line_and_without_a_map_it_says_so(tmp_path: Path) -> None:
    narrow = ran_on_a_terminal(tmp_path, "map", env=environment(COLUMNS="50")).text
    assert "The drawing is wider than this terminal" in narrow
    assert "Drying Loft: east > Dye \\x1b[2JWorks; climb > Roof" in narrow
    assert "┌" in ran_on_a_terminal(tmp_path, "map", env=environment(COLUMNS="70")).text
    (tmp_path / "game_files" / "map_state.json").unlink()
    assert typed("map").out == b"Nothing is on the map in game_files yet.\n"

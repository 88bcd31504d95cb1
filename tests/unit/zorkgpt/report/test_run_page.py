"""The content of a run's page: everything recorded, at its turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from managers.known import Item
from session.events import Event, FileEdited, GameFailed, RunMoment, RunPaused
from session.game_configuration import GameConfiguration
from session.knowledge import Source
from session.values import GameObject, Observation
from tests.fixtures.run_events import answered
from tests.unit.zorkgpt.mapping.graphs import graph_of
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, VATS, ended, played, started, turn, write_run
from zorkgpt.llm.run_model import PLAYING_ROLES
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.pages import RunPage
from zorkgpt.report.played_run import read_run
from zorkgpt.report.repetition import ItemChange, Repetition
from zorkgpt.report.run_page import PageRun, page_of_run

MORDANT = GameObject(7, "mordant")
UP = turn(1, "up", location=LOFT, score=5)
FALL = turn(2, "jump", UP.after, location=VATS, died=True, ending="lost")


def page(workdir: Path, *events: Event, graph: MapGraph | None = None) -> PageRun:
    return page_of_run(read_run(write_run(workdir, events)), Repetition(), map_at_end=graph)


def events_by_turn(workdir: Path, *events: Event) -> list[tuple[int, list[Event]]]:
    return [(each.turn, [event.event for event in each.events]) for each in page(workdir, *events).turns]


def test_events_are_at_the_turn_that_they_led_to_or_came_of(tmp_path: Path) -> None:
    asked, learned = ([answered(role=role) for role in roles] for roles in (PLAYING_ROLES, ("memory", "analysis")))
    before: list[Event] = [GameFailed("xyzzy", "it hung"), *asked]
    taught: list[Event] = [*learned, FileEdited("Memories.md", "")]
    again = answered(role="agent", prompt=10)
    story = (started(), *before, played(UP), *taught, again, played(FALL), ended(end="lost"))
    told = events_by_turn(tmp_path, *story)
    assert [(number, [event.kind for event in events]) for number, events in told] == [
        (0, ["episode_started"]),
        (1, [*(event.kind for event in before), "turn_played", *(event.kind for event in taught)]),
        (2, ["model_answered", "turn_played", "episode_ended"]),
    ]


def test_a_change_has_the_turns_that_its_item_did_not_cite_before(tmp_path: Path) -> None:
    item = Item("k:1", "knowledge", "DANGERS", "Fumes kill.")
    old, new = (replace(item, sources=tuple(Source(each, 1, 2) for each in range(1, end))) for end in (4, 6))
    repeated = Repetition()
    repeated.changes[RunMoment(1, 1)] = [ItemChange("k:1", None, old), ItemChange("k:1", old, new)]
    run = page_of_run(read_run(write_run(tmp_path, [started(), played(UP), ended()])), repeated)
    born, confirmed = run.turns[1].changes
    assert born.after == old
    only_new = replace(new, sources=(Source(4, 1, 2), Source(5, 1, 2)))
    assert confirmed == ItemChange("k:1", replace(old, sources=()), only_new)


def test_what_was_asked_for_a_turn_that_was_never_played_is_shown(tmp_path: Path) -> None:
    paused, call = RunPaused("no server", 1, 1), answered()
    told = events_by_turn(tmp_path, started(), played(UP), call, paused)
    assert [number for number, _ in told] == [0, 1, 2]
    assert (told[1][1][1], told[2][1]) == (paused, [call])


def test_what_a_page_does_not_show_is_left_out(tmp_path: Path) -> None:
    tree = replace(UP, after=replace(UP.after, parents=(0, 1)))
    opening, turn_one = events_by_turn(
        tmp_path, started(opening=replace(SEEN, parents=(0, 1))), played(tree, 2.5), FileEdited("Memories.md", "text")
    )
    assert opening[1] == [started()]
    assert turn_one[1] == [played(replace(UP, before=Observation("")), 2.5), FileEdited("Memories.md", "")]


def test_what_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    run = page(tmp_path, started(), answered(), played(UP))
    call = run.turns[1].events[0]
    assert (call.prompt, run.prompts, run.learned_known, run.map) == (None, "none", False, None)
    assert page(tmp_path / "other", answered()).turns == ()


def test_a_page_has_no_path_of_the_computer_that_the_run_was_played_on(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [started()], story_path="/home/somebody/dyeworks.z5")
    figures = page_of_run(read_run(folder), Repetition()).figures
    assert (str(figures.run.folder), figures.manifest.story_path) == (folder.name, "dyeworks.z5")


def test_the_map_has_cells_ways_exits_that_lead_nowhere_known_and_names_that_differ(tmp_path: Path) -> None:
    graph = graph_of((31, "north", 44), (44, "north", 99), (31, "climb", 99))
    for number, name in ((31, "Maze"), (44, "Hall"), (99, "Maze")):
        graph.add_room(number, name)
    graph.add_exits(31, ("west", "down"))
    graph.record_refusal(31, "west", "A wall.")
    drawn = page(tmp_path, started(), played(UP), graph=graph).map
    assert drawn is not None
    rooms = {room.id: (room.name, room.x, room.y) for room in drawn.rooms}
    assert rooms == {31: ("L31 Maze", 0, 2), 44: ("Hall", 0, 1), 99: ("L99 Maze", 0, 0)}
    (first,) = [room for room in drawn.rooms if room.id == 31]
    assert (first.untried, first.refused) == (("down",), {"west": "A wall."})
    assert {(way.from_id, way.to_id, way.there, way.back, way.shown) for way in drawn.ways} == {
        (31, 44, ("north",), (), "solid"),
        (44, 99, ("north",), (), "solid"),
        (31, 99, ("climb",), (), "named"),
    }


def test_a_player_reads_no_configuration_in_the_page_of_its_run(tmp_path: Path) -> None:
    run = write_run(tmp_path, [started(), played(UP), ended()], configuration={"knowledge_file": "secret.md"})
    for_player, whole = (
        RunPage(run, GameConfiguration(), for_player=each).read().figures.manifest for each in (True, False)
    )
    assert "secret.md" in whole.model_dump_json()
    assert for_player.configuration == {}
    assert for_player.story == whole.story

"""The content of a run's page: everything recorded, at its turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from session.events import Event, FileEdited, GameFailed, RunPaused
from session.values import GameObject, Proposal, Verdict
from tests.fixtures.run_events import answered
from tests.fixtures.unplayed_report import report_of, run_of
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, VATS, after, ended, played, started, turn, write_run
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.learnt import AtEnd
from zorkgpt.report.played_run import read_run
from zorkgpt.report.repetition import Repetition
from zorkgpt.report.run_page import PageData, PageRun, PageTurn, page_of_run

MORDANT = GameObject(7, "mordant")
UP = turn(1, "up", location=LOFT, score=5)
FALL = turn(2, "jump", UP.after, location=VATS, died=True, ending="lost")


def page(workdir: Path, *events: Event, graph: MapGraph | None = None) -> PageRun:
    return page_of_run(read_run(write_run(workdir, events)), Repetition(), AtEnd({}, graph))


def turns(told: PageRun) -> tuple[PageTurn, ...]:
    return told.episodes[0].turns


def test_calls_are_at_the_turn_that_they_led_to_or_learnt_from(tmp_path: Path) -> None:
    events: tuple[Event, ...] = (
        started(),
        *(answered(role=role, prompt=10, completion=1) for role in ("agent", "critic", "info_ext")),
        played(UP),
        *(answered(role=role, prompt=100) for role in ("memory", "analysis")),
        answered(role="agent", prompt=10),
        played(FALL),
        answered(role="analysis"),
        ended(end="lost"),
    )
    told = turns(page(tmp_path, *events))
    roles = [[call.event.role for call in each.calls] for each in told]
    assert roles == [[], ["agent", "critic", "info_ext", "memory", "analysis"], ["agent", "analysis"]]
    assert [[call.event.prompt_tokens for call in each.calls] for each in told] == [[], [10, 10, 10, 100, 100], [10, 0]]


def test_what_was_asked_for_a_turn_that_was_never_played_is_shown(tmp_path: Path) -> None:
    told = turns(page(tmp_path, started(), played(UP), answered(), RunPaused("no server", 1, 1)))
    assert [(each.turn, [proposal.action for proposal in each.proposals]) for each in told] == [
        (0, []),
        (1, ["up"]),
        (2, []),
    ]
    assert told[1].events == ("no server",)
    assert len(told[2].calls) == 1


def test_other_events_stand_at_their_turns(tmp_path: Path) -> None:
    failed, edited = GameFailed("xyzzy", "it hung"), FileEdited("Memories.md", "text")
    told = turns(page(tmp_path, started(), failed, played(UP), edited, played(FALL)))
    assert [each.events for each in told] == [(), ("xyzzy: it hung", "Memories.md"), ()]


def test_a_turn_has_every_proposal_with_its_verdict(tmp_path: Path) -> None:
    proposals = (Proposal("fly", "I can."), Proposal("up", "I walk."))
    verdicts = (Verdict(accepted=False, reason="No wings.", source="llm", confidence=0.9), Verdict(accepted=True))
    record = replace(UP, proposals=proposals, verdicts=verdicts)
    (_, told) = turns(page(tmp_path, started(), played(record, seconds=2.5)))
    assert (told.proposals, told.verdicts) == (proposals, verdicts)
    assert (told.seen.location, told.seen.score, told.score_change, told.seconds) == (LOFT, 5, 5, 2.5)


def test_what_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    nowhere = replace(SEEN, location=None, score=None, inventory=None)
    (told,) = turns(page(tmp_path, started(opening=nowhere)))
    assert (told.seen.location, told.seen.score, told.seen.inventory, told.seen.visible) == (None, None, None, None)
    run = page(tmp_path / "other", started(), answered(), played(UP))
    (call,) = turns(run)[1].calls
    assert (call.prompt, run.prompts, run.learnt_known) == (None, "none", False)
    assert run.map is None


def test_deaths_discoveries_scores_and_ends_are_marked(tmp_path: Path) -> None:
    told = page(tmp_path, started(), played(UP), played(FALL), ended(end="lost"))
    assert [(*mark.moment, mark.kind, mark.label) for mark in told.marks] == [
        (1, 0, "room", "Blue Vats"),
        (1, 1, "room", "Drying Loft"),
        (1, 1, "score", "5 points"),
        (1, 2, "death", "Blue Vats"),
        (1, 2, "lost", "Blue Vats"),
    ]


def test_milestones_say_when_each_episode_had_them(tmp_path: Path) -> None:
    carried = turn(1, "take mordant", inventory=(MORDANT,))
    again = replace(UP, episode=2, turn=2, before=after(carried.after), after=replace(UP.after, inventory=(MORDANT,)))
    events = (started(), played(UP), ended(), started(2), played(replace(carried, episode=2)), played(again), ended(2))
    told = page(tmp_path, *events)
    assert {each.key: (each.label, each.turns) for each in told.milestones} == {
        "score:5": ("5 points", {1: 1, 2: 2}),
        "room:31": ("Blue Vats", {1: 0, 2: 0}),
        "room:44": ("Drying Loft", {1: 1, 2: 2}),
        "thing:7": ("mordant", {2: 1}),
    }


def test_the_map_has_cells_first_visits_and_exits_that_lead_nowhere_known(tmp_path: Path) -> None:
    graph = MapGraph()
    graph.add_connection(31, "north", 44)
    graph.add_connection(44, "east", 99)
    graph.add_exits(31, ("west", "down"))
    graph.record_refusal(31, "west", "A wall.")
    drawn = page(tmp_path, started(), played(UP), graph=graph).map
    assert drawn is not None
    rooms = {room.id: room for room in drawn.rooms}
    assert {room.id: (room.x, room.y, room.first) for room in drawn.rooms} == {
        31: (0, 1, (1, 0)),
        44: (0, 0, (1, 1)),
        99: (1, 0, None),
    }
    assert (rooms[31].untried, rooms[31].refused) == (("down",), {"west": "A wall."})
    assert [(each.way.from_id, each.way.to_id, each.way.there, each.way.back, each.first) for each in drawn.ways] == [
        (31, 44, ("north",), (), (1, 1)),
        (44, 99, ("east",), (), None),
    ]


def test_rooms_of_one_name_are_told_apart_and_a_way_past_another_room_is_named(tmp_path: Path) -> None:
    graph = MapGraph()
    for command, from_id, to_id in (("east", 1, 2), ("east", 2, 3), ("climb", 1, 3)):
        graph.add_connection(from_id, command, to_id)
    for number, name in ((1, "Maze"), (2, "Hall"), (3, "Maze")):
        graph.add_room(number, name)
    drawn = page(tmp_path, started(), played(UP), graph=graph).map
    assert drawn is not None
    assert {room.id: room.name for room in drawn.rooms} == {1: "L1 Maze", 2: "Hall", 3: "L3 Maze"}
    assert {each.way.there: each.way.shown for each in drawn.ways} == {("east",): "solid", ("climb",): "named"}


def test_the_runs_that_browsers_are_tested_with_have_every_value_of_a_run() -> None:
    report = report_of(run_of(3))
    assert TypeAdapter(PageData).validate_python(report).runs[0].episodes[0].turns[1].turn == 1

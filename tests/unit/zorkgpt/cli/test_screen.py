"""What a run looks like on each screen, and the panel below the story while it is played."""

from __future__ import annotations

import io
import json
import logging
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event as Flag
from typing import get_args

import pytest
from rich.console import Console

from session.events import (
    EpisodeEnd,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    FileEdited,
    ModelAnswered,
    ModelFailed,
    ProvenRoute,
    RoutesProven,
    RunPaused,
    RunStarted,
    TurnPlayed,
)
from session.game_configuration import GameConfiguration
from session.route import Goal, Proof, Route, RouteStep, Waypoint
from session.text import one_line
from session.values import GameObject, Location, Observation, Proposal, StoryFacts, TurnRecord, Verdict
from tests.fixtures.command_line import ran_on_a_terminal, typed_on_a_terminal
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Silent
from tests.fixtures.run_events import answered
from tests.fixtures.troubled_server import Answers
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, VATS, after, played, started, turn, write_run
from zorkgpt.cli.screen import LiveView, Screen, draw, plain_lines
from zorkgpt.llm.budget import Spending
from zorkgpt.mapping.map_graph import MapGraph

RUN = "20260131-184500-1a2b"
MEMORY = "## Location 44: Drying Loft\n**[NOTE] {title}**\nIt takes ten turns.\n"


class Stage:
    """A view on a console that is not drawn to, and what it shows."""

    def __init__(self, workdir: Path, width: int, height: int) -> None:
        self.workdir = workdir
        self.printed = io.StringIO()
        self.console = Console(file=self.printed, width=width, height=height, force_terminal=True, no_color=True)
        self.configuration = GameConfiguration(zork_game_workdir=workdir)
        self.spending = Spending(self.configuration)
        self.stop = Flag()
        self.view = LiveView(self.configuration, workdir / "runs" / RUN, self.spending, self.stop, self.console)

    def present(
        self, run: str = RUN, episode: int = 1, *, turn: int = 0, place: Location = VATS, **lists: list[str]
    ) -> None:
        unused: dict[str, object] = {"timestamp": "", "location": {"id": place.num, "name": place.name}, "managers": {}}
        state = unused | {"run": run, "episode": episode, "turn": turn, "score": 5, "present": lists}
        (self.workdir / "current_state.json").write_text(json.dumps(state))

    def panel_after(self, *events: Event) -> list[str]:
        """The panel after these events, while the agent is asked."""
        for event in events:
            self.view.show(event)
        self.view.asks("agent")
        return self.panel

    def remember(self, title: str) -> None:
        (self.workdir / "Memories.md").write_text(MEMORY.format(title=title))

    @property
    def panel(self) -> list[str]:
        drawn = io.StringIO()
        Console(file=drawn, width=self.console.width, no_color=True).print(self.view._panel())
        return drawn.getvalue().rstrip().splitlines()


@pytest.fixture
def stage(tmp_path: Path) -> Callable[..., Stage]:
    write_run(tmp_path, [], RUN)
    return lambda width=80, height=24: Stage(tmp_path, width, height)


def play(stage: Stage) -> None:
    stage.view.show(started())
    stage.view.show(played(turn(1, "pull chain", score=0)))
    seen = after(SEEN, location=LOFT)
    stage.view.show(played(turn(2, "take banner", seen, score=5, max_score=50, inventory=(GameObject(7, "banner"),))))


OBJECTIVES = ["Bring the banner to the weavers of Netherfold", "Find out why the river runs red", "Fill the vat"]
MEMORIES = ["[permanent] Banner dries on the beam", "[core] Ladder creaks"]
ROUTES = ["2: +20 in 10 commands from here", "2 other routes"]


def busy(stage: Callable[..., Stage], width: int, height: int) -> str:
    """The panel in a terminal of that size when every list has entries and a neighbour is on the map."""
    shown = stage(width, height)
    shown.present(turn=1, place=LOFT, objective=OBJECTIVES, memory=MEMORIES, route=ROUTES)
    shown.panel_after(started(), played(turn(1, "north", location=LOFT)))
    assert all(len(line) <= width for line in shown.panel)
    return "\n".join(shown.panel)


@pytest.mark.parametrize(("width", "height"), [(120, 40), (200, 60)])
def test_from_120_columns_on_every_entry_and_the_map_are_shown_even_before_the_maps_file_is_written(
    stage: Callable[..., Stage], width: int, height: int
) -> None:
    panel = busy(stage, width, height)
    assert all(entry in panel for entry in (*OBJECTIVES, *MEMORIES, *ROUTES, "│@Drying Loft", "│Blue Vats"))
    assert "Location #" not in panel
    in_a_low_one, listed = busy(stage, 80, 24).splitlines(), f"Objectives: {'; '.join(OBJECTIVES)}"
    assert f"{listed[:79]}…" in in_a_low_one
    assert f"Remembered here: {'; '.join(MEMORIES)}" in in_a_low_one


def test_in_a_small_terminal_each_thing_is_a_line(stage: Callable[..., Stage]) -> None:
    small = stage()
    small.present(
        turn=2,
        place=LOFT,
        objective=["Dye the banner", "Find the \x1b[2J key"],
        memory=["[permanent] Banner dries on the beam"],
        route=[],
    )
    play(small)
    small.view.asks("agent")
    assert small.panel == [
        "─" * 80,
        "Episode 1 (1 of 2) · Turn 2 of 500 · Drying Loft · score 5 of 50 ▁█",
        "Carrying: banner",
        "Objectives: Dye the banner; Find the \\x1b[2J key",
        "Remembered here: [permanent] Banner dries on the beam",
        "⠋ the agent thinks, 0 s · 0 tokens",
    ]
    small.view.show(started(2))
    assert small.panel[1].startswith("Episode 2 (2 of 2) · Turn 0")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 50), (120, 40)])
def test_what_is_empty_or_unknown_takes_no_row(stage: Callable[..., Stage], width: int, height: int) -> None:
    bare = stage(width, height)
    bare.present(objective=[], memory=[], route=[])
    panel = bare.panel_after(started(), played(turn(1, "wait", replace(SEEN, inventory=None))))
    assert len(panel) == 3  # the line above, the heading and what the agent does


def room_with_ways(stage: Stage) -> list[str]:
    """The panel in a room with ways up, down, through a word and in, of which one is one-way, and one was not tried."""
    graph = MapGraph()
    for room in (Location(31, "Blue Vats"), LOFT, *(Location(number, f"Room {number}") for number in range(50, 54))):
        graph.add_room(room.num, room.name)
    ways = (
        (31, "north", 44),
        (44, "south", 31),
        (44, "up", 50),
        (44, "enter vat", 51),
        (52, "down", 44),
        (52, "in", 53),
    )
    for from_id, command, to_id in ways:
        graph.add_connection(from_id, command, to_id)
    graph.add_exits(44, ("west",))
    graph.save_to_json(stage.workdir / stage.configuration.map_state_file)
    return stage.panel_after(started(), played(turn(1, "north", location=LOFT)))


@pytest.mark.parametrize("height", [24, 50])
def test_ways_that_no_line_can_show_are_listed(stage: Callable[..., Stage], height: int) -> None:
    listed = ("up to Room 50", "enter vat to Room 51", "from Room 52 by down", "not tried: west")
    wide, narrow = "\n".join(room_with_ways(stage(140, height))), "\n".join(room_with_ways(stage(60, height)))
    assert all(way in wide for way in listed)
    assert ("│@Drying Loft" in wide) == (height == 50)
    assert ("south to Blue Vats" in wide) == (height == 24)
    assert "Room 53" not in wide
    assert "│" not in narrow
    assert "up to Room 50" in narrow
    assert "Other ways" not in narrow


def test_the_end_of_a_scene_leaves_a_known_way_in_the_drawing(stage: Callable[..., Stage]) -> None:
    tall = stage(140, 50)
    room_with_ways(tall)
    before = replace(SEEN, inventory=(GameObject(7, "banner"),))
    tall.panel_after(played(turn(2, "north", before, location=Location(50, "Room 50"), inventory=())))
    assert tall.view._map.connections[31] == {"north": LOFT.num}


def test_lists_beside_the_map_are_whole_if_they_have_room_and_else_count_what_is_left_out(
    stage: Callable[..., Stage],
) -> None:
    objective = "Find out " + "what made the river run red " * 5
    tall = stage(120, 50)
    tall.present(objective=[objective], memory=MEMORIES, route=ROUTES)
    assert one_line(objective) in one_line("\n".join(tall.panel_after(started())))
    tall.present(objective=[f"Aim {number}" for number in range(40)], memory=MEMORIES, route=ROUTES)
    shown = one_line("\n".join(tall.panel_after()))
    left_out = int(re.findall(r"and (\d+) more", shown)[0])
    assert f"Aim {39 - left_out} and" in shown
    assert f"Aim {40 - left_out}" not in shown
    assert all(entry in shown for entry in (*MEMORIES, *ROUTES))


def test_memories_of_another_room_and_routes_of_another_turn_are_not_shown(stage: Callable[..., Stage]) -> None:
    late = stage()
    late.present(turn=1, objective=["Dye the banner"], memory=MEMORIES, route=ROUTES)
    late.panel_after(started(), played(turn(1, "wait")))
    assert any(line.startswith("Remembered here") for line in late.panel)
    assert any(line.startswith("Routes") for line in late.panel)
    panel = late.panel_after(played(turn(2, "north", location=LOFT)))
    assert not any(line.startswith(("Remembered here", "Routes")) for line in panel)
    assert "Objectives: Dye the banner" in panel


@pytest.mark.parametrize(("run", "episode"), [("20260130-120000-9f8e", 1), (RUN, 2)])
def test_lists_of_another_run_or_episode_are_not_shown(stage: Callable[..., Stage], run: str, episode: int) -> None:
    small = stage()
    small.present(run, episode, objective=["Dye the banner"], route=["2 routes, none from here"])
    assert not any(line.startswith(("Objectives", "Routes")) for line in small.panel_after(started(1)))
    small.present(RUN, 1, objective=["Fill the vat"])
    assert "Objectives: Fill the vat" in small.panel_after()


def test_what_is_learned_is_told_as_it_happens_and_files_that_cannot_be_read_leave_the_view_as_it_was(
    stage: Callable[..., Stage],
) -> None:
    small = stage()
    small.present(objective=["Dye the banner"])
    for title in ("Beam", "Banner dries on the beam"):
        small.remember(title)
        small.view.asks("agent")
    assert "  learned: Banner dries on the beam: It takes ten turns. (permanent)\n" in small.printed.getvalue()
    (small.workdir / "current_state.json").write_text("{")
    (small.workdir / "Memories.md").unlink()
    (small.workdir / "Memories.md").mkdir()
    assert "Objectives: Dye the banner" in small.panel_after()


def test_what_is_learned_in_the_words_that_were_just_printed_is_not_printed_twice(stage: Callable[..., Stage]) -> None:
    small = stage()
    small.present()
    small.view.asks("agent")
    small.view.show(started())
    small.view.show(played(turn(1, "read note", text="The note says:\nIt takes\nten turns. So be it.")))
    for title in ("Beam", "Banner"):
        small.remember(title)
        small.view.asks("agent")
    assert "  learned: Banner (permanent)\n" in small.printed.getvalue()


@pytest.mark.parametrize(
    ("role", "activity"),
    [
        ("agent", "the story answers"),
        ("critic", "the story answers"),
        ("memory", "what it showed is learned"),
        ("analysis", "what it showed is learned"),
    ],
)
def test_only_after_a_command_is_chosen_the_story_is_said_to_answer(
    stage: Callable[..., Stage], role: str, activity: str
) -> None:
    small = stage()
    small.view.show(answered(role=role))
    assert activity in small.panel[-1]


def test_it_says_who_thinks_for_how_long_what_it_took_and_why_it_is_asked_again(stage: Callable[..., Stage]) -> None:
    small = stage()
    small.present()
    event = answered("small", prompt=900, cached=450, completion=60)
    assert isinstance(event, ModelAnswered)
    small.spending.count(event)
    with small.view:
        small.view.show(event)
        small.view.asks("memory")
        small.view._since = time.monotonic() - 75
        logging.getLogger("zorkgpt.llm.openai").info("asked again, 3 of 8: not JSON")
        (line,) = small.panel[-1:]
        assert line[2:] == "a memory is written, 75 s · 960 tokens · 50% cached · asked again, 3 of 8: no…"
        small.spending.count(answered("other"))
        assert " · 960 tokens counted · " in small.panel[-1]
        small.stop.set()
        assert small.panel[-1][2:].startswith("stopping; Ctrl-C again: at once, ")


def test_a_line_that_took_several_rows_is_cleared_with_what_stood_above_it(stage: Callable[..., Stage]) -> None:
    def cleared(line: str) -> int:
        small = stage(40)
        with small.view, small.view.still("Proposed: north") as stands:
            stands(line)
        return int(re.findall(r"\x1b\[(\d+)A\r\x1b\[J", small.printed.getvalue())[-1])

    assert [cleared(length * "x") - cleared("") for length in (1, 40, 41, 80, 81)] == [0, 0, 1, 1, 2]


class Stalls:
    """Answers after some seconds."""

    def play(self, handler: Handler) -> None:
        time.sleep(2.4)
        Answers().play(handler)


def test_nothing_stands_still_while_a_server_stalls(tmp_path: Path) -> None:
    with MisbehavingServer(Stalls(), Answers()) as server:
        arguments = ("run", "--max-turns", "1", "--base-url", server.base_url, "--workdir", "work")
        shown = ran_on_a_terminal(tmp_path, *arguments).out.decode()
    assert all(f"the agent thinks, {seconds} s" in shown for seconds in (1, 2))
    frames = re.findall("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] the agent thinks", shown)
    assert len(frames) >= 2 * 3
    assert "Episode 1 stopped at the turn limit after 1 turn" in shown


@pytest.mark.slow
def test_after_ctrl_c_it_stays_on_the_screen_how_the_run_goes_on(tmp_path: Path) -> None:
    with MisbehavingServer(Silent()) as server:
        arguments = ("run", "--base-url", server.base_url, "--workdir", "work")
        stopped = typed_on_a_terminal(tmp_path, ["\x03"], *arguments, once=b"the agent thinks")
    assert stopped.status == 130
    _, hint, after_it = stopped.out.rpartition(b"To resume:")
    assert hint
    assert b" resume " in after_it
    assert b"\n" not in after_it.strip()


STORY = StoryFacts("p/mill.z5", "mill", "0" * 64, 5, 1, "260101", known=False)
STARTED = RunStarted("run-1", "w/runs/run-1", STORY, "mill.z5 (asked for)", ("a model",), ("valid-actions",), 2, 9, {})
BEFORE = Observation("A mill.\x1b[2J", Location(3, "Mill"), score=0)
AFTER = Observation("The wheel [bold]turns[/bold].", Location(3, "Mill"), score=5)
RECORD = TurnRecord(
    1,
    4,
    BEFORE,
    (Proposal("save"), Proposal("turn wheel", "It may grind.")),
    (Verdict(False, "no saving", "parser"), Verdict(True)),
    AFTER,
)
ENDED = EpisodeEnded(1, "turn_limit", 4, 5, 5, 80, 1, 12.4)
EVENTS: list[Event] = [
    STARTED,
    EpisodeStarted(1, 7, BEFORE),
    TurnPlayed(RECORD, 1.25),
    ModelFailed("memory", "0" * 64, "gone", "unavailable", 1.0),
    ModelFailed("agent", "0" * 64, "gone", "unavailable", 1.0),
    FileEdited("map_state.json", ""),
    ENDED,
    RunPaused("the server is gone", episode=1, turns=4),
]


def plain(*events: Event, quiet: bool = False) -> str:
    return "".join(f"{line}\n" for event in events or EVENTS for line in plain_lines(event, quiet=quiet))


def live(*events: Event) -> str:
    out = io.StringIO()
    for event in events or EVENTS:
        draw(event, Console(file=out, width=100, force_terminal=False))
    return out.getvalue()


def test_a_turn_shows_room_score_time_reasoning_command_and_why_another_was_not_played() -> None:
    for shown in (plain(), live()):
        for part in ("Mill", "score 5", "1.2 s", "It may grind.", "> turn wheel", "Turn 4"):
            assert part in shown
    assert plain().count("not played: ") == 1
    assert "not played: save (no saving)" in plain()
    route = replace(RECORD, proposals=(Proposal("wait", follow=3), *RECORD.proposals[1:]))
    assert "not played: follow 3 (no saving)" in plain(TurnPlayed(route, 1.25))


def test_a_command_of_3000_letters_is_cut_wherever_it_stands() -> None:
    long = Proposal("turn " * 600)
    event = TurnPlayed(replace(RECORD, proposals=(long, long)), 1.25)
    for shown in (plain(event), live(event)):
        assert 60 <= shown.count("turn ") < 100
        assert "[…]" in shown


def test_neither_markup_nor_control_sequences_of_a_story_are_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    for event in EVENTS:
        Screen().show(event)
    for shown in (capsys.readouterr().out, live()):
        assert "[bold]turns[/bold]" in shown
        assert "\x1b[2J" not in shown
        assert "\\x1b[2J" in shown


def test_no_name_and_no_reason_adds_a_line_of_its_own() -> None:
    named = replace(STARTED, model=("evil\nTo resume: zorkgpt resume x",))
    shown = plain(
        named, RunPaused("evil\r\nPaused", episode=1, turns=4), ModelFailed("memory", "", "a\u2028b", "invalid", 1.0)
    )
    assert len(shown.splitlines()) == 2 + 1 + 1


def test_a_failure_of_the_agents_model_is_told_once_and_every_end_of_an_episode() -> None:
    assert plain().count("The memory model gave no answer: gone") == 1
    assert "The agent model" not in plain()
    assert plain().count("the server is gone") == 1
    assert all(plain(replace(ENDED, end=end)).startswith("Episode 1 ") for end in get_args(EpisodeEnd))


def test_the_number_of_rooms_is_left_out_if_no_location_was_known() -> None:
    assert "score 5 of 80, 1 room, 12 s" in plain(ENDED)
    assert "score 5 of 80, 12 s" in plain(replace(ENDED, rooms=0))


def test_quiet_shows_how_it_began_and_how_it_ended() -> None:
    assert plain(quiet=True).splitlines() == [
        "a model, assisted by valid-actions, plays mill.z5 (asked for)",
        "2 episodes of at most 9 turns, in w/runs/run-1",
        "Episode 1 stopped at the turn limit after 4 turns: score 5 of 80, 1 room, 12 s",
        "Paused in episode 1 after 4 turns: the server is gone",
    ]
    assert "map_state.json was changed from outside this run, and is read again." in plain()


def test_in_a_terminal_that_became_narrower_every_row_of_the_old_panel_is_cleared(stage: Callable[..., Stage]) -> None:
    shown = stage(80, 24)
    shown.present(objective=OBJECTIVES)
    with shown.view, shown.view._drawing:
        old = shown.panel
        shown.console.width = 30
        start = shown.printed.tell()
        shown.view.tell("It is narrow.")
        redrawn = shown.printed.getvalue()[start:].partition("It is")[0]
    rows = sum(max(1, -(-len(line) // 30)) for line in old)
    assert rows > len(old)
    assert redrawn.count("\x1b[1A") == rows - 1
    assert redrawn.count("\x1b[2K") == rows


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        ([(7, 10, 5), (3, 10, 4), (9, 5, 5)], "3 routes were tried out; the best: +10 in 7 commands"),
        ([(7, 10, 4)], "1 route was tried out; the best in 4 of 5 trials: +10 in 7 commands"),
        ([(7, 10, 0), (2, 5, 0)], "2 routes were tried out; 0 worked again"),
        ([(7, 0, 5), (2, 0, 0)], "2 routes were tried out; 1 worked again"),
    ],
)
def test_routes_that_were_tried_out_are_one_line_with_the_best_of_them(
    routes: list[tuple[int, int, int]], words: str
) -> None:
    proven = tuple(
        ProvenRoute("", number, 20, (ending_at(score, number=number, length=length, proof=Proof(worked, 5)),))
        for number, (length, score, worked) in enumerate(routes, start=1)
    )
    assert plain(RoutesProven(1, proven)) == f"{words}\n"


def ending_at(score: int, *, number: int = 1, length: int = 1, proof: Proof | None = None) -> Route:
    """A route from 0 points to that score."""
    steps = (RouteStep("up", Waypoint(score=0)),) * (length - 1) + (RouteStep("pull chain", Waypoint(score=score)),)
    return Route(number, Goal("score", score), Waypoint(score=0), steps, 1, proof=proof)

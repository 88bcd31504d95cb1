"""The panel below the story while a run is played in a terminal."""

from __future__ import annotations

import io
import json
import logging
import re
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag

import pytest
from rich.console import Console

from session.events import ModelAnswered
from session.game_configuration import GameConfiguration
from session.values import GameObject
from tests.fixtures.command_line import ran_on_a_terminal, typed_on_a_terminal
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Silent
from tests.fixtures.run_events import answered
from tests.fixtures.troubled_server import Answers
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, after, played, started, turn, write_run
from zorkgpt.cli.screen import LiveView
from zorkgpt.llm.budget import Spending

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

    def present(self, run: str = RUN, episode: int = 1, **lists: list[str]) -> None:
        unused: dict[str, object] = {"timestamp": "", "location": None, "managers": {}}
        state = unused | {"run": run, "episode": episode, "turn": 4, "score": 5, "present": lists}
        (self.workdir / "current_state.json").write_text(json.dumps(state))

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
    shown.present(ObjectiveManager=OBJECTIVES, SimpleMemoryManager=MEMORIES, RouteManager=ROUTES)
    shown.view.show(started())
    shown.view.show(played(turn(1, "north", location=LOFT)))
    shown.view.asks("agent")
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
        ObjectiveManager=["Dye the banner", "Find the \x1b[2J key"],
        SimpleMemoryManager=["[permanent] Banner dries on the beam"],
        RouteManager=[],
    )
    play(small)
    small.view.asks("agent")
    assert small.panel == [
        "─" * 80,
        "Episode 1 (1 of 2) · Turn 2 of 500 · Drying Loft · score 5 of 50 ▁█",
        "Carrying: banner",
        "Objectives: Dye the banner; Find the \\x1b[2J key",
        "Remembered here: [permanent] Banner dries on the beam",
        "Routes: -",
        "⠋ the agent thinks, 0 s · 0 tokens",
    ]
    small.view.show(started(2))
    assert small.panel[1].startswith("Episode 2 (2 of 2) · Turn 0")


@pytest.mark.parametrize(("run", "episode"), [("20260130-120000-9f8e", 1), (RUN, 2)])
def test_lists_of_another_run_or_episode_are_not_shown(stage: Callable[..., Stage], run: str, episode: int) -> None:
    small = stage()
    small.present(run, episode, ObjectiveManager=["Dye the banner"], RouteManager=["2 routes, none from here"])
    small.view.show(started(1))
    small.view.asks("agent")
    assert "Objectives: -" in small.panel
    assert "Routes: -" in small.panel
    small.present(RUN, 1, ObjectiveManager=["Fill the vat"])
    small.view.asks("agent")
    assert "Objectives: Fill the vat" in small.panel


def test_what_is_learnt_is_told_as_it_happens_and_files_that_cannot_be_read_leave_the_view_as_it_was(
    stage: Callable[..., Stage],
) -> None:
    small = stage()
    small.present(ObjectiveManager=["Dye the banner"])
    for title in ("Beam", "Banner dries on the beam"):
        small.remember(title)
        small.view.asks("agent")
    assert "  learnt: Banner dries on the beam: It takes ten turns. (permanent)\n" in small.printed.getvalue()
    (small.workdir / "current_state.json").write_text("{")
    (small.workdir / "Memories.md").unlink()
    (small.workdir / "Memories.md").mkdir()
    small.view.asks("agent")
    assert "Objectives: Dye the banner" in small.panel


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
        time.sleep(3.5)
        Answers().play(handler)


def test_nothing_stands_still_while_a_server_stalls(tmp_path: Path) -> None:
    with MisbehavingServer(Stalls(), Answers()) as server:
        arguments = ("run", "--max-turns", "1", "--base-url", server.base_url, "--workdir", "work")
        shown = ran_on_a_terminal(tmp_path, *arguments).out.decode()
    assert all(f"the agent thinks, {seconds} s" in shown for seconds in (1, 2, 3))
    frames = re.findall("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] the agent thinks", shown)
    assert len(frames) >= 3 * 3
    assert "Episode 1 stopped at the turn limit after 1 turn" in shown


def test_after_ctrl_c_it_stays_on_the_screen_how_the_run_goes_on(tmp_path: Path) -> None:
    with MisbehavingServer(Silent()) as server:
        arguments = ("run", "--base-url", server.base_url, "--workdir", "work")
        stopped = typed_on_a_terminal(tmp_path, ["\x03"], *arguments, once=b"the agent thinks")
    assert stopped.status == 130
    _, hint, after_it = stopped.out.rpartition(b"goes on from here.")
    assert hint
    assert after_it.strip() == b""

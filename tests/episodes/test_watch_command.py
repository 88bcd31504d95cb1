"""``zorkgpt watch`` as typed: a run of another process, from what that process writes."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from threading import Event as Flag

import pytest

from session.events import Event, RunPaused
from session.files.journal import read_journal
from session.files.run_folders import find_run
from tests.fixtures.command_line import COMMAND, environment, ran_on_a_terminal
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer
from tests.fixtures.troubled_server import Answers
from tests.fixtures.typed_command import typed
from tests.unit.zorkgpt.report.dye_runs import played, started, turn, write_run

pytestmark = pytest.mark.usefixtures("in_own_folder")

PATIENCE = 60.0  # seconds


class Waits:
    """Answers once it may."""

    def __init__(self) -> None:
        self.may_answer = Flag()

    def play(self, handler: Handler) -> None:
        self.may_answer.wait(PATIENCE)
        Answers().play(handler)


@contextmanager
def playing(folder: Path, server: MisbehavingServer, turns: int) -> Iterator[subprocess.Popen[bytes]]:
    """A run in another process, after its first model call."""
    command = [*COMMAND, "run", "--max-turns", str(turns), "--base-url", server.base_url, "--workdir", "work"]
    with subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL) as process:
        until = time.monotonic() + PATIENCE
        while not server.asked and time.monotonic() < until:
            time.sleep(0.05)
        yield process
        if process.poll() is None:
            process.terminate()


def test_a_run_of_another_process_is_shown_to_its_end(tmp_path: Path) -> None:
    gate = Waits()
    with MisbehavingServer(gate) as server, playing(tmp_path, server, 2):
        command = [*COMMAND, "watch", "--workdir", "work"]
        with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as watching:
            assert watching.stdout is not None
            begun = list(takewhile(lambda line: "=== Episode 1, seed 1 ===" not in line, watching.stdout))
            gate.may_answer.set()
            shown = watching.stdout.read()
        assert watching.wait(PATIENCE) == 0
    assert begun[0].endswith(", live; Ctrl-C leaves it playing\n")
    assert "[Turn 1, " in shown
    assert "[Turn 2, " in shown
    assert "Episode 1 stopped at the turn limit after 2 turns" in shown
    assert shown.splitlines()[-1].startswith("The run is done. ")


@pytest.mark.slow
def test_on_a_terminal_it_says_whom_the_run_asks_and_since_when_and_ctrl_c_leaves_it_playing(tmp_path: Path) -> None:
    gate = Waits()
    with MisbehavingServer(gate) as server, playing(tmp_path, server, 1) as player:
        stopped = "import os, signal, sys, threading; "
        stopped += "threading.Timer(8, os.kill, (os.getpid(), signal.SIGINT)).start(); "
        stopped += "from zorkgpt.cli.main import main; main()"
        shown = ran_on_a_terminal(tmp_path, "watch", "--workdir", "work", command=(sys.executable, "-c", stopped))
        assert player.poll() is None
        gate.may_answer.set()
        assert player.wait(PATIENCE) == 0
    assert shown.status == 128 + signal.SIGINT
    assert re.search("the agent thinks, [1-9] s", shown.text)


def test_a_run_whose_budget_is_spent_goes_on_with_what_status_and_watch_tell_to_type(tmp_path: Path) -> None:
    with MisbehavingServer(Answers()) as server:
        played = ("--max-turns", "12", "--max-tokens", "10", "--base-url", server.base_url, "--workdir", "work")
        assert typed("run", *played).status == 1
        texts = [typed(name, "--workdir", "work").text for name in ("status", "watch")]
        commands = [found[1] for each in texts if (found := re.search(r"; zorkgpt (resume .*) continues it\.", each))]
        assert commands == [f"resume {find_run(tmp_path / 'work')} --max-tokens 20".replace(f"{tmp_path}/", "")] * 2
        typed(*shlex.split(commands[0]))
    last = list(read_journal(find_run(tmp_path / "work")))[-1].event
    assert isinstance(last, RunPaused)
    assert last.reason == "max-tokens 20 reached: 20 spent"


def test_of_a_run_that_nobody_plays_the_latest_turns_are_shown_and_how_it_stands(tmp_path: Path) -> None:
    events: list[Event] = [started(), *(played(turn(number, f"pull chain {number}")) for number in range(1, 9))]
    folder = write_run(tmp_path / "work", events, configuration={"zork_game_workdir": "work"})
    told = typed("watch", "--workdir", "work").text
    assert told.startswith("Run 20260131-184500-1a2b of dyeworks\n")
    assert "pull chain 6" not in told
    assert "> pull chain 7" in told
    assert "> pull chain 8" in told
    assert told.splitlines()[-1].startswith("The run is killed: it stopped without an end, as after a crash; ")
    lines = typed("watch", "--json", str(folder)).out.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["turn_played", "turn_played"]
    assert find_run(tmp_path / "work") == folder

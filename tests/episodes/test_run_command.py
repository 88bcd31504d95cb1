"""``zorkgpt run`` as a user types it: the real program, the real story, a real server on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from session.events import EVENTS, ModelFailed, RunPaused, TurnPlayed
from session.files.journal import read_manifest
from session.values import TurnRecord, derived_seed
from tests.fixtures.command_line import COMMAND, Ran, environment
from tests.fixtures.misbehaving_server import Handler, Header, MisbehavingServer, Silent, Step, Streams, says_error
from tests.fixtures.run_traces import events_of
from tests.fixtures.typed_command import typed


def proposes(action: str, reasoning: str = "It may help.") -> Streams:
    return Streams((json.dumps({"reasoning": reasoning, "action": action}),))


DELAY = 1000  # seconds between turns, of which nothing is waited for after Ctrl-C
NOTICED = 3.0  # seconds after which a process has taken notice of a signal, on a busy machine too


class Interrupts:
    """Sends a signal to the process ``pid`` while its model is thinking, then answers, or never does."""

    def __init__(self, answer: Step, number: signal.Signals = signal.SIGINT) -> None:
        self.answer = answer
        self.number = number
        self.pid = 0

    def play(self, handler: Handler) -> None:
        os.kill(self.pid, self.number)
        if isinstance(self.answer, Streams):
            handler.server.closing.wait(NOTICED)
        self.answer.play(handler)


class InterruptsTwice(Interrupts):
    """Sends a second Ctrl-C once the first was taken notice of."""

    def __init__(self, noticed: Path) -> None:
        super().__init__(Silent())
        self.noticed = noticed

    def play(self, handler: Handler) -> None:
        os.kill(self.pid, signal.SIGINT)
        while b"Stopping" not in self.noticed.read_bytes():
            handler.server.closing.wait(0.01)
        super().play(handler)


def only_the_agent(**more: str) -> dict[str, str]:
    """An environment without memories, so that only the agent is called."""
    return environment(ZORKGPT_SIMPLE_MEMORY__ENABLED="false", **more)


def played(folder: Path, server: MisbehavingServer, *arguments: str) -> Ran:
    there = ("--base-url", server.base_url, "--workdir", str(folder / "work"))
    return typed("run", *there, "--set", "simple_memory.enabled=false", *arguments)


def started(folder: Path, server: MisbehavingServer, *arguments: str, **streams: Any) -> subprocess.Popen[str]:
    command = [*COMMAND, "run", "--base-url", server.base_url, "--workdir", str(folder / "work"), *arguments]
    return subprocess.Popen(command, cwd=folder, env=only_the_agent(), stdout=subprocess.PIPE, text=True, **streams)


def run_folder(folder: Path) -> Path:
    (run,) = (folder / "work" / "runs").iterdir()
    return run


def turns(folder: Path) -> list[TurnRecord]:
    return [event.record for event in events_of(run_folder(folder)) if isinstance(event, TurnPlayed)]


def test_a_run_tells_what_plays_what_and_shows_every_turn(in_own_folder: Path) -> None:
    with MisbehavingServer(proposes("north"), proposes("look")) as server:
        result = played(in_own_folder, server, "--max-turns", "2")
    assert (result.status, result.err) == (0, b"")
    first = result.text.splitlines()[0]
    assert "served at http://127.0.0.1" in first
    assert "tidehouse.z5" in first
    assert "assisted" not in first
    assert all(part in result.text for part in ("> north", "It may help.", "Forecourt"))
    *_, end, gained, report, status, memories = result.text.splitlines()
    assert "after 2 turns" in end
    assert re.match(
        r"Learned so far: 2 locations, \d routes?, 0 lines of knowledge\. Episode 1: 0 of 100 points\. Cost: ",
        gained,
    )
    for command, line in (("report", report), ("status", status), ("memories show", memories)):
        assert f"zorkgpt {command} --workdir " in line
    with MisbehavingServer(proposes("north")) as server:
        assert "memories show" not in played(in_own_folder, server, "--max-turns", "1").text


def test_a_run_of_several_episodes_ends_with_a_bar_for_each_and_the_command_for_its_report(in_own_folder: Path) -> None:
    with MisbehavingServer(proposes("north"), proposes("look")) as server:
        result = played(in_own_folder, server, "--max-turns", "1", "--episodes", "2")
    assert result.status == 0
    first, second, report, *_ = result.text.partition("Learned so far")[2].splitlines()[-5:]
    assert re.fullmatch(r"episode 1 +0 points, [\d,]+ tokens", first)
    assert re.fullmatch(r"episode 2 +0 points, [\d,]+ tokens", second)
    assert "zorkgpt report --workdir " in report


@pytest.mark.slow
def test_a_delay_between_turns_is_in_no_recorded_time_and_ctrl_c_ends_it_at_once(in_own_folder: Path) -> None:
    with MisbehavingServer(proposes("north")) as server:
        began = time.monotonic()
        assert played(in_own_folder, server, "--max-turns", "2", "--delay", "5", "--max-time", "9").status == 0
        assert time.monotonic() - began > 10
        assert sum(event.seconds for event in events_of(run_folder(in_own_folder)) if isinstance(event, TurnPlayed)) < 5
        with started(in_own_folder, server, "--max-turns", "2", "--delay", str(DELAY)) as process:
            assert process.stdout is not None
            while "Episode" not in process.stdout.readline():
                pass
            process.send_signal(signal.SIGINT)
            assert "resume" in process.communicate(timeout=DELAY / 30)[0]
        assert process.returncode == 130


def test_manifest_and_journal_hold_the_run_and_json_output_is_every_event_of_the_journal_whole(
    in_own_folder: Path,
) -> None:
    with MisbehavingServer(proposes("north"), proposes("south")) as server:
        result = played(in_own_folder, server, "--max-turns", "2", "--seed", "7", "--episodes", "2", "--json")
    manifest = read_manifest(run_folder(in_own_folder))
    assert (manifest.seeds, manifest.assistance) == ((7, derived_seed(7, 2, "episode")), ())
    assert manifest.configuration["max_turns_per_episode"] == 2
    first, *others = turns(in_own_folder)
    assert first.moved
    assert [(turn.episode, turn.turn, turn.action) for turn in (first, *others)] == [
        (1, 1, "north"),
        (1, 2, "south"),
        (2, 1, "south"),
        (2, 2, "south"),
    ]
    shown = [json.loads(line) for line in result.text.splitlines()]
    assert shown == [EVENTS.dump_python(event, mode="json") for event in events_of(run_folder(in_own_folder))]


def test_quiet_output_is_beginning_and_end_and_nothing_is_written_outside_the_work_folder(in_own_folder: Path) -> None:
    with MisbehavingServer(proposes("save"), proposes("script"), proposes("look")) as server:
        result = played(in_own_folder, server, "--max-turns", "1", "--quiet")
    assert len(result.text.splitlines()) == 4
    assert [path.name for path in in_own_folder.iterdir()] == ["work"]


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        pytest.param(signal.SIGINT, Silent(), id="silent, interrupted"),
        pytest.param(signal.SIGTERM, proposes("north"), id="answering, terminated", marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, Silent(), id="silent, terminal closed", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, Header(), id="dripping, interrupted", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_stopped_cancels_its_request_and_goes_on_later(
    in_own_folder: Path, number: signal.Signals, answer: Step
) -> None:
    interrupting = Interrupts(answer, number)
    with (
        MisbehavingServer(proposes("north"), interrupting) as server,
        started(in_own_folder, server, "--max-turns", "2", stderr=subprocess.DEVNULL) as process,
    ):
        interrupting.pid = process.pid
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "after 1 turn: interrupted during a model request" in output
    assert "zorkgpt resume" in output
    events = events_of(run_folder(in_own_folder))
    assert isinstance(events[-1], RunPaused)
    assert not [event for event in events if isinstance(event, ModelFailed)]
    with MisbehavingServer(proposes("south")) as server:
        assert typed("resume", "--base-url", server.base_url, "--workdir", "work").status == 0
    assert [turn.action for turn in turns(in_own_folder)] == ["north", "south"]


@pytest.mark.slow
def test_a_run_under_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    interrupting = Interrupts(proposes("south"), signal.SIGHUP)
    ignoring = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with (
            MisbehavingServer(proposes("north"), interrupting) as server,
            started(tmp_path, server, "--max-turns", "2", stderr=subprocess.DEVNULL) as process,
        ):
            interrupting.pid = process.pid
            process.communicate(timeout=60)
    finally:
        signal.signal(signal.SIGHUP, ignoring)
    assert process.returncode == 0
    assert [turn.action for turn in turns(tmp_path)] == ["north", "south"]


def test_a_second_ctrl_c_stops_at_once_and_leaves_a_whole_journal(tmp_path: Path) -> None:
    errors = tmp_path / "errors.txt"
    interrupting = InterruptsTwice(errors)
    with (
        errors.open("w") as stderr,
        MisbehavingServer(proposes("north"), interrupting) as server,
        started(tmp_path, server, stderr=stderr) as process,
    ):
        interrupting.pid = process.pid
        shown, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors.read_text()
    assert shown.splitlines()[-1].endswith(f" -m zorkgpt resume {run_folder(tmp_path)}")
    assert len(turns(tmp_path)) == 1


def test_a_model_that_fails_pauses_the_run_with_one_line_and_the_key_is_in_nothing_that_is_written(
    in_own_folder: Path, clean_environment: pytest.MonkeyPatch
) -> None:
    secret = "sk-planted-0123456789abcdef"
    with MisbehavingServer(proposes("north"), says_error(401, f"bad key {secret}")) as server:
        clean_environment.setenv("OPENAI_API_KEY", secret)
        result = played(in_own_folder, server, "--max-turns", "5")
        assert server.asked[0].headers["authorization"] == f"Bearer {secret}"
    assert result.status == 1
    assert "Paused in episode 1 after 1 turn: agent: " in result.text
    assert "401" in result.text
    assert b"Traceback" not in result.out + result.err
    written = [path.read_text(encoding="utf-8") for path in in_own_folder.rglob("*") if path.is_file()]
    assert written
    assert not any(secret in text for text in [*written, result.text, *result.lines])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--game", "nowhere.z5"), "nowhere.z5"),
        (("--model", "nowhere.gguf"), "nowhere.gguf"),
        (("--model", "some-model"), "no server is configured for some-model"),
        (("--base-url", "no address"), "base_url"),
        (("--assist", "walkthrough"), "assist"),
    ],
)
@pytest.mark.usefixtures("in_own_folder")
def test_what_the_user_can_mend_is_one_line_and_status_2(arguments: tuple[str, ...], message: str) -> None:
    result = typed("run", *arguments)
    assert (result.status, result.out) == (2, b"")
    (line,) = result.lines
    assert line.startswith("zorkgpt: ")
    assert message in line


def test_of_lines_of_memories_that_are_not_understood_the_first_are_named_and_a_command_that_names_all(
    in_own_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    memories = in_own_folder / "work" / "Memories.md"
    memories.parent.mkdir()
    memories.write_text("## Location the quay\n\n" + "**Visits:** three\n\n" * 8)
    with MisbehavingServer(proposes("north")) as server:
        command = ("run", "--base-url", server.base_url, "--max-turns", "1", "--workdir", "work")
        typed(*command)
    first, *_, last = told = capfd.readouterr().err.splitlines()
    assert first == (
        'zorkgpt: work/Memories.md:1: This names no location: write "## Location 15: Kitchen". '
        "Until then it is kept, but not used."
    )
    assert len(told) == 6
    assert "4 more places not understood: " in last
    assert last.endswith(" memories check --workdir work names all")
    assert typed("memories", "check", "--workdir", "work").text.count("Memories.md:") == 9
    assert memories.read_text().startswith("## Location the quay\n")
    assert "is repeated exactly: 1 turn" in typed("replay", "--workdir", "work").text
    assert capfd.readouterr().err == ""

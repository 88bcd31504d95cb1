"""``zorkgpt run`` as a user types it: the real program, the real story, a real server on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from session.events import EVENTS, ModelFailed, RunPaused, TurnPlayed
from session.files.journal import read_journal, read_manifest
from tests.fixtures.misbehaving_server import Handler, Header, MisbehavingServer, Silent, Step, Streams, says_error


def proposes(action: str, reasoning: str = "It may help.") -> Streams:
    return Streams((json.dumps({"reasoning": reasoning, "action": action}),))


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


def zorkgpt(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "zorkgpt", *arguments, "--workdir", str(folder / "work")]


def environment() -> dict[str, str]:
    """No key or URL of the machine's own, and no memories, so that only the agent is called."""
    unset = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    return kept | {"ZORKGPT_SIMPLE_MEMORY__ENABLED": "false"}


def played(
    folder: Path, server: MisbehavingServer, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    return ran(folder, "--base-url", server.base_url, *arguments, **variables)


def ran(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        zorkgpt(folder, "run", *arguments),
        cwd=folder,
        env=environment() | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run_folder(folder: Path) -> Path:
    (run,) = (folder / "work" / "runs").iterdir()
    return run


def test_a_run_tells_what_plays_what_and_shows_every_turn(tmp_path: Path) -> None:
    with MisbehavingServer(proposes("north"), proposes("look")) as server:
        result = played(tmp_path, server, "--max-turns", "2")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    first = result.stdout.splitlines()[0]
    assert "served at http://127.0.0.1" in first
    assert "tidehouse.z5" in first
    assert "assisted" not in first
    assert "> north" in result.stdout
    assert "It may help." in result.stdout
    assert "Forecourt" in result.stdout
    *_, end, gained, report, status, memories = result.stdout.splitlines()
    assert "after 2 turns" in end
    assert re.match(r"Learnt so far: 2 locations, \d routes?, 0 memories\. Episode 1: 0 of 100 points\. Cost: ", gained)
    for command, line in (("report", report), ("status", status), ("memories show", memories)):
        assert f"zorkgpt {command} --workdir " in line
    with MisbehavingServer(proposes("north")) as server:
        assert "memories show" not in played(tmp_path, server, "--max-turns", "1").stdout


def test_manifest_and_journal_hold_the_run(tmp_path: Path) -> None:
    with MisbehavingServer(proposes("north"), proposes("south")) as server:
        played(tmp_path, server, "--max-turns", "2", "--seed", "7", "--episodes", "2")
    manifest = read_manifest(run_folder(tmp_path))
    assert manifest.seeds == (7, 8)
    assert manifest.assistance == ()
    assert manifest.configuration["max_turns_per_episode"] == 2
    events = [line.event for line in read_journal(run_folder(tmp_path))]
    turns = [event.record for event in events if isinstance(event, TurnPlayed)]
    assert [(turn.episode, turn.turn, turn.action) for turn in turns] == [
        (1, 1, "north"),
        (1, 2, "south"),
        (2, 1, "south"),
        (2, 2, "south"),
    ]
    assert turns[0].moved


def test_json_output_is_every_event_of_the_journal_whole(tmp_path: Path) -> None:
    with MisbehavingServer(proposes("north")) as server:
        result = played(tmp_path, server, "--max-turns", "1", "--json")
    shown = [json.loads(line) for line in result.stdout.splitlines()]
    assert shown == [
        EVENTS.dump_python(line.event, mode="json") for line in read_journal(run_folder(tmp_path)) if line.event
    ]


def test_quiet_output_is_beginning_and_end_and_nothing_is_written_outside_the_work_folder(tmp_path: Path) -> None:
    with MisbehavingServer(proposes("save"), proposes("script"), proposes("look")) as server:
        result = played(tmp_path, server, "--max-turns", "1", "--quiet")
    assert len(result.stdout.splitlines()) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["work"]


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        pytest.param(signal.SIGINT, Silent(), id="silent, interrupted"),
        pytest.param(signal.SIGTERM, proposes("north"), id="answering, terminated"),
        pytest.param(signal.SIGTERM, Silent(), id="silent, terminated", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, proposes("north"), id="answering, interrupted", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, Header(), id="dripping, interrupted", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, Header(), id="dripping, terminated", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_stopped_cancels_its_request_and_goes_on_later(
    tmp_path: Path, number: signal.Signals, answer: Step
) -> None:
    interrupting = Interrupts(answer, number)
    with MisbehavingServer(proposes("north"), interrupting) as server:
        command = zorkgpt(tmp_path, "run", "--base-url", server.base_url, "--max-turns", "2")
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=pipe, stderr=pipe, text=True) as process:
            interrupting.pid = process.pid
            output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "after 1 turn: interrupted during a model request" in output
    assert "zorkgpt resume" in output
    events = [line.event for line in read_journal(run_folder(tmp_path))]
    assert isinstance(events[-1], RunPaused)
    assert not [event for event in events if isinstance(event, ModelFailed)]
    with MisbehavingServer(proposes("south")) as server:
        resuming = zorkgpt(tmp_path, "resume", "--base-url", server.base_url)
        subprocess.run(resuming, cwd=tmp_path, env=environment(), capture_output=True, timeout=60, check=True)
    turns = [line.event for line in read_journal(run_folder(tmp_path)) if isinstance(line.event, TurnPlayed)]
    assert [turn.record.action for turn in turns] == ["north", "south"]


def test_a_second_ctrl_c_stops_at_once_and_leaves_a_whole_journal(tmp_path: Path) -> None:
    errors = tmp_path / "errors.txt"
    interrupting = InterruptsTwice(errors)
    with MisbehavingServer(proposes("north"), interrupting) as server, errors.open("w") as stderr:
        command = zorkgpt(tmp_path, "run", "--base-url", server.base_url)
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as process:
            interrupting.pid = process.pid
            shown, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors.read_text()
    assert shown.splitlines()[-1].endswith(f" -m zorkgpt resume {run_folder(tmp_path)} goes on from here.")
    turns = [line.event for line in read_journal(run_folder(tmp_path)) if isinstance(line.event, TurnPlayed)]
    assert len(turns) == 1


def test_a_model_that_fails_pauses_the_run_with_one_line_and_the_key_is_in_nothing_that_is_written(
    tmp_path: Path,
) -> None:
    secret = "sk-planted-0123456789abcdef"
    with MisbehavingServer(proposes("north"), says_error(401, f"bad key {secret}")) as server:
        result = played(tmp_path, server, "--max-turns", "5", OPENAI_API_KEY=secret)
        assert server.asked[0].headers["authorization"] == f"Bearer {secret}"
    assert result.returncode == 1
    assert "Paused in episode 1 after 1 turn: agent: " in result.stdout
    assert "401" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr
    written = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not any(secret in text for text in [*written, result.stdout, result.stderr])


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
def test_what_the_user_can_mend_is_one_line_and_status_2(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = ran(tmp_path, *arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("zorkgpt: ")
    assert message in line


def test_a_folder_that_nobody_named_takes_a_second_story_in_a_folder_of_its_own(
    tmp_path: Path, own_story: Path
) -> None:
    copy = tmp_path / "other.z5"
    copy.write_bytes(own_story.read_bytes() + b"\0" * 512)
    for arguments in ((), ("--game", str(copy))):
        with MisbehavingServer(proposes("north")) as server:
            command = [sys.executable, "-m", "zorkgpt", "run", "--base-url", server.base_url, "--max-turns", "1"]
            command += arguments
            subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, timeout=60, check=True)
    folder = tmp_path / "game_files"
    assert (folder / "map_state.json").is_file()
    assert (folder / "other" / "map_state.json").is_file()


def test_a_folder_that_was_named_for_another_story_is_a_mendable_error(tmp_path: Path, own_story: Path) -> None:
    copy = tmp_path / "other.z5"
    copy.write_bytes(own_story.read_bytes() + b"\0" * 512)
    with MisbehavingServer(proposes("north")) as server:
        played(tmp_path, server, "--max-turns", "1")
        result = played(tmp_path, server, "--max-turns", "1", "--game", str(copy))
    assert result.returncode == 2
    assert "belongs to the story tidehouse" in result.stderr

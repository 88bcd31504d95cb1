"""A run waits for a model that is down or rate-limited, and can be stopped at any time."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path
from threading import Timer

import pytest

from session.events import ModelFailed
from session.files.journal import read_journal
from session.files.run_folders import find_run
from tests.fixtures.command_line import COMMAND, Ran, environment, ran
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Step, Streams, says_error

NORTH = Streams((json.dumps({"reasoning": "It may help.", "action": "north"}),))
REFUSAL = Streams(("I may not.",), delta_field="refusal")
PLAYER_ONLY = environment(
    ZORKGPT_SIMPLE_MEMORY__ENABLED="false", ZORKGPT_KNOWLEDGE__ENABLED="false", ZORKGPT_CRITIC__MODE="object_tree"
)


def busy(seconds: int) -> Step:
    return says_error(429, "too many requests", headers={"Retry-After": str(seconds)})


def command(server: MisbehavingServer, *more: str) -> tuple[str, ...]:
    return ("run", "--max-turns", "2", "--workdir", "work", "--base-url", server.base_url, *more)


def recommended(shown: Ran) -> list[str]:
    """What to type after ``zorkgpt``, by the last line of a run that was paused."""
    words = shlex.split(shown.out.decode().splitlines()[-1].removeprefix("To resume: "))
    return words[words.index("resume") :]


@pytest.mark.slow
def test_a_model_that_comes_back_within_ones_patience_costs_nothing_but_time(tmp_path: Path) -> None:
    with MisbehavingServer(NORTH, busy(5), NORTH) as server:
        shown = ran(tmp_path, *command(server, "--patience", "8h"), env=PLAYER_ONLY)
    assert shown.status == 0, shown
    waiting, back = shown.lines
    assert waiting.endswith("429: too many requests; waiting for it, at most 8 h")
    assert back.endswith("answers again, after 5 s")


@pytest.mark.slow
def test_a_model_that_stays_away_longer_pauses_the_run_which_goes_on_with_as_much_patience(tmp_path: Path) -> None:
    with MisbehavingServer(NORTH, busy(600)) as server:
        paused = ran(tmp_path, *command(server, "--patience", "1"), env=PLAYER_ONLY)
        assert paused.status == 1, paused
        assert b"llm.patience sets how long to wait" in paused.out
        again = ran(tmp_path, *recommended(paused), "--patience", "2s", env=PLAYER_ONLY)
        assert recommended(again)[-2:] == ["--patience", "2s"]
        server.script.append(NORTH)
        server.script.popleft()
        assert ran(tmp_path, *recommended(again), env=PLAYER_ONLY).status == 0


@pytest.mark.slow
def test_a_limit_in_time_holds_while_a_model_is_waited_for(tmp_path: Path) -> None:
    with MisbehavingServer(NORTH, busy(600)) as server:
        paused = ran(tmp_path, *command(server, "--patience", "8h", "--max-time", "4"), env=PLAYER_ONLY)
    assert paused.status == 1, paused
    assert b"after 1 turn: max-time 4 s reached: 4" in paused.out
    option, seconds = recommended(paused)[-2:]
    assert option == "--max-time"
    assert float(seconds) >= 2 * 4


class InterruptsTheWait:
    """Is busy for ten minutes, and sends Ctrl-C to the process ``pid`` while that is waited for."""

    pid = 0

    def play(self, handler: Handler) -> None:
        busy(600).play(handler)
        Timer(0.5, os.kill, (self.pid, signal.SIGINT)).start()


@pytest.mark.slow
def test_ctrl_c_ends_a_wait_and_nothing_is_lost_by_it(tmp_path: Path) -> None:
    interrupting = InterruptsTheWait()
    with MisbehavingServer(NORTH, interrupting) as server:
        with subprocess.Popen(
            [*COMMAND, *command(server, "--patience", "8h")], cwd=tmp_path, env=PLAYER_ONLY, stdout=subprocess.PIPE
        ) as process:
            interrupting.pid = process.pid
            out, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        assert b"after 1 turn: interrupted while waiting to retry" in out
        events = [line.event for line in read_journal(find_run(tmp_path / "work"))]
        assert not [event for event in events if isinstance(event, ModelFailed)]
        server.script.append(NORTH)
        server.script.popleft()
        assert ran(tmp_path, "resume", "--workdir", "work", env=PLAYER_ONLY).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("refusals", [2, 5])
def test_a_stubborn_answer_does_not_end_the_night(tmp_path: Path, refusals: int) -> None:
    with MisbehavingServer(*[REFUSAL] * refusals, NORTH) as server:
        shown = ran(tmp_path, *command(server), env=PLAYER_ONLY)
    assert shown.status == 0, shown
    prompts = [asked.body["messages"] for asked in server.asked]
    assert [len(messages) for messages in prompts] == [2, 4, *[2] * refusals]
    assert not any("JSON schema" in messages[1]["content"] for messages in prompts)

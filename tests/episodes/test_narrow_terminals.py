"""At any width the terminal wraps no table, and a run's assistance is shown completely."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from session.events import Event
from tests.fixtures.command_line import COMMAND, environment
from tests.unit.zorkgpt.report.dye_runs import ended, played, started, turn, write_run

pytestmark = pytest.mark.slow  # each case starts the program
OLD, NEW = "20260131-184500-1a2b", "20260201-090000-3c4d"
COMMANDS = {
    "runs list": ("runs", "list"),
    "runs show": ("runs", "show", OLD),
    "compare": ("compare", OLD, NEW),
    "config show": ("config", "show"),
    "doctor": ("doctor",),
}
DRAWING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def shown(folder: Path, columns: int, *arguments: str) -> list[str]:
    """The lines that a command prints on a terminal of that width."""
    ours, theirs = pty.openpty()
    size = {"COLUMNS": str(columns), "LINES": "50"}
    env = environment(TERM="xterm", **size)
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=theirs
    ) as process:
        os.close(theirs)
        blocks = []
        while block := _read(ours):
            blocks.append(block)
        process.wait(60)
    os.close(ours)
    return [DRAWING.sub("", line) for line in b"".join(blocks).decode().replace("\r", "").splitlines()]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""  # the other side is closed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs. No test changes it."""
    folder = tmp_path_factory.mktemp("narrow")
    events: list[Event] = [started(), played(turn(1, "pull chain")), played(turn(2, "take banner", score=5)), ended()]
    changes: dict[str, Any] = {
        "story": "a-story-with-a-long-name",
        "model": "a-model-with-a-very-long-name served at http://127.0.0.1:8080/v1",
        "assistance": ("fresh-actions", "proven-routes"),
    }
    for run_id in (OLD, NEW):
        write_run(folder / "game_files", events, run_id, configuration={}, **changes)
    return folder


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_line_of_a_table_fits(folder: Path, command: str, columns: int) -> None:
    lines = shown(folder, columns, *COMMANDS[command])
    assert lines
    assert [line for line in lines if len(line) > columns] == []
    if command in ("runs list", "runs show", "compare"):
        told = " ".join(" ".join(lines).split())
        assert re.search("fresh-actions,? .*proven-routes", told)


def test_the_lines_on_a_story_and_its_routes_fit(tmp_path: Path) -> None:
    typed = b"n\nn\ntake lamp\nn\nquit\n"
    subprocess.run([*COMMAND, "play"], cwd=tmp_path, env=environment(), input=typed, capture_output=True, check=True)
    for command in (("status",), ("routes", "show")):
        lines = shown(tmp_path, 40, *command)
        assert len(lines) > 4
        assert [line for line in lines if len(line) > 40] == []

"""A folder that is gone is named, and nothing is promised of a run that was in it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.command_line import COMMAND, Ran, environment, ran
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer
from tests.fixtures.troubled_server import Answers

pytestmark = pytest.mark.slow  # each case starts the interpreter anew

LAST_ANSWER = 6


class Removes:
    """Answers, and removes a folder before its sixth answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers = 0

    def play(self, handler: Handler) -> None:
        self.answers += 1
        if self.answers == LAST_ANSWER:
            shutil.rmtree(self.folder)
        Answers().play(handler)


@pytest.mark.parametrize("command", [("run",), ("runs", "list"), ("config", "show"), ("memories", "show")])
def test_a_current_folder_that_is_gone_is_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    shell = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *COMMAND, *command]
    shown = subprocess.run(shell, cwd=folder, env=environment(), capture_output=True, check=False)
    (line,) = shown.stderr.decode().splitlines()
    assert line.startswith(f"zorkgpt: the current folder, {folder}, is gone")
    assert shown.returncode == 1


def play(folder: Path, removed: Path) -> Ran:
    with MisbehavingServer(Removes(removed)) as server:
        command = ("run", "--max-turns", "9", "--quiet", "--base-url", server.base_url, "--workdir", "work")
        return ran(folder, *command)


@pytest.mark.parametrize("name", ["", "work", "work/runs"])
def test_a_run_whose_folder_is_gone_is_not_said_to_go_on(tmp_path: Path, name: str) -> None:
    here = tmp_path / "here"
    here.mkdir()
    shown = play(here, here / name)
    assert shown.status == 1
    assert "goes on from here" not in shown.out.decode()
    assert "is gone: the run cannot go on" in shown.out.decode().splitlines()[-1]
    if not name:
        assert shown.lines[-1].startswith(f"zorkgpt: the current folder, {here}, is gone")

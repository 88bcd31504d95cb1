"""``zorkgpt report --watch`` serves a run on this computer, and follows it as it is played."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from gzip import decompress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from session.events import RunEnded
from session.files.journal import JOURNAL_FILE
from session.files.run_folders import claimed
from tests.fixtures.command_line import COMMAND, environment
from tests.fixtures.recorded_run import RECORDED
from tests.fixtures.report_data import command_of, is_played
from tests.unit.zorkgpt.report.dye_runs import ended, played, started, turn, write_run

PATIENCE = 60.0
"""Seconds; on a loaded machine it takes some of them to start Python."""


@pytest.mark.slow
def test_turns_come_as_they_are_played_then_their_prompts_and_at_last_that_the_run_is_over(
    own_story: Path, tmp_path: Path
) -> None:
    shutil.copytree(RECORDED, tmp_path / "work")
    (run,) = (tmp_path / "work" / "runs").iterdir()
    lines = (run / JOURNAL_FILE).read_bytes().splitlines(keepends=True)
    (run / JOURNAL_FILE).write_bytes(b"".join(lines[:60]))
    command = [*COMMAND, "report", run.name, "--watch", "--workdir", "work", "--game", str(own_story)]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE) as serving:
        try:
            with claimed(run):
                assert serving.stdout is not None
                said = serving.stdout.readline().decode()
                address = next(word for word in said.split() if word.startswith("http://127.0.0.1:"))
                first = data_of(address)
                assert (first["follow"], is_rebuilt(first)) == (True, True)
                assert "is being played" in first["runs"][0]["notes"][0]["text"]
                (run / JOURNAL_FILE).write_bytes(b"".join(lines[:-1]))
                later = until(address, lambda data: len(turns(data)) > len(turns(first)))
                assert turns(later)[: len(turns(first))] == turns(first)
                assert until(address, is_rebuilt)["follow"]
            (run / JOURNAL_FILE).write_bytes(b"".join(lines))
            last = until(address, lambda data: not data["follow"])
            assert (last["runs"][0]["figures"]["run"]["state"], is_rebuilt(last), turns(last)) == (
                "done",
                True,
                turns(later),
            )
        finally:
            serving.send_signal(signal.SIGINT)
        assert serving.wait(PATIENCE) == 0


def test_without_a_named_run_the_page_goes_over_to_a_run_that_begins_later(tmp_path: Path) -> None:
    first, second = "20260131-184500-1a2b", "20260201-090000-3c4d"
    write_run(tmp_path / "work", [started(), played(turn(1, "pull chain")), ended(), RunEnded(1)], first)
    command = [*COMMAND, "report", "--watch", "--workdir", "work"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE) as serving:
        try:
            assert serving.stdout is not None
            address = next(word for word in serving.stdout.readline().decode().split() if word.startswith("http://"))
            shown = data_of(address)
            assert (ids(shown), shown["follow"]) == ([first], True)
            write_run(tmp_path / "work", [started(), played(turn(1, "dip banner"))], second)
            later = until(address, lambda data: ids(data) == [second])
            assert (turns(later)[1:], later["follow"]) == ([(1, "dip banner")], True)
        finally:
            serving.send_signal(signal.SIGINT)
        assert serving.wait(PATIENCE) == 0


def turns(data: dict[str, Any]) -> list[tuple[int, str | None]]:
    """The turns that were played, with their commands."""
    return [(turn["turn"], command_of(turn)) for turn in data["runs"][0]["turns"] if is_played(turn)]


def ids(data: dict[str, Any]) -> list[str]:
    return [run["figures"]["run"]["run_id"] for run in data["runs"]]


def is_rebuilt(data: dict[str, Any]) -> bool:
    """Whether every call has its prompt."""
    return bool(data["runs"][0]["prompts"] == "rebuilt")


def data_of(address: str) -> dict[str, Any]:
    """What the page at that address is given now."""
    with urlopen(f"{address}report.json", timeout=PATIENCE) as response:
        data: dict[str, Any] = json.loads(decompress(response.read()))
        return data


def until(address: str, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Poll the page's content until the condition holds, and return it."""
    deadline = time.monotonic() + PATIENCE
    while not is_so(data := data_of(address)):
        assert time.monotonic() < deadline, data
        time.sleep(0.2)
    return data

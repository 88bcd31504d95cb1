"""``zorkgpt report --watch`` serves a run on this computer, and follows it as it is played."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from gzip import decompress
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from session.events import RunEnded
from session.files.journal import Journal
from session.files.run_folders import RUNS, claimed
from tests.fixtures.command_line import COMMAND, environment
from tests.unit.zorkgpt.report.dye_runs import LOFT, manifest, played, started, turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE = 60.0
"""Seconds; on a loaded machine it takes some of them to start Python."""


def test_a_page_has_each_turn_soon_after_it_was_played_and_says_when_the_run_is_over(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / RUNS, manifest("20260131-184500-1a2b"))
    journal.append(started())
    command = [*COMMAND, "report", "--watch", "--workdir", str(tmp_path)]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE) as serving:
        try:
            with claimed(journal.folder):
                assert serving.stdout is not None
                said = serving.stdout.readline().decode()
                address = next(word for word in said.split() if word.startswith("http://127.0.0.1:"))
                first = data_of(address)
                assert (first["follow"], commands(first)) == (True, [None])
                assert "is being played" in first["runs"][0]["notes"][0]["text"]
                journal.append(played(turn(1, "up", location=LOFT)))
                until(address, lambda data: commands(data) == [None, "up"] and data["follow"])
                journal.append(RunEnded(1))
                journal.close()
            last = until(address, lambda data: not data["follow"])
            assert (commands(last), last["runs"][0]["state"]) == ([None, "up"], "done")
        finally:
            serving.send_signal(signal.SIGINT)
        assert serving.wait(PATIENCE) == 0


def commands(data: dict[str, Any]) -> list[str | None]:
    return [turn["command"] for turn in data["runs"][0]["episodes"][0]["turns"]]


def data_of(address: str) -> dict[str, Any]:
    """What the page at that address is given now."""
    with urlopen(f"{address}report.json", timeout=PATIENCE) as response:
        data: dict[str, Any] = json.loads(decompress(response.read()))
        return data


def until(address: str, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Ask for the data now and then until it is so, and return them."""
    deadline = time.monotonic() + PATIENCE
    while not is_so(data := data_of(address)):
        assert time.monotonic() < deadline, data
        time.sleep(0.2)
    return data

"""A run whose output cannot be written, and a run on a full disk."""

from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from session.errors import LanguageModelError, StoreError
from session.events import RunEnded, RunPaused, TurnPlayed
from tests.episodes.test_run_command import only_the_agent, proposes, run_folder
from tests.fixtures.command_line import COMMAND
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.run_traces import events_of
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.fixtures.whole_run import play_run
from zorkgpt.llm.language_model import Prompt, Role

pytestmark = pytest.mark.slow  # each case starts the program

FULL = Path("/dev/full")
needs_full_device = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def ran(folder: Path, shell: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, run by the shell line ``shell``, in which ``"$@"`` is the command."""
    with MisbehavingServer(proposes("north")) as server:
        command = [*COMMAND, "run", "--base-url", server.base_url, "--workdir", str(folder / "work"), *arguments]
        return subprocess.run(
            ["/bin/bash", "-o", "pipefail", "-c", shell, "bash", *command],
            cwd=folder,
            env=only_the_agent(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--quiet",)])
@needs_full_device
def test_output_that_cannot_be_written_is_one_line_and_the_run_is_played(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    result = ran(tmp_path, f'"$@" > {FULL}', "--max-turns", "2", *arguments)
    assert result.returncode == 0, result.stderr
    assert result.stderr == "zorkgpt: nothing more is shown, only journaled: No space left on device\n"
    assert sum(isinstance(event, TurnPlayed) for event in events_of(run_folder(tmp_path))) == 2


@pytest.mark.parametrize(
    ("closed", "arguments"),
    [(">&-", ()), ("2>&-", ()), ("<&- >&- 2>&-", ("--json",))],
)
def test_closed_streams_do_not_matter(tmp_path: Path, closed: str, arguments: tuple[str, ...]) -> None:
    result = ran(tmp_path, f'"$@" {closed}', "--max-turns", "1", *arguments)
    assert result.returncode == 0
    assert result.stderr == ""
    assert isinstance(events_of(run_folder(tmp_path))[-1], RunEnded)


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_a_reader_that_has_seen_enough_ends_the_run_as_interrupted(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = ran(tmp_path, '"$@" | head -n 1', "--max-turns", "500", *arguments)
    assert result.returncode == 130
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 1
    assert isinstance(events_of(run_folder(tmp_path))[-1], RunPaused)


def test_a_corrupt_map_is_one_line_on_the_screen_and_every_line_of_json_output_is_json(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "map_state.json").write_text("{")
    (tmp_path / "work" / "map_state.json.backup").write_text('{"rooms": {}}')
    result = ran(tmp_path, '"$@"', "--max-turns", "1", "--json")
    shown: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
    assert shown[0]["kind"] == "run_started"
    (line,) = result.stderr.splitlines()
    assert "map_state.json is now map_state.json.corrupt" in line
    assert line.endswith(
        "map_state.json.corrupt.backup is the version before: to use it, copy it to map_state.json now"
    )
    assert (tmp_path / "work" / "map_state.json.corrupt.backup").read_text() == '{"rooms": {}}'
    logged, *_ = (run_folder(tmp_path) / "log.jsonl").read_text().splitlines()
    assert json.loads(logged)["event"] == "corrupt map kept aside, starting empty"


def test_a_disk_that_fills_up_ends_the_run_with_one_error_and_a_whole_journal(own_story: Path, tmp_path: Path) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_the_disk_before_the_second_turn(role: Role, _prompt: Prompt, _schema: type[BaseModel]) -> Reply:
        if run_folder(tmp_path).joinpath("journal.jsonl").read_bytes().count(b"turn_played"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, unlimited[1]))
        return {"action": "north"} if role == "agent" else LanguageModelError("only the agent answers")

    try:
        with pytest.raises(StoreError, match=r"cannot write the journal in .*: File too large"):
            play_run(own_story, ScriptedLLM(fill_the_disk_before_the_second_turn), tmp_path / "work")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert sum(isinstance(event, TurnPlayed) for event in events_of(run_folder(tmp_path))) == 1

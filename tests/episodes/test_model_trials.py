"""Each model is tried before anything is played, and one that is refused costs neither a run nor an episode number."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.files.run_folders import find_run
from tests.fixtures.command_line import ran
from tests.fixtures.misbehaving_server import MisbehavingServer, says_error
from tests.fixtures.troubled_server import Answers
from tests.fixtures.typed_command import typed

REFUSED = says_error(400, "wrong is not a valid model ID")


def test_a_wrong_model_of_another_role_than_the_agents_ends_a_run_before_it_begins_even_with_quiet(
    in_own_folder: Path,
) -> None:
    with MisbehavingServer(Answers()) as server, MisbehavingServer(Answers()) as other:
        other.trial = REFUSED
        models = ("--base-url", server.base_url, "--set", f"llm.memory.base_url={other.base_url}")
        wrong = ("--set", "memory_model=wrong", "--workdir", "work", "--quiet", "--max-turns", "2")
        shown = typed("run", *models, *wrong)
        assert shown.status != 0
        (line,) = shown.lines
        assert f"memory: wrong at {other.base_url}: 400: wrong is not a valid model ID" in line
        assert not (in_own_folder / "work").exists()
        assert server.asked == other.asked == []


@pytest.mark.slow
def test_a_run_is_not_resumed_with_a_model_that_is_refused(tmp_path: Path) -> None:
    with MisbehavingServer(Answers()) as server:
        there = ("--base-url", server.base_url, "--workdir", "work")
        ran(tmp_path, "run", *there, "--quiet", "--max-turns", "3", "--max-tokens", "10")
        journal = find_run(tmp_path / "work") / "journal.jsonl"
        before, calls = journal.read_bytes(), len(server.asked)
        server.trial = REFUSED
        shown = ran(tmp_path, "resume", "--workdir", "work", "--max-tokens", "1000000", "--model", "wrong")
        assert shown.status != 0
        assert "400: wrong is not a valid model ID" in shown.lines[-1]
        assert (journal.read_bytes(), len(server.asked)) == (before, calls)

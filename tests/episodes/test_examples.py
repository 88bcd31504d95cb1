"""The examples run in an empty folder; tests/episodes/test_installed_package.py tests the one with a story's tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.command_line import environment

FOLDER = Path(__file__).parents[2] / "examples"
PRINTED = {
    "function_agent.py": " rooms in 30 turns",
    "gymnasium_environment.py": "points: ",
    "play_turn_by_turn.py": "best score: 5",
}


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.py")))
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    if name.startswith("gym"):
        pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    command = [sys.executable, "-W", "error", str(FOLDER / name)]
    ran = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert PRINTED[name] in ran.stdout

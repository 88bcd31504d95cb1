"""The examples run in an empty folder; tests/episodes/test_installed_package.py tests the one with a story's tests."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
PRINTED = {
    "function_agent.py": " rooms in 30 turns",
    "gymnasium_environment.py": "points: ",
    "play_turn_by_turn.py": "best score: 5",
}


@pytest.mark.usefixtures("in_own_folder")
@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.py")))
def test_an_example_runs(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    if name.startswith("gym"):
        pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    printed = capfd.readouterr()
    assert printed.err == ""
    assert PRINTED[name] in printed.out

"""At any width the terminal wraps no table, and a run's assistance is shown completely."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from session.events import Event
from tests.fixtures.command_line import environment, ran, ran_on_a_terminal
from tests.unit.zorkgpt.report.dye_runs import ended, played, started, turn, write_run

pytestmark = pytest.mark.slow  # each case starts the program
OLD, NEW = "20260131-184500-1a2b", "20260201-090000-3c4d"
OF_RUNS = (("runs", "list"), ("runs", "show", OLD), ("compare", OLD, NEW))
DRAWING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def shown(folder: Path, columns: int, *arguments: str) -> list[str]:
    """The lines that a command prints on a terminal of that width."""
    env = environment(COLUMNS=str(columns), LINES="50")
    text = ran_on_a_terminal(folder, *arguments, env=env).text
    return DRAWING.sub("", text.replace("\r", "")).splitlines()


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


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("command", [*OF_RUNS, ("config", "show"), ("doctor",)], ids=" ".join)
def test_every_line_of_a_table_fits(folder: Path, command: tuple[str, ...], columns: int) -> None:
    lines = shown(folder, columns, *command)
    assert lines
    assert [line for line in lines if len(line) > columns] == []
    if command in OF_RUNS:
        told = " ".join(" ".join(lines).split())
        assert re.search("fresh-actions,? .*proven-routes", told)


def test_the_lines_on_a_story_and_what_was_learned_fit(tmp_path: Path) -> None:
    assert ran(tmp_path, "play", typed="n\nn\ntake lamp\nn\nquit\n").status == 0
    text = "Its rung gives way, which nobody who climbs it in a hurry is likely to notice."
    assert ran(tmp_path, "memories", "add", "46", "The ladder that leads up to the loft", text).status == 0
    (tmp_path / "game_files" / "knowledgebase.md").write_text(f"## DANGERS & THREATS\n\n- {text}\n")
    learned = (("memories", "show"), ("memories", "log"), ("knowledge", "show"), ("map",))
    for command in (("status",), ("routes", "show"), *learned):
        lines = shown(tmp_path, 40, *command)
        assert len(lines) > 3
        assert [line for line in lines if len(line) > 40] == []

"""A manager is added by its module, its template and one line, and takes part in all that a run does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from managers.base_manager import BaseManager
from managers.episodes import PLANNED_TURNS
from orchestration.history import Branch
from orchestration.learning import MANAGERS
from session.files.run_folders import find_run
from tests.fixtures.doomed_run import STORY
from tests.fixtures.prompted_run import Before, fork_of, play_prompted, prompted, resume_with
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.visit_counter import FILE, VisitCounter
from tests.fixtures.whole_run import WholeRun, verify_run

TURNS = 8


@pytest.fixture(autouse=True)
def _added() -> Iterator[None]:
    MANAGERS.append(VisitCounter)  # the one line
    yield
    MANAGERS.remove(VisitCounter)


def counted(folder: Path) -> int:
    counts: dict[str, int] = json.loads((folder / FILE).read_text())["turns"]
    return sum(counts.values())


def play(folder: Path, model: ScriptedLLM | None = None) -> WholeRun:
    return play_prompted(STORY, folder, turns=TURNS, model=model)


def test_it_gets_turns_over_runs_and_its_section_is_in_the_prompts(tmp_path: Path) -> None:
    model = prompted()
    turns = len(play(tmp_path).turns)
    turns += len(play(tmp_path, model).turns)
    assert counted(tmp_path) == turns
    shown = [call.prompt.user for call in model.calls if call.role == "agent"]
    assert all("## Visits\nTurns that began here, in all episodes: " in prompt for prompt in shown)
    here, elsewhere = map(int, re.findall(r"episodes: (\d+). Elsewhere: (\d+)", shown[0])[0])
    assert here + elsewhere == TURNS


def test_its_file_is_copied_when_a_run_begins_and_ends(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"turns": {"7": 3}}')
    play(tmp_path)
    run = find_run(tmp_path)
    assert (run / "start" / FILE).read_text() == '{"turns": {"7": 3}}'
    assert (run / "end" / FILE).read_bytes() == (tmp_path / FILE).read_bytes()


def test_it_is_repeated_exactly_and_a_difference_in_its_file_would_show(tmp_path: Path) -> None:
    play(tmp_path)
    assert verify_run(STORY, tmp_path).difference is None
    MANAGERS.remove(VisitCounter)
    try:
        assert verify_run(STORY, tmp_path).difference is not None
    finally:
        MANAGERS.append(VisitCounter)


def test_a_run_that_stopped_goes_on_with_its_counts(tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(tmp_path, prompted(Before({5: interrupt})))
    resume_with(STORY, tmp_path)
    assert counted(tmp_path) == TURNS
    assert verify_run(STORY, tmp_path).difference is None


def test_a_fork_has_the_counts_up_to_its_branch_and_its_own(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"turns": {"7": 30}}')
    play(tmp_path)
    fork = fork_of(STORY, tmp_path, Branch(1, 3))
    assert counted(fork.folder) == 30 + TURNS


def manager_of_the_page() -> type[BaseManager]:
    """The manager of docs/development/extending.md."""
    page = (Path(__file__).parents[2] / "docs" / "development" / "extending.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(next(block for block in blocks if "class DeathCounter" in block), names)
    kind: type[BaseManager] = names["DeathCounter"]
    return kind


def test_the_question_at_the_end_has_the_outlook_of_a_manager_that_is_listed_last(tmp_path: Path) -> None:
    model, of_page = prompted(), manager_of_the_page()
    MANAGERS.append(of_page)
    try:
        play_prompted(STORY, tmp_path, turns=PLANNED_TURNS, model=model)
    finally:
        MANAGERS.remove(of_page)
    (asked,) = [call.prompt.user for call in model.calls if "=== FOR THE PLAN ===" in call.prompt.user]
    assert "Deaths in this episode: " in asked
    assert "Locations at which a turn began: " in asked


def test_it_has_a_row_in_the_status(tmp_path: Path) -> None:
    play(tmp_path)
    status = json.loads((tmp_path / "current_state.json").read_text())["managers"]["VisitCounter"]
    assert status == {"type": "visits", "state": {}, "metrics": {"turns": TURNS}}

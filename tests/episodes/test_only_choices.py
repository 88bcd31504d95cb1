"""A list of one command is played without a model call, and says so."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from orchestration.history import Branch
from session.events import ModelAnswered, TurnPlayed
from session.files.run_folders import find_run
from session.values import TurnRecord
from tests.fixtures.prompted_run import fork_of
from tests.fixtures.run_traces import journal_of
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.whole_run import AGENT_ALONE, WholeRun, killing_after, play_run, resume_run, verify_run
from zorkgpt.cli.screen import plain_lines
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.report.figures import figures_of
from zorkgpt.report.played_run import read_run

TURNS = 5
OPTIONS: dict[str, Any] = {**AGENT_ALONE, "max_turns_per_episode": TURNS, "assist": "fresh-actions"}


def first_listed(_role: Role, _prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
    action = schema.model_json_schema()["properties"]["action"]
    return {"reasoning": "", "action": action.get("enum", [action.get("const")])[0]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of ``whole``. No test changes it."""
    return tmp_path_factory.mktemp("whole")


@pytest.fixture(scope="module")
def model() -> ScriptedLLM:
    """The model that has played it."""
    return ScriptedLLM(first_listed)


@pytest.fixture(scope="module")
def whole(own_story: Path, model: ScriptedLLM, folder: Path) -> WholeRun:
    return play_run(own_story, model, folder, **OPTIONS)


def unasked(run: WholeRun) -> list[TurnRecord]:
    return [turn for turn in run.turns if turn.verdicts[-1].source == "only"]


def test_a_list_of_one_command_is_played_without_a_call_and_its_record_says_why(
    model: ScriptedLLM, whole: WholeRun
) -> None:
    sizes = [len(call.schema.model_json_schema()["properties"]["action"].get("enum", "1")) for call in model.calls]
    assert min(sizes) > 1
    assert len(unasked(whole)) == TURNS - len(sizes) > 0
    assert {turn.reasoning for turn in unasked(whole)} == {"The only command on the list; no model was asked."}
    event = next(each for each in whole.events if isinstance(each, TurnPlayed) and each.record in unasked(whole))
    assert any("no model was asked" in line for line in plain_lines(event))


def test_the_figures_count_them_as_turns_without_a_call(whole: WholeRun, folder: Path) -> None:
    figures = figures_of(read_run(find_run(folder)))
    assert figures.metrics.calls_saved == figures.episodes[0].calls_saved == len(unasked(whole))


def test_what_reads_the_text_in_calls_of_its_own_is_not_asked_then(own_story: Path, tmp_path: Path) -> None:
    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        return first_listed(role, prompt, schema) if role == "agent" else {}

    run = play_run(own_story, ScriptedLLM(reply), tmp_path, **OPTIONS, extractor={"mode": "separate"})
    calls = [event.role for event in run.events if isinstance(event, ModelAnswered)]
    assert calls == ["agent", "info_ext"] * (TURNS - len(unasked(run)))


@pytest.mark.parametrize("turn", [2, *(pytest.param(turn, marks=pytest.mark.slow) for turn in range(3, TURNS))])
@pytest.mark.usefixtures("whole")
def test_a_run_that_is_killed_and_resumed_equals_one_that_was_not(
    own_story: Path, tmp_path: Path, folder: Path, turn: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        play_run(own_story, ScriptedLLM(first_listed), tmp_path, show=killing_after(1, turn), **OPTIONS)
    resume_run(own_story, ScriptedLLM(first_listed), tmp_path)
    assert journal_of(tmp_path) == journal_of(folder)
    assert verify_run(own_story, tmp_path).difference is None


def test_a_fork_goes_on_with_them(own_story: Path, tmp_path: Path, whole: WholeRun, folder: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "work")
    fork = fork_of(own_story, copy, Branch(1, 2), ScriptedLLM(first_listed))
    assert [turn.action for turn in fork.played.turns] == [turn.action for turn in whole.turns]

"""Runs with what other systems remember: repeated, resumed and forked like any other run."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.history import Branch
from session.game_configuration import GameConfiguration
from session.options import Setting, resolve
from tests.fixtures.doomed_run import STORY
from tests.fixtures.prompted_run import Before, fork_of, prompted, resume_with
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.whole_run import WholeRun, play_run, verify_run
from zorkgpt.ablation.plan import NAMED

pytest.importorskip("bm25s", reason="bm25s is not installed")

TURNS, EPISODES = 8, 3
FILES = {"reflection-only": "lesson.md", "bm25": "all_transcripts.md"}
TITLES = {"reflection-only": "## Lesson of earlier games", "bm25": "## Similar turns of earlier games"}


def play(folder: Path, arm: str, model: ScriptedLLM | None = None) -> WholeRun:
    settings = [Setting(name, value, name, "") for name, value in NAMED[arm].items()]
    options = resolve(GameConfiguration, settings)[0].model_dump(exclude_unset=True)
    options |= {"critic": {"mode": "object_tree"}, "max_turns_per_episode": TURNS}
    return play_run(STORY, model or prompted(), folder, episodes=EPISODES, **options)


@pytest.mark.parametrize("arm", FILES)
def test_an_arm_shows_what_it_remembers_from_the_second_episode_on_and_nothing_else(tmp_path: Path, arm: str) -> None:
    model = prompted()
    play(tmp_path, arm, model)
    asked = [call.prompt.user for call in model.calls if call.role == "agent"]
    assert [TITLES[arm] in prompt for prompt in asked] == [n >= TURNS for n in range(TURNS * EPISODES)]
    assert not any("## Earlier games" in prompt or "## Location Memory" in prompt for prompt in asked)
    assert {call.role for call in model.calls} == {"agent", *(["analysis"] if arm == "reflection-only" else [])}


@pytest.mark.parametrize("arm", FILES)
def test_a_run_of_an_arm_that_stopped_goes_on_as_if_it_had_not(tmp_path: Path, arm: str) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    play(tmp_path / "whole", arm)
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path / "stopped", arm, prompted(Before({TURNS + 5: interrupt})))
    resume_with(STORY, tmp_path / "stopped")
    file = FILES[arm]
    assert (tmp_path / "stopped" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert verify_run(STORY, tmp_path / "stopped").difference is None


@pytest.mark.parametrize("arm", FILES)
def test_a_fork_of_an_arm_begins_with_what_was_remembered_at_its_branch(tmp_path: Path, arm: str) -> None:
    (tmp_path / FILES[arm]).write_text("## Episode 0\n\n> Hall\n\n1. `wave`\n> Causeway sand.\n")
    play(tmp_path, arm)
    model = prompted()
    fork = fork_of(STORY, tmp_path, Branch(1, 3), model)
    first = next(call.prompt.user for call in model.calls if call.role == "agent")
    assert "wave" in first
    assert (fork.folder / FILES[arm]).exists()


@pytest.mark.parametrize("arm", FILES)
def test_an_edit_during_a_run_of_an_arm_is_followed_and_repeated(tmp_path: Path, arm: str) -> None:
    def edit() -> None:
        file = tmp_path / FILES[arm]
        file.write_text(file.read_text() + "\nMind the tide.\n")

    play(tmp_path, arm, prompted(Before({TURNS + 2: edit})))
    assert verify_run(STORY, tmp_path).difference is None

"""Whatever a model server answers, a run can be repeated: what happens next follows from what is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.history import Branch, verify
from session.events import ModelAnswered, ModelFailed
from session.files.journal import read_journal
from session.game_configuration import LanguageModelOptions, RoleOptions
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.prompted_run import fork_of
from tests.fixtures.typed_command import typed
from tests.fixtures.unusable_answers import UnusableAnswers
from tests.fixtures.whole_run import WholeRun, newest_run, parts_of, play_run, resume_run
from tests.unit.zorkgpt.llm.asking import Patience
from zorkgpt.ablation.random_player import RandomModel
from zorkgpt.llm.language_model import ROLES
from zorkgpt.llm.openai.openai_model import OpenAIModel
from zorkgpt.llm.run_model import RepeatedCall

EPISODES, TURNS = 3, 14
LIMITS = LanguageModelOptions(stall_timeout=0.1, max_attempts=2, patience=1)
MOST_STOPS = 60
SEEDS = [3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (6, *range(8, 22, 2)))]
"""The first two have an invalid answer to the common question at an episode's end."""


def play_to_the_end(story: Path, folder: Path, unusable: UnusableAnswers) -> WholeRun:
    """A run that is resumed whenever the agent got no usable answer; what was played last."""
    patience = Patience()
    with MisbehavingServer(unusable) as server:
        settings = RoleOptions("served", server.base_url, limits=LIMITS)
        with OpenAIModel(dict.fromkeys(ROLES, settings), sleep=patience.sleep, clock=patience.clock) as model:
            run = play_run(
                story,
                model,
                folder,
                episodes=EPISODES,
                max_turns_per_episode=TURNS,
                objective_update_interval=9,
                knowledge_update_interval=10,
                knowledge={"max_tokens": 100},
                critic={"mode": "llm"},
                extractor={"mode": "separate"},
            )
            for _ in range(MOST_STOPS):
                if run.end == "done":
                    break
                run = resume_run(story, model, folder)
    assert run.end == "done"
    return run


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_of_unusable_answers_is_replayed_shown_and_forked(
    own_story: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_to_the_end(own_story, tmp_path, UnusableAnswers(seed, share=(0.9, 0.5, 0.7)[seed % 3]))
    run, configuration, first_seed = newest_run(tmp_path)
    calls = [e for line in read_journal(run) if isinstance(e := line.event, ModelAnswered | ModelFailed)]
    failures = [call for call in calls if isinstance(call, ModelFailed)]
    assert {call.failure for call in failures} == {"invalid", "unavailable"}
    repeated: list[RepeatedCall] = []
    with parts_of(own_story, None, first_seed) as parts:
        replayed = verify(configuration, parts, run, lambda _event: None, repeated.append)
    assert (replayed.difference, replayed.is_whole) == (None, True)
    assert [call.recorded for call in repeated] == calls
    assert all(call.is_as_recorded for call in repeated)
    monkeypatch.chdir(tmp_path)
    for command in (
        ("prompt", run.name),
        ("report", run.name, "-o", str(tmp_path / "report.html")),
        ("replay", run.name),
    ):
        assert typed(*command, "--workdir", str(tmp_path)).status == 0, command
    fork = fork_of(own_story, tmp_path, Branch(2, 1 + seed % (TURNS - 1)), RandomModel(seed))
    assert fork.played.end == "done"

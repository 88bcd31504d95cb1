"""The cost of an ablation is estimated before it is played."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event as Flag

import pytest

from orchestration.opening import open_story
from orchestration.run import open_run
from session.events import Event, ModelAnswered, ModelFailed
from session.game_configuration import GameConfiguration
from tests.fixtures.command_line import environment, ran
from zorkgpt.ablation.plan import AblationPlan
from zorkgpt.ablation.random_player import Estimate, estimates
from zorkgpt.cli.terminal import print_costs
from zorkgpt.llm.run_model import ChosenModel
from zorkgpt.llm.stand_ins import RandomModel

SERVED = {
    "max_turns_per_episode": 10,
    "agent_model": "named",
    "llm": {"base_url": "http://127.0.0.1:9/v1"},
    "objective_update_interval": 5,
    "knowledge_update_interval": 5,
}
PRICED = {"prices": {"named": {"input": 2, "output": 8}}}


def plan(story: Path, **options: object) -> AblationPlan:
    configuration = GameConfiguration.model_validate(SERVED | options)
    off = configuration.simple_memory.model_copy(update={"enabled": False})
    arms = {"full": configuration, "no-memory": configuration.model_copy(update={"simple_memory": off})}
    return AblationPlan(arms, {story.stem: story}, pairs=4, episodes=3)


def test_the_random_model_answers_whatever_a_run_asks(own_story: Path, tmp_path: Path) -> None:
    everything = SERVED | {"critic": {"mode": "llm"}, "extractor": {"mode": "separate"}, "zork_game_workdir": tmp_path}
    configuration = GameConfiguration.model_validate(everything | {"game": {"file": own_story}})
    events: list[Event] = []
    model = ChosenModel(RandomModel(1), "random")
    with (
        open_story(configuration) as parts,
        open_run(configuration, replace(parts, model=model), episodes=2, show=events.append, stop=Flag()) as run,
    ):
        run.play()
    assert [event.error for event in events if isinstance(event, ModelFailed)] == []
    roles = {event.role for event in events if isinstance(event, ModelAnswered)}
    assert roles == {"agent", "critic", "info_ext", "memory", "analysis"}


def test_every_arm_is_told_by_itself_for_all_its_runs(own_story: Path) -> None:
    full, without = estimates(plan(own_story, **PRICED))
    assert (full.story, full.arm, without.arm) == ("tidehouse", "full", "no-memory")
    assert full.turns == without.turns == 4 * 3 * 10
    assert full.calls > without.calls >= full.turns
    assert full.dollars == pytest.approx((2 * full.prompt_tokens + 8 * full.answer_tokens) / 1e6, rel=0.01)


def test_a_budget_does_not_end_a_rehearsal_and_without_a_price_there_are_no_dollars(own_story: Path) -> None:
    (tight, _), (free, _) = estimates(plan(own_story, budgets={"max_tokens": 10})), estimates(plan(own_story))
    assert (tight.calls, tight.dollars) == (free.calls, None)


def test_hours_are_those_of_the_calls_and_of_the_program_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    estimate = Estimate("mill", "full", 100, 720, 10, 10, None, 720.0)
    assert estimate.hours(seconds_a_call=4, workers=2) == 0.5
    print_costs([estimate, replace(estimate, dollars=1.5)], 4, 2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["mill", "full", "100", "720", "10", "10", "-", "0.5"]
    assert lines[3].split() == ["all", "200", "1,440", "20", "20", "-", "1.0"]
    assert "the price of a model is unknown" in lines[-1]


@pytest.mark.slow
def test_a_dry_run_needs_no_key_for_the_profile_and_the_price_of_a_named_model(tmp_path: Path) -> None:
    def dollars(*more: str, **variables: str) -> str:
        command = ("ablate", "--dry-run", "--max-turns", "4", "--arms", "full", "--pairs", "2", "--episodes", "3")
        result = ran(tmp_path, *command, *more, env=environment(**variables))
        assert result.status == 0
        return " ".join(result.out.decode().splitlines()[1].split()[3:-1])

    named = dollars("--model", "gpt-4.1-mini")
    assert named == dollars("--model", "gpt-4.1-mini", OPENAI_API_KEY="sk-planted")
    assert float(named.split()[-1]) > 0
    assert dollars("--model", "no-such-model").endswith(" -")
    assert dollars().endswith(" 0.00")


def test_a_dry_run_plays_nothing_and_leaves_nothing_behind(tmp_path: Path) -> None:
    server = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--max-turns", "4")
    result = ran(tmp_path, "ablate", "--dry-run", *server, "--arms", "full", "--pairs", "2", "--episodes", "3")
    assert result.status == 0
    assert b"tidehouse  full  24     " in result.out
    single = ran(tmp_path, "run", "--dry-run", *server, "--episodes", "6", "--seed", "jericho")
    assert b"\ntidehouse  24     " in single.out
    assert single.out.split()[10:14] == result.out.split()[12:16]
    assert list(tmp_path.iterdir()) == []

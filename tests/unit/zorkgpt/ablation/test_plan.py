"""What an ablation plays, that a folder holds one ablation alone, and what it will cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event as Flag
from typing import get_args

import pytest

from orchestration.parts import open_story
from orchestration.run import open_run
from session.errors import ConfigurationError, StoreError
from session.events import Event, ModelAnswered, ModelFailed
from session.game_configuration import GameConfiguration, PlayerKind
from session.options import options_of
from session.values import derived_seed
from tests.fixtures.command_line import environment, ran
from tests.fixtures.memory_reader import open_reader
from zorkgpt.ablation.ablation import make_plan
from zorkgpt.ablation.plan import (
    NAMED,
    PLAN_FILE,
    AblationPlan,
    Task,
    WrittenPlan,
    arm_folder,
    claim,
    parse_arms,
    pinned,
    stories_of,
)
from zorkgpt.ablation.random_player import Estimate, RandomModel, estimates
from zorkgpt.cli.terminal import print_costs
from zorkgpt.llm.run_model import ChosenModel


def plan(*stories: Path, pairs: int = 2, seed: int = 7) -> AblationPlan:
    def configuration(**options: object) -> GameConfiguration:
        return GameConfiguration.model_validate({"game": {"seed": seed}, **options})

    arms = {"full": configuration(), "seeded": configuration(agent_sampling={"seed": 100})}
    return AblationPlan(arms, {story.stem: story for story in stories}, pairs=pairs, episodes=3)


def test_the_runs_of_a_pair_have_the_same_seeds_and_models_start_from_their_arms_own_in_every_pair(
    own_story: Path,
) -> None:
    tasks = list(plan(own_story).tasks())
    seeds = [
        (task.folder, task.configuration.game.seed, task.configuration.role("agent").sampling.seed) for task in tasks
    ]
    second, models = derived_seed(7, 2, "pair"), derived_seed(100, 2, "pair")
    assert seeds == [("full/1", 7, 7), ("seeded/1", 7, 100), ("full/2", second, second), ("seeded/2", second, models)]


def test_every_arm_plays_each_story_from_the_same_seeds_in_a_folder_of_its_own(own_story: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.z5"
    tasks = list(plan(own_story, other, pairs=1).tasks())
    assert [(task.folder, task.configuration.game.file, task.configuration.game.seed) for task in tasks] == [
        ("tidehouse/full/1", own_story, 7),
        ("tidehouse/seeded/1", own_story, 7),
        ("other/full/1", other, 7),
        ("other/seeded/1", other, 7),
    ]


def test_another_process_gets_the_same_task_with_every_option_and_key(own_story: Path) -> None:
    options = {
        "game": {"file": own_story, "seed": 7},
        "llm": {"api_key": "key-of-the-agent", "critic": {"base_url": "http://there/v1", "api_key": "critics-key"}},
        "agent_model": "named",
        "assist": ["valid-actions"],
        "prices": {"named": {"input": 1.5, "output": 2}},
        "zork_game_workdir": own_story.parent,
    }
    configuration = GameConfiguration.model_validate(options)
    stories = {"tidehouse": own_story}
    plan = AblationPlan({"full": configuration}, stories, pairs=2, episodes=3, open_parts=open_reader)
    for task in plan.tasks():
        line = task.to_json()
        assert "\n" not in line
        assert Task.from_json(line) == task


def test_an_embedded_model_gets_one_thread_wherever_it_runs(own_story: Path) -> None:
    game = {"file": own_story}
    assert pinned(GameConfiguration.model_validate({"game": game})).llm.threads == 1
    chosen = GameConfiguration.model_validate({"game": game, "llm": {"threads": 3}})
    assert pinned(chosen).llm.threads == 3


def test_stories_are_found_whatever_folder_a_run_is_played_in(own_story: Path) -> None:
    asked_for = GameConfiguration.model_validate({"game": {"file": "asked.z5"}})
    for stories, name in (
        (stories_of([], GameConfiguration()), "tidehouse"),
        (stories_of([], asked_for), "asked"),
        (stories_of([Path("other.z5"), own_story], asked_for), "other"),
    ):
        assert all(file.is_absolute() for file in stories.values())
        assert next(iter(stories)) == name


def test_two_stories_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"games a/story\.z5 b/story\.z8: .* the same name"):
        stories_of([Path("a/story.z5"), Path("b/story.z8")], GameConfiguration())


def test_a_folder_is_claimed_again_by_the_same_plan_and_by_no_other(own_story: Path, tmp_path: Path) -> None:
    folder, mine = tmp_path / "out", plan(own_story)
    first = claim(folder, mine)
    assert claim(folder, plan(own_story)) == first
    for other in (
        plan(own_story, seed=8),
        replace(mine, open_parts=open_reader),
        replace(mine, stories={"renamed": own_story}),
    ):
        with pytest.raises(ConfigurationError, match="contains another ablation"):
            claim(folder, other)


def test_more_pairs_of_the_same_plan_are_taken_into_its_folder_and_fewer_are_refused(
    own_story: Path, tmp_path: Path
) -> None:
    claim(tmp_path, plan(own_story, pairs=2))
    assert claim(tmp_path, plan(own_story, pairs=3), grows=False).pairs == 3
    assert WrittenPlan.model_validate_json((tmp_path / PLAN_FILE).read_bytes()).pairs == 2
    claim(tmp_path, plan(own_story, pairs=3))
    assert WrittenPlan.model_validate_json((tmp_path / PLAN_FILE).read_bytes()).pairs == 3
    with pytest.raises(ConfigurationError, match="holds 3 pairs already; expected at least 3"):
        claim(tmp_path, plan(own_story, pairs=2))


def test_a_folder_with_something_else_or_a_broken_plan_in_it_is_left_alone(own_story: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ConfigurationError, match="is not empty"):
        claim(tmp_path, plan(own_story))
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    (tmp_path / PLAN_FILE).write_text("{}")
    with pytest.raises(StoreError, match="is not an ablation"):
        claim(tmp_path, plan(own_story))
    assert (tmp_path / PLAN_FILE).read_text() == "{}"


def test_keys_are_not_written_down(own_story: Path, tmp_path: Path) -> None:
    configuration = GameConfiguration.model_validate({"llm": {"api_key": "sk-secret"}})
    stories = {"tidehouse": own_story}
    claim(tmp_path, AblationPlan({"full": configuration}, stories, pairs=1, episodes=1))
    assert "sk-secret" not in (tmp_path / PLAN_FILE).read_text()


def test_assistance_is_told_arm_by_arm_where_it_differs(own_story: Path) -> None:
    helped = GameConfiguration.model_validate({"assist": "valid-actions"})
    both = AblationPlan({"a": helped, "b": helped}, {}, pairs=1, episodes=1)
    mixed = AblationPlan({"a": helped, "b": GameConfiguration()}, {}, pairs=1, episodes=1)
    assert both.assistance == "valid-actions"
    assert mixed.assistance == "a: valid-actions; b: none"
    assert plan(own_story).assistance == "none"


def test_arms_have_the_options_of_their_names_and_their_own() -> None:
    assert parse_arms("full, no-memory,no-map+critic.mode=llm") == {
        "full": {},
        "no-memory": {"simple_memory.enabled": False},
        "no-map+critic.mode=llm": {"map.shown": False, "critic.mode": "llm"},
    }


def test_a_list_in_an_arm_has_a_setting_for_each_of_its_values() -> None:
    (settings,) = parse_arms("assist=valid-actions+assist=proven-routes").values()
    assert settings == {"assist": "valid-actions,proven-routes"}


def test_every_named_arm_sets_options_that_there_are() -> None:
    known = {option.name for option in options_of(GameConfiguration)}
    assert {name for settings in NAMED.values() for name in settings} <= known


def test_an_arms_folder_stays_in_the_folder_of_the_ablation() -> None:
    assert arm_folder("agent_model=../../up/model.gguf") == "agent_model=.._.._up_model.gguf"
    assert arm_folder("../up") == "_up"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("full,no-memories", "no-memories is not an arm; expected full, no-memory"),
        ("", "no arm is given"),
        (" , ", "no arm is given"),
        ("full,no-map,full", "the same folder"),
        ("full,game.seed=7", "game.seed must be the same for all arms"),
        ("full,no-map+game.file=other.z5", "game.file must be the same"),
        ("full,llm.agent.api_key=secret", "api_key must be the same for all arms: set it beside the arms$"),
    ],
)
def test_what_is_no_comparison_is_said_in_one_line(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        parse_arms(text)


@pytest.mark.parametrize(("pairs", "episodes"), [(0, 3), (-1, 3), (8, 0)])
def test_no_pair_or_no_episode_is_an_error_and_not_an_empty_result(pairs: int, episodes: int) -> None:
    with pytest.raises(ConfigurationError, match="expected at least 1"):
        make_plan("full", {}, [], pairs=pairs, episodes=episodes, player="random")


SERVED = {
    "max_turns_per_episode": 10,
    "agent_model": "named",
    "llm": {"base_url": "http://127.0.0.1:9/v1"},
    "objective_update_interval": 5,
    "knowledge_update_interval": 5,
}
PRICED = {"prices": {"named": {"input": 2, "output": 8}}}


def served_plan(story: Path, **options: object) -> AblationPlan:
    configuration = GameConfiguration.model_validate(SERVED | options)
    off = configuration.simple_memory.model_copy(update={"enabled": False})
    arms = {"full": configuration, "no-memory": configuration.model_copy(update={"simple_memory": off})}
    return AblationPlan(arms, {story.stem: story}, pairs=4, episodes=3)


def test_the_random_model_answers_whatever_a_run_asks(own_story: Path, tmp_path: Path) -> None:
    everything = SERVED | {"critic": {"mode": "llm"}, "extractor": {"mode": "separate"}, "zork_game_workdir": tmp_path}
    configuration = GameConfiguration.model_validate(everything | {"game": {"file": own_story}})
    events: list[Event] = []
    model = ChosenModel(RandomModel(1), ("random",))
    with (
        open_story(configuration) as parts,
        open_run(configuration, replace(parts, model=model), episodes=2, show=events.append, stop=Flag()) as run,
    ):
        run.play()
    assert [event.error for event in events if isinstance(event, ModelFailed)] == []
    roles = {event.role for event in events if isinstance(event, ModelAnswered)}
    assert roles == {"agent", "critic", "info_ext", "memory", "analysis"}


def test_every_arm_is_told_by_itself_for_all_its_runs(own_story: Path) -> None:
    full, without = estimates(served_plan(own_story, **PRICED))
    assert (full.story, full.arm, without.arm) == ("tidehouse", "full", "no-memory")
    assert full.turns == without.turns == 4 * 3 * 10
    assert full.calls > without.calls >= full.turns
    assert full.dollars == pytest.approx((2 * full.prompt_tokens + 8 * full.answer_tokens) / 1e6, rel=0.01)


@pytest.mark.parametrize("player", [kind for kind in get_args(PlayerKind) if kind != "model"])
def test_proposals_of_a_player_without_a_model_are_no_calls_in_an_estimate(own_story: Path, player: str) -> None:
    learning_off = {"simple_memory": {"enabled": False}, "knowledge": {"enabled": False}}
    plan = served_plan(own_story, agent={"player": player}, objective_update_interval=1000, **learning_off)
    assert {(each.turns, each.calls) for each in estimates(plan)} == {(4 * 3 * 10, 0)}


@pytest.mark.slow
def test_a_budget_does_not_end_a_rehearsal_and_without_a_price_there_are_no_dollars(own_story: Path) -> None:
    (tight, _), (free, _) = (
        estimates(served_plan(own_story, budgets={"max_tokens": 10})),
        estimates(served_plan(own_story)),
    )
    assert (tight.calls, tight.dollars) == (free.calls, None)


def test_estimates_have_three_digits_and_hours_are_those_of_the_calls_and_of_the_program_side_by_side(
    capsys: pytest.CaptureFixture[str],
) -> None:
    estimate = Estimate("mill", "full", 100, 720, 1_929_549, 10, None, 720.0)
    assert estimate.hours(seconds_a_call=4, workers=2) == 0.5
    print_costs([estimate, replace(estimate, dollars=1.5)], 4, 2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["mill", "full", "100", "720", "1,930,000", "10", "-", "0.5"]
    assert lines[3].split() == ["all", "200", "1,440", "3,860,000", "20", "-", "1.0"]
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


@pytest.mark.slow
def test_a_dry_run_plays_nothing_and_leaves_nothing_behind(tmp_path: Path) -> None:
    server = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--max-turns", "4")
    result = ran(tmp_path, "ablate", "--dry-run", *server, "--arms", "full", "--pairs", "2", "--episodes", "3")
    assert result.status == 0
    assert b"tidehouse  full  24     " in result.out
    single = ran(tmp_path, "run", "--dry-run", *server, "--episodes", "6", "--seed", "jericho")
    assert b"\ntidehouse  24     " in single.out
    assert single.out.split()[10:14] == result.out.split()[12:16]
    assert list(tmp_path.iterdir()) == []

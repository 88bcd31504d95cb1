"""A story as a Gymnasium environment passes Gymnasium's own checks."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from game_interface.core.restoring_game import RestoringGame
from session.errors import ConfigurationError
from session.values import Observation
from tests.fixtures.scripted_game import Script, ScriptedGame

gymnasium_checks = pytest.importorskip("gymnasium.utils.env_checker", reason="gymnasium is not installed")

import gymnasium  # noqa: E402  it needs the extra

from zorkgpt.gym import UNKNOWN, TextAdventureEnv  # noqa: E402  the same

STORIES = Path(__file__).parents[2] / "stories"


def test_it_passes_the_checks_of_gymnasium() -> None:
    """With a story of few valid actions, because they are looked for at every step."""
    story = STORIES / "radio.z3"
    env = gymnasium.make("zorkgpt/Story-v0", story=story, valid_actions=True, render_mode="ansi").unwrapped
    gymnasium_checks.check_env(env)
    env.close()


def test_a_step_gives_text_facts_reward_and_the_end_of_the_turns() -> None:
    env = TextAdventureEnv(max_turns=2, valid_actions=True)
    opening, info = env.reset(seed=1)
    assert (opening["location"], opening["location_id"], info["valid_actions"]) == ("Causeway", 32, ("north",))
    assert env.step("north")[1:4] == (0.0, False, False)
    seen, reward, terminated, truncated, _ = env.step("north")
    assert (seen["score"], reward, terminated, truncated) == (5, 5.0, False, True)
    assert "storm lamp" in seen["visible"]
    assert env.reset(seed=1)[0]["text"] == opening["text"]
    env.close()


def scripted(opening: Observation, script: Script, failing: tuple[str, ...] = ()) -> TextAdventureEnv:
    """Return an environment whose story follows a script."""
    env = TextAdventureEnv()
    env.close()
    env._game = RestoringGame(ScriptedGame({"": opening, **script}, failing_commands=failing))
    return env


def test_a_copy_plays_a_story_of_its_own(own_story: Path) -> None:
    with closing(TextAdventureEnv(own_story)) as env:
        env.reset(seed=1)
        for number in range(3):
            twin = (
                copy.copy(env)
                if number == 0
                else copy.deepcopy(env)
                if number == 1
                else pickle.loads(pickle.dumps(env))
            )
            with closing(twin):
                assert twin.step("north")[0]["location"] == "Forecourt"
                assert env.step("look")[0]["location"] == "Causeway"
        assert env.step("north")[0]["location"] == "Forecourt"


def test_an_unknown_score_gives_no_reward_and_the_next_known_one_gives_the_change_since_the_last() -> None:
    script = {
        "ask": Observation("Whom?", score=None),
        "win": Observation("You win.", score=10),
        "lose": Observation("Ouch.", score=-1),
    }
    env = scripted(Observation("Hello.", score=0), script)
    env.reset(seed=1)
    rewards = [env.step(command)[1] for command in ("win", "ask", "lose", "ask", "ask", "win")]
    assert rewards == [10.0, 0.0, -11.0, 0.0, 0.0, 11.0]
    seen, _, _, _, info = env.step("ask")
    assert (int(seen["score"]), info["score"]) == (UNKNOWN, None)
    assert info["unknown"] == ("inventory", "location", "location_id", "moves", "score", "visible")
    assert int(env.step("lose")[0]["score"]) == -1


def test_the_first_known_score_is_no_reward() -> None:
    env = scripted(Observation("A clock."), {"wait": Observation("It is noon.", score=25)})
    env.reset(seed=1)
    assert env.step("wait")[1] == 0.0


def test_a_command_that_stops_the_interpreter_is_refused_and_the_story_continues_before_it() -> None:
    env = scripted(Observation("Hello.", score=3), {"win": Observation("You win.", score=10)}, failing=("dive",))
    env.reset(seed=1)
    seen, reward, terminated, _, info = env.step("dive")
    assert (reward, terminated) == (0.0, False)
    assert int(seen["score"]) == 3
    assert "nothing has changed" in info["refusal"]
    assert env.step("win")[1] == 7.0


def test_the_registered_environment_renders_the_text_of_the_story(own_story: Path) -> None:
    with closing(gymnasium.make("zorkgpt/Story-v0", story=own_story, render_mode="ansi")) as env:
        seen, _ = env.reset(seed=1)
        assert env.render() == seen["text"]
    with pytest.raises(ValueError, match="ansi"):
        TextAdventureEnv(own_story, render_mode="human")
    with pytest.raises(ConfigurationError, match="max_turns is 0; expected at least 1"):
        TextAdventureEnv(own_story, max_turns=0)


def test_several_environments_step_together(own_story: Path) -> None:
    with closing(gymnasium.make_vec("zorkgpt/Story-v0", 2, "sync", story=own_story)) as envs:
        envs.reset(seed=1)
        seen, *_ = envs.step(("north", "look"))
        assert seen["location"] == ("Forecourt", "Causeway")
    both = [partial(gymnasium.make, "zorkgpt/Story-v0", story=story) for story in (own_story, STORIES / "exits.z5")]
    with closing(gymnasium.vector.SyncVectorEnv(both)) as envs:
        info = envs.reset(seed=1)[1]
    assert ([*info["score"]], info["unknown"][0]) == ([0, None], ())
    assert "score" in info["unknown"][1]


def test_an_action_is_a_text(own_story: Path) -> None:
    with closing(TextAdventureEnv(own_story)) as env, pytest.raises(TypeError, match="action is 5; expected a command"):
        env.step(5)  # type: ignore[arg-type]


def test_without_gymnasium_the_error_names_the_command_that_installs_it() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import zorkgpt.gym"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert re.search(
        r"ImportError: gymnasium is not installed: `.* install gymnasium>=", failed.stderr.replace("'", "")
    )

"""A story as a Gymnasium environment passes Gymnasium's own checks."""

from __future__ import annotations

import pytest

gymnasium_checks = pytest.importorskip("gymnasium.utils.env_checker", reason="gymnasium is not installed")

from zorkgpt.gym import TextAdventureEnv  # noqa: E402  it needs the extra


def test_it_passes_the_checks_of_gymnasium() -> None:
    env = TextAdventureEnv(valid_actions=True)
    gymnasium_checks.check_env(env, skip_render_check=True)
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

"""The values of ``--arms``."""

from __future__ import annotations

import pytest

from session.errors import ConfigurationError
from session.game_configuration import GameConfiguration
from session.options import options_of
from zorkgpt.ablation.plan import NAMED, parse_arms


def test_arms_have_the_options_of_their_names_and_their_own() -> None:
    arms = parse_arms("full, no-memory,no-map+critic.mode=llm")
    assert [(arm.name, arm.settings) for arm in arms] == [
        ("full", {}),
        ("no-memory", {"simple_memory.enabled": False}),
        ("no-map+critic.mode=llm", {"map.shown": False, "critic.mode": "llm"}),
    ]


def test_every_named_arm_sets_options_that_there_are() -> None:
    known = {option.name for option in options_of(GameConfiguration)}
    assert {name for settings in NAMED.values() for name in settings} <= known


def test_an_arms_folder_stays_in_the_folder_of_the_ablation() -> None:
    _, arm = parse_arms("full,agent_model=../../up/model.gguf")
    assert "/" not in arm.folder
    assert not arm.folder.startswith(".")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("full,no-memories", "no-memories is not an arm; expected full, no-memory"),
        ("", "names no arm"),
        (" , ", "names no arm"),
        ("full,no-map,full", "the same name"),
        ("full,game.seed=7", "game.seed must be the same for all arms"),
        ("full,no-map+game.file=other.z5", "game.file must be the same"),
        ("full,llm.agent.api_key=secret", "api_key must be the same for all arms: set it beside --arms$"),
    ],
)
def test_what_is_no_comparison_is_said_in_one_line(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        parse_arms(text)

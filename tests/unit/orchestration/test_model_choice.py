"""Which model plays: the configured one, or a clear word on what is missing."""

from __future__ import annotations

import pytest

from orchestration.opening import choose_model, limits_of
from session.errors import ConfigurationError, LanguageModelUnavailable
from session.game_configuration import GameConfiguration
from session.values import ROLES
from tests.fixtures.misbehaving_server import MisbehavingServer, Says


def test_a_server_without_a_named_model_plays_with_its_first_one() -> None:
    with (
        MisbehavingServer(Says(500), models=("first", "second")) as server,
        choose_model(GameConfiguration(llm={"base_url": server.base_url})) as chosen,
    ):
        assert chosen.description == f"first at {server.base_url}"


def test_a_key_without_a_model_is_a_mendable_error_and_no_model_is_picked_for_the_user() -> None:
    with (
        pytest.raises(ConfigurationError, match="set one with --model"),
        choose_model(GameConfiguration(llm={"api_key": "sk-planted"})),
    ):
        pass


def test_a_server_that_is_not_there_is_said_before_anything_is_played() -> None:
    configuration = GameConfiguration(llm={"base_url": "http://127.0.0.1:9/v1"})
    with pytest.raises(LanguageModelUnavailable, match="is the server running there"), choose_model(configuration):
        pass


def test_a_model_that_play_goes_on_without_is_not_waited_for_all_night() -> None:
    llm = {
        "base_url": "http://here:1/v1",
        "patience": "8h",
        "critic": {"base_url": "http://there:1/v1"},
        "memory": {"base_url": "http://here:1/v1"},
    }
    configuration = GameConfiguration.model_validate({"llm": llm})
    patience = {role: limits_of(configuration, configuration.role(role)).patience for role in ROLES}
    assert patience["agent"] == patience["memory"] == 8 * 3600
    assert patience["critic"] == 300

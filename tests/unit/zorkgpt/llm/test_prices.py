"""The user's price, then the list's price by the server's URL, otherwise none: never a guess, never a crash."""

from __future__ import annotations

import pytest

from session.game_configuration import GameConfiguration
from tests.fixtures.run_events import answered
from zorkgpt.llm.budget import cost_of

OPENAI = "https://api.openai.com/v1"
OWN = {"named": {"input": 2.0, "cached": 0.5, "output": 10.0}}
MILLION = 1_000_000


def served(base_url: str = "http://localhost:8080/v1", **options: object) -> GameConfiguration:
    return GameConfiguration.model_validate({"llm": {"base_url": base_url}, **options})


def test_a_known_model_costs_what_its_provider_asks_for_with_cached_tokens_at_their_price() -> None:
    """gpt-4o-mini: $0.15 a million prompt tokens, $0.075 cached, $0.60 answered."""
    call = answered("gpt-4o-mini-2024-07-18", prompt=MILLION, cached=900_000, completion=100_000)
    assert cost_of(call, served(OPENAI)) == pytest.approx(0.1 * 0.15 + 0.9 * 0.075 + 0.1 * 0.60)


def test_without_an_address_the_models_are_openais() -> None:
    call = answered("gpt-4o-mini", prompt=MILLION)
    assert cost_of(call, GameConfiguration.model_validate({"llm": {"api_key": "sk-planted"}})) == pytest.approx(0.15)


def test_a_role_with_a_server_of_its_own_is_priced_there() -> None:
    configuration = served(
        critic_model="gpt-4o-mini", llm={"base_url": "http://localhost/v1", "critic": {"base_url": OPENAI}}
    )
    assert cost_of(answered("gpt-4o-mini", role="critic", prompt=MILLION), configuration) == pytest.approx(0.15)
    assert cost_of(answered("gpt-4o-mini", role="agent", prompt=MILLION), configuration) is None


@pytest.mark.parametrize("base_url", [OPENAI, "http://localhost:8080/v1"])
def test_what_is_not_on_the_list_has_no_known_price(base_url: str) -> None:
    assert cost_of(answered("a-model-nobody-made", prompt=10), served(base_url)) is None


def test_a_known_name_on_an_unknown_server_has_no_known_price() -> None:
    assert cost_of(answered("gpt-4o-mini", prompt=10), served()) is None


@pytest.mark.parametrize(("prompt", "cached"), [(-5, 0), (5, -5)])
def test_a_count_that_makes_no_sense_has_no_known_price(prompt: int, cached: int) -> None:
    assert cost_of(answered("gpt-4o-mini", prompt=prompt, cached=cached), served(OPENAI)) is None


def test_more_cached_tokens_than_there_were_count_as_all() -> None:
    assert cost_of(answered("gpt-4o-mini", prompt=MILLION, cached=2 * MILLION), served(OPENAI)) == pytest.approx(0.075)
    assert cost_of(answered(prompt=MILLION, cached=2 * MILLION), served(prices=OWN)) == pytest.approx(0.5)


def test_the_users_price_is_over_the_lists() -> None:
    own = {"gpt-4o-mini": {"input": 1.0, "output": 0.0}}
    assert cost_of(answered("gpt-4o-mini", prompt=MILLION), served(OPENAI, prices=own)) == pytest.approx(1.0)


def test_the_users_price_has_cached_tokens_at_theirs() -> None:
    call = answered(prompt=MILLION, cached=600_000, completion=200_000)
    assert cost_of(call, served(prices=OWN)) == pytest.approx(0.4 * 2.0 + 0.6 * 0.5 + 0.2 * 10.0)


def test_cached_tokens_without_a_price_of_their_own_cost_as_much_as_others() -> None:
    own = {"named": {"input": 2.0, "output": 10.0}}
    assert cost_of(answered(prompt=MILLION, cached=600_000), served(prices=own)) == pytest.approx(2.0)


def test_the_users_price_is_found_by_the_configured_name_too() -> None:
    """Servers may answer with a longer name than the configured one."""
    configuration = served(agent_model="named", prices=OWN)
    assert cost_of(answered("named-2026-01-01", prompt=MILLION), configuration) == pytest.approx(2.0)


def test_the_embedded_model_costs_nothing_even_where_its_tokens_are_not_counted() -> None:
    assert cost_of(answered("gpt-4o-mini", prompt=MILLION), GameConfiguration()) == 0.0
    assert cost_of(answered("gpt-4o-mini"), GameConfiguration()) == 0.0


def test_the_embedded_model_costs_what_the_user_says() -> None:
    assert cost_of(answered(prompt=MILLION), GameConfiguration.model_validate({"prices": OWN})) == pytest.approx(2.0)


@pytest.mark.parametrize("prices", [OWN, {}])
def test_what_was_not_counted_has_no_known_price(prices: object) -> None:
    assert cost_of(answered("named"), served(OPENAI, prices=prices)) is None

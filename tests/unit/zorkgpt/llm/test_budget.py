"""A run is limited by the usage in its journal, priced by the user or the list, and its pauses end with it."""

from __future__ import annotations

import time
from threading import Event as Flag
from threading import Timer
from typing import Any

import pytest

from session.errors import BudgetSpent, WaitInterrupted
from session.events import Event, ModelAnswered, ModelFailed
from session.game_configuration import GameConfiguration
from tests.fixtures.run_events import answered, failed, turn_played
from zorkgpt.llm.budget import Spending, Waits, cost_of

DEAR = {"dear": {"input": 1_000_000.0, "output": 0.0}}
OPENAI = "https://api.openai.com/v1"
OWN = {"named": {"input": 2.0, "cached": 0.5, "output": 10.0}}
MILLION = 1_000_000


def served(base_url: str = "http://localhost:8080/v1", **options: object) -> GameConfiguration:
    return GameConfiguration.model_validate({"llm": {"base_url": base_url}, **options})


def spending(*events: Event, **options: Any) -> Spending:
    total = Spending(served(**options))
    for event in events:
        total.count(event)
    return total


def test_a_limit_that_is_reached_says_how_far_to_raise_it() -> None:
    spent = spending(answered(prompt=9000), turn_played(61.0), budgets={"max_tokens": 4000, "max_time": 60})
    assert [limit.raised() for limit in spent.reached()] == [("--max-tokens", "32000"), ("--max-time", "240")]
    dear = spending(answered(prompt=250), budgets={"max_cost": 0.25}, prices={"named": {"input": 1000, "output": 0}})
    assert [limit.raised() for limit in dear.reached()] == [("--max-cost", "0.5")]


def test_an_answer_that_cannot_be_used_costs_as_much_as_another_and_a_call_without_a_price_is_counted() -> None:
    unusable = ModelFailed("agent", "0" * 64, "no JSON", "invalid", 1.0, "dear", prompt_tokens=3, completion_tokens=4)
    unanswered = ModelFailed("agent", "0" * 64, "gone", "unavailable", 1.0)
    total = spending(unusable, unanswered, prices=DEAR)
    assert (total.tokens, total.dollars) == (7, 3.0)
    assert not total.unpriced
    for event in (answered("strange", prompt=2, cached=1), answered("dear", prompt=1)):
        total.count(event)
    assert (total.tokens, total.dollars, total.unpriced) == (10, 4.0, {"strange": 1})
    assert not total.uncounted


def test_a_turns_seconds_are_its_own_with_the_calls_in_it_and_calls_of_a_turn_that_never_ended_are_time_too() -> None:
    assert spending(answered(seconds=2.0), failed(1.0), turn_played(3.5)).seconds == pytest.approx(3.5)
    assert spending(answered(seconds=5.0)).seconds == pytest.approx(5.0)
    cut_and_played_again = (answered(seconds=5.0), answered(seconds=2.0), turn_played(2.5))
    assert spending(*cut_and_played_again).seconds == pytest.approx(7.0)


EMBEDDED = GameConfiguration()
KEYED = GameConfiguration.model_validate({"llm": {"api_key": "sk-planted"}})
CRITIC_ELSEWHERE = served(
    critic_model="gpt-4o-mini", llm={"base_url": "http://localhost/v1", "critic": {"base_url": OPENAI}}
)
NO_CACHED_PRICE = {"named": {"input": 2.0, "output": 10.0}}
LISTED = answered("gpt-4o-mini", prompt=MILLION)


@pytest.mark.parametrize(
    ("call", "configuration", "dollars"),
    [
        # gpt-4o-mini: $0.15 a million prompt tokens, $0.075 cached, $0.60 answered
        (
            answered("gpt-4o-mini-2024-07-18", prompt=MILLION, cached=900_000, completion=100_000),
            served(OPENAI),
            0.1 * 0.15 + 0.9 * 0.075 + 0.1 * 0.60,
        ),
        (LISTED, KEYED, 0.15),
        (answered("gpt-4o-mini", role="critic", prompt=MILLION), CRITIC_ELSEWHERE, 0.15),
        (LISTED, CRITIC_ELSEWHERE, None),
        (answered("renamed", prompt=MILLION), served(OPENAI, agent_model="gpt-4o-mini"), 0.15),
        (answered("a-model-nobody-made", prompt=10), served(OPENAI), None),
        (answered("a-model-nobody-made", prompt=10), served(), None),
        (LISTED, served(), None),
        (answered("gpt-4o-mini", prompt=-5), served(OPENAI), None),
        (answered("gpt-4o-mini", prompt=5, cached=-5), served(OPENAI), None),
        (answered("gpt-4o-mini", prompt=MILLION, cached=2 * MILLION), served(OPENAI), 0.075),
        (answered(prompt=MILLION, cached=2 * MILLION), served(prices=OWN), 0.5),
        (LISTED, served(OPENAI, prices={"gpt-4o-mini": {"input": 1.0, "output": 0.0}}), 1.0),
        (
            answered(prompt=MILLION, cached=600_000, completion=200_000),
            served(prices=OWN),
            0.4 * 2.0 + 0.6 * 0.5 + 0.2 * 10.0,
        ),
        (answered(prompt=MILLION, cached=600_000), served(prices=NO_CACHED_PRICE), 2.0),
        (answered("named-2026-01-01", prompt=MILLION), served(agent_model="named", prices=OWN), 2.0),
        (LISTED, EMBEDDED, 0.0),
        (answered("gpt-4o-mini"), EMBEDDED, 0.0),
        (answered(prompt=MILLION), GameConfiguration.model_validate({"prices": OWN}), 2.0),
        (answered("named"), served(OPENAI, prices=OWN), None),
        (answered("named"), served(OPENAI), None),
    ],
    ids=[
        *("the list's price by part", "without an address the models are OpenAI's", "a server of the role's own"),
        *(
            "not on that of another role",
            "by the configured name",
            "not on the list",
            "not on the list nor there",
            "on an unknown server",
        ),
        *("impossible count", "impossible cached count", "more cached than there were", "the same by the user's price"),
        *("the user's price over the list's", "the user's price by part", "no price for cached tokens"),
        *("the user's price by the configured name", "the embedded model", "the embedded model without a count"),
        *("the embedded model by the user's price", "not counted", "not counted and no price"),
    ],
)
def test_a_call_costs_what_is_known_and_nothing_is_guessed(
    call: ModelAnswered, configuration: GameConfiguration, dollars: float | None
) -> None:
    assert cost_of(call, configuration) == (None if dollars is None else pytest.approx(dollars))


def test_a_pause_lasts_as_long_as_it_is_to_and_ends_as_soon_as_the_run_is_stopped() -> None:
    start, stop = time.monotonic(), Flag()
    Waits(stop).sleep(0.05)
    assert time.monotonic() - start >= 0.05
    Timer(0.05, stop.set).start()
    with pytest.raises(WaitInterrupted, match="interrupted while waiting"):
        Waits(stop).sleep(600.0)


def test_a_pause_ends_when_the_time_of_the_run_is_used_up() -> None:
    waits = Waits()
    waits.until = time.monotonic() + 0.05
    with pytest.raises(BudgetSpent, match="time of the run was used up"):
        waits.sleep(600.0)

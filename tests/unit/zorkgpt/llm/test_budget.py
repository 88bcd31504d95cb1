"""A run is limited by the usage in its journal."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from session.events import Event, ModelFailed, RunEnded
from session.game_configuration import GameConfiguration
from tests.fixtures.run_events import answered, failed, turn_played
from zorkgpt.llm.budget import Spending
from zorkgpt.llm.language_model import TokenUsage

EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Event])
WAIT = {"reasoning": "", "action": "wait"}
COUNTED = TokenUsage(prompt=10, completion=5)
SERVED: Mapping[str, object] = {"llm": {"base_url": "http://localhost:8080/v1"}}
PRICED: Mapping[str, object] = {"prices": {"scripted": {"input": 1000.0, "output": 4000.0}}, **SERVED}


def spending(*events: Event, **options: object) -> Spending:
    total = Spending(GameConfiguration.model_validate({**SERVED, **options}))
    for event in events:
        total.count(event)
    return total


def test_a_limit_that_is_reached_says_how_far_to_raise_it() -> None:
    spent = spending(answered(prompt=9000), turn_played(61.0), budgets={"max_tokens": 4000, "max_time": 60})
    assert [limit.raised() for limit in spent.reached()] == [("--max-tokens", "16000"), ("--max-time", "120")]
    dear = spending(answered(prompt=250), budgets={"max_cost": 0.25}, prices={"named": {"input": 1000, "output": 0}})
    assert [limit.raised() for limit in dear.reached()] == [("--max-cost", "0.5")]


def test_tokens_are_those_of_prompts_and_answers_whether_cached_or_not() -> None:
    assert spending(answered(prompt=100, cached=90, completion=7), answered(prompt=1)).tokens == 108


def test_an_answer_that_cannot_be_used_costs_as_much_as_another() -> None:
    own = {"dear": {"input": 1_000_000.0, "output": 0.0}}
    unusable = ModelFailed("agent", "0" * 64, "no JSON", 1.0, "dear", prompt_tokens=3, completion_tokens=4)
    unanswered = ModelFailed("agent", "0" * 64, "gone", 1.0)
    total = spending(unusable, unanswered, prices=own)
    assert (total.tokens, total.dollars) == (7, 3.0)
    assert not total.uncounted
    assert not total.unpriced


def test_a_call_without_a_price_is_counted_as_such_and_the_others_add_up() -> None:
    own = {"dear": {"input": 1_000_000.0, "output": 0.0}}
    total = spending(answered("dear", prompt=2), answered("strange", prompt=2), answered("dear", prompt=1), prices=own)
    assert total.dollars == pytest.approx(3.0)
    assert total.unpriced == {"strange": 1}
    assert not total.uncounted


def test_a_turns_seconds_are_its_own_with_the_calls_in_it() -> None:
    assert spending(answered(seconds=2.0), failed(1.0), turn_played(3.5)).seconds == pytest.approx(3.5)


def test_calls_of_a_turn_that_never_ended_are_time_too() -> None:
    cut = [answered(seconds=5.0)]
    assert spending(*cut).seconds == pytest.approx(5.0)
    assert spending(*cut, answered(seconds=2.0), turn_played(2.5)).seconds == pytest.approx(7.0)


def test_what_costs_nothing_adds_nothing() -> None:
    total = spending(RunEnded(episodes=1))
    assert (total.dollars, total.tokens, total.seconds) == (0.0, 0, 0.0)


counts = st.integers(0, 10_000)
spans = st.floats(0, 100)
events = st.lists(
    st.one_of(
        st.builds(lambda p, c, s: answered("named", prompt=p, completion=c, seconds=s), counts, counts, spans),
        st.builds(failed, spans),
        st.builds(turn_played, spans),
    )
)


@given(events)
def test_a_journal_read_back_gives_the_same_sums(told: list[Event]) -> None:
    own = {"named": {"input": 3.0, "output": 15.0}}
    read_back = EVENTS.validate_json(EVENTS.dump_json(told))
    assert spending(*read_back, prices=own) == spending(*told, prices=own)


@given(events)
def test_what_was_used_up_never_becomes_less(told: list[Event]) -> None:
    total = spending(prices={"named": {"input": 3.0, "output": 15.0}})
    for event in told:
        before = (total.dollars, total.tokens, total.seconds)
        total.count(event)
        after = (total.dollars, total.tokens, total.seconds)
        assert all(later >= earlier for earlier, later in zip(before, after, strict=True))

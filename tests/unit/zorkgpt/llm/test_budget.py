"""A run is limited by what its journal says it has used up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from session.errors import BudgetSpent, LanguageModelError
from session.events import Event, ModelFailed, RunEnded
from session.game_configuration import GameConfiguration
from session.token_counter import TokenCounter
from tests.fixtures.run_events import answered, failed, turn_played
from tests.unit.zorkgpt.llm.asking import PROMPT, Move
from zorkgpt.llm.breaker import FAILURES_TO_OPEN, CircuitBreaker
from zorkgpt.llm.budget import BudgetedModel, Spending
from zorkgpt.llm.journaled import RecordedModel
from zorkgpt.llm.language_model import LanguageModel, TokenUsage
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.llm.waits import Waits

EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Event])
WAIT = {"reasoning": "", "action": "wait"}
COUNTED = TokenUsage(prompt=10, completion=5)
SERVED: Mapping[str, object] = {"llm": {"base_url": "http://localhost:8080/v1"}}
PRICED: Mapping[str, object] = {"prices": {"scripted": {"input": 1000.0, "output": 4000.0}}, **SERVED}


@dataclass(slots=True)
class Limited:
    """A scripted model of a run with budgets; each call takes 10 tokens of prompt and 5 of answer."""

    budgets: Mapping[str, object]
    options: Mapping[str, object] = field(default_factory=lambda: PRICED)
    usage: TokenUsage = COUNTED
    inner: ScriptedLLM = field(init=False)
    spending: Spending = field(init=False)
    model: LanguageModel = field(init=False)

    def __post_init__(self) -> None:
        self.inner = ScriptedLLM(lambda _role, _prompt, _schema: WAIT, usage=self.usage)
        self.spending = Spending(GameConfiguration.model_validate({"budgets": self.budgets, **self.options}))
        recorded = RecordedModel(self.inner, self.spending.count, TokenCounter())
        self.model = CircuitBreaker(BudgetedModel(recorded, self.spending, Waits()))

    def ask_until_spent(self) -> str:
        """The line in which the budget ends the run."""
        for _ in range(100):
            try:
                self.model.complete("memory", PROMPT, Move)
            except BudgetSpent as spent:
                return str(spent)
        pytest.fail("no limit was reached")


def spending(*events: Event, **options: object) -> Spending:
    total = Spending(GameConfiguration.model_validate({**SERVED, **options}))
    for event in events:
        total.count(event)
    return total


def test_a_run_without_limits_is_never_stopped() -> None:
    limited = Limited({})
    for _ in range(50):
        limited.model.complete("agent", PROMPT, Move)
    assert len(limited.inner.calls) == 50


def test_tokens_are_limited_and_the_model_is_not_asked_beyond() -> None:
    limited = Limited({"max_tokens": 40})
    assert limited.ask_until_spent() == "max-tokens 40 reached: 45 spent"
    assert len(limited.inner.calls) == 3


def test_a_limit_that_is_met_exactly_is_reached() -> None:
    assert Limited({"max_tokens": 30}).ask_until_spent() == "max-tokens 30 reached: 30 spent"


def test_cost_is_limited() -> None:
    assert Limited({"max_cost": 0.05}).ask_until_spent() == "max-cost $0.05 reached: $0.0600 spent"


def test_time_is_limited() -> None:
    limited = Limited({"max_time": "1m"})
    limited.spending.count(turn_played(59.9))
    limited.model.complete("agent", PROMPT, Move)
    limited.spending.count(turn_played(0.1))
    assert limited.ask_until_spent() == "max-time 60 s reached: 60.0 s played"


def test_a_limit_that_is_reached_says_how_far_to_raise_it() -> None:
    spent = spending(answered(prompt=9000), turn_played(61.0), budgets={"max_tokens": 4000, "max_time": 60})
    assert [limit.raised() for limit in spent.reached()] == [("--max-tokens", "16000"), ("--max-time", "120")]
    dear = spending(answered(prompt=250), budgets={"max_cost": 0.25}, prices={"named": {"input": 1000, "output": 0}})
    assert [limit.raised() for limit in dear.reached()] == [("--max-cost", "0.5")]


def test_no_role_gets_round_it_and_whoever_goes_on_without_an_answer_is_stopped() -> None:
    limited = Limited({"max_tokens": 1})
    limited.model.complete("agent", PROMPT, Move)
    for role in ("agent", "critic", "info_ext", "analysis", "memory"):
        for _ in range(FAILURES_TO_OPEN + 1):
            with pytest.raises(BudgetSpent) as caught:
                limited.model.complete(role, PROMPT, Move)
            assert not isinstance(caught.value, LanguageModelError)


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


def test_a_limit_that_cannot_see_a_model_says_so_once_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    limited = Limited({"max_cost": 0.001, "max_tokens": 1}, SERVED, TokenUsage())
    for _ in range(5):
        limited.model.complete("agent", PROMPT, Move)
    assert caplog.messages == [
        "max-cost does not see the calls to 'scripted': their price is not known; prices can give it",
        "max-tokens does not see the calls to 'scripted': its server does not count tokens",
    ]


def test_nobody_is_warned_who_has_no_limit(caplog: pytest.LogCaptureFixture) -> None:
    limited = Limited({}, SERVED, TokenUsage())
    for _ in range(2):
        limited.model.complete("agent", PROMPT, Move)
    assert caplog.messages == []


@dataclass
class WaitedFor:
    """A model that is down: it is waited for until the run has to stop, by a clock that only waiting moves."""

    waits: Waits
    now: float = 0.0

    def complete(self, *_: object) -> NoReturn:
        while True:
            self.waits.sleep(1e-9)
            self.now += 10.0


def test_a_limit_in_time_ends_a_wait_for_a_model_that_is_down() -> None:
    limits = GameConfiguration.model_validate({"budgets": {"max_time": 60.0}})
    spent = Spending(limits)
    spent.count(turn_played(25.0))
    waits = Waits(clock=lambda: down.now)
    down = WaitedFor(waits)
    model: LanguageModel = BudgetedModel(RecordedModel(down, spent.count, TokenCounter()), spent, waits)
    with pytest.raises(BudgetSpent, match=r"^max-time 60 s reached: 65\.0 s played$"):
        model.complete("agent", PROMPT, Move)
    assert down.now == 40.0
    assert [limit.option for limit in spent.reached()] == ["max-time"], "so that the way to go on is told"

"""The single way in which a run calls its models: recorded answers first, within the budget, every call an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid
from session.events import Event, ModelAnswered, ModelFailed, OptionsChanged, RunPaused
from session.files.journal import Journal, JournalLine
from session.files.recording import Diverged, Recording, RecordingEnded
from session.game_configuration import GameConfiguration
from tests.fixtures.run_events import turn_played
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.unit.zorkgpt.llm.asking import PROMPT, Move
from zorkgpt.llm.budget import Waits
from zorkgpt.llm.language_model import LanguageModel, Prompt, Role, TokenUsage
from zorkgpt.llm.run_model import FAILURES_TO_OPEN, TURNS_REFUSED, ChosenModel, RunModel, prompt_sha256

WAIT = {"reasoning": "r", "action": "wait"}
LOOK = {"reasoning": "s", "action": "look"}
DOWN = LanguageModelUnavailable("down")
OTHER = Prompt("system", "another question")
SERVED: Mapping[str, Any] = {"llm": {"base_url": "http://localhost:8080/v1"}}
PRICED: Mapping[str, Any] = {"prices": {"scripted": {"input": 1000.0, "output": 4000.0}}, **SERVED}
COUNTED = TokenUsage(prompt=10, completion=5)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path)
    yield opened
    opened.close()


@dataclass(slots=True)
class Door:
    """A run's door to a scripted model, or to none: a replay."""

    model: RunModel
    events: list[Event]

    def ask(self, role: Role = "agent", prompt: Prompt = PROMPT) -> str:
        return self.model.complete(role, prompt, Move).value.action

    def fail(self, role: Role, times: int) -> list[str]:
        """The lines in which that many calls of ``role`` fail."""
        lines = []
        for _ in range(times):
            with pytest.raises(LanguageModelError) as caught:
                self.ask(role)
            lines.append(str(caught.value))
        return lines

    def play(self, turns: int) -> None:
        for _ in range(turns):
            self.model.count(turn_played(1.0))


def door(
    journal: Journal | None,
    live: LanguageModel | None,
    *recorded: Event,
    waits: Waits | None = None,
    begun_with: Mapping[str, Any] | None = None,
    **options: object,
) -> Door:
    configuration = GameConfiguration.model_validate(options)
    lines = [JournalLine(seq, "", event) for seq, event in enumerate(recorded, start=1)]
    events: list[Event] = []
    recording = Recording(events.append, journal, lines)
    chosen = ChosenModel(live, ("scripted",), waits=waits or Waits()) if live else None
    model = RunModel(
        configuration,
        options if begun_with is None else begun_with,
        chosen,
        recording,
        lambda _role, _prompt, _schema: None,
    )
    return Door(model, events)


def answered(journal: Journal) -> ModelAnswered:
    """A call as it is recorded."""
    asked = door(journal, ScriptedLLM([WAIT], usage=TokenUsage(700, 30, 100)))
    asked.ask()
    (event,) = asked.events
    assert isinstance(event, ModelAnswered)
    return event


def failed(role: Role) -> ModelFailed:
    return ModelFailed(role, prompt_sha256(PROMPT), "it was down", "unavailable", 1.0, "a model", 50, 20, 7)


def always(reply: Reply) -> ScriptedLLM:
    return ScriptedLLM(lambda _role, _prompt, _schema: reply)


class TestRecordedAnswers:
    def test_one_is_given_again_with_all_that_was_counted(self, journal: Journal) -> None:
        event, live = answered(journal), ScriptedLLM([])
        resumed = door(journal, live, event)
        again = resumed.model.complete("agent", PROMPT, Move)
        assert (again.value.action, again.model, again.usage) == ("wait", event.model, TokenUsage(700, 30, 100))
        assert (again.requests, again.question_tokens) == (event.requests, event.question_tokens)
        assert live.calls == []

    def test_tokens_are_learned_from_a_recorded_answer_like_from_a_live_one(self, journal: Journal) -> None:
        live = door(journal, ScriptedLLM([WAIT], usage=TokenUsage(700, 30)))
        live.ask()
        repeated, skipped = door(None, None, live.events[0]), door(None, None)
        repeated.ask()
        skipped.model.count(live.events[0])
        ratios = {each.model.tokens.tokens_per_character for each in (live, repeated, skipped)}
        assert len(ratios) == 1

    @pytest.mark.parametrize("kind", [LanguageModelUnavailable, ResponseInvalid])
    def test_a_failure_is_raised_again_as_the_error_that_it_was(
        self, journal: Journal, kind: type[LanguageModelError]
    ) -> None:
        error = kind("no use")
        error.after("a model", TokenUsage(50, 7, 20), 3, ("?", "{}"))
        live = door(journal, ScriptedLLM([error]))
        with pytest.raises(kind):
            live.ask("memory")
        with pytest.raises(LanguageModelError) as raised:
            door(None, None, live.events[0]).ask("memory")
        again = raised.value
        assert (type(again), str(again)) == (kind, "no use")
        assert (again.model, again.usage, again.requests, again.unusable) == ("a model", error.usage, 3, ("?", "{}"))

    @pytest.mark.parametrize(("role", "prompt"), [("agent", OTHER), ("critic", PROMPT)])
    def test_another_question_goes_to_the_live_model(self, journal: Journal, role: Role, prompt: Prompt) -> None:
        assert door(journal, ScriptedLLM([LOOK]), answered(journal)).ask(role, prompt) == "look"

    def test_another_question_in_a_replay_is_the_difference(self, journal: Journal) -> None:
        event = answered(journal)
        with pytest.raises(Diverged) as raised:
            door(None, None, event).ask(prompt=OTHER)
        difference = raised.value.difference
        assert (difference.line, difference.expected) == (1, event)
        assert isinstance(difference.found, str)
        assert "another question" in difference.found

    @pytest.mark.parametrize("role", ["agent", "memory"])
    def test_a_replay_repeats_every_failure(self, role: Role) -> None:
        with pytest.raises(LanguageModelUnavailable, match="it was down") as raised:
            door(None, None, failed(role)).ask(role)
        assert (raised.value.model, raised.value.usage) == ("a model", TokenUsage(50, 7, 20))

    def test_a_resumed_run_repeats_the_failure_of_any_role_but_the_agent(self, journal: Journal) -> None:
        live = ScriptedLLM([LOOK])
        with pytest.raises(LanguageModelUnavailable, match="it was down"):
            door(journal, live, failed("memory")).ask("memory")
        assert live.calls == []
        assert door(journal, live, failed("agent")).ask() == "look"

    @pytest.mark.parametrize(
        ("rest", "error"),
        [((), RecordingEnded), ((RunPaused("out of money", 1, 2),), RecordingEnded), ((turn_played(1.0),), Diverged)],
    )
    def test_a_replay_ends_with_its_recording_and_a_question_in_the_place_of_a_turn_is_a_difference(
        self, rest: tuple[Event, ...], error: type[Exception]
    ) -> None:
        with pytest.raises(error):
            door(None, None, *rest).ask()


def test_changed_options_are_recorded_before_the_first_answer_under_them_and_once(journal: Journal) -> None:
    resumed = door(journal, always(WAIT), begun_with={}, agent_model="another", **SERVED)
    resumed.ask()
    resumed.ask()
    change, *calls = resumed.events
    assert isinstance(change, OptionsChanged)
    assert change.options["agent_model"] == "another"
    assert [type(call) for call in calls] == [ModelAnswered, ModelAnswered]


class TestRolesThatKeepFailing:
    @pytest.mark.parametrize("role", ["critic", "info_ext", "analysis", "memory"])
    def test_one_is_asked_once_in_many_turns_and_the_user_is_warned_once(
        self, journal: Journal, caplog: pytest.LogCaptureFixture, role: Role
    ) -> None:
        live = always(DOWN)
        asked = door(journal, live)
        asked.fail(role, FAILURES_TO_OPEN)
        for probes in range(1, 4):
            asked.play(TURNS_REFUSED - 1)
            asked.fail(role, 2)
            assert len(live.calls) == FAILURES_TO_OPEN + probes - 1
            asked.play(1)
            assert asked.fail(role, 1) == ["down"]
            assert len(live.calls) == FAILURES_TO_OPEN + probes
        assert caplog.messages == [
            f"the {role} model failed 3 times in a row; it is now called once in 20 turns until it answers"
        ]

    def test_the_error_follows_from_the_recorded_events_alone_and_says_for_how_long(self, journal: Journal) -> None:
        asked = door(journal, always(WAIT))
        for _ in range(FAILURES_TO_OPEN):
            asked.model.count(failed("critic"))
        asked.play(1)
        assert asked.fail("critic", 1) == ["critic: 3 failures in a row; not called for 19 turns"]

    @pytest.mark.parametrize(
        ("role", "reply", "calls"), [("agent", DOWN, 6), ("critic", DOWN, 3), ("critic", ResponseInvalid("no Move"), 3)]
    )
    def test_the_agent_is_always_asked_and_another_role_until_three_failures_of_any_kind(
        self, journal: Journal, role: Role, reply: Reply, calls: int
    ) -> None:
        live = always(reply)
        door(journal, live).fail(role, 2 * FAILURES_TO_OPEN)
        assert len(live.calls) == calls

    def test_only_failures_in_a_row_of_the_same_role_count(self, journal: Journal) -> None:
        script: list[Reply] = [DOWN, DOWN, WAIT, DOWN, DOWN, WAIT, DOWN, DOWN, DOWN, LOOK]
        live = ScriptedLLM(script)
        asked = door(journal, live)
        for _ in range(2):
            asked.fail("critic", 2)
            assert asked.ask("critic") == "wait"
        asked.fail("critic", FAILURES_TO_OPEN + 1)
        assert asked.ask("memory") == "look"
        assert len(live.calls) == len(script)

    def test_a_person_who_plays_alone_has_no_other_models(self, journal: Journal) -> None:
        live = always(WAIT)
        asked = door(journal, live, agent={"player": "person-alone"})
        assert asked.fail("memory", 1) == ["memory: no model is configured"]
        assert live.calls == []


class TestBudgets:
    @staticmethod
    def limited(journal: Journal, usage: TokenUsage = COUNTED, **options: Any) -> tuple[Door, ScriptedLLM]:
        live = ScriptedLLM(lambda _role, _prompt, _schema: WAIT, usage=usage)
        return door(journal, live, **{**PRICED, **options}), live

    @pytest.mark.parametrize(
        ("budgets", "calls", "line"),
        [
            ({"max_tokens": 40}, 3, "max-tokens 40 reached: 45 spent"),
            ({"max_tokens": 30}, 2, "max-tokens 30 reached: 30 spent"),
            ({"max_cost": 0.05}, 2, "max-cost $0.05 reached: $0.0600 spent"),
        ],
    )
    def test_no_model_is_asked_beyond_a_limit(
        self, journal: Journal, budgets: dict[str, object], calls: int, line: str
    ) -> None:
        asked, live = self.limited(journal, budgets=budgets)
        for _ in range(calls):
            asked.ask("memory")
        for role in ("agent", "critic", "info_ext", "analysis", "memory"):
            with pytest.raises(BudgetSpent) as caught:
                asked.model.complete(role, PROMPT, Move)
            assert str(caught.value) == line
        assert len(live.calls) == calls

    def test_time_is_limited(self, journal: Journal) -> None:
        asked, _ = self.limited(journal, budgets={"max_time": "1m"})
        asked.model.count(turn_played(59.9))
        asked.ask()
        asked.model.count(turn_played(0.1))
        with pytest.raises(BudgetSpent, match=r"^max-time 60 s reached: 60\.0 s played$"):
            asked.ask()

    def test_a_limit_that_cannot_see_a_model_warns_once_and_stops_nothing(
        self, journal: Journal, caplog: pytest.LogCaptureFixture
    ) -> None:
        limits = {"max_cost": 0.001, "max_tokens": 10}
        asked, _ = self.limited(journal, TokenUsage(), prices={}, budgets=limits)
        for _ in range(5):
            asked.ask()
        assert caplog.messages == [
            "max-cost does not count the calls to 'scripted': their price is not known; set it in prices",
            "max-tokens does not count the calls to 'scripted': its server does not report token counts",
        ]

    def test_a_limit_in_time_ends_a_wait_for_a_model_that_is_down(self, journal: Journal) -> None:
        waits = Waits(clock=lambda: down.now)
        down = WaitedFor(waits)
        asked = door(journal, down, waits=waits, budgets={"max_time": 60.0})
        asked.model.count(turn_played(25.0))
        with pytest.raises(BudgetSpent, match=r"^max-time 60 s reached: 65\.0 s played$"):
            asked.ask()
        assert down.now == 40.0
        assert [limit.option for limit in asked.model.spending.reached()] == ["max-time"]


@dataclass
class WaitedFor:
    """A model that is down: it is waited for until the run has to stop, by a clock that only waiting moves."""

    waits: Waits
    now: float = 0.0

    def complete(self, *_: object) -> NoReturn:
        while True:
            self.waits.sleep(1e-9)
            self.now += 10.0

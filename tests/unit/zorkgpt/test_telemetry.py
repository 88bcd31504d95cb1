"""Events of a run become a tree of spans with real times, without the words of story or model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from session.events import EpisodeStarted, Event, RunEnded, RunPaused, TurnPlayed
from session.game_configuration import GameConfiguration
from session.values import Location, Observation, Proposal, TurnRecord, Verdict
from tests.fixtures.run_events import answered, episode_ended, failed, run_started, turn_played
from zorkgpt.telemetry import RunSpans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

SECOND = 1_000_000_000
OPENING = EpisodeStarted(3, 7, Observation("A lock keeper's hut."))
SERVED = GameConfiguration.model_validate({"agent_model": "asked-for", "llm": {"base_url": "http://localhost/v1"}})


class Watched:
    """A listener that keeps its ended spans; ``at`` is its clock, in seconds."""

    def __init__(self, configuration: GameConfiguration = SERVED) -> None:
        self.at = 0.0
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.kept = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self.kept))
        self.listener = RunSpans(self.provider.get_tracer("test"), configuration, lambda: round(self.at * SECOND))

    def show(self, at: float, event: Event) -> None:
        self.at = at
        self.listener.show(event)

    def show_run(self) -> None:
        """Two turns with a memory call between them, the second one with a call that failed."""
        self.show(100, run_started())
        self.show(101, OPENING)
        self.show(103, answered("given", seconds=1.0, prompt=100, cached=60, completion=20, requests=2))
        self.show(104, turn_played(2.5, 1))
        self.show(107, answered("given", role="memory", seconds=2.0))
        self.show(110, failed(1.0))
        self.show(111, answered("given", seconds=0.5))
        self.show(112, turn_played(4.0, 2))
        self.show(113, answered("given", role="analysis", seconds=0.5))
        self.show(114, episode_ended())
        self.show(115, RunEnded(episodes=1))

    @property
    def spans(self) -> list[ReadableSpan]:
        return sorted(self.kept.get_finished_spans(), key=lambda span: span.start_time or 0)

    def tree(self) -> list[tuple[str, str, float, float]]:
        """Name, parent's name, start and end in seconds of each span, in the order of their starts."""
        names = {span.context.span_id: span.name for span in self.spans}
        return [
            (
                span.name,
                names[span.parent.span_id] if span.parent else "",
                (span.start_time or 0) / SECOND,
                (span.end_time or 0) / SECOND,
            )
            for span in self.spans
        ]

    def told(self, name: str) -> dict[str, object]:
        """The attributes of the first span of that name."""
        return dict(next(span.attributes or {} for span in self.spans if span.name == name))


@pytest.fixture
def watched() -> Watched:
    """A run was played while a span of somebody else was the current one."""
    watched = Watched()
    with TracerProvider().get_tracer("other").start_as_current_span("somebody else's"):
        watched.show_run()
    return watched


def test_a_run_holds_episodes_these_turns_and_these_the_calls_that_were_made_in_them(watched: Watched) -> None:
    assert watched.tree() == [
        ("run", "", 100, 115),
        ("episode", "run", 101, 114),
        ("turn", "episode", 101.5, 104),
        ("chat asked-for", "turn", 102, 103),
        ("chat asked-for", "episode", 105, 107),
        ("turn", "episode", 108, 112),
        ("chat asked-for", "turn", 109, 110),
        ("chat asked-for", "turn", 110.5, 111),
        ("chat asked-for", "episode", 112.5, 113),
    ]
    assert len({span.context.trace_id for span in watched.spans}) == 1


def test_a_model_call_is_told_by_the_conventions_and_a_failed_one_is_an_error(watched: Watched) -> None:
    assert {span.kind for span in watched.spans if span.name == "chat asked-for"} == {SpanKind.CLIENT}
    assert watched.told("chat asked-for") == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.output.type": "json",
        "gen_ai.request.model": "asked-for",
        "gen_ai.response.model": "given",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.output_tokens": 20,
        "zorkgpt.role": "agent",
        "zorkgpt.requests": 2,
    }
    (call,) = [span for span in watched.spans if span.status.status_code is StatusCode.ERROR]
    assert call.attributes is not None
    assert call.attributes["error.type"] == "_OTHER"
    assert "gen_ai.usage.input_tokens" not in call.attributes


@pytest.mark.parametrize(
    "options", [{}, {"agent_model": "/home/somebody/model.gguf"}, {"llm": {"base_url": "http://localhost/v1"}}]
)
def test_a_model_that_was_not_asked_for_by_name_has_the_name_it_gives_itself(options: object) -> None:
    watched = Watched(GameConfiguration.model_validate(options))
    watched.show_run()
    names = [span.name for span in watched.spans if span.kind is SpanKind.CLIENT]
    assert names == ["chat given", "chat given", "chat", "chat given", "chat given"]


def test_run_episode_and_turn_say_which_they_are_and_what_came_of_them(watched: Watched) -> None:
    assert watched.told("run") == {
        "zorkgpt.run.id": "20260101-000000-abcd",
        "zorkgpt.story.name": "lock",
        "zorkgpt.story.sha256": "5" * 64,
        "zorkgpt.assistance": ("valid-actions",),
        "zorkgpt.run.end": "done",
    }
    assert watched.told("episode") == {
        "zorkgpt.episode": 3,
        "zorkgpt.seed": 7,
        "zorkgpt.episode.end": "won",
        "zorkgpt.turns": 2,
        "zorkgpt.score": 5,
        "zorkgpt.rooms": 2,
    }


def test_rooms_are_left_out_if_no_location_was_known() -> None:
    watched = Watched()
    watched.show(1, OPENING)
    watched.show(2, replace(episode_ended(), rooms=0))
    assert "zorkgpt.rooms" not in watched.told("episode")


def test_nobodys_words_are_in_a_span_and_no_key_and_no_path() -> None:
    secret = "nobody-may-see-this"
    watched = Watched(GameConfiguration.model_validate({"llm": {"base_url": "http://localhost/v1", "api_key": secret}}))
    after = Observation(secret, Location(4, secret), score=5)
    proposals = (Proposal(secret, secret), Proposal(secret))
    verdicts = (Verdict(accepted=False, reason=secret), Verdict(accepted=True))
    watched.show(1, run_started())
    watched.show(2, EpisodeStarted(3, 7, Observation(secret)))
    watched.show(3, answered(answer={"action": secret}, reasoning=secret, prompt_sha256=secret))
    watched.show(4, failed(0.5, error=secret))
    watched.show(5, TurnPlayed(TurnRecord(3, 1, Observation(secret), proposals, verdicts, after), 3.0))
    watched.show(6, RunPaused(reason=secret, episode=3, turns=1))
    told = "".join(span.to_json() for span in watched.spans)
    assert secret not in told
    assert "somebody" not in told
    assert watched.told("turn") == {
        "zorkgpt.episode": 3,
        "zorkgpt.turn": 1,
        "zorkgpt.rejected": 1,
        "zorkgpt.score": 5,
        "zorkgpt.location_id": 4,
    }


def test_a_pause_ends_everything_and_keeps_the_calls_of_the_turn_that_was_not_finished() -> None:
    watched = Watched()
    watched.show(1, run_started())
    watched.show(2, OPENING)
    watched.show(4, failed(1.5))
    watched.show(5, RunPaused(reason="down", episode=3, turns=0))
    assert watched.tree() == [("run", "", 1, 5), ("episode", "run", 2, 5), ("chat asked-for", "episode", 2.5, 4)]
    assert watched.told("run")["zorkgpt.run.end"] == "paused"


def test_what_goes_on_without_a_beginning_is_told_all_the_same() -> None:
    watched = Watched()
    watched.show(3, answered(seconds=0.5))
    watched.show(4, turn_played(2.0, 5))
    watched.show(5, EpisodeStarted(4, 8, Observation("A lock.")))
    watched.show(6, RunEnded(episodes=2))
    assert watched.tree() == [("turn", "", 2, 4), ("chat asked-for", "turn", 2.5, 3), ("episode", "", 5, 6)]

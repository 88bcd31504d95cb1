"""Makes OpenTelemetry spans of a run's events, by the GenAI semantic conventions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.util.types import AttributeValue

from session.events import (
    EpisodeEnded,
    EpisodeStarted,
    ModelAnswered,
    ModelFailed,
    RunEnded,
    RunPaused,
    RunStarted,
    TurnPlayed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.trace import Span, Tracer

    from session.events import Event
    from session.game_configuration import GameConfiguration
    from session.values import Role

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Call:
    """A model call that is over.

    start, end: nanoseconds since 1970
    """

    start: int
    end: int
    model: str | None
    attributes: Mapping[str, AttributeValue | None]
    failed: bool


class SpanListener:
    """Makes a span of a run, in it one of each episode, in these one of each turn and model call.

    A model call that ended before its turn began (memories, objectives) belongs to the episode. No span holds anything
    that a model, a story or a person wrote, nor an address or a key. Without a ``RunStarted`` the episodes are roots.

    clock: nanoseconds since 1970
    """

    def __init__(
        self, tracer: Tracer, configuration: GameConfiguration, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._tracer = tracer
        self._configuration = configuration
        self._clock = clock
        self._run: Span | None = None
        self._episode: Span | None = None
        self._calls: list[_Call] = []

    def show(self, event: Event) -> None:
        """End the spans that end with the event and begin those that begin with it."""
        now = self._clock()
        match event:
            case RunStarted():
                self._run = self._begin("run", None, now, _run_attributes(event))
            case EpisodeStarted():
                attributes = {"zorkgpt.episode": event.episode, "zorkgpt.seed": event.seed}
                self._episode = self._begin("episode", self._run, now, attributes)
            case ModelAnswered() | ModelFailed():
                self._calls.append(self._call(event, now))
            case TurnPlayed():
                self._tell_turn(event, now)
            case EpisodeEnded():
                self._end_episode(now, _end_attributes(event))
            case RunPaused():
                self._end_run(now, "paused")
            case RunEnded():
                self._end_run(now, "done")
            case _:
                pass

    def close(self) -> None:
        """End all open spans; a run that has not said how it ended was cut off."""
        self._end_run(self._clock(), "cut off")

    def _begin(
        self, name: str, parent: Span | None, start: int, attributes: Mapping[str, AttributeValue | None]
    ) -> Span:
        return self._tracer.start_span(name, _within(parent), attributes=_known(attributes), start_time=start)

    def _call(self, event: ModelAnswered | ModelFailed, now: int) -> _Call:
        answered = event if isinstance(event, ModelAnswered) else None
        role = self._configuration.role(cast("Role", event.role))
        configured = role.model if role.engine == "openai" else None
        model = configured or (answered.model if answered else None)
        return _Call(
            start=now - round(event.seconds * _NANOSECONDS),
            end=now,
            model=model,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.output.type": "json",
                "gen_ai.request.model": model,
                "zorkgpt.role": event.role,
                **(_answer_attributes(answered) if answered else {"error.type": "_OTHER"}),
            },
            failed=answered is None,
        )

    def _tell_turn(self, played: TurnPlayed, now: int) -> None:
        start = now - round(played.seconds * _NANOSECONDS)
        self._tell([call for call in self._calls if call.end <= start], self._episode)
        turn = self._begin("turn", self._episode, start, _turn_attributes(played))
        self._tell([call for call in self._calls if call.end > start], turn)
        turn.end(now)
        self._calls.clear()

    def _tell(self, calls: Sequence[_Call], parent: Span | None) -> None:
        for call in calls:
            span = self._tracer.start_span(
                f"chat {call.model}" if call.model else "chat",
                _within(parent),
                kind=SpanKind.CLIENT,
                attributes=_known(call.attributes),
                start_time=call.start,
            )
            if call.failed:
                span.set_status(Status(StatusCode.ERROR))
            span.end(call.end)

    def _end_episode(self, now: int, attributes: Mapping[str, AttributeValue | None]) -> None:
        self._tell(self._calls, self._episode or self._run)
        self._calls.clear()
        if self._episode is not None:
            self._episode.set_attributes(_known(attributes))
            self._episode.end(now)
        self._episode = None

    def _end_run(self, now: int, end: str) -> None:
        self._end_episode(now, {})
        if self._run is not None:
            self._run.set_attribute("zorkgpt.run.end", end)
            self._run.end(now)
        self._run = None


def _within(parent: Span | None) -> Context:
    """Return the context of a span below ``parent``, whatever span happens to be current."""
    return Context() if parent is None else set_span_in_context(parent, Context())


def _known(attributes: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    return {name: value for name, value in attributes.items() if value is not None}


def _run_attributes(started: RunStarted) -> dict[str, AttributeValue | None]:
    return {
        "zorkgpt.run.id": started.run_id,
        "zorkgpt.story.name": started.story.name,
        "zorkgpt.story.sha256": started.story.sha256,
        "zorkgpt.assistance": started.assistance,
    }


def _answer_attributes(answered: ModelAnswered) -> dict[str, AttributeValue | None]:
    return {
        "gen_ai.response.model": answered.model,
        "gen_ai.usage.input_tokens": answered.prompt_tokens,
        "gen_ai.usage.cache_read.input_tokens": answered.cached_tokens,
        "gen_ai.usage.output_tokens": answered.completion_tokens,
        "zorkgpt.requests": answered.requests,
    }


def _turn_attributes(played: TurnPlayed) -> dict[str, AttributeValue | None]:
    record = played.record
    return {
        "zorkgpt.episode": record.episode,
        "zorkgpt.turn": record.turn,
        "zorkgpt.rejected": len(record.proposals) - 1,
        "zorkgpt.score": record.after.score,
        "zorkgpt.location_id": record.after.location.num if record.after.location else None,
    }


def _end_attributes(ended: EpisodeEnded) -> dict[str, AttributeValue | None]:
    return {
        "zorkgpt.episode.end": ended.end,
        "zorkgpt.turns": ended.turns,
        "zorkgpt.score": ended.score,
        "zorkgpt.max_score": ended.max_score,
        "zorkgpt.rooms": ended.rooms,
    }

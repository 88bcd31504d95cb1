"""Calls of a model on a misbehaving server, without real waiting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from session.errors import LanguageModelError
from session.game_configuration import LanguageModelOptions, RoleOptions, Sampling
from tests.fixtures.misbehaving_server import MisbehavingServer, Step, Streams
from zorkgpt.llm.language_model import Completion, Prompt
from zorkgpt.llm.openai.openai_model import OpenAIModel

PROMPT = Prompt(system="You play.", user="A dark room.")
BRIEF = LanguageModelOptions(timeout=5.0, stall_timeout=0.3, total_time=60.0, patience=8.0, max_attempts=3)


class Move(BaseModel):
    """An answer like the agent's."""

    reasoning: str = Field(max_length=200)
    action: str


MOVE = '{"reasoning": "It is dark.", "action": "light lamp"}'
GOOD = Streams((MOVE[:20], MOVE[20:]))


@dataclass(slots=True)
class Patience:
    """A clock that only sleeping moves."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def model_on(
    server: MisbehavingServer,
    patience: Patience | None = None,
    *,
    model: str | None = "named",
    api_key: str | None = None,
    sampling: Sampling | None = None,
    limits: LanguageModelOptions = BRIEF,
    **more: Any,
) -> OpenAIModel:
    patience = patience or Patience()
    key = SecretStr(api_key) if api_key else None
    settings = RoleOptions(model, server.base_url, key, sampling or Sampling(), limits, **more)
    return OpenAIModel({"agent": settings}, sleep=patience.sleep, clock=patience.clock)


def ask(model: OpenAIModel) -> Completion[Move]:
    return model.complete("agent", PROMPT, Move)


@dataclass(slots=True)
class Outcome:
    """What came of asking a model on a server: its completions or its error, and the pauses."""

    server: MisbehavingServer
    slept: list[float]
    completions: list[Completion[Move]] = field(default_factory=list)
    error: LanguageModelError = field(default_factory=LanguageModelError)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The requests to the server."""
        return [asked.body for asked in self.server.asked]

    @property
    def users(self) -> list[str]:
        """The user's message of each request."""
        return [body["messages"][1]["content"] for body in self.bodies]

    @property
    def line(self) -> str:
        """The error, which is one line."""
        assert "\n" not in str(self.error)
        return str(self.error)


def outcome(*script: Step, times: int = 1, models: tuple[str, ...] = ("served",), **options: Any) -> Outcome:
    """Ask a model on a server with that script, so often. Errors are raised."""
    patience = Patience()
    with MisbehavingServer(*script, models=models) as server, model_on(server, patience, **options) as model:
        completions = [ask(model) for _ in range(times)]
    return Outcome(server, patience.slept, completions)


def failure(
    *script: Step, kind: type[LanguageModelError] = LanguageModelError, listing: Step | None = None, **options: Any
) -> Outcome:
    """Ask a model that fails with an error of that kind."""
    patience = Patience()
    models = options.pop("models", ("served",))
    with MisbehavingServer(*script, models=models) as server, model_on(server, patience, **options) as model:
        server.listing = listing or server.listing
        with pytest.raises(kind) as caught:
            ask(model)
    return Outcome(server, patience.slept, error=caught.value)

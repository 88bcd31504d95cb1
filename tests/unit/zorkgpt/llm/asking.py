"""One call of a model on a misbehaving server, without real waiting."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel, Field

from session.game_configuration import Sampling
from tests.fixtures.misbehaving_server import MisbehavingServer, Streams
from zorkgpt.llm.language_model import Completion, Prompt
from zorkgpt.llm.openai.openai_model import OpenAIModel
from zorkgpt.llm.openai.schemas import Limits, RoleSettings

PROMPT = Prompt(system="You play.", user="A dark room.")
BRIEF = Limits(request=5.0, stall=0.3, total=60.0, patience=8.0, attempts=3)


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
    limits: Limits = BRIEF,
) -> OpenAIModel:
    patience = patience or Patience()
    settings = RoleSettings(model=model, base_url=server.base_url, api_key=api_key, limits=limits)
    if sampling is not None:
        settings = RoleSettings(model, server.base_url, api_key, sampling, limits)
    return OpenAIModel({"agent": settings}, sleep=patience.sleep, clock=patience.clock)


def ask(model: OpenAIModel) -> Completion[Move]:
    return model.complete("agent", PROMPT, Move)

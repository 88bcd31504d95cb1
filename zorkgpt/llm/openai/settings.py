"""Which model plays a role, where it is, how its answers are drawn and how long they may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pydantic import JsonValue

from session.configuration.option_groups import Sampling


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a model may take, in seconds, and how often it is asked.

    request: one HTTP request, from sending it to its last byte
    stall: silence between two bytes of an answer, and before its first
    total: one completion with all its retries and pauses, give or take one stall; waits for a model that is down do
        not count
    patience: how long a model that is down or rate-limited is waited for, from its first failure on
    attempts: answers that may be unusable before a completion fails
    answer_length: characters of one answer, thoughts included; a longer one is not read to its end
    """

    request: float = 300.0
    stall: float = 120.0
    total: float = 900.0
    patience: float = 300.0
    attempts: int = 8
    answer_length: int = 1_000_000


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """The model that plays one role.

    model: ``None`` takes the first one that the server lists
    base_url: up to and with ``/v1``; ``None`` is the ``openai`` package's own default
    api_key: never shown; ``None`` for servers that want none
    extra_body: fields that only this server knows, sent as they are (llama.cpp's ``repeat_penalty``)
    compact: answers are written without white space between their fields
    """

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = Limits()
    extra_body: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))
    compact: bool = False

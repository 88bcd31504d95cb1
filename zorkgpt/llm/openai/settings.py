"""Which model plays which role, where it is, how it is sampled and how long it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn. ``None`` means not sent: the server's own default holds.

    max_tokens: tokens of the answer, the model's thoughts included
    top_k, min_p: not in OpenAI's interface; sent beside it for the servers that know them
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a model may take, in seconds, and how often it is asked.

    request: one HTTP request, from sending it to its last byte
    stall: silence between two bytes of an answer, and before its first
    total: one completion with all its retries and pauses, give or take one stall
    attempts: requests that may fail before a completion does
    """

    request: float = 300.0
    stall: float = 120.0
    total: float = 900.0
    attempts: int = 8


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
    sampling: Sampling = Sampling()
    limits: Limits = Limits()
    extra_body: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))
    compact: bool = False

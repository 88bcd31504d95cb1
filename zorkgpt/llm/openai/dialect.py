"""What one model on one server has turned out to understand of a request."""

from __future__ import annotations

import re
from dataclasses import asdict
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING

from zorkgpt.llm.openai.structured import response_format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel, JsonValue

    from zorkgpt.llm.openai.faults import RequestFailed
    from zorkgpt.llm.openai.settings import Sampling

_REFUSALS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.NOT_IMPLEMENTED})
_HINTS = {
    # The stream first: an answer that is held to its schema is worth more than one that streams.
    "stream": re.compile(r"\bstream(?:ing|ed)?\b", re.IGNORECASE),
    "response_format": re.compile(r"schema|grammar|structured", re.IGNORECASE),
}
_TOO_LONG = re.compile(r"context[ _-]?(?:length|size|window)", re.IGNORECASE)


class Dialect:
    """Starts with everything we could say, and forgets for good what the server refuses.

    ``schema_in_prompt``: the server does not hold the model to a schema, so the prompt has to name it.
    """

    def __init__(self) -> None:
        self.schema_in_prompt = False
        self._formats = [True, False]  # with constraints, then without
        self._refused: set[str] = set()
        self._max_tokens = "max_tokens"

    def fields(
        self, sampling: Sampling, schema: type[BaseModel], extra: Mapping[str, JsonValue], *, compact: bool = False
    ) -> dict[str, JsonValue]:
        """The fields of a request beside model and messages, as this model takes them.

        compact: as in ``RoleSettings``
        """
        fields: dict[str, JsonValue] = {"stream_options": {"include_usage": True}, "stream": True, **extra}
        fields.update({name: value for name, value in asdict(sampling).items() if value is not None})
        if "max_tokens" in fields:
            fields[self._max_tokens] = fields.pop("max_tokens")
        if self._formats:
            fields["response_format"] = response_format(schema, constraints=self._formats[0], compact=compact)
        return {name: value for name, value in fields.items() if name not in self._refused}

    def learn(self, failure: RequestFailed, sent: Mapping[str, JsonValue]) -> str | None:
        """The field of ``sent`` that the server refused, if any: the next request leaves it out or rewords it."""
        if failure.status not in _REFUSALS or _TOO_LONG.search(str(failure)):
            return None
        name = _blamed(failure, sent)
        if name is None:
            return None
        if name == "response_format":
            del self._formats[0]
            self.schema_in_prompt |= not self._formats
        elif name == "max_tokens":
            self._max_tokens = "max_completion_tokens"
        elif name == "stream":
            self._refused |= {"stream", "stream_options"}
        else:
            self._refused.add(name)
        return name


def _blamed(failure: RequestFailed, sent: Mapping[str, JsonValue]) -> str | None:
    if failure.parameter in sent:
        return failure.parameter
    words = str(failure)
    named = (name for name in sent if re.search(rf"\b{re.escape(name)}\b", words))
    hinted = (name for name, hint in _HINTS.items() if name in sent and hint.search(words))
    unnamed = ("stream",) if failure.status == HTTPStatus.NOT_IMPLEMENTED and "stream" in sent else ()
    return next(chain(named, hinted, unnamed), None)

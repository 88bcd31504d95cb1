"""What one model on one server has turned out to understand of a request."""

from __future__ import annotations

import logging
import re
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING

from zorkgpt.llm.structured import response_format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel, JsonValue

    from zorkgpt.llm.faults import RequestFailed
    from zorkgpt.llm.settings import Sampling

_LOG = logging.getLogger(__name__)
_REFUSALS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
_FORMAT_WORDS = re.compile(r"response_format|json_schema|schema|grammar|structured", re.IGNORECASE)
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
        self, sampling: Sampling, schema: type[BaseModel], extra: Mapping[str, JsonValue]
    ) -> dict[str, JsonValue]:
        """The fields of a request beside model and messages, as this model takes them."""
        fields: dict[str, JsonValue] = {"stream_options": {"include_usage": True}, **extra}
        fields.update({name: value for name, value in asdict(sampling).items() if value is not None})
        if "max_tokens" in fields:
            fields[self._max_tokens] = fields.pop("max_tokens")
        if self._formats:
            fields["response_format"] = response_format(schema, constraints=self._formats[0])
        return {name: value for name, value in fields.items() if name not in self._refused}

    def learn(self, failure: RequestFailed, sent: Mapping[str, JsonValue]) -> bool:
        """True where the next request will leave out or reword what the server refused in ``sent``."""
        if failure.status not in _REFUSALS or _TOO_LONG.search(str(failure)):
            return False
        name = _blamed(failure, sent)
        if name is None:
            return False
        if name == "response_format":
            del self._formats[0]
            self.schema_in_prompt |= not self._formats
        elif name == "max_tokens":
            self._max_tokens = "max_completion_tokens"
        else:
            self._refused.add(name)
        _LOG.warning("the model server refuses %s as sent, so it is changed or left out: %s", name, failure)
        return True


def _blamed(failure: RequestFailed, sent: Mapping[str, JsonValue]) -> str | None:
    if failure.parameter in sent:
        return failure.parameter
    named = (name for name in sent if re.search(rf"\b{re.escape(name)}\b", str(failure)))
    fallback = "response_format" if "response_format" in sent and _FORMAT_WORDS.search(str(failure)) else None
    return next(named, fallback)

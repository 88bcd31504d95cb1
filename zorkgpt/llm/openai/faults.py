"""The errors of a request to a model server, and whether a retry can help.

LanguageModelUnavailable
  RequestFailed     one request got no answer
    AnswerCutOff      the connection ended within the answer
  ServerRefuses     the user can fix it (key, model, URL); also a ConfigurationError
ResponseInvalid
  ReplyUnreadable   the response has no format that a model server uses
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from session.errors import ConfigurationError, LanguageModelUnavailable, ResponseInvalid

if TYPE_CHECKING:
    import openai

_TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})
_SERVERS_OWN = 500
_MOST_NESTED = 8
_LONGEST = 100_000  # characters; far fewer are shown


class ServerRefuses(LanguageModelUnavailable, ConfigurationError):
    """The server refuses requests with this configuration; a retry cannot help, but the user can fix it."""


class ReplyUnreadable(ResponseInvalid):
    """The response is not a chat completion, or not a list of models."""


class RequestFailed(LanguageModelUnavailable):
    """One request got no answer; the message is the reason.

    status: the HTTP status, if there was one
    parameter: the request field that the server blames, if it names one
    retry_after: the seconds to wait that the server requests
    transient: the same request may succeed later
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        parameter: str | None = None,
        retry_after: float | None = None,
        transient: bool = True,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.parameter = parameter
        self.retry_after = retry_after
        self.transient = transient


class AnswerCutOff(RequestFailed):
    """The connection ended within the answer."""


def from_status(error: openai.APIStatusError) -> RequestFailed:
    """Return the failure for an HTTP status of 400 and above."""
    status = error.status_code
    return RequestFailed(
        f"{status}: {server_message(error.body) or 'no reason given'}",
        status=status,
        parameter=error.param if isinstance(error.param, str) else None,
        retry_after=_seconds(error.response.headers.get("retry-after")),
        transient=is_transient(status) and error.code != "insufficient_quota",
    )


def is_transient(status: int) -> bool:
    """Return whether the same request may get another status later."""
    return (status >= _SERVERS_OWN and status != HTTPStatus.NOT_IMPLEMENTED) or status in _TRANSIENT


def server_message(body: object, depth: int = _MOST_NESTED) -> str:
    """Return a server's error message in one line, from any of the JSON shapes in use; "" if there is none.

    depth: the most levels of the body that are read
    """
    text = ""
    if isinstance(body, str):
        text = body
    elif depth and isinstance(body, list):
        text = "; ".join(server_message(each, depth - 1) for each in body[:_LONGEST])
    elif depth and isinstance(body, Mapping):
        location = body.get("loc")
        place = ".".join(map(str, location)) + ": " if isinstance(location, list) else ""
        found = (body[key] for key in ("error", "message", "detail", "msg") if body.get(key))
        text = place + server_message(next(found, ""), depth - 1)
    return " ".join(text[:_LONGEST].split())


def _seconds(retry_after: str | None) -> float | None:
    """Return the seconds from now that a ``Retry-After`` header specifies, as a number or a date (RFC 9110 §10.2.3)."""
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            moment = parsedate_to_datetime(retry_after)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        seconds = (moment - datetime.now(timezone.utc)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None

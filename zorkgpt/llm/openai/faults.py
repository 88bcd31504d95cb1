"""The errors of a request to a model server, and whether a retry can help."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from session.errors import ConfigurationError, LanguageModelError, LanguageModelUnavailable, ResponseInvalid

if TYPE_CHECKING:
    import openai

_TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})
_SERVERS_OWN = 500
_MOST_NESTED = 8
_MESSAGES = ("error", "message", "detail", "msg", "errors", "error_message", "error_msg", "base_resp", "status_msg")
_CODES = ("code", "status_code", "status", "http_code")
_FAILED_SAMPLE = re.compile(
    r"json_validate_failed|failed_generation|tool_use_failed|output_parse_failed"
    r"|failed to (?:validate|generate) json\b(?! schema)|model (?:generated|produced|returned|output) (?:an? )?invalid"
    r"|(?:generated|model output|model's output)\b.* (?:is not valid|is invalid|does not match|did not match)",
    re.IGNORECASE,
)
BASE_URL_MEND = "base URLs usually end in /v1"
_LONGEST = 100_000  # characters; far fewer are shown


class ServerRefuses(LanguageModelUnavailable, ConfigurationError):
    """The server refuses requests with this configuration; a retry cannot help, but the user can fix it."""


class RequestRefused(LanguageModelUnavailable):
    """The server refuses this request, such as a prompt that is too long; it may answer others."""


class ReplyUnreadable(ResponseInvalid):
    """The response is not a chat completion, or not a list of models."""


class SampleFailed(ResponseInvalid):
    """The server did not return the model's answer because it does not fit its schema; another sample may."""


class RequestFailed(LanguageModelUnavailable):
    """One request got no answer; the message is the reason.

    mend: how to fix it, which the message also contains; "" if it does not say so
    status: the HTTP status, if there was one
    parameter: the request field that the server blames, if it names one
    retry_after: the seconds to wait that the server requests
    transient: the same request may succeed later
    """

    def __init__(
        self,
        message: str,
        *,
        mend: str = "",
        status: int | None = None,
        parameter: str | None = None,
        retry_after: float | None = None,
        transient: bool = True,
    ) -> None:
        super().__init__(f"{message}; {mend}" if mend else message)
        self.mend = mend
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


def failure_in(body: object) -> LanguageModelError:
    """Return the failure for an error that a server sends within an answer."""
    message = f"within the answer: {server_message(body) or 'an error without a message'}"
    status = _status_in(body)
    # LM Studio answers so, with status 200, under a wrong base URL.
    may_pass = is_transient(status) if status else "unexpected endpoint" not in message.lower()
    return failed_sample(body, message) or RequestFailed(message, status=status, transient=may_pass)


def failed_sample(body: object, message: str) -> SampleFailed | None:
    """Return the failure if an error is about what the model wrote, not about the request."""
    return SampleFailed(message) if _FAILED_SAMPLE.search(str(body)[:_LONGEST]) else None


def require_no_web_page(body: bytes) -> None:
    """Raise ``RequestFailed`` if a response begins like a web page. Labels are wrong too often to decide that."""
    if body.lstrip().startswith(b"<"):
        raise RequestFailed("the response is a web page, not a model's answer", mend=BASE_URL_MEND, transient=False)


def is_transient(status: int) -> bool:
    """Return whether the same request may get another status later."""
    return (status >= _SERVERS_OWN and status != HTTPStatus.NOT_IMPLEMENTED) or status in _TRANSIENT


def has_content(error: object, depth: int = _MOST_NESTED) -> bool:
    """Return whether an error has any value; some servers add an empty one to each answer."""
    if depth and isinstance(error, Mapping | list):
        return any(has_content(each, depth - 1) for each in (error.values() if isinstance(error, Mapping) else error))
    return bool(error)


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
        found = (server_message(body[key], depth - 1) for key in _MESSAGES if body.get(key))
        text = place + next(filter(None, found), "")
    return " ".join(text[:_LONGEST].split())


def _status_in(body: object, depth: int = _MOST_NESTED) -> int | None:
    """Return the HTTP status in an error's body, a number or its digits, if there is one."""
    if not depth or not isinstance(body, Mapping):
        return None
    for code in (body.get(key) for key in _CODES):
        if re.fullmatch("[45][0-9][0-9]", str(code)):
            return int(str(code))
    return next(filter(None, (_status_in(body.get(key), depth - 1) for key in _MESSAGES)), None)


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

"""Error bodies and Retry-After headers of every shape are understood or passed over."""

from __future__ import annotations

import httpx2
import openai
import pytest

from zorkgpt.llm.openai.faults import from_status, server_message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "a\n  b"}}, "a b"),
        ({"error": "a"}, "a"),
        ({"message": "a"}, "a"),
        ({"detail": "a"}, "a"),
        ({"detail": [{"loc": ["body", "n"], "msg": "a"}, {"loc": ["x", 0], "msg": "b"}]}, "body.n: a; x.0: b"),
        ("a", "a"),
        (None, ""),
        ({}, ""),
        ({"error": {"code": 5}}, ""),
        ({"error": [1, None]}, ";"),
    ],
)
def test_a_servers_words_are_found_in_its_error(body: object, words: str) -> None:
    assert server_message(body) == words


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00", 0.0),
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_retry_after_is_seconds_from_now_or_nothing(header: str, seconds: float | None) -> None:
    request = httpx2.Request("POST", "http://host")
    response = httpx2.Response(429, headers={"retry-after": header}, request=request)
    failure = from_status(openai.RateLimitError("busy", response=response, body=None))
    assert failure.retry_after == seconds

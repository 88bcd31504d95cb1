"""What a server may send as an answer: streams and whole answers under any label, and fields of any shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.errors import LanguageModelUnavailable, ResponseInvalid
from tests.fixtures.misbehaving_server import Says, Streams
from tests.unit.zorkgpt.llm.asking import MOVE, Move, failure, outcome
from zorkgpt.llm.openai.answers import ChatReply, read_reply
from zorkgpt.llm.openai.faults import ReplyUnreadable, RequestFailed

LONGEST = 100_000


def read(body: str | bytes, piece: int = 1 << 20) -> ChatReply:
    """What is read from a body that arrives in pieces of so many bytes."""
    whole = body if isinstance(body, bytes) else body.encode()
    return read_reply((whole[at : at + piece] for at in range(0, len(whole), piece)), LONGEST, "m")


def chunk(content: object, **more: Any) -> str:
    return json.dumps({"choices": [{"delta": {"content": content}}], **more})


HELLO = (chunk("Hel"), chunk("lo"))
STREAMS = {
    "plain": "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
    "carriage returns and line feeds": "data: {}\r\n\r\ndata: {}\r\n\r\n",
    "carriage returns": "data: {}\r\rdata: {}\r\r",
    "no space": "data:{}\n\ndata:{}\n\n",
    "byte order mark": "\ufeffdata: {}\n\ndata: {}\n\n",
    "comments": ": still here\n\n:\n\ndata: {}\n\n: x\ndata: {}\n\n",
    "no last blank line": "data: {}\n\ndata: {}",
    "unknown fields": "x-trace: 7\n\ndata: {}\nfoo\nbar: x\n\ndata: {}\n\n",
    "names and numbers": "id: 7\nevent: completion\nretry: 3000\ndata: {}\n\nevent: completion\ndata: {}\n\n",
    "keep-alive events": "event: ping\ndata: now\n\ndata: {}\n\nevent: keep-alive\ndata:\n\ndata: {}\n\n",
    "empty data": "data:\n\ndata\n\ndata: {}\n\ndata: {}\n\n",
    "no blank lines": "data: {}\ndata: {}\ndata: [DONE]\n",
    "no blank line before the end": "data: {}\n\ndata: {}\ndata: [DONE]\n\n",
    "end in lower case": "data: {}\n\ndata: {}\n\ndata: [done]\n\ndata: rubbish\n\n",
    "end without brackets": "data: {}\n\ndata: {}\n\nevent: done\ndata: DONE\n\n",
    "end in quotes": 'data: {}\n\ndata: {}\n\ndata: "[DONE]"\n\n',
    "blank lines first": "\n\r\n\ndata: {}\n\ndata: {}\n\n",
    "one value a line": "{}\n{}\n",
    "an array": "[{},\n{}]",
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
def test_a_stream_is_read_as_the_standard_says_in_pieces_of_any_size(stream: str, piece: int) -> None:
    first, second = HELLO
    body = stream.replace("{}", first, 1).replace("{}", second, 1)
    assert read(body, piece).text == "Hello"


@given(st.integers(0, 3), st.sampled_from(["\n", "\r", "\r\n"]), st.integers(1, 40))
def test_several_data_lines_are_one_value(indent: int, end: str, piece: int) -> None:
    lines = [
        f"data: {line}" for each in HELLO for line in [*json.dumps(json.loads(each), indent=indent).split("\n"), ""]
    ]
    body = end.join("" if line == "data: " else line for line in lines) + end
    assert read(body, piece).text == "Hello"


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/html", "text/event-stream", "", "nonsense"])
def test_the_content_decides_not_its_label(kind: str) -> None:
    stream = f"data: {chunk(MOVE)}\n\ndata: [DONE]\n\n"
    whole = json.dumps({"choices": [{"message": {"content": MOVE}}]}, indent=1)
    for body in (stream, whole):
        assert outcome(Says(200, body, {"Content-Type": kind})).completions[0].value.action == "light lamp"


@pytest.mark.parametrize("body", ["I light the lamp.", "x: y\n\nfoo: bar\n\n", "oops\n" * 50_000, b"\x00\xff" * 3])
def test_a_body_without_any_field_of_a_stream_is_not_called_empty(body: str | bytes) -> None:
    with pytest.raises(ReplyUnreadable, match="not an event stream"):
        read(body)


@pytest.mark.parametrize("body", ["", "\n\n", ": hello\n\n", "data: [DONE]\n\n", "id: 7\n\n", "data: []\n\n"])
def test_a_stream_without_a_value_is_an_empty_answer(body: str) -> None:
    assert read(body).text == ""


@pytest.mark.parametrize("line", ["data: x\n", "data: " + "x" * 100, "x: y\n", " "])
def test_a_stream_that_never_ends_an_event_is_left(line: str) -> None:
    with pytest.raises(ResponseInvalid):
        read(line * (8 * LONGEST // len(line) + 10), 1 << 16)


ANSWER = {"reasoning": "It is dark.", "action": "light lamp"}
SHAPES: dict[str, dict[str, object]] = {
    "text": {"content": MOVE},
    "parts": {"content": [{"type": "text", "text": MOVE[:9]}, {"type": "text", "text": MOVE[9:]}]},
    "output text": {"content": [{"type": "output_text", "text": MOVE, "annotations": []}]},
    "strings": {"content": [MOVE[:9], MOVE[9:]]},
    "one part": {"content": {"type": "text", "text": MOVE}},
    "parts without a type": {"content": [{"text": "Hm.", "thought": True}, {"text": MOVE}]},
    "thinking as parts": {
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": 'Or {"reasoning": "", "action": "wait"}'}]},
            {"type": "text", "text": MOVE},
        ]
    },
    "thinking as text": {"content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": MOVE}]},
    "unknown parts": {"content": [{"type": "image_url", "image_url": {}}, None, 5, {"type": "text", "text": MOVE}]},
    "an object": {"content": ANSWER},
    "reasoning alone": {"content": None, "reasoning_content": MOVE},
    "reasoning alone, elsewhere": {"content": "", "reasoning": f"I am in the dark.\n```json\n{MOVE}\n```"},
    "reasoning with a stray tag": {"content": " ", "reasoning_content": f"I am in the dark.</think>{MOVE}"},
    "reasoning as details": {"reasoning_details": [{"type": "reasoning.text", "text": MOVE}]},
    "reasoning as blocks": {"content": MOVE, "thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]},
    "a tool call": {"content": None, "tool_calls": [{"index": 0, "function": {"name": "f", "arguments": MOVE}}]},
    "a tool call without text": {"tool_calls": [{"function": {"arguments": MOVE}}]},
    "arguments as an object": {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": ANSWER}}]},
    "a function call": {"content": None, "function_call": {"name": "f", "arguments": MOVE}},
    "odd fields": {"content": MOVE, "refusal": [], "reasoning_content": 5, "tool_calls": {"a": 1}, "role": 7},
}


@pytest.mark.parametrize("message", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("where", ["message", "delta"])
def test_an_answer_is_found_in_any_shape_of_its_message(message: dict[str, object], where: str) -> None:
    odd = {"model": ["m"], "usage": "none", "id": None, "choices": [{"index": "0", where: message, "finish_reason": 1}]}
    (completion,) = outcome(Says(200, odd)).completions
    assert completion.value == Move(reasoning="It is dark.", action="light lamp")
    assert completion.requests == 1
    assert "wait" not in completion.text


def test_a_tool_call_is_joined_from_its_pieces_and_two_are_no_answer() -> None:
    def events(*calls: tuple[int, str]) -> tuple[str, ...]:
        for_each = ({"index": index, "function": {"arguments": written}} for index, written in calls)
        deltas = ({"choices": [{"delta": {"tool_calls": [call]}}]} for call in for_each)
        return tuple(f"data: {json.dumps(delta)}\n\n" for delta in deltas)

    asked = outcome(Streams((), more_events=events((0, MOVE[:9]), (0, MOVE[9:]))))
    assert asked.completions[0].value.action == "light lamp"
    assert "the answer is empty" in failure(Streams((), more_events=events((0, MOVE), (1, MOVE)))).line


def test_a_draft_in_reasoning_without_an_answer_is_none() -> None:
    message = {"content": None, "reasoning_content": f"Perhaps {MOVE}? No, that would be foolish."}
    assert "the answer is empty" in failure(Says(200, {"choices": [{"message": message}]})).line


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
def test_an_answer_is_cut_at_a_token_limit_under_any_name(reason: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": "{"}, "finish_reason": reason}]})
    assert read(body).cut


@pytest.mark.parametrize("error", [None, "", {}, [], False, {"message": "", "type": "", "param": None, "code": None}])
def test_an_empty_error_is_none(error: object) -> None:
    assert read(f"data: {chunk('Hello', error=error)}\n\n").text == "Hello"
    assert read(json.dumps({"choices": [{"message": {"content": "Hello"}, "error": error}], "error": error})).text


OOM = "out of memory"
ERRORS = {
    "error": {"error": {"message": OOM, "code": 500}},
    "vLLM before 0.10": {"object": "error", "message": OOM, "type": "InternalServerError", "code": 500},
    "Anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": OOM}},
    "text": {"error": OOM},
    "FastAPI": {"detail": OOM},
    "array": [{"error": {"message": OOM, "status": "UNAVAILABLE", "code": 503}}],
    "gateway": {"code": "50501", "message": OOM, "data": None},
    "MiniMax": {"choices": None, "base_resp": {"status_code": 1000, "status_msg": OOM}},
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
@pytest.mark.parametrize("form", ["data: {}\n\n", "event: error\ndata: {}\n\n", "error: {}\n\n", "whole"])
def test_an_error_is_one_under_any_name_with_its_message(error: object, form: str) -> None:
    written = json.dumps(error)
    body = written if form == "whole" else f"data: {chunk('Hel')}\n\n{form.replace('{}', written)}data: [DONE]\n\n"
    with pytest.raises(RequestFailed, match=f"^within the answer: {OOM}$") as caught:
        read(body)
    assert caught.value.transient


def test_an_error_may_be_in_the_choice_alone() -> None:
    choice = {"delta": {"content": ""}, "finish_reason": "error", "error": {"message": OOM}}
    with pytest.raises(RequestFailed, match=OOM):
        read(f"data: {chunk('Hel')}\n\ndata: {json.dumps({'choices': [choice]})}\n\n")


def test_the_words_of_an_error_event_need_not_be_json() -> None:
    with pytest.raises(RequestFailed, match=OOM):
        read(f"data: {chunk('Hel')}\n\nevent: error\ndata: {OOM}\n\n")


def test_an_error_within_an_answer_that_cannot_pass_is_said_at_once() -> None:
    for code in (400, "400"):
        failed = failure(Says(200, {"error": {"message": "no", "code": code}}), kind=LanguageModelUnavailable)
        assert len(failed.bodies) == 1

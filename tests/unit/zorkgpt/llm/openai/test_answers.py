"""Answers are found in replies of any form, and in any text around them: reasoning, prose, other JSON."""

from __future__ import annotations

import json
import time
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from managers.questions import Question, ask_together
from session.errors import ResponseInvalid
from session.text import TokenCounter
from tests.fixtures.misbehaving_server import Says, Streams
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.unit.zorkgpt.llm.asking import MOVE, Move, failure, outcome
from zorkgpt.llm.language_model import Prompt
from zorkgpt.llm.openai.answers import (
    AnswerIncomplete,
    ChatReply,
    SchemaIgnored,
    SplitText,
    json_objects,
    read_answer,
    read_reply,
    split_reasoning,
)
from zorkgpt.llm.openai.faults import ReplyUnreadable, RequestFailed
from zorkgpt.llm.openai.served_model import response_format

LONGEST = 100_000
LONG, LONG_SECONDS = 300_000, 2.5
"""Characters, and how long reading them may take: if the time grows with their square, it takes minutes."""


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
    "list": {"errors": [{"message": OOM}]},
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


@pytest.mark.parametrize(
    "text",
    [
        MOVE,
        f"```json\n{MOVE}\n```",
        f"My answer {{as asked}}: {MOVE} Good luck {{}}!",
        f'{{"action": "draft"}} No, better: {MOVE}',
        f"<think>Perhaps {{}}</think>{MOVE}<think>Hm",
        f"<think>I forgot to close this.\n{MOVE}\n",
        f"<think>I forgot to close this.\n```json\n{MOVE}\n```",
        f"Well. <think>I forgot to close this.\n{MOVE}",
        f"<think>{'Hm. { ' * 50_000}</think>{MOVE}",
    ],
    ids=range(9),
)
def test_the_answer_is_found_wherever_it_stands(text: str) -> None:
    assert read_answer(split_reasoning(text), Move).action == "light lamp"


@pytest.mark.parametrize("text", ["", " ", f"<think>{MOVE}</think>", f"<think>Or {MOVE}? No", MOVE[:-2]])
def test_a_draft_in_thoughts_or_half_an_answer_is_none(text: str) -> None:
    with pytest.raises(AnswerIncomplete):
        read_answer(split_reasoning(text), Move)


class Aims(BaseModel):
    """An answer whose parts are all optional."""

    aims: list[Move] = Field(default_factory=list)


@pytest.mark.parametrize("text", [f'{{"aims": [{MOVE}, {{"re', f'<think>So {{"aims": [{MOVE}'])
def test_a_part_of_an_answer_that_breaks_off_is_not_taken_for_the_whole(text: str) -> None:
    with pytest.raises(AnswerIncomplete):
        read_answer(split_reasoning(text), Aims)


def test_the_last_object_that_fits_is_the_answer() -> None:
    first = MOVE.replace("light lamp", "wait")
    assert read_answer(split_reasoning(f"{first} {MOVE} {{}}"), Move).action == "light lamp"


def test_what_is_wrong_is_said_by_field() -> None:
    with pytest.raises(SchemaIgnored, match="reasoning: Field required; action: Input should be a valid string"):
        read_answer(split_reasoning('{"action": 5}'), Move)
    with pytest.raises(ResponseInvalid, match="reasoning: String should have at most 200 characters") as caught:
        read_answer(split_reasoning(MOVE.replace("dark", "dark" * 60)), Move)
    assert not isinstance(caught.value, SchemaIgnored)


TAGS = ("think", "thinking", "reflection")


@pytest.mark.parametrize("tag", [*TAGS, "THINK"])
def test_a_tag_holds_thoughts(tag: str) -> None:
    assert split_reasoning(f"<{tag}> a\nb </{tag}>\n{{}}") == SplitText("{}", "a\nb")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", SplitText("plain", "")),
        ("", SplitText("", "")),
        ("{} <think>after</think>", SplitText("{}", "after")),
        ("<think>a<think>b</think>c</think>{}", SplitText("{}", "a\n\nb\n\nc")),
        ("<think>a<reflection>b</reflection>c</think>{}", SplitText("{}", "a\n\nb\n\nc")),
        ("{}<think>a<think>b</think>c</think>", SplitText("{}", "a\n\nb\n\nc")),
        ("<think>a</think>x<think>b</think>y", SplitText("xy", "a\n\nb")),
        ("a</think>{}", SplitText("{}", "a")),
        ("<think>never ends {}", SplitText("", "never ends {}", "never ends {}")),
        ("{}<think>never ends", SplitText("{}", "never ends", "never ends")),
        ("<think></think>{}", SplitText("{}", "")),
        ('{"a": "<think>"} b', SplitText('{"a": "<think>"} b', "")),
        ('{"a": "</think>"}', SplitText('{"a": "</think>"}', "")),
        ('{draft <think>a</think> {"b": 1}', SplitText('{draft  {"b": 1}', "a")),
        ("<thinker>x</thinker>", SplitText("<thinker>x</thinker>", "")),
    ],
)
def test_every_shape_of_thoughts(text: str, expected: SplitText) -> None:
    assert split_reasoning(text) == expected


VALUES = st.dictionaries(st.text(), st.text() | st.sampled_from([f"<{tag}>" for tag in TAGS]), min_size=1)
THOUGHTS = st.text(st.characters(blacklist_characters="<"))


@given(THOUGHTS, VALUES, st.sampled_from(TAGS))
def test_an_answer_survives_any_thoughts_before_and_after_it(thoughts: str, value: dict[str, str], tag: str) -> None:
    answer = json.dumps(value)
    split = split_reasoning(f"<{tag}>{thoughts}</{tag}>{answer}<{tag}>{thoughts}")
    assert json.loads(split.answer) == value
    assert split.unclosed == thoughts.strip()


@given(st.lists(st.sampled_from([*(f"<{tag}>" for tag in TAGS), "</think>", "{", "}", '"', "a", " "])))
def test_no_letter_is_lost_in_any_tangle_of_tags(pieces: list[str]) -> None:
    split = split_reasoning("".join(pieces))
    assert (split.answer + split.reasoning).count("a") == pieces.count("a")


WHOLE = r'{"a": [true, false, null, -12.5e-3, "x\u00e9\n"], "b": {"c": "d"}}'


def breaks_off(text: str) -> bool:
    with pytest.raises(ResponseInvalid) as caught:
        read_answer(SplitText(text, ""), Move)
    return "breaks off" in str(caught.value)


@pytest.mark.parametrize("before", ["", "Well: ", "Well {x} {}: "])
def test_an_object_that_stops_anywhere_breaks_off(before: str) -> None:
    for half in (WHOLE[:end] for end in range(1, len(WHOLE))):
        assert breaks_off(before + half), half
        assert half not in json_objects(before + half)[0]


@pytest.mark.parametrize("text", ["", "prose", '{"a": 1}', "{'a': 1}", '{"a": 1,}', '{"a": 1.}'])
def test_whole_wrong_and_missing_objects_do_not_break_off(text: str) -> None:
    assert not breaks_off(text)


def found_at_every_brace(text: str) -> list[str]:
    """What trying at each brace finds, however long that takes."""
    found, start = [], text.find("{")
    while start >= 0:
        try:
            end = json.JSONDecoder().raw_decode(text, start)[1]
            found.append(text[start:end])
        except json.JSONDecodeError:
            end = start + 1
        start = text.find("{", end)
    return found


@given(st.lists(st.sampled_from(['{"a":', '"', "{", "}", "[", "]", ",", ":", "\\", "1", "true", "e", " ", "\n", "-"])))
def test_one_pass_finds_what_trying_at_every_brace_finds(pieces: list[str]) -> None:
    text = "".join(pieces) + "\x01"  # which belongs nowhere, so that nothing breaks off
    assert json_objects(text)[0] == found_at_every_brace(text)


@pytest.mark.parametrize(
    "again",
    [
        *('{"a":', "{", "{}", '{"', '{"a": "', '[{"a":[', ',{"a{":":"', '"{":', '{"\\u0'),
        *("<think>", "</think>", '<think>{"a":'),
        *("{#", "{'a':", '{\\"', "{a:", '{"a":" ', "{'a',}", "{/*", "{'a': '"),  # read loosely
    ],
)
def test_the_longest_text_of_anything_is_read_in_seconds(again: str) -> None:
    text = again * (LONG // len(again))
    start = time.process_time()
    with pytest.raises(ResponseInvalid):
        read_answer(split_reasoning(text), Move)
    assert time.process_time() - start < LONG_SECONDS


def test_what_is_nested_too_deep_is_no_answer_and_costs_nothing() -> None:
    nested = '{"reasoning": ' + "[" * 500_000 + "]" * 500_000 + ', "action": "wait"}'
    with pytest.raises(ResponseInvalid):
        read_answer(split_reasoning(nested), Move)
    assert read_answer(split_reasoning(nested + MOVE), Move).action == "light lamp"


class Numbers(BaseModel):
    numbers: list[int]


def test_countless_misfits_are_counted_not_listed() -> None:
    with pytest.raises(ResponseInvalid, match=r"^100000 values in it do not fit$"):
        read_answer(split_reasoning(f'{{"numbers": [{",".join(["{}"] * 100_000)}]}}'), Numbers)


class Lamp(BaseModel):
    kind: Literal["lamp"]
    oil: int = Field(ge=0, le=100)


class Sword(BaseModel):
    kind: Literal["sword"]
    pattern: str = Field("plain", pattern="^[a-z]+$", description="as engraved")


class Chest(BaseModel):
    """What is in it."""

    first: Lamp | Sword
    others: set[str] = Field(default_factory=set, max_length=3)
    owner: Lamp = Field(description="whose it is")
    note: str | None = None


def test_a_strict_schema_closes_objects_requires_all_and_knows_no_defaults() -> None:
    held = response_format(Chest, constraints=True)["json_schema"]
    assert isinstance(held, dict)
    assert held["name"] == "Chest"
    assert held["strict"] is True
    written = str(held["schema"])
    assert "'required': ['first', 'others', 'owner', 'note']" in written
    assert written.count("'additionalProperties': False") == written.count("'type': 'object'")
    assert "default" not in written
    assert "'maxItems': 3" in written


def test_without_constraints_only_the_shape_is_left() -> None:
    written = str(response_format(Chest, constraints=False))
    assert all(f"'{word}': " not in written for word in ("maxItems", "uniqueItems", "minimum", "maximum"))
    assert "'pattern': {'description': 'as engraved'" in written, "a property may be named like a keyword"
    assert "'enum'" in written or "'const'" in written


def test_a_compact_answer_is_held_to_no_white_space_between_its_fields() -> None:
    assert "'x-guidance': {'whitespace_flexible': False}" in str(response_format(Move, constraints=True, compact=True))
    assert "x-guidance" not in str(response_format(Move, constraints=True))


def made(text: str) -> dict[str, object]:
    return read_answer(split_reasoning(text), Move).model_dump()


LOOSE = [
    '{"reasoning": "It\'s dark.", "action": "say \\"hi\\"",}',
    """{'reasoning': 'It\\'s dark.', 'action': 'say "hi"'}""",
    """It's this: {'reasoning': 'It's dark.', 'action': 'say "hi"', 'sure': True, 'more': None} I'd say.""",
    '```json5\n{reasoning: "It\'s dark.", // as "seen"\n "action": "say \\"hi\\"" /* , */ , # or not\n}\n```',
    json.dumps(json.dumps({"reasoning": "It's dark.", "action": 'say "hi"'})),
    json.dumps(json.dumps(json.dumps({"reasoning": "It's dark.", "action": 'say "hi"'}))),
    json.dumps(json.dumps({"reasoning": "It's dark.", "action": 'say "hi"'}))[1:-1],
    '{"reasoning": "It\'s dark.", "action": "say "hi""}',
    '{\u201creasoning\u201d: \u201cIt\'s dark.\u201d, \u201caction\u201d: \u201csay "hi"\u201d}',
]


@pytest.mark.parametrize("text", LOOSE)
def test_an_object_with_errors_of_syntax_is_read(text: str) -> None:
    assert made(text) == {"reasoning": "It's dark.", "action": 'say "hi"'}


@pytest.mark.parametrize("text", ["{'reasoning': '', 'action': 'no", "{'reasoning': '', 'action': north}", "{'a': 1]"])
def test_half_an_object_or_none_is_not_read_loosely(text: str) -> None:
    with pytest.raises(ResponseInvalid):
        made(text)


def test_correct_json_wins_over_loose_json() -> None:
    assert made(f"{MOVE} or {{'reasoning': '', 'action': 'wait'}}")["action"] == "light lamp"


class Finds(BaseModel):
    reasoning: str = ""
    finds: list[Numbers] = Field(default_factory=list)
    turn: int | None = None


@pytest.mark.parametrize("value", ['"[{\\"numbers\\": [1]}]"', '[{"numbers": "[1]"}]', '["{\\"numbers\\": [1]}"]'])
def test_a_value_may_be_json_in_a_string(value: str) -> None:
    found = read_answer(split_reasoning(f'{{"finds": {value}, "turn": "None"}}'), Finds)
    assert found == Finds(finds=[Numbers(numbers=[1])])


@pytest.mark.parametrize("text", ["{}", '{"foo": 1}', '{"reasoning": "I go.", "action": "north"}', "{'action': 'x'}"])
def test_an_answer_with_none_of_its_own_fields_is_invalid(text: str) -> None:
    with pytest.raises(SchemaIgnored, match="none of the fields finds, turn"):
        read_answer(split_reasoning(text), Finds)


def test_a_common_answer_needs_a_field_of_each_question() -> None:
    model = ScriptedLLM([{}])
    prompt = Prompt("", "")
    questions = [Question(model, "analysis", prompt, schema, lambda _answer: None) for schema in (Finds, Numbers)]
    ask_together(questions, 1000, TokenCounter())
    schema = model.calls[0].schema
    with pytest.raises(ResponseInvalid):
        read_answer(split_reasoning('{"numbers": [1]}'), schema)
    assert read_answer(split_reasoning('{"numbers": [1], "finds": []}'), schema)

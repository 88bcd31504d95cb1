"""JSON objects are found in other text, whole or broken off."""

from __future__ import annotations

import pytest

from zorkgpt.llm.openai.json_text import breaks_off, json_objects


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("", []),
        ("none", []),
        ('{"a": 1}', ['{"a": 1}']),
        ('```json\n{"a": {"b": "}"}}\n``` {x} {"c": 2} {', ['{"a": {"b": "}"}}', '{"c": 2}']),
        ('[{"a": 1}]', ['{"a": 1}']),
        ('{{"a": 1}}', ['{"a": 1}']),
        ('{"a":' * 3_000, []),
        ('{"a": [{"b": 1}, {"b"', []),
        ('{x} {"a": 1} {"a": [{"b": 1}, ', ['{"a": 1}']),
    ],
    ids=range(9),
)
def test_the_outermost_whole_objects_are_found_in_order(text: str, objects: list[str]) -> None:
    assert list(json_objects(text)) == objects


WHOLE = r'{"a": [true, false, null, -12.5e-3, "x\u00e9\n"], "b": {"c": "d"}}'


@pytest.mark.parametrize("end", range(1, len(WHOLE)))
@pytest.mark.parametrize("before", ["", "Well: ", "Well {x} {}: "])
def test_an_object_that_stops_anywhere_breaks_off(before: str, end: int) -> None:
    assert breaks_off(before + WHOLE[:end])
    assert WHOLE[:end] not in json_objects(before + WHOLE[:end])


@pytest.mark.parametrize("text", ["", "prose", '{"a": 1}', "{'a': 1}", '{"a": 1,}', '{"a": x', '{"a": 1.}'])
def test_whole_wrong_and_missing_objects_do_not_break_off(text: str) -> None:
    assert not breaks_off(text)

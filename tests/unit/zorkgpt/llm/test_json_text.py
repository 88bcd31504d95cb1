"""JSON objects are found in other text, whole or broken off."""

from __future__ import annotations

import pytest

from zorkgpt.llm.json_text import breaks_off, json_objects


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
    ],
    ids=range(7),
)
def test_the_outermost_whole_objects_are_found_in_order(text: str, objects: list[str]) -> None:
    assert list(json_objects(text)) == objects


@pytest.mark.parametrize("end", range(1, 22))
def test_an_object_that_stops_anywhere_breaks_off(end: int) -> None:
    assert breaks_off('Well: {"a": [1, "b"], "c": null}'[: 6 + end])


@pytest.mark.parametrize("text", ["", "prose", '{"a": 1}', "{'a': 1}", '{"a": 1,}', '{"a": x'])
def test_whole_wrong_and_missing_objects_do_not_break_off(text: str) -> None:
    assert not breaks_off(text)

"""Thoughts are parted from the answer, however a model writes them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.llm.openai.reasoning import SplitText, split_reasoning

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

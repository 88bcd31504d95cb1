"""Our texts for models: plain words, the fields of an answer in one order, and nothing about any game.

Sources: docs/records/specification.md, No game knowledge; docs/records/specification.md, Words of prompts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story
from managers.episodes import EpisodeAnswer
from managers.knowledge.analysis import ConsolidationAnswer, KnowledgeAnswer
from managers.memory.synthesis import VisitSynthesis
from managers.objectives import ObjectivesAnswer
from managers.questions import ChosenTurn
from session.context import AgentContext
from session.text import TokenCounter
from session.values import Observation
from tests.fixtures.scripted_llm import ScriptedLLM
from zorkgpt.llm.openai.served_model import response_format
from zorkgpt.players.agent import ModelPlayer, ReadingAnswer
from zorkgpt.players.critic import CriticAnswer
from zorkgpt.players.player import TurnContext
from zorkgpt.prompts.loader import fill_prompt, prompt_fields

PROMPTS = sorted((Path(__file__).parents[2] / "zorkgpt" / "prompts").glob("*.md"))
TELLING_WORDS = {
    "zork", "grue", "troll", "thief", "cyclops", "mailbox", "leaflet", "lantern", "sceptre", "trident", "frobozz",
}  # fmt: skip


def words_of(text: str) -> str:
    return f" {' '.join(re.findall(r'[a-z]+', text.lower()))} "


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda path: path.stem)
def test_no_prompt_names_what_only_zork_has(prompt: Path) -> None:
    assert not TELLING_WORDS & set(words_of(prompt.read_text(encoding="utf-8")).split())


@pytest.mark.stories
def test_no_prompt_holds_a_name_of_zorks_own_object_table(zork1: Path) -> None:
    story = Story.load(zork1)
    table = ObjectTable(story)
    names = {words_of(table.name(number)) for number in range(1, table.count + 1)}
    names = {name for name in names if len(name.split()) > 1}
    assert len(names) > 100
    text = " ".join(words_of(prompt.read_text(encoding="utf-8")) for prompt in PROMPTS)
    assert sorted(name for name in names if name in text) == []


ANSWERS: dict[str, type[BaseModel]] = {
    "critic": CriticAnswer,
    "extractor": ReadingAnswer,
    "memory": VisitSynthesis,
    "memory_brief": ChosenTurn,
    "knowledge": KnowledgeAnswer,
    "knowledge_brief": ChosenTurn,
    "knowledge_consolidation": ConsolidationAnswer,
    "objectives": ObjectivesAnswer,
    "episode": EpisodeAnswer,
}
"""By the names of the instructions that ask for them; an agent's depend on what it is asked for."""

OUR_NUMBER = re.compile(r"\b(?:decisions?|ADR|issues?|seeds?)\s+#?\d", re.IGNORECASE)
PATH = re.compile(r"\w/\w+/\w|\b\w+\.(?:py|md|txt|jsonl?|toml|z\d)\b")
MOST_TOKENS = 1200


def of_agent(**options: Any) -> tuple[str, type[BaseModel]]:
    """The instructions of an agent and its answer's schema."""
    model = ScriptedLLM([{"action": "wait"}])
    ModelPlayer(model, **options).propose(TurnContext(Observation(""), 1, 9, lambda _system: AgentContext(())))
    (call,) = model.calls
    return call.prompt.system, call.schema


def questions() -> Iterator[tuple[str, str, type[BaseModel]]]:
    """A name, the instructions and the answer's schema, for every question."""
    for name, answer in ANSWERS.items():
        fields = dict.fromkeys(prompt_fields(name), "8")
        yield name, fill_prompt(name, **fields), answer
    for asked in ({}, {"reads": True}, {"reads": True, "notes_objectives": True, "keeps_notes": True, "travels": True}):
        yield " ".join(["agent", *asked]), *of_agent(**asked)
    yield "agent without reasoning", *of_agent(reasoning_length=0)


QUESTIONS = [pytest.param(told, answer, id=name) for name, told, answer in questions()]


def sent(answer: type[BaseModel]) -> dict[str, Any]:
    """The schema of the answer as a server gets it."""
    form: Any = response_format(answer, constraints=True)
    schema: dict[str, Any] = form["json_schema"]["schema"]
    return schema


def nodes_of(schema: object) -> Iterator[dict[str, Any]]:
    """Each object in the JSON of a schema."""
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from nodes_of(inner)


def examples_in(told: str) -> Iterator[dict[str, Any]]:
    """Each JSON object in a text, and each within another."""
    for found in re.finditer(r"\{\"", told):
        example, _ = json.JSONDecoder().raw_decode(told, found.start())
        yield from nodes_of(example)


@pytest.mark.parametrize(("told", "answer"), QUESTIONS)
def test_no_prompt_and_no_schema_holds_a_number_of_ours_or_a_path(told: str, answer: type[BaseModel]) -> None:
    described = [str(node["description"]) for node in nodes_of(sent(answer)) if "description" in node]
    words = "\n".join([told, *described])
    assert OUR_NUMBER.findall(words) + PATH.findall(words) == []
    assert "``" not in words


@pytest.mark.parametrize(("told", "answer"), QUESTIONS)
def test_text_and_schema_name_the_fields_in_one_order(told: str, answer: type[BaseModel]) -> None:
    orders = [[*node["properties"]] for node in nodes_of(sent(answer)) if isinstance(node.get("properties"), dict)]
    for example in examples_in(told):
        whole = [order for order in orders if set(example) <= set(order)]
        assert [*example] in [[name for name in order if name in example] for order in whole], example
    fields = [name for name in answer.model_fields if f"`{name}`" in told]
    assert fields == sorted(fields, key=lambda name: told.index(f"`{name}`"))


def test_the_agents_instructions_are_short() -> None:
    told, _ = of_agent(reads=True, notes_objectives=True, travels=True)
    assert TokenCounter().estimate(told) <= MOST_TOKENS

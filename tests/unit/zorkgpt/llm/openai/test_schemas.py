"""Schemas as servers accept them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tests.unit.zorkgpt.llm.asking import Move
from zorkgpt.llm.openai.served_model import response_format


class Lamp(BaseModel):
    kind: Literal["lamp"]
    oil: int = Field(ge=0, le=100)


class Sword(BaseModel):
    kind: Literal["sword"]
    pattern: str = Field("plain", pattern="^[a-z]+$", description="as engraved")


class Chest(BaseModel):
    """What is in it."""

    first: Annotated[Lamp | Sword, Field(discriminator="kind")]
    others: set[str] = Field(default_factory=set, max_length=3)
    owner: Lamp = Field(description="whose it is")
    note: str | None = None


class Ledger(BaseModel):
    entries: dict[str, int]


def test_a_strict_schema_closes_objects_requires_all_and_knows_no_defaults() -> None:
    held = response_format(Chest, constraints=True)["json_schema"]
    assert isinstance(held, dict)
    assert held["name"] == "Chest"
    assert held["strict"] is True
    written = str(held["schema"])
    assert "'required': ['first', 'others', 'owner', 'note']" in written
    assert written.count("'additionalProperties': False") == written.count("'type': 'object'")
    assert all(word not in written for word in ("default", "oneOf", "discriminator"))
    assert "'maxItems': 3" in written


def test_without_constraints_only_the_shape_is_left() -> None:
    written = str(response_format(Chest, constraints=False))
    assert all(f"'{word}': " not in written for word in ("maxItems", "uniqueItems", "minimum", "maximum"))
    assert "'pattern': {'description': 'as engraved'" in written, "a property may be named like a keyword"
    assert "'enum'" in written or "'const'" in written


def test_a_schema_with_free_keys_is_not_strict() -> None:
    held = response_format(Ledger, constraints=True)["json_schema"]
    assert isinstance(held, dict)
    assert held["strict"] is False


def test_a_compact_answer_is_held_to_no_white_space_between_its_fields() -> None:
    assert "'x-guidance': {'whitespace_flexible': False}" in str(response_format(Move, constraints=True, compact=True))
    assert "x-guidance" not in str(response_format(Move, constraints=True))

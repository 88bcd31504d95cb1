from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from session.memory import (
    INVALIDATION_MARKER,
    Memory,
    MemoryStatus,
    MemorySynthesisResponse,
)


def memory(**changes: Any) -> Memory:
    fields: dict[str, Any] = {
        "category": "NOTE",
        "title": "Gate opens inwards",
        "episode": 1,
        "turns": "12",
        "score_change": 0,
        "text": "Pull it.",
        "persistence": "permanent",
    }
    return Memory(**{**fields, **changes})


def test_fields_can_be_given_by_position_and_persistence_has_no_default() -> None:
    given = Memory("DANGER", "Old approach", 1, "23", 0, "Text", "core", "SUPERSEDED", "Better", 50)
    assert (given.superseded_by, given.superseded_at_turn, given.invalidation_reason) == ("Better", 50, None)
    with pytest.raises(TypeError, match="persistence"):
        Memory("NOTE", "Title", 1, "2", 0, "Text")  # type: ignore[call-arg]  # the very point


def test_a_title_is_one_line_and_the_text_is_kept_to_the_character() -> None:
    text = "  two \r\n lines\x00 \n"
    given = memory(title="  Straße \n\t opens\u2028inwards ", text=text)
    assert (given.title, given.text, given.status) == ("Straße opens inwards", text, "ACTIVE")


@pytest.mark.parametrize(
    ("field", "given", "kept"),
    [
        ("category", "DISCOVERY", "DISCOVERY"),
        ("category", "danger", "DANGER"),
        ("category", " puzzle - hint] ", "PUZZLE HINT"),
        *(("category", given, "NOTE") for given in ("", "?!", "ephemeral", "CORE")),
        *(("turns", given, given) for given in ("45", "12-14", "")),
        ("turns", "T12 - 14", "12-14"),
    ],
)
def test_a_category_is_words_in_capitals_and_turns_are_a_number_or_a_span(field: str, given: str, kept: str) -> None:
    assert getattr(memory(**{field: given}), field) == kept


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"persistence": "forever"}, "persistence must be"),
        ({"persistence": ""}, "persistence must be"),
        ({"title": " \n"}, "needs a title"),
        ({"status": "WRONG"}, "status must be"),
        ({"turns": "twelve"}, "turns must be"),
        ({"superseded_by": "Better"}, "superseded at once"),
        ({"superseded_at_turn": 5}, "superseded at once"),
        ({"status": "SUPERSEDED", "superseded_by": "Better", "invalidation_reason": "wrong"}, "needs superseded_by"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        memory(**changes)


def test_superseding_and_invalidating_say_why_and_when() -> None:
    given_up = memory().superseded("Gate  is locked", 50)
    assert given_up == memory(status="SUPERSEDED", superseded_by="Gate is locked", superseded_at_turn=50)
    false = memory(status="TENTATIVE").invalidated("Proven false", 25)
    assert (false.status, false.superseded_by) == (MemoryStatus.SUPERSEDED, INVALIDATION_MARKER)
    assert (false.superseded_at_turn, false.invalidation_reason) == (25, "Proven false")


def answer(**changes: Any) -> MemorySynthesisResponse:
    fields: dict[str, Any] = {
        "should_remember": True,
        "category": "NOTE",
        "memory_title": "Gate opens inwards",
        "memory_text": "Pull it.",
        "persistence": "permanent",
    }
    return MemorySynthesisResponse(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"persistence": None}, "persistence required"),
        ({"persistence": "forever"}, "must be core|permanent|ephemeral, got: forever"),
        ({"persistence": "CORE"}, "must be core|permanent|ephemeral, got: CORE"),
        ({"memory_title": " "}, "memory_title and memory_text required"),
        ({"memory_text": None}, "memory_title and memory_text required"),
        ({"status": "MAYBE"}, "status"),
        ({"invalidate_memory_titles": {"Old"}}, "invalidation_reason must be non-empty"),
        (
            {
                "supersedes_memory_titles": {"Old  one"},
                "invalidate_memory_titles": {"old ONE"},
                "invalidation_reason": "wrong",
            },
            "cannot be both superseded and invalidated: old ONE",
        ),
    ],
)
def test_an_answer_that_contradicts_itself_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        answer(**changes)
    assert message in str(refused.value)


def test_long_reasoning_does_not_cost_the_memory() -> None:
    assert answer(reasoning="because " * 100_000).memory_title == "Gate opens inwards"


def test_the_schema_that_the_model_is_held_to_names_every_persistence_and_status() -> None:
    schema = str(MemorySynthesisResponse.model_json_schema())
    assert all(
        f"'{word}'" in schema for word in ("core", "permanent", "ephemeral", "ACTIVE", "TENTATIVE", "SUPERSEDED")
    )


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (memory().headline("NOTE"), "[NOTE] {}"),
        (memory().headline(), "{}"),
        (memory(status="TENTATIVE").headline("NOTE"), "[NOTE - TENTATIVE] {}"),
        (memory(status="TENTATIVE").headline(), "[TENTATIVE] {}"),
        (memory().superseded("Better", 3).headline("NOTE"), "[NOTE - SUPERSEDED] {}"),
    ],
)
def test_a_status_other_than_active_is_always_shown_with_the_title(shown: str, expected: str) -> None:
    assert shown == expected.format(memory().title)

"""What became of memories between two states of their file."""

from __future__ import annotations

import pytest

from managers.memory.document import parse_memories

BEFORE = "## Location 5: Quay\n**[NOTE] Old**\nText.\n**[NOTE - SUPERSEDED] Gone**\n~~Text.~~\n"


def told(before: str, after: str) -> list[tuple[int, str, str]]:
    changes = parse_memories(after).changes_since(parse_memories(before))
    return [(each.location_id, each.kind, each.memory.title) for each in changes]


@pytest.mark.parametrize(
    ("after", "kind", "title"),
    [
        (f"{BEFORE}**[NOTE] New**\n", "added", "New"),
        (BEFORE.replace("Text", "Other text", 1), "changed", "Old"),
        (BEFORE.replace("NOTE]", "NOTE - TENTATIVE]", 1), "changed", "Old"),
        (BEFORE.replace("NOTE] Old", "NOTE - SUPERSEDED] Old"), "superseded", "Old"),
        (BEFORE.replace("**\nText", '**\n[Invalidated: "false"]\nText', 1), "invalidated", "Old"),
        (f"{BEFORE}**[NOTE - SUPERSEDED] Believed for a while**\n", "superseded", "Believed for a while"),
        (f"{BEFORE}**[NOTE] Gone**\nTrue after all.\n", "added", "Gone"),
        ("", "removed", "Old"),
    ],
)
def test_a_change_is_told_by_its_kind(after: str, kind: str, title: str) -> None:
    assert told(BEFORE, after) == [(5, kind, title)]


@pytest.mark.parametrize("after", [BEFORE, f"# Mine\n\n{BEFORE.replace('Quay', 'Pier')}"])
def test_what_is_no_memory_makes_no_change(after: str) -> None:
    assert told(BEFORE, after) == []


def test_changes_come_in_the_order_of_the_later_file_what_only_the_earlier_had_last() -> None:
    before = "## Location 5: Quay\n**[NOTE] A**\n"
    after = "## Location 9: Pier\n**[NOTE] B**\n## Location 8: Bank\n**[NOTE] C**\n"
    assert told(before, after) == [(9, "added", "B"), (8, "added", "C"), (5, "removed", "A")]

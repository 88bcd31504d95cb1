"""What is known at a moment, as items that two moments are compared by, and prompts kept line by line."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from session.knowledge import KnowledgeEntry, KnowledgeLine, Source
from session.memory import INVALIDATION_MARKER, Memory
from session.route import Goal, KnownRoute, RouteStep, Waypoint
from tests.fixtures.report_data import text_of
from zorkgpt.report.learnt import (
    changes_between,
    items_of,
    keys_shown,
    known_knowledge,
    known_memories,
    known_routes,
    lines_kept,
)

STEAM = Memory("DANGER", "Steam burns", 1, "12-14", -2, "Wear the gloves.", "permanent")
BLUE = KnowledgeEntry("PUZZLE SOLUTIONS", KnowledgeLine("Mordant comes first.", (Source(1, 3, 3), Source(2, 4, 6))))
WAY = KnownRoute(3, Goal("room", 44, "Drying Loft"), Waypoint(), (RouteStep("up", Waypoint()),), 2)


def test_items_say_what_they_are_where_they_hold_and_where_they_come_from() -> None:
    known = known_memories({31: [STEAM]}) | known_knowledge([BLUE]) | known_routes([WAY])
    told = [(item.kind, item.title, item.text, item.place, item.tags, item.by) for item in items_of(known)]
    assert told == [
        ("memory", "Steam burns", "Wear the gloves.", 31, ("DANGER", "permanent", "active"), "episode 1, turns 12-14"),
        ("knowledge", "PUZZLE SOLUTIONS", "Mordant comes first.", None, (), "episode 1, turn 3; episode 2, turns 4-6"),
        ("route", "Route 3: to Drying Loft", "up", None, (), "episode 2; worked in 1 of 1 episode"),
    ]


def test_what_is_new_changed_and_gone_is_told_and_nothing_else() -> None:
    cold = replace(STEAM, title="Cold is safe")
    wrong = replace(STEAM, status="SUPERSEDED", superseded_by=INVALIDATION_MARKER, invalidation_reason="No burns.")
    before, after = known_memories({31: [STEAM, cold], 44: [cold]}), known_memories({31: [wrong, cold], 45: [cold]})
    changes = {change.key: (change.before, change.after) for change in changes_between(before, after)}
    assert list(changes) == ["m:31:steam burns:1", "m:44:cold is safe:1", "m:45:cold is safe:1"]
    was, given_up = changes["m:31:steam burns:1"]
    assert was is not None
    assert given_up is not None
    assert (was.tags[2], given_up.tags[2]) == ("active", "superseded")
    assert given_up.text == "Wear the gloves.\nGiven up: No burns."
    assert changes["m:44:cold is safe:1"][1] is None
    assert changes["m:45:cold is safe:1"][0] is None


def test_an_item_is_shown_where_its_words_stand_in_the_prompt() -> None:
    known = known_memories({31: [STEAM]}) | known_knowledge([BLUE]) | known_routes([WAY])
    prompt = "## ROUTES\n3: to Drying Loft in 1 command\n## Known\n- Mordant comes first.\n[NOTE] Steam burns: Wear"
    assert keys_shown(known, prompt) == tuple([*known][1:])
    assert len(known_memories({31: [STEAM, STEAM], 44: [STEAM]})) == 3
    assert keys_shown(known, "  [DANGER] Steam burns: Wear the gloves. [session]") == ("m:31:steam burns:1",)


LINES = st.sampled_from(["", "a", "b", "ab", "\r", "\u2028", "\ud800"])


@given(st.lists(st.lists(LINES).map("\n".join)))
def test_every_text_comes_back_to_the_letter(texts: list[str]) -> None:
    table: dict[str, int] = {}
    kept = [lines_kept(text, table) for text in texts]
    assert [text_of(list(ranges), list(table)) for ranges in kept] == texts


def test_each_line_is_kept_once_and_lines_in_a_row_are_one_range() -> None:
    table: dict[str, int] = {}
    assert lines_kept("one\ntwo\nthree", table) == (0, 3)
    assert lines_kept("two\nthree\nfour\none", table) == (1, 3, 0, 1)
    assert list(table) == ["one", "two", "three", "four"]

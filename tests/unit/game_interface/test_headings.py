from __future__ import annotations

import pytest

from game_interface.core.story_text import heading_of

LOOK = "Bedroom\nA bed stands here.\n\nYou can see a lamp here."


@pytest.mark.parametrize(
    ("text", "looked", "heading"),
    [
        (LOOK, LOOK, "Bedroom"),
        ("You crawl through the window.\n\n" + LOOK, LOOK, "Bedroom"),
        ("Bedroom (on the bed)\nA bed.", "Bedroom (on the bed)\nA bed.", "Bedroom"),
        ("Bedroom\n\nIt is late", LOOK, "Bedroom"),
        ("A Sign\n\nNo entry", LOOK, None),
        ("You are back in the\nBedroom\nagain.", LOOK, None),
        ("Time passes.", "Time passes.", None),
        ("", "", None),
    ],
)
def test_a_heading_is_set_off_from_the_text_and_heads_what_look_would_print(
    text: str, looked: str, heading: str | None
) -> None:
    assert heading_of(text, looked) == heading

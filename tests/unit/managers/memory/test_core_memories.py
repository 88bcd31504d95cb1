"""A memory is core only if it is about what stood at the location when the player first came there in the episode."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from managers.memory.outcome import names
from managers.memory.synthesis import was_shown
from session.values import GameObject
from tests.fixtures.dye_works import BANNER, LOFT, VATS
from tests.unit.managers.memory_parts import MemoryPlay, learnt

ARRIVAL = "Blue Vats\nThe vats stand in two rows. An elvish sword hangs above them. The oak door south is shut."
SWORD = GameObject(90, "elvish sword")
OIL = GameObject(80, "can of oil")


def first_visit(workdir: Path, answer: dict[str, object]) -> tuple[str, MemoryPlay]:
    """The tier of the memory of a first visit in turns 2 to 4, in which the banner was laid down and oil was found."""
    play = MemoryPlay(workdir, [{"memories": []}, answer])
    play.turn("take banner", "Taken.", inventory=(BANNER,))
    play.turn("north", ARRIVAL, location=VATS, visible=(SWORD,))
    play.turn("drop banner", "Dropped.", inventory=(), visible=(SWORD, BANNER))
    play.turn("open drawer", "Inside is a can of oil.", visible=(SWORD, BANNER, OIL))
    play.turn("up", "Drying Loft", location=LOFT)
    caches = (play.manager.memory_cache, play.manager.ephemeral_cache)
    (kept,) = (each for cache in caches for each in cache.get(VATS.num, ()))
    return kept.persistence, play


@pytest.mark.parametrize(
    ("turn", "tier"), [(2, "core"), (3, "core"), (4, "permanent"), (99, "permanent"), (None, "permanent")]
)
def test_its_turn_is_that_of_the_arrival_or_the_first_there(tmp_path: Path, turn: int | None, tier: str) -> None:
    kept, play = first_visit(tmp_path, learnt("Sword hangs here", "core", turn=turn))
    assert kept == tier
    assert play.metrics["core_validation_downgrade"] == (tier != "core")
    if tier == "core":
        assert [each.turns for each in play.manager.memory_cache[VATS.num]] == ["3"]


class TestTexts:
    @pytest.mark.parametrize(
        ("title", "tier"),
        [
            ("Sword hangs above the vats", "core"),
            ("Sword spawns here", "core"),
            ("Southern door is shut", "core"),
            ("Grey banner lies by the door", "ephemeral"),
            ("Can of oil by the door", "permanent"),
            ("Troll wanders about", "permanent"),
        ],
    )
    def test_what_it_says_was_shown_on_arrival(self, tmp_path: Path, title: str, tier: str) -> None:
        with capture_logs() as logs:
            kept, _ = first_visit(tmp_path, learnt(title, "core", turn=3, memory_text="So it is."))
        assert kept == tier
        warned = [log["event"] for log in logs if log["log_level"] == "warning"]
        expected = f"CORE memory rejected: not shown on arrival, downgrading to {tier.upper()}"
        assert warned == ([] if tier == "core" else [expected])

    def test_what_the_player_left_there_is_no_more_core_on_a_return(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [*[{"memories": []}] * 2, learnt("Banner lies here", "core", turn=6)])
        play.turn("take banner", "Taken.", inventory=(BANNER,))
        play.turn("north", ARRIVAL, location=VATS)
        play.turn("drop banner", "Dropped.", inventory=(), visible=(BANNER,))
        play.turn("up", "Drying Loft", location=LOFT, visible=())
        play.turn("down", "Blue Vats. A banner lies here.", location=VATS, visible=(BANNER,))
        play.turn("kick vat", "You can't.")
        play.manager.end()
        assert [each.persistence for each in play.manager.ephemeral_cache[VATS.num]] == ["ephemeral"]
        assert VATS.num not in play.manager.memory_cache

    def test_words_are_compared_by_their_beginnings(self) -> None:
        assert was_shown("Doors in the south", "", "A door leads southwards.")
        assert not was_shown("Iron key in the drawer", "Open it first.", "A door leads southwards.")
        assert was_shown("Odd", "", "A door leads southwards.")

    def test_a_thing_is_named_by_the_last_word_of_its_name(self) -> None:
        assert names("The swords hang here, and a can.", ["elvish sword", "can of oil", ""]) == {"elvish sword"}

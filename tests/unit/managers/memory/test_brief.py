"""A small model only chooses which turn is worth keeping; what is kept of it is the machine's word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from managers.memory.prompt import LONGEST_QUOTE, memory_of
from session.text import TokenCounter
from session.values import GameObject
from tests.fixtures.dye_works import BANNER, LOFT, MORDANT, VATS
from tests.unit.managers.memory_parts import MemoryPlay, memory, outcome
from zorkgpt.llm.stand_ins import Reply

OIL = GameObject(80, "can of oil")
ROOM = "Blue Vats\nThe vats stand in two rows, and blue runs down the side of each of them into a gutter in the floor."


def never(*_: object) -> Reply:
    raise AssertionError("nobody is asked")


def small(workdir: Path, replies: Any = never) -> MemoryPlay:
    """The player of a small model has come to the vats, where everything but the jar of mordant is visible."""
    play = MemoryPlay(workdir, replies, prompt_budgets={"memory": 900})
    play.turn("north", ROOM, location=VATS, visible=(MORDANT,))
    return play


def kept(play: MemoryPlay) -> list[tuple[str, str, str]]:
    """Category, tier and title of all that is remembered at the vats."""
    play.manager.end()
    memories = [
        *play.manager.memory_cache.get(VATS.num, ()),
        *play.manager.ephemeral_cache.get(VATS.num, ()),
    ]
    return [(each.category, each.persistence, each.title) for each in memories]


@pytest.mark.parametrize(
    ("action", "text", "after", "remembered"),
    [
        (
            "open drawer",
            "A can of oil!",
            {"visible": (MORDANT, OIL)},
            ("DISCOVERY", "permanent", "can of oil"),
        ),
        ("take jar", "Taken.", {"inventory": (MORDANT,)}, ("NOTE", "ephemeral", "jar of mordant taken")),
        ("open lid", "It opens.", {"world_hash": "1", "visible": ()}, ("NOTE", "ephemeral", "It opens.")),
        ("wear coat", "It fits you.", {"score": 5}, ("SUCCESS", "permanent", "+5 points")),
        ("sell banner", "A bad deal.", {"score": -1}, ("DANGER", "permanent", "-1 point")),
        ("drink dye", "You can't breathe.", {"died": True}, ("DANGER", "permanent", "death")),
        ("push vat", "You can't.", {}, ("FAILURE", "permanent", "You can't.")),
        ("enter chute", "Drying Loft", {"location": LOFT}, ("DISCOVERY", "permanent", "leads to Drying Loft")),
        ("read plaque", f"A dyer lived. {'He dyed and dyed. ' * 9}", {}, ("DISCOVERY", "permanent", "A dyer lived.")),
    ],
)
def test_title_tier_and_category_are_the_machines_word(
    tmp_path: Path, action: str, text: str, after: dict[str, Any], remembered: tuple[str, str, str]
) -> None:
    play = small(tmp_path)
    play.turn(action, text, **after)
    category, tier, result = remembered
    assert kept(play) == [(category, tier, f"`{action}`: {result}")]
    assert play.llm.calls == []


@pytest.mark.parametrize(
    ("action", "text"), [("look", ROOM), ("wait", "Time passes."), ("east", "You can't go that way.")]
)
def test_nothing_is_kept_of_an_arrival_of_waiting_and_of_a_barred_way(tmp_path: Path, action: str, text: str) -> None:
    play = small(tmp_path)
    play.turn(action, text)
    assert kept(play) == []


def test_what_is_known_by_its_title_is_not_kept_twice(tmp_path: Path) -> None:
    play = small(tmp_path)
    play.manager.add_memory(VATS.num, VATS.name, memory("`push vat`: You can't."))
    play.turn("push vat", "You can't.")
    assert len(kept(play)) == 1
    assert play.metrics["refused"] == 0


def test_where_several_turns_are_worth_it_the_model_chooses_one(tmp_path: Path) -> None:
    play = small(tmp_path, [{"turn": 3}])
    play.turn("push vat", "You can't.")
    play.turn("take jar", "Taken.", inventory=(MORDANT,))
    play.turn("wait")
    assert kept(play) == [("NOTE", "ephemeral", "`take jar`: jar of mordant taken")]
    (call,) = play.llm.calls
    assert call.schema.model_json_schema()["properties"] == {
        "turn": {"enum": [2, 3], "title": "Turn", "type": "integer"}
    }
    assert "Turn 2: `push vat`: You can't." in call.prompt.user
    assert TokenCounter().estimate(call.prompt.system + call.prompt.user) < 250


def test_points_and_deaths_are_kept_whatever_else_there_is(tmp_path: Path) -> None:
    play = small(tmp_path)
    play.turn("push vat", "You can't.")
    play.turn("wear coat", "It fits you.", score=5)
    play.turn("drink dye", "It burns.", died=True)
    assert [title for _, _, title in kept(play)] == ["`wear coat`: +5 points", "`drink dye`: death"]


def test_a_turn_that_is_no_news_is_no_answer(tmp_path: Path) -> None:
    play = small(tmp_path, [{"turn": 9}])
    play.turn("push vat", "You can't.")
    play.turn("kick vat", "You can't.")
    assert kept(play) == []
    assert play.metrics["synthesis_failures"] == 1


def test_the_text_is_the_storys_own_as_far_as_the_title_has_not_got_it(tmp_path: Path) -> None:
    play = small(tmp_path)
    play.turn("wear coat", "It fits you.\n\nYou feel well.", score=5)
    play.turn("push vat", "You can't.", score=6)
    play.turn("enter hatch", "Drying Loft\nBanners hang here.", location=LOFT, score=7)
    play.now = replace(play.now, location=VATS)
    play.turn("enter chute", "Down you go!\n\nDrying Loft\nBanners hang here.", location=LOFT, score=8)
    play.manager.end()
    assert [each.text for each in play.manager.memory_cache[VATS.num]] == [
        '"It fits you. You feel well."',
        '"You can\'t."',
        "It leads there.",
        '"Down you go!"',
    ]


def test_of_a_long_answer_beginning_and_end_are_kept() -> None:
    stirred = outcome("stir", f"It swirls. {'blue ' * 90}It stops.", score_delta=1)
    text = memory_of(stirred).memory_text or ""
    assert (text[:12], text[-11:]) == ('"It swirls. ', ' It stops."')
    assert len(text) <= LONGEST_QUOTE + 2


def test_what_was_carried_all_along_is_not_taken_for_news(tmp_path: Path) -> None:
    play = MemoryPlay(tmp_path, never, prompt_budgets={"memory": 900})
    play.turn("north", ROOM, location=VATS, inventory=(BANNER,))
    play.turn("drop banner", "Dropped.", inventory=(), visible=(BANNER,))
    assert kept(play) == [("NOTE", "ephemeral", "`drop banner`: grey banner laid down")]

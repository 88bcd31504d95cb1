"""What one turn shows of a form of command."""

from __future__ import annotations

from dataclasses import replace

import pytest

from managers.lexicon_manager import LONGEST_ANSWER, FormTrial, form_trial_of
from session.values import GameObject, TurnRecord
from tests.unit.managers.lexicon_parts import DIRECTIONS, LONG, changing, moving, nowhere, silent, unread
from tests.unit.zorkgpt.players.dye_works import VATS, moment, turn, vocabulary
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer


def sighted(record: TurnRecord) -> FormTrial | None:
    return form_trial_of(record, vocabulary(), MovementAnalyzer(DIRECTIONS))


def seen(record: TurnRecord) -> FormTrial:
    found = sighted(record)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("action", "form"),
    [
        ("Take the grey BANNER", "take OBJECT"),
        ("dip banner in basket", "dip OBJECT in OBJECT"),
        ("dip in treadle", "dip in OBJECT"),
        ("ask loom about zinc", "ask OBJECT about WORDS"),
        ("take zinc sheet", "take WORDS"),
        ("take all", "take all"),
        ("take it", "take it"),
        ("light", "light"),
        ("frobnicate river", "frobnicate OBJECT"),
        ("light river north", "light OBJECT DIRECTION"),
        ("take beam", "take OBJECT"),
    ],
)
def test_things_ways_and_other_words_are_abstracted(action: str, form: str) -> None:
    """``beam`` is in no table of the story, only in the name of what is seen."""
    seen_here = replace(moment(), visible=(GameObject(99, "oak beam", VATS),))
    assert seen(turn(action, seen_here, seen_here)).form == form


def test_a_way_that_is_also_a_things_name_is_a_thing_and_so_is_any_phrase_in_a_story_without_names() -> None:
    words = vocabulary()
    for record, known, directions in (
        (silent("light north", "No."), replace(words, objects={**words.objects, "north": (1,)}), DIRECTIONS),
        (silent("light zinc sheet", "No."), replace(vocabulary("unknown"), objects={}, mentions={}), ()),
    ):
        found = form_trial_of(record, known, MovementAnalyzer(directions))
        assert found is not None
        assert found.form == "light OBJECT"


@pytest.mark.parametrize(
    "record",
    [
        silent("north", "No way."),
        moving("go up"),
        moving("dip in river"),
        silent("wait", "Time passes."),
        silent("x loom", LONG),
        silent("take banner. wait", "Taken."),
        silent("again", "Taken."),
        silent("", "Pardon?"),
        silent("dip" + " in" * 30, "What?"),
        turn("dip banner", moment(), replace(moment("You drown."), died=True)),
        turn("dip banner", moment(), replace(moment("You drown."), ending="lost")),
        turn("wait", replace(moment(), ending="over"), moment()),
        turn("wait", replace(moment(), awaits_key=True), moment()),
        turn("undo", replace(moment(), moves=7), replace(moment(), moves=6)),
        turn("banner", moment("What do you want to take?"), moment("Taken.")),
    ],
)
def test_what_says_nothing_of_a_form_is_left_out(record: TurnRecord) -> None:
    assert sighted(record) is None


def test_a_change_is_what_the_player_has_sees_or_scores_or_the_hash_of_a_world_of_unknown_things() -> None:
    before = replace(moment(), score=0)
    lit = replace(before, inventory=(replace(before.inventory[0], attributes=frozenset({20})),))  # type: ignore[index]
    assert seen(turn("light banner", before, lit)).changed
    assert seen(turn("light banner", before, replace(before, score=5))).changed
    assert seen(changing("take basket")).changed
    assert not seen(silent("take river", "You cannot.")).changed
    assert seen(turn("light loom", nowhere("Hm."), replace(nowhere("Hm."), world_hash="w2"))).changed
    assert not seen(turn("light loom", nowhere("Hm."), nowhere("Hm."))).changed


def test_a_turn_is_taken_when_the_storys_clock_goes_on_or_there_is_none_but_not_by_what_never_reached_it() -> None:
    assert not seen(unread("take zinc", "What is zinc?")).took_turn
    assert seen(silent("take river", "You cannot.")).took_turn
    assert seen(changing("take basket")).took_turn
    refused = replace(moment(), refusal="Commands are plain ASCII.", visible=())
    assert seen(turn("dip banner", moment(), refused)) == FormTrial(
        "dip OBJECT", VATS, changed=False, words="Commands are plain ASCII.", command="dip banner", took_turn=False
    )


def test_the_answer_is_the_first_line_with_a_blank_for_what_was_typed_unless_it_is_long() -> None:
    answer = "\n  You see no BANNER, in  the banner's place.\n\nThe clock strikes."
    assert seen(silent("dip banner in basket", answer)).words == "You see no …, in the banner's place."
    assert seen(silent("dip loom", LONG)).words == ""
    assert len(seen(silent("dip loom", LONG[:90])).words) in range(LONGEST_ANSWER - 5, LONGEST_ANSWER + 1)


def test_a_command_stands_for_others_if_something_was_filled_in_even_after_a_question() -> None:
    assert (seen(silent("light", "No.")).command, seen(silent("take all", "No.")).command) == ("", "")
    assert seen(silent("Take  the river", "No.")).command == "take the river"
    assert seen(turn("take banner", moment("(Are you sure?)"), moment("Taken."))).form == "take OBJECT"

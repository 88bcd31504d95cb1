"""The stories that Jericho knows, played through the interface and compared with Jericho itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest
from jericho import FrotzEnv
from jericho.defines import BINDINGS_DICT

from benchmarks.stories import walkthrough_of
from game_interface.core.game import SavedState
from game_interface.core.isolated import IsolatedGame
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story
from game_interface.core.status.status_reader import ProfileReader
from game_interface.core.story_text import plain_text
from session.errors import ConfigurationError
from session.values import GameObject, Observation
from tests.fixtures.walkthrough import (
    WINNING_SEED,
    get_walkthrough_dark_sequence,
    get_walkthrough_until_lamp,
    get_zork1_walkthrough,
    replay_walkthrough,
)

pytestmark = pytest.mark.stories


@pytest.fixture
def zork(zork1: Path) -> Iterator[JerichoInterface]:
    with JerichoInterface(zork1, seed=WINNING_SEED) as game:
        yield game


def names(objects: tuple[GameObject, ...] | None) -> set[str]:
    return {each.name for each in objects or ()}


def room(observation: Observation) -> str:
    assert observation.location is not None
    return observation.location.name


@pytest.mark.parametrize("kind", [JerichoInterface, IsolatedGame])
def test_zorks_walkthrough_wins_with_every_point_whatever_seed_the_game_was_opened_with(
    kind: type[JerichoInterface | IsolatedGame], zork1: Path
) -> None:
    with kind(zork1) as game:
        *before, last = replay_walkthrough(game, get_zork1_walkthrough())
    assert (last.score, last.max_score, last.ending) == (350, 350, "won")
    assert {each.ending for each in before} == {None}
    assert not any(each.refusal for each in before)
    assert all(each.location and each.inventory is not None for each in before)
    rooms = {room(each) for each in before}
    assert "Frigid River" in rooms, "the room around the boat"
    assert "magic boat" not in rooms
    afloat = [each for each in before if each.inside]
    assert {each.inside.name for each in afloat if each.inside} == {"magic boat"}
    assert {room(each) for each in afloat} >= {"Frigid River"}


def test_at_the_mailbox_names_attributes_and_valid_actions_are_known(zork: JerichoInterface) -> None:
    assert room(zork.observation) == "West of House"
    mailbox = next(each for each in zork.get_visible_objects_in_location() if each.name == "small mailbox")
    named = zork.get_object_attributes(mailbox)
    assert (named["openable"], named["container"], named["open"], named["takeable"]) == (True, True, False, False)
    assert set(zork.valid_actions()) == {"north", "south", "west", "open mailbox"}
    assert [bool(zork.step("x" * length).refusal) for length in (99, 100)] == [False, True], "the story's buffer"
    last = replay_walkthrough(zork, get_walkthrough_until_lamp())[-1]
    assert room(last) == "Living Room"
    assert "brass lantern" in names(last.inventory)


def test_a_walkthrough_is_replayed_with_jerichos_own_environment_too(zork1: Path) -> None:
    env = FrotzEnv(str(zork1))
    results = replay_walkthrough(env, get_walkthrough_until_lamp())
    text, _, is_over, _ = results[-1]
    assert (len(results), text.strip(), is_over) == (len(get_walkthrough_until_lamp()), "Taken.", False)
    assert replay_walkthrough(env, get_zork1_walkthrough()[len(results) :])[-1][3]["score"] == 350
    env.close()


def test_nothing_is_seen_in_the_dark_but_the_room_is_right(zork: JerichoInterface) -> None:
    *_, cellar, _ = replay_walkthrough(zork, get_walkthrough_dark_sequence())
    lit, dark = zork.step("north"), zork.step("turn off lamp")
    assert [room(each) for each in (cellar, lit, dark)] == ["Cellar", "The Troll Room", "The Troll Room"]
    assert names(lit.visible) == {"troll", "bloody axe"}
    assert dark.visible == ()


@pytest.mark.parametrize("profile", [True, False])
def test_the_status_line_is_not_part_of_the_text(zork1: Path, *, profile: bool) -> None:
    with JerichoInterface(zork1, use_profile=profile) as game:
        replies = [game.step(command).text for command in ("look", "north", "wait")]
    assert replies[0].startswith("West of House\nYou are standing")
    assert replies[2] == "Time passes..."


@pytest.mark.parametrize("profile", [True, False])
@pytest.mark.parametrize("name", ["wishbringer.z3", "seastalker.z3"])
def test_valid_actions_are_found_wherever_a_story_reads_commands(
    name: str, story_folder: Path, *, profile: bool
) -> None:
    with JerichoInterface(story_folder / name, use_profile=profile) as game:
        for command in ("ann", "smith", "yes", "yes") if name == "seastalker.z3" and not profile else ():
            game.step(command)
        for number, command in enumerate(walkthrough_of(story_folder / name).commands[:100]):
            text = game.step(command).text
            if number % 10 == 0:
                assert bool(game.valid_actions()) is not text.endswith(("NO.)", "keep waiting?")), text


@pytest.mark.parametrize(
    ("name", "before", "action"),
    [
        ("library.z5", "Give fish to grue", "give herring to grue"),  # to what is not animate
        ("library.z5", "Give novel to Alan", "give honor to attendant"),  # a word in quotation marks
        ("deephome.z5", "push button", "push button"),  # concealed, as a part of the control panel
    ],
)
def test_no_valid_action_is_left_out_because_its_objects_are_unlikely(
    name: str, before: str, action: str, story_folder: Path
) -> None:
    play = walkthrough_of(story_folder / name)
    with play.open() as game:
        for command in takewhile(lambda command: command != before, play.commands):
            game.step(command)
        assert action in game.valid_actions()


@pytest.mark.parametrize("answer", ["north", "look", "yes"])
def test_questions_that_a_story_asks_one_after_the_other_end_nothing(answer: str, story_folder: Path) -> None:
    play = walkthrough_of(story_folder / "seastalker.z3")
    with play.open() as game:
        replay_walkthrough(game, play.commands[:116])
        assert {each.ending for each in replay_walkthrough(game, [answer] * 8)} == {None}


@pytest.mark.parametrize("profile", [True, False])
def test_the_question_whether_to_quit_is_not_an_end_in_a_scene_that_takes_no_command(
    story_folder: Path, *, profile: bool
) -> None:
    with JerichoInterface(story_folder / "temple.z5", use_profile=profile) as game:
        *_, asked, answered = replay_walkthrough(game, ("x me", "x shadow", "die", "no"))
    assert "sure" in asked.text
    assert (asked.ending, answered.ending, answered.refusal) == (None, None, None)


def test_a_score_that_jericho_reads_in_the_status_line_is_saved_and_restored(story_folder: Path) -> None:
    play = walkthrough_of(story_folder / "afflicted.z8")
    with play.open() as game:
        assert replay_walkthrough(game, play.commands[:9])[-1].score == 5
        saved, actions = game.save(), game.valid_actions()
        assert replay_walkthrough(game, play.commands[9:14])[-1].score == 10
        game.restore(SavedState.unpacked(saved.packed()))
        assert game.valid_actions() == actions
        assert game.step("wait").score == 5


def test_a_clock_whose_minutes_jericho_takes_for_moves_is_not_claimed_as_moves(zork1: Path, story_folder: Path) -> None:
    story = Story.load(zork1)
    interpreter = Interpreter(story)
    try:
        interpreter.reset(1)
        counted, timed = (
            ProfileReader(each, ObjectTable(story), interpreter) for each in (story, replace(story, shows_time=True))
        )
        assert counted.read(interpreter.memory, "").moves == 0
        assert timed.read(interpreter.memory, "").moves is None
    finally:
        interpreter.close()
    with JerichoInterface(story_folder / "wishbringer.z3") as game:
        assert [game.step("wait").moves for _ in range(2)] == [1, 2], "counted beside a clock"


@pytest.mark.slow
def test_every_known_story_is_won_by_its_walkthrough_as_jericho_plays_it(story_folder: Path) -> None:
    played = 0
    for file in sorted(story_folder.iterdir()):
        if file.suffix not in {".z3", ".z4", ".z5", ".z8"}:
            continue
        profile = BINDINGS_DICT.get(Story.load(file).md5)
        if profile:
            with IsolatedGame(file) as game:
                assert_played_alike(game, file, profile["walkthrough"].split("/"))
            played += 1
    assert played


def assert_played_alike(ours: IsolatedGame, file: Path, commands: list[str]) -> None:
    """An empty command, at which a story only shakes its head, is refused instead, and costs no turn either."""
    theirs = FrotzEnv(str(file))
    theirs.reset()
    before = ours.reset("jericho")
    for command in commands[:-1]:
        observation = ours.step(command)
        theirs.step(command)
        assert (observation.score, observation.moves) == (theirs.get_score(), theirs.get_moves())
        assert bool(observation.refusal) is (not command and not before.awaits_key)
        assert not observation.ending
        before = observation
    last = ours.step(commands[-1])
    theirs.step(commands[-1])
    assert (last.ending, last.died, last.score) == ("won", False, theirs.get_score())


def test_the_seed_of_a_walkthrough_is_named_and_where_there_is_none_refused(zork1: Path, own_story: Path) -> None:
    with JerichoInterface(zork1, seed="jericho") as game:
        opening = game.save().snapshot
        game.reset(WINNING_SEED)
        assert game.save().snapshot == opening
    with pytest.raises(ConfigurationError, match="has no walkthrough"):
        JerichoInterface(own_story, seed="jericho")
    with IsolatedGame(own_story) as child:
        before = child.observation
        with pytest.raises(ConfigurationError, match="has no walkthrough"):
            child.reset("jericho")
        assert child.reset(1) == before


@pytest.mark.slow
def test_a_profile_takes_nothing_from_the_text_of_a_walkthrough(story_folder: Path) -> None:
    for path in sorted(story_folder.glob("*.z?")):
        story = Story.load(path)
        if story.md5 not in BINDINGS_DICT:
            continue
        with closing(Interpreter(story)) as known, closing(Interpreter(story, use_profile=False)) as unknown:
            known.reset(WINNING_SEED)
            unknown.reset(WINNING_SEED)
            unknown.restore(known.snapshot())
            for command in walkthrough_of(path).commands:
                if known.stop:
                    break
                told = plain_text(known.send(command), story.version)
                assert told == plain_text(unknown.send(command), story.version)


@pytest.mark.parametrize(
    ("name", "commands", "seen"),
    [
        ("temple.z5", ("wait", "wait", "wait", "down"), {"yellow paper", "desk", "writing"}),
        ("temple.z5", ("wait", "wait", "wait", "down", "south"), {"shelves", "mysterious vial"}),
        ("deephome.z5", (), {"wooden door", "symbols"}),
    ],
)
def test_what_lies_on_things_and_what_lists_leave_out_is_seen_if_a_story_declares_attributes_of_its_own(
    name: str, commands: tuple[str, ...], seen: set[str], story_folder: Path
) -> None:
    with JerichoInterface(story_folder / name) as game:
        for command in commands:
            game.send_command(command)
        assert seen <= names(game.observation.visible)

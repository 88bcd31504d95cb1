from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.stories import walkthrough_of
from benchmarks.valid_actions import scoring_commands
from game_interface.core.commands import refusal
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.story import Story
from session.errors import GameError
from session.values import GameObject
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH

EXITS = Path(__file__).parents[3] / "stories" / "exits.z5"


@pytest.fixture
def game(own_story: Path) -> Iterator[JerichoInterface]:
    with JerichoInterface(own_story) as game:
        yield game


@pytest.fixture
def interpreter(own_story: Path) -> Iterator[Interpreter]:
    interpreter = Interpreter(Story.load(own_story))
    interpreter.reset(1)
    yield interpreter
    interpreter.close()


def test_every_method_of_the_interface_works_right_after_construction(game: JerichoInterface) -> None:
    location = game.get_location_structured()
    assert location is not None
    assert location.num > 0
    assert location.name
    assert game.get_inventory_structured() == list(game.observation.inventory or ())
    assert game.get_visible_objects_in_location() == list(game.observation.visible or ())
    assert game.get_score() == (0, 0)
    assert {"take", "open", "drop"} <= set(game.get_valid_verbs())
    assert {"north", "south", "up", "down"} <= set(game.facts.directions)
    assert game.start() == game.start() == game.observation.text
    text = game.send_command("look")
    assert text == game.observation.text
    assert text
    assert not text.endswith(">")
    for command in ("north", "east", "east", "east"):
        assert not game.is_dead()
        game.send_command(command)
    assert game.is_dead()


def test_attributes_are_those_of_the_present_moment_and_what_is_in_a_closed_container_is_not_seen(
    game: JerichoInterface,
) -> None:
    def seen() -> set[str]:
        return {word for each in game.get_visible_objects_in_location() for word in each.name.split()}

    location = game.get_location_structured()
    assert game.get_object_attributes(location)["lit"]
    for command in WALKTHROUGH[: WALKTHROUGH.index("open chest")]:
        game.step(command)
    lamp = next(each for each in game.get_inventory_structured() if "lamp" in each.name)
    attributes = game.get_object_attributes(lamp)
    assert (attributes["takeable"], attributes["container"], attributes["open"]) == (True, False, False)
    chest = next(each for each in game.get_visible_objects_in_location() if "chest" in each.name)
    assert not game.get_object_attributes(chest)["open"]
    assert "tin" not in seen()
    game.step("open chest")
    assert game.get_object_attributes(chest)["open"]
    assert "tin" in seen()
    assert "key" not in seen()
    game.step("open tin")
    assert "key" in seen()


def test_every_method_of_the_interface_says_that_the_game_is_closed(game: JerichoInterface) -> None:
    game.close()
    names = ("start", "get_location_structured", "get_inventory_structured", "get_visible_objects_in_location")
    for name in (*names, "get_valid_verbs", "get_score", "get_valid_actions"):
        with pytest.raises(GameError, match="closed"):
            getattr(game, name)()
    with pytest.raises(GameError, match="closed"):
        game.get_object_attributes(GameObject(1, "thing"))


def test_where_nothing_is_known_the_answers_are_empty_and_can_be_asked_on() -> None:
    with JerichoInterface(EXITS) as game:
        assert (game.get_location_structured(), game.get_score()) == (None, (None, None))
        assert (game.get_inventory_structured(), game.get_visible_objects_in_location()) == ([], [])
        assert game.get_object_attributes(game.get_location_structured()) == {}
        assert not game.get_object_attributes(GameObject(1, "thing")).get("takeable")


@pytest.mark.parametrize("line", ["save", "restore", "script", "script on", "recording on", "save 80 " + "x" * 72])
def test_a_story_that_is_asked_to_use_files_cannot(
    interpreter: Interpreter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Below the refusals: the commands go straight to the interpreter."""
    monkeypatch.chdir(tmp_path)
    interpreter.send(line)
    interpreter.send("look")
    assert list(tmp_path.iterdir()) == []
    assert interpreter.stop is None


@pytest.mark.parametrize("command", ["quit", "restart"])
def test_restoring_brings_a_machine_that_quit_or_restarted_and_its_random_numbers_back(
    interpreter: Interpreter, command: str
) -> None:
    start = interpreter.snapshot()
    answer = interpreter.send("look")
    interpreter.send(command)
    interpreter.send("yes")
    assert interpreter.stop == command
    interpreter.restore(start)
    assert interpreter.stop is None
    assert interpreter.send("look") == answer
    lucky = replace(start, registers=replace(start.registers, rng=987654321, rng_interval=3, rng_counter=2))
    interpreter.restore(lucky)
    assert interpreter.snapshot() == lucky


def test_a_snapshot_that_does_not_fit_never_reaches_the_machine(interpreter: Interpreter) -> None:
    start = interpreter.snapshot()
    for unfit in (
        replace(start, memory=start.memory[:-1]),
        replace(start, stack=b""),
        replace(start, text=b"x" * 10_000),
        replace(start, registers=replace(start.registers, pc=10**9)),
        replace(start, registers=replace(start.registers, sp=-1)),
    ):
        with pytest.raises(GameError):
            interpreter.restore(unfit)
    assert interpreter.snapshot() == start


def test_a_command_may_be_as_long_as_the_story_s_buffer_and_a_yes_or_no_question_takes_none(
    game: JerichoInterface,
) -> None:
    room = game._interpreter.line_room()
    assert room == 120  # the Inform library's buffer
    assert game.step("x" * room).refusal is None
    assert game.step("x" * (room + 1)).refusal
    assert refusal("x" * room) is None
    game._interpreter.send("quit")
    assert game.valid_actions() == ()


def test_a_script_on_standard_input_can_play_an_unknown_story_which_prints_nothing(own_story: Path) -> None:
    """The first load in a child must not run the caller's main module again."""
    script = (
        "import sys\n"
        "from game_interface.core.jericho_interface import JerichoInterface\n"
        "with JerichoInterface(sys.argv[1]) as game:\n"
        "    [game.step(c) for c in ('look', '\\\\n', 'save', 'x' * 500, 'zorkmid', 'look')]\n"
        "    print(game.get_score())\n"
    )
    command = [sys.executable, "-W", "error", "-", str(own_story)]
    run = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("(0, 2)\n", "")


@pytest.mark.parametrize("name", ["no-suffix", "tw-like.z5", "ünï cödé.z5"])
def test_a_story_may_have_any_name(own_story: Path, tmp_path: Path, name: str) -> None:
    story = tmp_path / name
    story.write_bytes(own_story.read_bytes())
    with JerichoInterface(story) as game:
        assert not game.facts.known
        assert game.step("look").text


def test_valid_actions_each_change_the_world_in_their_own_way(game: JerichoInterface) -> None:
    for command in WALKTHROUGH[:8]:
        game.step(command)
    actions = game.valid_actions()
    before = game.save()
    outcomes = []
    for action in actions:
        outcomes.append(replace(game.step(action), text="", moves=None))
        game.restore(before)
    assert WALKTHROUGH[8] in actions
    assert replace(before.observation, text="", moves=None) not in outcomes
    assert len({each.world_hash for each in outcomes}) == len(outcomes)


@pytest.mark.slow
def test_all_points_of_our_story_can_be_won_by_valid_actions(own_story: Path) -> None:
    """Some change only the score or end the story, or name one part of a hyphenated name."""
    found = list(scoring_commands(walkthrough_of(own_story)))
    assert sum(points for _, points, _ in found) == 100
    assert [command for command, _, can_be_won in found if not can_be_won] == []


def test_a_command_that_only_kills_is_no_valid_action(game: JerichoInterface) -> None:
    for command in ("north", "east", "east"):
        game.step(command)
    assert "east" not in game.valid_actions()
    game.step("east")
    assert game.is_dead()


def test_valid_actions_are_in_whole_words(game: JerichoInterface) -> None:
    """The dictionary cuts at nine letters."""
    game.step("north")
    text = game.step("look").text.lower()
    words = {word for action in game.valid_actions() for word in action.split()}
    assert words
    assert [word for word in words if len(word) >= 9 and word not in text] == []


@pytest.mark.parametrize("command", ["look", "wait", "examine me", "take zz", "zz zz"])
def test_the_hash_of_the_state_is_equal_after_a_repeated_command_that_only_took_time(
    game: JerichoInterface, command: str
) -> None:
    for way in ("north", "north"):
        game.step(way)
    done = game.step(command)
    assert game.step(command).state_hash == done.state_hash
    assert game.step("take lamp").state_hash != done.state_hash


def test_the_hash_of_the_state_covers_what_no_object_shows(game: JerichoInterface) -> None:
    start = game.observation
    state = game.save()
    variable = game._story.globals + 2 * 200
    memory = bytearray(state.snapshot.memory)
    memory[variable] ^= 1
    drawn = replace(state.snapshot.registers, rng_counter=state.snapshot.registers.rng_counter + 1)
    for changed in (replace(state.snapshot, memory=bytes(memory)), replace(state.snapshot, registers=drawn)):
        game._interpreter.restore(changed)
        now = game._observer.observe(start.text)
        assert now.world_hash == start.world_hash
        assert now.state_hash != start.state_hash


def test_several_games_in_one_process_do_not_share_their_state(own_story: Path) -> None:
    with JerichoInterface(own_story) as one, JerichoInterface(own_story) as other:
        one.step("north")
        assert other.observation == other.reset(1)
        assert one.observation.location != other.observation.location

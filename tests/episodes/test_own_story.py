"""The story of our own, played through the interface."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from session.values import Location, Observation
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from zorkgpt.testing import PlayCommands

FULL_SCORE = 100
TO_THE_LAMP = ("north", "north", "take lamp")
TO_THE_MUD = ("north", "east")
TO_THE_RED_RAG = ("north", "east", "north")
TO_THE_DARK_CELLAR = ("north", "north", "north", "down")


@pytest.fixture
def game(own_story: Path) -> Iterator[JerichoInterface]:
    with JerichoInterface(own_story, seed=1) as game:
        yield game


def play(game: JerichoInterface, commands: Iterable[str]) -> list[Observation]:
    return [game.step(command) for command in commands]


def walkthrough_until(command: str) -> tuple[str, ...]:
    """The walkthrough up to and including the first time it gives ``command``."""
    return WALKTHROUGH[: WALKTHROUGH.index(command) + 1]


def place(observation: Observation) -> Location:
    assert observation.location is not None
    return observation.location


def carried(observation: Observation) -> list[str]:
    assert observation.inventory is not None
    return [item.name for item in observation.inventory]


@pytest.mark.parametrize("seed", [1, 2, 12, 1986])
def test_the_walkthrough_wins_with_every_point_by_thirteen_deeds_whatever_the_seed(
    play_commands: PlayCommands, walkthrough: list[str], seed: int
) -> None:
    *before, last = play_commands(walkthrough, seed=seed)
    assert (last.score, last.ending, last.died) == (FULL_SCORE, "won", False)
    assert {observation.ending for observation in before} == {None}
    assert last.moves == len(walkthrough)
    scores = [observation.score for observation in (*before, last) if observation.score is not None]
    rises = [after - earlier for earlier, after in pairwise(scores) if after != earlier]
    assert (len(scores), len(rises), sum(rises)) == (len(walkthrough), 13, FULL_SCORE)
    assert min(rises) > 0


def test_rooms_of_the_same_name_are_told_apart_by_number(game: JerichoInterface) -> None:
    play(game, TO_THE_RED_RAG[:-1])
    walk = play(game, ("north", "west", "north", "north"))
    assert [place(observation).name for observation in walk] == ["Saltings"] * 4
    assert len({place(observation).num for observation in walk}) == 4


@pytest.mark.parametrize(
    ("way", "deed"),
    [(TO_THE_MUD, "east"), (TO_THE_DARK_CELLAR, "north"), (walkthrough_until("take glass"), "turn glass")],
)
def test_the_mud_the_well_and_the_glass_warn_once_and_then_kill(
    game: JerichoInterface, way: tuple[str, ...], deed: str
) -> None:
    warned, killed = play(game, (*way, deed, deed))[-2:]
    assert (warned.died, warned.ending) == (False, None)
    assert (killed.died, killed.ending) == (True, "lost")
    assert "*** You have died ***" in killed.text


def test_the_lamp_runs_down_and_can_be_filled_again(game: JerichoInterface) -> None:
    play(game, (*TO_THE_LAMP, "light lamp", "north", "down"))
    burning = play(game, ["wait"] * 30)
    assert "pitch dark" in "".join(observation.text for observation in burning)
    assert place(burning[-1]).name == "Cellar"
    assert "no oil left" in game.step("light lamp").text
    play(game, ("up", "east", "fill lamp", "light lamp", "west"))
    assert "well" in game.step("down").text


def test_the_one_way_drop_can_be_left_without_a_lamp(game: JerichoInterface) -> None:
    play(game, walkthrough_until("wear pattens"))
    play(game, ("drop lamp", "east", "east", "east", "east", "north", "up", "down"))
    assert place(game.step("down")).name == "Crypt"
    assert place(game.step("up")).name == "Nave"


@pytest.mark.parametrize(
    ("commands", "thing"),
    [
        ((*TO_THE_LAMP, "north", "down", "drop lamp", "take lamp"), "storm lamp"),
        ((*walkthrough_until("take herring"), "eat herring", "take herring"), "salt herring"),
    ],
    ids=["put down in the dark", "eaten"],
)
def test_what_is_gone_can_be_had_again(game: JerichoInterface, commands: tuple[str, ...], thing: str) -> None:
    gone, again = play(game, commands)[-2:]
    assert thing not in carried(gone)
    assert thing in carried(again)


def test_the_treasure_counts_only_at_home(game: JerichoInterface) -> None:
    before = play(game, walkthrough_until("take glass"))[-1]
    after = play(game, ("drop glass", "take glass", "west", "drop glass"))[-1]
    assert (after.score, after.ending) == (before.score, None)


@pytest.mark.parametrize("command", ["drop bed", "put bed on bed", "put bed in chest"])
def test_the_bed_stays_where_it_is_under_whoever_lies_on_it(play_commands: PlayCommands, command: str) -> None:
    before, after = play_commands(["north", "north", "up", "west", "enter bed", command])[-2:]
    assert (after.text.strip(), after.visible) == ("The bed stays where it is.", before.visible)


def test_the_otter_does_nothing_for_what_is_not_a_herring(game: JerichoInterface) -> None:
    play(game, walkthrough_until("give herring to otter")[:-1])
    assert "tide-glass" not in game.step("give knife to otter").text
    assert "tide-glass" in game.step("throw herring to otter").text


def test_the_shipped_story_is_what_its_source_compiles_to(own_story: Path, tmp_path: Path) -> None:
    compiler = shutil.which("inform")
    if compiler is None:
        pytest.skip("inform is not installed (apt install inform6-compiler inform6-library)")
    source = Path(str(files("game_interface.stories") / "tidehouse.inf"))
    compiled = tmp_path / "tidehouse.z5"
    subprocess.run([compiler, str(source), str(compiled)], check=True, capture_output=True, timeout=60)
    assert compiled.read_bytes() == own_story.read_bytes()

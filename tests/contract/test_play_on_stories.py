"""The critic, the map and the ledger of tries on whole stories (docs/records/specification.md, Critic, Map in
prompts).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import pytest
import structlog

from benchmarks.critic_verdicts import catch_refused, pass_walkthrough
from benchmarks.going_in_circles import (
    MOST_REPETITIONS,
    aimless_turns,
    loops,
    noticed_in,
    repetitions_until_warned,
    walkthrough_turns,
)
from benchmarks.map_truth import MapTruth, measure
from benchmarks.route_truth import beginning, with_idle
from benchmarks.route_truth import measure as measure_routes
from benchmarks.stories import OWN_STORY, user_stories, walkthrough_of
from game_interface.core.game import Game
from game_interface.core.jericho_interface import JerichoInterface
from managers.map_manager import MapManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Proposal, Reading, TurnRecord, Verdict
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.walkthrough import WINNING_SEED, begin_walkthrough, get_zork1_walkthrough
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.report.figures import repeat_failures

MOST_ASKED = 35
"""Calls of the critic's model over Zork I's winning commands, which the bar on calls per turn leaves room for."""


def test_every_winning_command_of_our_own_story_passes(own_story: Path) -> None:
    play = walkthrough_of(own_story)
    hybrid = pass_walkthrough(play, "hybrid")
    assert (hybrid.commands, hybrid.refused) == (len(play.commands), [])
    assert pass_walkthrough(play, "object_tree").refused == []


@pytest.mark.slow
def test_no_winning_command_of_our_own_story_is_refused_after_any_that_the_story_refused(own_story: Path) -> None:
    assert catch_refused(walkthrough_of(own_story)).winning_refused == []


@pytest.mark.stories
class TestZork:
    def test_every_winning_command_passes_with_a_model_that_is_hardly_asked_or_none(self, zork1: Path) -> None:
        play = walkthrough_of(zork1)
        passage = pass_walkthrough(play, "object_tree")
        assert (passage.commands, passage.refused, passage.asked) == (len(get_zork1_walkthrough()), [], [])
        passage = pass_walkthrough(play, "hybrid")
        assert (passage.commands, passage.refused) == (396, [])
        assert len(passage.asked) <= MOST_ASKED

    @pytest.mark.slow
    def test_of_500_commands_that_the_story_refuses_at_least_half_are_refused_without_a_model(
        self, zork1: Path
    ) -> None:
        catch = catch_refused(walkthrough_of(zork1))
        sample = catch.sample()
        assert (len(sample.absent_things), len(sample.pruned_exits)) == (400, 100)
        assert sum(sample.absent_things) >= 200
        assert sum(sample.pruned_exits) >= 50
        assert catch.winning_refused == []


@pytest.mark.slow
@pytest.mark.stories
@pytest.mark.parametrize("story", [OWN_STORY, *user_stories()], ids=lambda story: story.stem)
def test_every_winning_command_of_every_story_passes_known_to_jericho_or_not(story: Path) -> None:
    play = walkthrough_of(story)
    assert pass_walkthrough(play, "object_tree").refused == []
    unknown = pass_walkthrough(play, "object_tree", use_profile=False)
    assert unknown.refused == [] or not unknown.has_ended


@pytest.mark.stories
@pytest.mark.parametrize(
    "story",
    [OWN_STORY, *(pytest.param(story, marks=pytest.mark.slow) for story in user_stories())],
    ids=lambda story: story.stem,
)
def test_every_route_to_a_score_brings_what_it_promises_when_it_is_played_as_shown(story: Path, tmp_path: Path) -> None:
    routes = measure_routes(beginning(walkthrough_of(story)), tmp_path)
    assert [each.brought for each in routes] == [each.promised for each in routes]


@pytest.mark.slow
@pytest.mark.stories
@pytest.mark.parametrize("story", [OWN_STORY, *user_stories()[::4]], ids=lambda story: story.stem)
def test_a_route_brings_what_it_promises_without_idle_commands_too(story: Path, tmp_path: Path) -> None:
    routes = measure_routes(with_idle(walkthrough_of(story)), tmp_path)
    assert [each.brought for each in routes] == [each.promised for each in routes]


@pytest.mark.stories
def test_a_story_that_waits_for_a_key_says_so(story_folder: Path) -> None:
    play = walkthrough_of(story_folder / "yomomma.z8")
    with play.open() as game:
        opening, asked = game.observation, {"": set[bool](), "look": set[bool]()}
        for command in play.commands:
            asked["look" if command else ""].add(game.observation.awaits_key)
            game.step(command)
    assert not opening.awaits_key
    assert asked == {"": {True}, "look": {False}}


@pytest.mark.stories
def test_things_without_a_short_name_have_the_words_of_the_parser_and_rooms_their_headings(story_folder: Path) -> None:
    with walkthrough_of(story_folder / "snacktime.z8").open() as game:
        game.step("north")
        taken = game.step("take dino")
    assert [thing.name for thing in taken.inventory or ()] == ["dino"]
    assert taken.location is not None
    assert (taken.location.num, taken.location.name) == (60, "Sleeping Room")


@pytest.mark.stories
def test_in_a_story_of_inform_7_open_containers_show_what_is_in_them_and_the_dark_shows_nothing(
    story_folder: Path,
) -> None:
    way = ("east", "knock on window", "search drain", "wait", "west", "north", "north")
    with JerichoInterface(story_folder / "afflicted.z8", seed=1) as game:
        *_, shut, opened, dark = (game.step(command) for command in (*way, "open fridge", "north"))
        assert "lettuce" not in str(shut.visible)
        assert "rotting head of lettuce" in {thing.name for thing in opened.visible or ()}
        assert dark.visible == ()


TURNS = 200
_LINE = re.compile(r"L(\d+) .*untried: ([^;]+)")


class Walker:
    """Plays turns while the map learns, reads every direction in every text, and notes the exits tried at each
    location.
    """

    def __init__(self, game: Game, workdir: Path) -> None:
        self._game = game
        self._directions = MovementAnalyzer(game.facts.directions)
        self._reading = Reading(is_room_description=True, exits=game.facts.directions)
        config = GameConfiguration(zork_game_workdir=workdir)
        self._map = MapManager(structlog.get_logger(), config, GameState(), directions=game.facts.directions)
        self._tried: set[tuple[int, str]] = set()
        self.turns = self.refused = 0

    def play(self, command: str) -> None:
        self.turns += 1
        before = self._game.observation
        after = self._game.step(command)
        proposals, verdicts = (Proposal(command, reading=self._reading),), (Verdict(accepted=True),)
        record = TurnRecord(1, self.turns, before, proposals, verdicts, after)
        self._map.game_state.record(record)
        self._map.learn(record)
        exit_ = self._directions.exit_of(command)
        if before.location and self._directions.is_direction(exit_):
            self._tried.add((before.location.num, exit_))
            self.refused += not record.moved

    def tried_and_called_untried(self) -> set[tuple[int, str]]:
        """Return the exits that the prompt would call untried now, and that were tried."""
        untried = {
            (int(found[1]), exit_)
            for found in map(_LINE.match, self._map.local_view().splitlines())
            if found
            for exit_ in found[2].split(", ")
        }
        return untried & self._tried


def walk_with_returns(game: Game, commands: Iterator[str], walker: Walker) -> None:
    """Play the commands, and before each third of them try a direction and come back."""
    directions = cycle(game.facts.directions)
    for number, command in enumerate(commands):
        if number % 3 == 0:
            here = game.save()
            walker.play(next(directions))
            assert walker.tried_and_called_untried() == set()
            game.restore(here)
        walker.play(command)
        assert walker.tried_and_called_untried() == set()
        if walker.turns >= TURNS or game.observation.ending is not None:
            break


@pytest.mark.parametrize("name", ["tidehouse", pytest.param("zork1", marks=[pytest.mark.stories, pytest.mark.slow])])
def test_no_exit_that_was_tried_is_called_untried(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    play = walkthrough_of(request.getfixturevalue({"tidehouse": "own_story", "zork1": "zork1"}[name]))
    with play.open() as game:
        walker = Walker(game, tmp_path)
        begun = game.save()
        while walker.turns < TURNS:
            walk_with_returns(game, iter(play.commands), walker)
            game.restore(begun)
    assert walker.turns == TURNS
    assert walker.refused >= TURNS / 10


GOAL = 0.05  # of the turns of good play repeat what was tried before
WITHOUT_MEMORY = 0.20  # of the turns of play without a memory do
MOST_TOKENS = 120  # of what the agent is told of it in any one turn
MOST_WAIT = 12  # turns from the first repetition to the first warning
AIMLESS = ("north", "south", "east", "west", "up", "down", "look", "wait", "inventory", "take all", "open door")


@pytest.mark.parametrize(
    ("story", "commands", "seed"),
    [
        pytest.param("zork1", get_zork1_walkthrough(), WINNING_SEED, marks=pytest.mark.stories),
        ("own_story", WALKTHROUGH, 1),
    ],
    ids=["zork", "the tide house"],
)
def test_a_winning_game_repeats_next_to_nothing_and_aimless_play_repeats_itself(
    request: pytest.FixtureRequest, story: str, commands: Sequence[str], seed: int
) -> None:
    file: Path = request.getfixturevalue(story)
    assert rate(file, commands, seed) < GOAL
    assert rate(file, random.Random(1).choices(AIMLESS, k=200), 1) > WITHOUT_MEMORY


@pytest.mark.stories
def test_aimless_play_of_zork_is_warned_of_circles_and_a_winning_game_is_not_doubted(zork1: Path) -> None:
    winning = noticed_in(list(walkthrough_turns(walkthrough_of(zork1))))
    lost = noticed_in(list(aimless_turns(zork1, 1)))
    assert lost.first_warning_after is not None
    assert lost.first_warning_after <= MOST_WAIT
    assert lost.listed == 0  # its thief walks about, so that something differs after every turn
    assert (winning.asked_of_the_critic, max(lost.tokens) <= MOST_TOKENS) == (0, True)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_aimless_play_of_the_tide_house_is_warned_of_circles(own_story: Path, seed: int) -> None:
    lost = noticed_in(list(aimless_turns(own_story, seed)))
    assert lost.first_warning_after is not None
    assert lost.first_warning_after <= MOST_WAIT
    assert lost.listed > 0


def test_loops_of_the_tide_house_are_circles_by_their_fourth_repetition(own_story: Path) -> None:
    play = walkthrough_of(own_story)
    for name, loop in loops(play, 0).items():
        assert (repetitions_until_warned(play, 0, loop) or 0) <= MOST_REPETITIONS, name


@pytest.mark.stories
@pytest.mark.parametrize(
    "loop",
    [
        *(["north", "west"], ["south", "east", "north", "west"], ["open mailbox", "close mailbox"], ["inventory"]),
        ["look", "inventory", "wait"],
    ],
    ids=["there and back", "a tour", "open and close", "one command", "and wait"],
)
def test_loops_of_zork_are_circles_though_its_thief_walks_about_all_the_time(zork1: Path, loop: list[str]) -> None:
    repetitions = repetitions_until_warned(walkthrough_of(zork1), 0, loop)
    assert repetitions is not None
    assert repetitions <= MOST_REPETITIONS


@pytest.mark.slow
@pytest.mark.stories
@pytest.mark.parametrize("story", [OWN_STORY, *user_stories()], ids=lambda story: story.stem)
def test_no_winning_game_is_warned_of_circles(story: Path) -> None:
    assert noticed_in(list(walkthrough_turns(walkthrough_of(story)))).circling_noticed == 0


def rate(story: Path, commands: Sequence[str], seed: int) -> float:
    with JerichoInterface(story, seed=seed) as game:
        turns = (
            TurnRecord(1, number, game.observation, (Proposal(command),), (Verdict(accepted=True),), game.step(command))
            for number, command in enumerate(commands, start=1)
        )
        return sum(map(bool, repeat_failures(turns))) / len(commands)


def truth_of(story: Path, commands: Sequence[str], workdir: Path) -> MapTruth:
    with JerichoInterface(story, seed=WINNING_SEED) as game:
        return measure(game, commands, workdir)


def test_the_map_of_the_shipped_story_is_true_after_its_walkthrough(own_story: Path, tmp_path: Path) -> None:
    truth = truth_of(own_story, WALKTHROUGH, tmp_path)
    assert truth.commands == len(WALKTHROUGH)
    assert truth.edges > 0
    assert truth.holds, truth


@pytest.mark.slow
@pytest.mark.stories
def test_the_map_of_zork_1_is_true_after_its_walkthrough(zork1: Path, tmp_path: Path) -> None:
    truth = truth_of(zork1, get_zork1_walkthrough(), tmp_path)
    assert (truth.commands, truth.moves, truth.carried, truth.rooms, truth.edges) == (396, 241, 2, 86, 142)
    assert truth.holds, truth


def test_the_parsers_questions_are_read_elsewhere_than_commands(own_story: Path) -> None:
    with JerichoInterface(own_story) as game:
        asked = [game.step(command) for command in ("take", "wear", "look")]
    assert [each.awaits_answer for each in asked] == [True, True, False]


ASKING: dict[str, set[str]] = {
    OWN_STORY.name: set(),
    "curses.z5": set(),  # with riddles that are answered by commands
    "lostpig.z8": set(),
    "spirit.z5": {"take key", "pull lever", "x machine"},
    "yomomma.z8": {"insult joe"},
    "wishbringer.z3": {"w", "s", "out", "press button", "yes", "insert wishbringer in sculpture"},
    "zork1.z5": {"e"},  # to a room that reads no commands
}


@pytest.mark.parametrize(
    "story",
    [OWN_STORY, *(pytest.param(each, marks=pytest.mark.slow) for each in user_stories() if each.name in ASKING)],
    ids=lambda story: story.stem,
)
def test_a_story_awaits_answers_to_its_questions_alone(story: Path) -> None:
    play = walkthrough_of(story)
    with JerichoInterface(story) as game:
        begin_walkthrough(game, play.seed)
        seen = [(command.lower(), game.step(command)) for command in play.commands if not game.observation.ending]
    assert {command for command, after in seen if after.awaits_answer} == ASKING[story.name]

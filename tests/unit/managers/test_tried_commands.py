"""Commands without a visible effect are listed at their location, without judgement."""

from __future__ import annotations

from dataclasses import replace

import pytest
import structlog

from managers.circling import TriedCommands
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Observation, Proposal, Reading, TurnRecord, Verdict
from tests.unit.zorkgpt.players.dye_works import in_the_loft, moment


class Tries:
    """Commands typed among the vats, after one that was answered with "No." as most of them are."""

    def __init__(self, **options: object) -> None:
        config = GameConfiguration.model_validate(options)
        self.tried = TriedCommands(structlog.get_logger(), config, GameState(), directions=("north", "up"))
        self.of("jump", after=in_the_loft("No."))

    def of(self, action: str, *, after: Observation | None = None, in_combat: bool = False) -> Tries:
        """A command without a visible effect, by default."""
        proposal = Proposal(action, reading=Reading(in_combat=in_combat))
        turn = self.tried.game_state.turn_count + 1
        record = TurnRecord(1, turn, moment(), (proposal,), (Verdict(accepted=True),), after or moment("No."))
        self.tried.game_state.record(record)
        return self

    def told(self, here: Observation | None = None) -> str:
        """The list in the agent's prompt there."""
        section = self.tried.section(here or moment())
        assert section is not None
        assert section.title == "Tried here, no visible change"
        return section.text


def test_commands_are_listed_once_the_latest_last() -> None:
    assert Tries().of("dip banner").of("Stir  vat.").of("dip banner").told() == "`stir vat`, `dip banner`"


def test_of_what_printed_something_new_the_beginning_is_shown_and_the_turn() -> None:
    log = moment("Three hundred pages of weather. The last of them is not weather.")
    tries = Tries().of("read log", after=log).of("push wall").of("read log", after=log)
    assert tries.told() == '`push wall`, `read log` (turn 2: "Three hundred pages of weathe…")'


def test_the_beginning_is_the_storys_answer_and_not_how_it_has_read_the_command() -> None:
    clerk = moment('(the card to the clerk)\n"You need to give me the card first."')
    assert Tries().of("show card", after=clerk).told() == '`show card` (turn 2: "You need to give me the card…")'


def test_they_are_listed_whatever_has_changed_since_but_at_their_place_alone() -> None:
    tries = Tries().of("dip banner")
    assert tries.told(replace(moment(), visible=(), score=5)) == "`dip banner`"
    assert tries.told(in_the_loft()) == ""
    assert tries.told(Observation("Fog.")) == ""


def test_what_did_something_is_not_listed_any_more() -> None:
    blue = replace(moment("It turns blue."), score=5)
    assert Tries().of("dip banner").of("stir vat").of("dip banner", after=blue).told() == "`stir vat`"


def test_what_changed_a_thing_that_is_not_in_sight_of_the_tree_is_not_listed() -> None:
    opened = replace(moment("You open the window."), attributes_hash="0badcafe")
    assert Tries().of("open window").of("open window", after=opened).told() == ""


def test_moves_blows_and_what_is_typed_again_and_again_are_not_listed() -> None:
    tries = Tries().of("up", after=in_the_loft()).of("hit guard", in_combat=True).of("look").of("z").of("i")
    assert tries.of("save", after=replace(moment(), refusal="not for the player")).told() == ""


def test_directions_are_listed_only_where_no_map_says_that_they_were_refused() -> None:
    assert Tries().of("go north").of("up").of("dip banner").told() == "`dip banner`"
    assert Tries(map={"shown": False}).of("up").told() == "`up`"


def test_the_latest_eight_are_listed() -> None:
    tries = Tries()
    for number in range(1, 11):
        tries.of(f"dip {number}")
    assert tries.told() == ", ".join(f"`dip {number}`" for number in range(3, 11))


@pytest.mark.parametrize("known", [True, False])
def test_without_anything_to_compare_nothing_is_known_to_be_unchanged(known: bool) -> None:
    fog = replace(moment(), inventory=None, visible=None, world_hash="w1" if known else "")
    tried = TriedCommands(structlog.get_logger(), GameConfiguration(), GameState())
    tried.game_state.record(TurnRecord(1, 1, fog, (Proposal("dip banner"),), (Verdict(accepted=True),), fog))
    section = tried.section(fog)
    assert section is not None
    assert bool(section.text) == known


def test_a_new_episode_has_tried_nothing() -> None:
    tries = Tries().of("dip banner")
    tries.tried.reset(GameState(episode=2))
    assert tries.told() == ""

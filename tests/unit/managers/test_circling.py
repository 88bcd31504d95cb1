"""Going round in circles is reported without any other effect, and what had no visible effect without judgement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from itertools import count

import pytest
import structlog

from managers.circling import CIRCLING, CirclingDetector, TriedCommands
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import GameObject, Location, Observation, Proposal, Reading, TurnRecord, Verdict
from tests.unit.zorkgpt.players.dye_works import in_the_loft, moment

STUDY = Observation("", Location(32, "Study"), (), (GameObject(7, "desk", 32),), score=0)
STORAGE = replace(STUDY, location=Location(41, "Storage"))


class Play:
    """An episode in the study, turn by turn."""

    def __init__(self, **options: int) -> None:
        configuration = GameConfiguration.model_validate({"circling": options})
        self.detector = CirclingDetector(structlog.get_logger(), configuration, GameState())
        self.seen, self.turn = STUDY, 0

    def do(self, action: str, answer: str = "", *, then: Observation = STUDY, in_combat: bool = False) -> Play:
        """One turn; ``then`` is what there is to be seen after it."""
        after = replace(then, text=answer)
        self.turn += 1
        proposal = Proposal(action, reading=Reading(in_combat=in_combat))
        record = TurnRecord(1, self.turn, self.seen, (proposal,), (Verdict(accepted=True),), after)
        self.detector.game_state.record(record)
        self.detector.learn(record)
        self.seen = after
        return self

    def told(self) -> str:
        """Return the warnings for the agent."""
        section = self.detector.section(self.seen)
        assert section is not None
        assert (section.title == CIRCLING) == ("repeated yourself" in section.text)
        return section.text


def warned(times: int) -> str:
    return (
        f"You have repeated yourself {times} times without new text or points: the same command in the same "
        "situation had the same result. Do something that you have not tried here."
    )


REFUSED = replace(STUDY, refusal="not for the player")
OPENED = replace(STUDY, visible=(GameObject(7, "desk", 32, attributes=frozenset({11})),))


def test_the_same_command_with_the_same_answer_is_a_repetition() -> None:
    play = Play(repeated_states=2).do("open vial", "There seems no way\nto open it.")
    play.do("Open  vial.", "There seems no way to open it.")
    assert play.told() == ""
    assert play.do("open vial", "There seems no way to open it.").told() == warned(2)


@pytest.mark.parametrize(
    "there_and_back",
    [
        lambda play: play.do("open desk", "Opened.", then=OPENED).do("close desk", "Closed."),
        lambda play: play.do("north", "Storage", then=STORAGE).do("west", "Study"),
    ],
    ids=["opening and closing", "walking to and fro"],
)
def test_there_and_back_again_is_a_circle_by_the_fourth_time(there_and_back: Callable[[Play], Play]) -> None:
    play = Play()
    for _ in range(4):
        there_and_back(play)
    assert play.told() == warned(5)


HALL, CELLAR = replace(STUDY, location=Location(42, "Hall")), replace(STUDY, location=Location(43, "Cellar"))
TOUR = [("north", STORAGE), ("east", HALL), ("down", CELLAR), ("up", HALL), ("west", STORAGE), ("south", STUDY)]


@pytest.mark.parametrize("length", [1, 2, 4, 6])
def test_the_fourth_repetition_of_a_loop_is_a_circle_though_the_tree_always_differs_out_of_sight(length: int) -> None:
    """A thief walks about from the first turn on, so that no state of the world comes twice."""
    loop = {1: [("open desk", STUDY)], 2: [("open desk", OPENED), ("close desk", STUDY)]}
    play, worlds = Play(), count()
    for _ in range(5):
        for command, then in loop.get(length, [*TOUR[: length - 1], ("back", STUDY)]):
            play.do(command, f"{command}: done.", then=replace(then, world_hash=str(next(worlds))))
    assert "repeated yourself" in play.told()


def test_a_tour_is_no_circle_while_it_meets_something_new() -> None:
    play = Play(turns_without_score=99)
    for lap in range(9):
        for command, then in TOUR:
            news = f"\n\nThe clock strikes {lap}." if command == "down" else ""
            play.do(command, f"{command}: done.{news}", then=then)
    assert play.told() == ""


def test_what_a_command_changes_out_of_sight_is_told_from_what_wanders_there() -> None:
    later = replace(STUDY, parents=(0, 51), world_hash="b")
    play = Play(repeated_states=1).do("north", "Storage", then=replace(STORAGE, parents=(0, 50), world_hash="a"))
    play.do("west", "Study", then=later)
    for command in ("look", "smell", "feel", "listen"):
        play.do(command, command, then=later)
    for number in "cde":
        play.do("turn wheel", "Click.", then=replace(later, world_hash=number))
    assert play.told() == ""


def test_waiting_in_every_way_is_no_circle() -> None:
    play = Play()
    for _ in range(9):
        play.do("wait", "Time passes.").do("z", "Time passes.")
    assert play.told() == ""


@pytest.mark.parametrize(
    "turns",
    [
        [(f"examine book {number}", "The book is bound.", STUDY) for number in range(20)],
        [("north", "", STORAGE), ("west", "", STUDY), ("up", "", STORAGE), ("down", "", STUDY)],
        [("act", "Yes.", replace(STUDY, score=5)), ("act", "Yes.", STUDY)],
        [("act", "Yes.", replace(STUDY, visible=())), ("act", "Yes.", STUDY)],
        [("act", "Yes.", replace(STUDY, inventory=(GameObject(9, "vial"),))), ("act", "Yes.", STUDY)],
        [("act", "Yes.", STORAGE), ("act", "Yes.", STUDY)],
        [("light fuse", "You miss.", STUDY), ("light fuse", "You miss again.", STUDY)],
        [("open vial", "No.", STUDY), ("open vial", "No.", STUDY), ("act", "Yes.", STUDY)],
        [("open vial", "No.", STUDY), ("open vial", "No.", STUDY), ("act", "No.", replace(STUDY, score=5))],
        *([(command, "He shrugs.", STUDY)] * 2 for command in ("ask charles about key", "charles, read paper", "z")),
        *([(command, "He shrugs.", STUDY)] * 2 for command in ("say hello", "wait")),
        [("save", "No.", REFUSED)] * 2,
        [
            *((command, command, STUDY) for command in ("look", "smell", "feel")),
            *(("turn wheel", "Click.", replace(STUDY, world_hash=number)) for number in "12"),
        ],
        [("open vial", "No.", Observation(""))] * 3,
    ],
    ids=[
        *("single tries", "a way with other commands", "other points", "another sight", "other belongings"),
        *("another place", "another answer", "new text", "new points", "talk to", "an order", "z", "talk", "waiting"),
        *("what never reached the story", "a rare change out of sight", "what was noticed is not known"),
    ],
)
def test_no_circle_is(turns: list[tuple[str, str, Observation]]) -> None:
    play = Play(repeated_states=1)
    for action, answer, then in turns:
        play.do(action, answer, then=then)
    assert play.told() == ""


def test_what_failed_here_before_is_a_repetition_although_news_came_or_the_world_changed_between() -> None:
    play = Play(repeated_states=1).do("open vial", "No.").do("read paper", "Beware of the dog.").do("open vial", "No.")
    assert play.told() == warned(1)
    play = Play(repeated_states=1)
    for turn in range(3):
        play.do("open vial", "No.", then=replace(STUDY, world_hash=str(turn)))
    assert play.told() == warned(2)


def scored(scores: Iterable[int | None], **options: int) -> Play:
    """Turns of waiting with these scores, the first of which is the opening's."""
    opening, *others = (replace(STUDY, score=score) for score in scores)
    play = Play(**options)
    play.seen = opening
    for after in others:
        play.do("wait", "Time passes.", then=after)
    return play


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        ([0, 0, 0], ""),
        ([0, 0, 0, 0], "No point scored for 3 turns."),
        ([0, 5, 5, 5], ""),
        ([0, 5, 5, 5, 5], "No point scored for 3 turns."),
        ([9, 9, 5, 5], "No point scored for 3 turns."),
        ([None, None, None, None, None], ""),
        ([None, None, 0, 0, 0], ""),
        ([0, None, 0, 0, 0, 0], "No point scored for 3 turns."),
    ],
)
def test_turns_without_a_point_are_counted_where_the_score_is_known(scores: list[int | None], text: str) -> None:
    assert scored(scores, turns_without_score=3).told() == text


def test_both_warnings_are_given_and_none_in_a_new_episode() -> None:
    play = Play(turns_without_score=2, repeated_states=1)
    assert play.told() == ""
    play.do("open vial", "No.").do("open vial", "No.")
    assert play.told() == f"{warned(1)}\nNo point scored for 2 turns."
    assert play.detector.get_status()["metrics"] == {"repetitions": 1, "turns_without_score": 2}
    play.detector.reset(GameState(episode=2))
    assert play.told() == ""
    assert not any(play.detector.get_status()["metrics"].values())


class Tries:
    """Commands typed among the vats, after one that was answered with "No." as most of them are."""

    def __init__(self, **options: object) -> None:
        config = GameConfiguration.model_validate(options)
        self.tried = TriedCommands(structlog.get_logger(), config, GameState(), directions=("north", "up"))
        self.of("jump", after=in_the_loft("No."))

    def of(self, action: str, *, after: Observation | None = None, in_combat: bool = False) -> Tries:
        """A command without any effect, by default."""
        proposal, before = Proposal(action, reading=Reading(in_combat=in_combat)), replace(moment(), state_hash="s1")
        turn = self.tried.game_state.turn_count + 1
        after = replace(before, text="No.") if after is None else after
        record = TurnRecord(1, turn, before, (proposal,), (Verdict(accepted=True),), after)
        self.tried.game_state.record(record)
        return self

    def twice(self, action: str, *, after: Observation | None = None, in_combat: bool = False) -> Tries:
        """The same command and outcome two times."""
        return self.of(action, after=after, in_combat=in_combat).of(action, after=after, in_combat=in_combat)

    def told(self, here: Observation | None = None) -> str:
        """The list in the agent's prompt there."""
        section = self.tried.section(here or moment())
        assert section is not None
        assert section.title == "Tried here, no visible change"
        return section.text


def nothing_else(text: str) -> Observation:
    """The answer to a command after which nothing at all differs."""
    return replace(moment(text), state_hash="s1")


LOG = nothing_else("Three hundred pages of weather. The last of them is not weather.")
BLUE = replace(nothing_else("It turns blue."), score=5)
FILLED = replace(nothing_else("No."), state_hash="s2")
OPEN_WINDOW = replace(nothing_else("You open the window."), attributes_hash="0badcafe")
NOT_SENT = replace(nothing_else(""), refusal="not for the player")


@pytest.mark.parametrize(
    ("tries", "listed"),
    [
        (Tries().of("dip banner").of("Stir  vat.").of("stir vat").of("dip banner"), ((3, 4), (2, 5))),
        (Tries().of("read log", after=LOG).of("push wall"), ()),
        (Tries().twice("read log", after=LOG).of("push wall"), ((2, 3),)),
        (Tries().of("dip banner").of("dip banner", after=BLUE), ()),
        (Tries().of("ask otter").of("ask otter", after=nothing_else("It is not talk he wants.")), ()),
        (Tries().twice("fill jug", after=FILLED), ()),
        (Tries().twice("fill jug", after=moment("No.")), ()),
        (Tries().twice("open window", after=OPEN_WINDOW), ()),
        (Tries().twice("hit guard", in_combat=True), ()),
        (Tries().twice("look").twice("z").twice("save", after=NOT_SENT), ()),
        (Tries().twice("go north").twice("up").twice("dip banner"), ((6, 7),)),
        (Tries(map={"shown": False}).twice("up"), ((2, 3),)),
    ],
    ids=[
        *("twice each, the latest last", "not what was done once", "a text that was read twice"),
        *("not what did something", "not another answer", "not what no player sees", "not if that is unknown"),
        *("not what changed a thing out of sight", "no blows", "not what is typed again and again"),
        *("not directions that the map has", "directions without a map"),
    ],
)
def test_only_what_got_the_same_answer_again_and_changed_nothing_at_all_was_in_vain(
    tries: Tries, listed: tuple[tuple[int, ...], ...]
) -> None:
    told = tries.told()
    assert tuple(tuple(map(int, turns.split(", "))) for turns in re.findall(r"\(turns ([\d, ]+)\)", told)) == listed
    assert told.count("`") == 2 * len(listed)


def test_of_many_commands_in_vain_the_latest_are_listed_and_the_others_counted() -> None:
    told = reduce(Tries.twice, (f"dip {number}" for number in range(1, 11)), Tries()).told()
    assert re.findall(r"`dip (\d+)`", told) == ["3", "4", "5", "6", "7", "8", "9", "10"]
    assert told.startswith("2 ")


def test_they_are_listed_whatever_has_changed_since_but_at_their_place_and_in_their_episode_alone() -> None:
    tries = Tries().twice("dip banner")
    assert "`dip banner`" in tries.told(replace(moment(), visible=(), score=5))
    assert tries.told(in_the_loft()) == ""
    assert tries.told(Observation("Fog.")) == ""
    tries.tried.reset(GameState(episode=2))
    assert tries.told() == ""

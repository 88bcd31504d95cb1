"""The state, the tries, the room descriptions and the figures of an episode follow from its turns only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from session.game_state import EpisodeProgress, GameState, NewBest, PlayedAction, Tries
from session.text import RoomDescription, description_in, prologue_of
from session.values import AgentNote, GameObject, Location, Observation, Proposal, Reading, TurnRecord, Verdict
from tests.unit.zorkgpt.players.dye_works import in_the_loft, moment, turn

YARD = Observation("Yard", Location(4, "Yard"), (), (), score=0, moves=0)
SHED = Observation("Shed", Location(9, ""), (GameObject(2, "rope"),), (), score=5, moves=1)


def record(before: Observation, action: str, after: Observation, turn: int = 1) -> TurnRecord:
    return TurnRecord(1, turn, before, (Proposal(action, f"why {action}"),), (Verdict(True),), after)


def test_a_state_begins_with_the_opening_and_a_turn_moves_the_present_and_keeps_the_past() -> None:
    state = GameState(episode=3)
    assert GameState(episode_id="the-third-try").episode_id == "the-third-try"
    state.begin(YARD)
    assert (state.episode_id, state.turn_count) == ("3", 0)
    assert (state.current_room_id, state.current_room_name_for_map) == (4, "Yard")
    assert state.visited_locations == set()
    state.record(record(YARD, "in", SHED))
    assert (state.turn_count, state.previous_zork_score) == (1, 5)
    assert (state.current_room_id, state.current_room_name_for_map) == (9, "Location #9")
    assert state.current_inventory == ["rope"]
    assert state.action_history == [PlayedAction("in", "Shed")]
    entry = state.action_reasoning_history[0]
    assert (entry["turn"], entry["reasoning"], entry["action"]) == (1, "why in", "in")
    assert datetime.fromisoformat(entry["timestamp"]).tzinfo == timezone.utc
    assert state.visited_locations == {4}, "a location counts once a first turn there is complete"
    state.record(record(SHED, "look", SHED, turn=2))
    assert state.visited_locations == {4, 9}


def test_death_and_ending_are_the_machines_and_an_unknown_location_leaves_no_trace() -> None:
    state = GameState()
    state.begin(Observation("?"))
    state.record(record(Observation("?"), "wait", Observation("?")))
    assert (state.current_room_id, state.visited_locations) == (None, set())
    state.record(record(YARD, "jump", Observation("You fall.", died=True), turn=2))
    assert (state.is_dead, state.game_over) == (True, False)
    state.record(record(YARD, "jump", Observation("You fall.", died=True, ending="lost"), turn=3))
    assert (state.is_dead, state.game_over) == (True, True)


def noted(*notes: AgentNote) -> list[str]:
    state = GameState()
    for number, note in enumerate(notes, start=1):
        proposal = Proposal("wait", note=note)
        state.record(TurnRecord(1, number, Observation("."), (proposal,), (Verdict(accepted=True),), Observation(".")))
    return state.notes


def test_the_agent_adds_replaces_and_drops_up_to_five_notes_which_stay_whole() -> None:
    red, blue = AgentNote("Red  before\nblue"), AgentNote("Blue")
    assert noted(red, blue) == ["Red before blue", "Blue"]
    assert noted(red, blue, AgentNote("Green", 1)) == ["Green", "Blue"]
    assert noted(red, blue, AgentNote("", 1)) == ["Blue"]
    assert noted(red, AgentNote("Green", 9), AgentNote("", 9), AgentNote("", -1)) == ["Red before blue", "Green"]
    assert noted(*(AgentNote(f"{number}") for number in range(7))) == ["2", "3", "4", "5", "6"]
    assert len(noted(AgentNote("x" * 400))[0]) == 400


MILL, POND = Location(3, "Mill"), Location(8, "Pond")


def test_an_episode_is_counted_turn_by_turn() -> None:
    progress = EpisodeProgress(Observation("Hm.", MILL, score=0))
    scores = (5, 5, 0, 7)
    for number, score in enumerate(scores, 1):
        progress.count(record(Observation(""), "wait", Observation("Oh.", POND, score=score), number), 0.5)
    assert (progress.turns, progress.seconds, progress.rooms) == (4, 2.0, {3, 8})
    assert (progress.score, progress.best_score) == (7, 7)
    assert progress.new_bests == [NewBest(1, 5), NewBest(4, 7)]


def test_the_first_score_that_is_known_is_no_new_best() -> None:
    progress = EpisodeProgress(Observation("Hm."))
    assert (progress.best_score, progress.rooms) == (None, set())
    progress.count(record(Observation(""), "wait", Observation("Oh.", score=5), 1), 1.0)
    progress.count(record(Observation(""), "wait", Observation("Hm."), 2), 1.0)
    assert (progress.best_score, progress.new_bests) == (5, [])


def after(*answers: str, action: str = "dip banner", world: str = "w1") -> Tries:
    """What is known when ``action`` got these ``answers``, one after the other, with all to be seen the same."""
    tries = Tries()
    for answer in answers:
        tries.add(turn(action, moment(world=world), moment(answer, world=world)))
    return tries


def test_the_answers_to_a_command_are_known_whatever_its_case_and_blanks_and_the_last_typed_comes_first() -> None:
    tries = after("The vat is\nempty.")
    assert tries.outcomes(moment(), "Dip  banner.") == ["The vat is empty."]
    tries.add(turn("stir vat", moment(), moment("It swirls.")))
    tries.add(turn("Dip banner", moment(), moment("Empty.")))
    here = moment().location
    assert here is not None
    assert [(command, len(turns)) for command, turns in tries.latest_first(here.num)] == [
        ("dip banner", 2),
        ("stir vat", 1),
    ]
    assert list(tries.latest_first(None)) == []


def test_a_command_is_no_repetition_if_anything_has_changed_that_no_player_sees() -> None:
    tries = Tries()
    tries.add(turn("dip banner", replace(moment(), state_hash="dry"), moment("Empty.")))
    assert tries.outcomes(replace(moment(), state_hash="dry"), "dip banner") == ["Empty."]
    assert tries.outcomes(replace(moment(), state_hash="wet"), "dip banner") == []


def test_a_command_is_in_vain_at_a_place_until_the_storys_state_changes_with_it() -> None:
    tries, dry, wet = Tries(), replace(moment(), state_hash="dry"), replace(moment(), state_hash="wet")
    here, first, again = dry.location_id, turn("dip banner", dry, dry), turn("Dip  banner.", dry, dry)
    for each in (first, again):
        tries.add(each)
        assert tries.in_vain == {(here, "dip banner"): each}
    tries.add(turn("dip banner", dry, wet))
    tries.add(again)
    tries.add(turn("wring banner", dry, moment()))
    assert tries.in_vain == {}, "it had an effect once, and of the other command that is unknown"


def test_other_commands_places_and_things_in_sight_are_not_meant_nor_is_another_world() -> None:
    tries = after("Empty.")
    assert tries.outcomes(moment(), "take banner") == []
    for other in (in_the_loft(), replace(moment(), visible=()), replace(moment(), score=5), moment(world="w2")):
        assert tries.outcomes(other, "dip banner") == []
    tries.add(turn("dip banner", moment(world="w2"), moment("Empty.", world="w2")))
    assert tries.outcomes(moment(world="w2"), "dip banner") == ["Empty."] * 2
    assert after("Empty.", world="").outcomes(moment(world=""), "dip banner") == []


def test_moves_and_commands_that_never_reached_the_story_are_no_tries() -> None:
    tries = Tries()
    tries.add(turn("up", moment(), in_the_loft()))
    tries.add(turn("save", moment(), replace(moment(), refusal="not for the player")))
    assert (tries.outcomes(moment(), "up"), tries.outcomes(moment(), "save")) == ([], [])


@pytest.mark.parametrize("world", ["", "w1"])
def test_without_anything_to_compare_nothing_is_told(world: str) -> None:
    fog, tries = Observation("Fog.", world_hash=world), Tries()
    tries.add(turn("wait", fog, replace(fog, text="Time passes.")))
    assert bool(tries.outcomes(fog, "wait")) is bool(world)


STUDY, STORAGE = Location(32, "Study"), Location(41, "Storage")
FULL = "Study\nDust and spider webs cover all surfaces. A doorway leads south.\n\nOn the desk is a yellow paper."
STORE = "Storage\nThis is a minor storage chamber."
TEMPLE = (
    "Familiar as your dream may be, the shapes and the colours that surround you feel as scary as ever before now.\n\n"
    "The Temple\nAn Interactive Homage\n(c) 2002 Somebody\n\n"
    'Please type "help" for instructions and license information.\n'
    "Release 2 / Serial number 021118 / Inform v6.15 Library 6/2\n\n"
)


class Play:
    """An episode that begins in the study, turn by turn."""

    def __init__(self, opening: str = FULL, start: Location | None = STUDY) -> None:
        self.state = GameState()
        self.seen = Observation(opening, start)
        self.state.begin(self.seen)

    def turn(self, text: str, location: Location | None = STUDY, *, was_description: bool = False) -> Play:
        """A turn with the answer ``text``; a model has read the text before it."""
        after = Observation(text, location)
        proposal = Proposal("act", reading=Reading(was_description))
        record = TurnRecord(1, self.state.turn_count + 1, self.seen, (proposal,), (Verdict(accepted=True),), after)
        self.state.record(record)
        self.seen = after
        return self

    def known(self, location: Location = STUDY) -> tuple[str, int] | None:
        """What is known of the room, and since when."""
        found = self.state.room_descriptions.get(location.num)
        return (found.text, found.turn) if found else None


def test_the_description_begins_with_the_rooms_name() -> None:
    assert description_in(f"You climb the stairs.\n\n{FULL}", "Study") == FULL
    assert description_in("You study it.\n  Study (on the chair)\nDust.", "Study") == "Study (on the chair)\nDust."
    assert description_in("(Study)\nDust.", "Study") == "(Study)\nDust."
    assert description_in("Studying it tells you nothing.", "Study") is None
    assert description_in("Dust.", "") is None
    assert not RoomDescription("Study", 1).is_repeated_in("Study\nDust.")


AGAIN = "Study\nDust and spider webs cover all surfaces. A doorway leads south."
CHANGED = "Study\nThe surfaces have been dusted, and there is a doorway, which leads to the south."
NOTE = "There is nothing on the desk."


@pytest.mark.parametrize(
    ("play", "known"),
    [
        (Play(f"{TEMPLE}{FULL}").turn(STORE, STORAGE), (FULL, 0)),
        (Play(STORE, STORAGE).turn(FULL), (FULL, 1)),
        (Play().turn(STORE, STORAGE).turn("Study\n\nHe follows.").turn(NOTE, was_description=True), (FULL, 0)),
        (Play().turn("Three hundred pages of weather.").turn("Taken.", was_description=True), (FULL, 0)),
        (Play().turn(STORE, STORAGE).turn(f"You go back.\n\n{AGAIN}"), (AGAIN, 2)),
        (Play().turn(CHANGED), (CHANGED, 1)),
        (Play().turn("Study"), (FULL, 0)),
        (Play(STORE, STORAGE).turn("It is pitch dark."), ("It is pitch dark.", 1)),
        (Play(STORE, STORAGE).turn("It is pitch dark.").turn(f"The lamp is on now.\n\n{FULL}"), (FULL, 2)),
    ],
    ids=[
        *("opening", "first visit", "back in brief, whatever a model reads", "no name over it, whatever a model reads"),
        *("back to a text told again", "looking about", "the name alone", "dark", "light"),
    ],
)
def test_a_visit_and_a_look_describe_a_room(play: Play, known: tuple[str, int]) -> None:
    assert play.known() == known


def test_a_model_is_believed_only_where_no_name_stands_over_what_is_known() -> None:
    cave = Location(48, "Cave")
    play = Play().turn("You fall.", cave).turn("Stone all about you.", cave).turn("Ouch.", cave, was_description=True)
    assert play.known(cave) == ("Stone all about you.", 2)


def test_a_room_without_a_name_is_described_on_arrival_and_none_by_a_command_that_never_reached_the_story() -> None:
    nameless = Location(48, "")
    play = Play("A prologue.", nameless).turn(STORE, STORAGE)
    assert play.known(nameless) is None
    assert play.turn("A cave.", Location(49, "")).known(Location(49, "")) == ("A cave.", 2)
    after = Observation(FULL, STUDY, refusal="not for the player")
    play.state.record(TurnRecord(1, 3, play.seen, (Proposal("save"),), (Verdict(accepted=True),), after))
    assert play.known() is None


@pytest.mark.parametrize(
    ("opening", "room", "prologue"),
    [
        (f"{TEMPLE}{FULL}", "Study", TEMPLE.partition("\n\n")[0]),
        (f"Copyright (c) 1981\nRevision 88 / Serial number 840726\n\n{FULL}", "Study", ""),
        ("A short prologue.\n\nStudy\nDust.", "Study", "A short prologue."),
        ("A prologue without a room's name.", "Study", "A prologue without a room's name."),
        (FULL, "Study", ""),
    ],
)
def test_the_prologue_is_what_is_told_before_the_first_room_without_the_banner(
    opening: str, room: str, prologue: str
) -> None:
    assert prologue_of(opening, room) == prologue

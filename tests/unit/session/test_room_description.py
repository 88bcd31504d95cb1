"""A room's description is recognised among other texts by facts of the machine."""

from __future__ import annotations

import pytest

from session.game_state import GameState
from session.text import RoomDescription, description_in, prologue_of
from session.values import Location, Observation, Proposal, Reading, TurnRecord, Verdict

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
        found = self.state.room_description(location.num)
        return (found.text, found.turn) if found else None


def test_the_description_begins_with_the_rooms_name() -> None:
    assert description_in(f"You climb the stairs.\n\n{FULL}", "Study") == FULL
    assert description_in("You study it.\n  Study (on the chair)\nDust.", "Study") == "Study (on the chair)\nDust."
    assert description_in("Studying it tells you nothing.", "Study") is None
    assert description_in("Dust.", "") is None
    assert description_in(FULL, "Study (#48)") == FULL
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

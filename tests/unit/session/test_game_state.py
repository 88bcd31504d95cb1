"""The state and the figures of an episode follow from its turns only."""

from __future__ import annotations

from session.game_state import EpisodeProgress, GameState, NewBest, PlayedAction
from session.values import AgentNote, GameObject, Location, Observation, Proposal, TurnRecord, Verdict

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


def test_the_agent_adds_replaces_and_drops_notes_up_to_five_of_300_characters() -> None:
    red, blue = AgentNote("Red  before\nblue"), AgentNote("Blue")
    assert noted(red, blue) == ["Red before blue", "Blue"]
    assert noted(red, blue, AgentNote("Green", 1)) == ["Green", "Blue"]
    assert noted(red, blue, AgentNote("", 1)) == ["Blue"]
    assert noted(red, AgentNote("Green", 9), AgentNote("", 9), AgentNote("", -1)) == ["Red before blue", "Green"]
    assert noted(*(AgentNote(f"{number}") for number in range(7))) == ["2", "3", "4", "5", "6"]
    assert len(noted(AgentNote("x" * 400))[0]) == 300


MILL, POND = Location(3, "Mill"), Location(8, "Pond")


def played(number: int, after: Observation) -> TurnRecord:
    return TurnRecord(1, number, Observation(""), (Proposal("wait"),), (Verdict(accepted=True),), after)


def test_an_episode_is_counted_turn_by_turn() -> None:
    progress = EpisodeProgress(Observation("Hm.", MILL, score=0))
    scores = (5, 5, 0, 7)
    for number, score in enumerate(scores, 1):
        progress.count(played(number, Observation("Oh.", POND, score=score)), 0.5)
    assert (progress.turns, progress.seconds, progress.rooms) == (4, 2.0, {3, 8})
    assert (progress.latest.score, progress.best_score) == (7, 7)
    assert progress.new_bests == [NewBest(1, 5), NewBest(4, 7)]


def test_the_first_score_that_is_known_is_no_new_best() -> None:
    progress = EpisodeProgress(Observation("Hm."))
    assert (progress.best_score, progress.rooms) == (None, set())
    progress.count(played(1, Observation("Oh.", score=5)), 1.0)
    progress.count(played(2, Observation("Hm.")), 1.0)
    assert (progress.best_score, progress.new_bests) == (5, [])

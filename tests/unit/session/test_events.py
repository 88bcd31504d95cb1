"""What an event tells of where a run is."""

from __future__ import annotations

from session.events import EpisodeEnded, EpisodeStarted, RunMoment, TurnPlayed, moment_of, observation_in
from session.values import Observation, Proposal, TurnRecord, Verdict

OPENING, AFTER = Observation("A mill."), Observation("A yard.")
STARTED = EpisodeStarted(3, 1, OPENING)
PLAYED = TurnPlayed(TurnRecord(3, 7, OPENING, (Proposal("north"),), (Verdict(accepted=True),), AFTER), 0.1)
ENDED = EpisodeEnded(3, "left", 7, None, None, None, 0, 0.1)


def test_an_episode_begins_at_turn_0_and_a_turn_leads_to_itself() -> None:
    assert moment_of(STARTED) == RunMoment(3, 0)
    assert moment_of(PLAYED) == RunMoment(3, 7)
    assert moment_of(ENDED) is moment_of(None) is None


def test_the_story_shows_something_at_its_opening_and_after_each_turn() -> None:
    assert observation_in(STARTED) is OPENING
    assert observation_in(PLAYED) is AFTER
    assert observation_in(ENDED) is observation_in(None) is None

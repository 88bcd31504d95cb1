"""What an episode comes to is counted from its opening and its turns alone."""

from __future__ import annotations

from session.game_state import EpisodeProgress, NewBest
from session.values import Location, Observation, Proposal, TurnRecord, Verdict

MILL, POND = Location(3, "Mill"), Location(8, "Pond")


def turn(number: int, after: Observation) -> TurnRecord:
    return TurnRecord(1, number, Observation(""), (Proposal("wait"),), (Verdict(accepted=True),), after)


def test_an_episode_is_counted_turn_by_turn() -> None:
    progress = EpisodeProgress(Observation("Hm.", MILL, score=0))
    scores = (5, 5, 0, 7)
    for number, score in enumerate(scores, 1):
        progress.count(turn(number, Observation("Oh.", POND, score=score)), 0.5)
    assert (progress.turns, progress.seconds, progress.rooms) == (4, 2.0, {3, 8})
    assert (progress.latest.score, progress.best_score) == (7, 7)
    assert progress.new_bests == [NewBest(1, 5), NewBest(4, 7)]


def test_the_first_score_that_is_known_is_no_new_best() -> None:
    progress = EpisodeProgress(Observation("Hm."))
    assert (progress.best_score, progress.rooms) == (None, set())
    progress.count(turn(1, Observation("Oh.", score=5)), 1.0)
    progress.count(turn(2, Observation("Hm.")), 1.0)
    assert (progress.best_score, progress.new_bests) == (5, [])

from __future__ import annotations

import pytest

from game_interface.core.status.inference import ToldScore, told_score


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("You have so far scored 5 out of a possible 150, in 8 turns, giving you the rank of novice.", (5, 150)),
        ("Your score is 0 (total of 350 points), in 12 moves.", (0, 350)),
        ("Your score is 10 (out of 600 total points).", (10, 600)),
        ("Your score would be 5 points out of 150.", (5, 150)),
        ("You have scored -10 points out of 430, in 12 moves.", (-10, 430)),
        ("Your score is 0 out of a total of 400 points.", (0, 400)),
        ("Score: 5/100", (5, 100)),
        ("You have 3 of 7 points.", (3, 7)),
        ("Your score is 32, and it is 9:45.", (32, None)),
        ("Your score so far: 12", (12, None)),
        ("In that game you scored 0 out of a possible 0, in 59 turns.", (None, 0)),
        ("There is no score in this story.", (None, 0)),
        ("This story does not keep a score.", (None, 0)),
        ("You can't do that in the 3 seconds that you have.", (None, None)),
        ("It is 9:45 and 2 of 3 doors are open.", (None, None)),
    ],
)
def test_the_figures_of_an_answer_are_read_only_where_it_speaks_of_a_score(
    answer: str, told: tuple[int | None, int | None]
) -> None:
    assert told_score(answer) == ToldScore(*told)

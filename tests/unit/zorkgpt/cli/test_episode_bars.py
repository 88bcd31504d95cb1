"""The bars at the end of a run: points, the turn of the last point and the cost of each episode."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from session.events import EpisodeStarted, Event
from session.game_configuration import GameConfiguration
from tests.fixtures.run_events import answered
from tests.unit.zorkgpt.report.dye_runs import SEEN, played, turn, write_run
from zorkgpt.cli.episode_bars import episode_bars
from zorkgpt.cli.terminal import PLAIN
from zorkgpt.report.figures import figures_of
from zorkgpt.report.played_run import read_run

PRICED = GameConfiguration.model_validate({"prices": {"m": {"input": 1000.0, "output": 0.0}}})


def episode(number: int, *scores: int | None, model: str = "") -> list[Event]:
    """An episode with that score at its opening and after each turn, and a call of the model if one is named."""
    opening, *others = scores
    calls: list[Event] = [replace(answered(), model=model, prompt_tokens=2000)] if model else []
    turns = [played(turn(at, "pull chain", score=score)) for at, score in enumerate(others, start=1)]
    return [EpisodeStarted(number, 1, replace(SEEN, score=opening)), *calls, *turns]


def lines(
    tmp_path: Path, *episodes: list[Event], configuration: GameConfiguration | None = None, columns: int = 80
) -> list[str]:
    tmp_path.mkdir(exist_ok=True)
    run = read_run(write_run(tmp_path, chain(*episodes)))
    return episode_bars(run.episodes, figures_of(run).episodes, configuration or GameConfiguration(), columns)


def test_each_episode_has_a_bar_with_its_points_and_when_the_last_one_was_won(tmp_path: Path) -> None:
    shown = lines(tmp_path, episode(1, 0, 0, 10, 10), episode(2, 0, 0), episode(3, 0, 20, 40))
    assert shown == [
        f"episode 1  {'█' * 5:<20}  10 points after 2 turns",
        f"episode 2  {'':<20}  0 points",
        f"episode 3  {'█' * 20}  40 points after 2 turns",
    ]
    assert "".join(shown).encode("ascii", PLAIN).count(b"#") == 25


def test_an_unknown_score_is_no_number_and_points_that_were_lost_are_named(tmp_path: Path) -> None:
    unknown, lost, given = lines(tmp_path, episode(1, None, None), episode(2, 0, 20, 5), episode(3, 7, 7))
    assert unknown.split() == ["episode", "1", "points", "unknown"]
    assert lost.endswith("  5 points at the end, 20 after 1 turn")
    assert given.endswith("  7 points")


def test_a_score_below_zero_has_no_bar_and_the_smallest_gain_has_one(tmp_path: Path) -> None:
    below, least, _ = lines(tmp_path, episode(1, 0, -10), episode(2, 0, 1), episode(3, 0, 900))
    assert ("█" in below, below.split("  ")[-1]) == (False, "-10 points")
    assert least.count("█") == 1


def test_the_cost_is_in_tokens_and_in_dollars_if_the_price_is_known(tmp_path: Path) -> None:
    priced, free = lines(tmp_path, episode(1, 0, 1, model="m"), episode(2, 0, 1), configuration=PRICED)
    assert priced.endswith(", $2.0000")
    assert " tokens, $" in priced
    assert free.endswith(" after 1 turn")
    remote = PRICED.llm.model_copy(update={"base_url": "https://models.example/v1"})
    unknown = PRICED.model_copy(update={"llm": remote})
    both = [*episode(1, 0, 1, model="m"), *episode(1, 0, 1, model="other")[1:]]
    partly, wholly = lines(tmp_path / "unpriced", both, episode(2, 0, 1, model="other"), configuration=unknown)
    assert partly.endswith(" tokens, $2.0000 and 1 call of unknown price")
    assert wholly.endswith(" tokens")
    mixed = [*episode(1, 0, 1, model="m"), answered("m")]
    some, _ = lines(tmp_path / "uncounted", mixed, episode(2, 0, 1), configuration=PRICED)
    assert " tokens and 1 call of unknown count, $" in some


def test_a_single_episode_needs_no_comparison(tmp_path: Path) -> None:
    assert lines(tmp_path, episode(1, 0, 10)) == []


@pytest.mark.parametrize("columns", [80, 50, 30])
def test_lines_fit_the_terminal_as_long_as_their_words_do(tmp_path: Path, columns: int) -> None:
    shown = lines(tmp_path, *(episode(number, 0, 10) for number in range(1, 200)), columns=columns)
    assert max(map(len, shown)) <= max(columns, len("episode 199    10 points after 1 turn"))
    assert len(shown) == 13
    assert shown[4] == "and 187 episodes between these"
    assert [shown[0][:11].strip(), shown[-1][:11]] == ["episode 1", "episode 199"]

"""What a run came to, from journals written by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from session.errors import StoreError
from session.events import Event, RunEnded
from session.files.journal import JOURNAL_FILE
from tests.fixtures.run_events import answered
from tests.unit.zorkgpt.report.dye_runs import ended, played, started, turn, write_run
from zorkgpt.ablation.comparison import compare_all
from zorkgpt.ablation.measures import SCORES, RunMeasures, finished_run, measure, share, turns_to


def scoring(*scores: int) -> list[Event]:
    """An episode of as many turns, with the score after each."""
    record = turn(1, "wait", score=scores[0])
    records = [record]
    for number, score in enumerate(scores[1:], start=2):
        record = turn(number, "wait", record.after, score=score)
        records.append(record)
    return [started(), *(played(each) for each in records), ended(), RunEnded(1)]


def measured(workdir: Path, *events: Event, arm: str = "full") -> RunMeasures:
    return measure(write_run(workdir / arm, events), "dyeworks", arm, 1)


def test_what_is_learnt_after_a_turn_takes_time_too(tmp_path: Path) -> None:
    calls = [
        answered(role=role, seconds=seconds) for role, seconds in (("agent", 1.0), ("memory", 4.0), ("analysis", 8))
    ]
    run = measured(tmp_path, started(), *calls, played(turn(1, "wait"), seconds=1.5), ended(), RunEnded(1))
    assert run.seconds == 13.5


@pytest.mark.parametrize("line", [1, 2])
def test_a_journal_that_somebody_changed_is_not_measured(tmp_path: Path, line: int) -> None:
    folder = write_run(tmp_path, scoring(0, 5))
    journal = folder / JOURNAL_FILE
    lines = journal.read_bytes().split(b"\n")
    lines[line] = lines[line].replace(b'"event":', b'"event" :')
    journal.write_bytes(b"\n".join(lines))
    assert finished_run(tmp_path) == folder
    with pytest.raises(StoreError, match=rf"journal.jsonl:{line + 1}: .* plays it again"):
        measure(folder, "dyeworks", "full", 1)


def test_who_goes_on_to_a_higher_score_is_not_slower_for_it(tmp_path: Path) -> None:
    runs = [
        measured(tmp_path, *scoring(0, 5, 5, 5, 10), arm="full"),
        measured(tmp_path, *scoring(0, 0, 0, 5), arm="other"),
    ]
    assert [run.turns_to_best for run in runs] == [5, 4]
    (found,) = (each for each in compare_all(runs, None) if each.measure == "turns to best")
    assert found.difference == 2 - 4


def test_a_score_that_was_never_won_takes_no_turns(tmp_path: Path) -> None:
    run = measured(tmp_path, *scoring(0, 0))
    assert (run.turns_to_best, turns_to(5, run.episodes), turns_to(None, run.episodes)) == (None, None, None)


def test_scores_are_told_in_shares_of_what_the_story_holds_where_that_is_known(tmp_path: Path) -> None:
    run = measured(tmp_path, *scoring(0, 5))
    assert (run.score, run.max_score) == (5, 50)
    assert [share(run, measure) for measure in SCORES] == [10] * 4
    assert share(replace(run, max_score=None), "score") is None


def test_a_storys_own_word_stands_above_the_users(tmp_path: Path) -> None:
    folder = write_run(tmp_path, scoring(0, 5))
    assert measure(folder, "dyeworks", "full", 1, max_score=7).max_score == 50

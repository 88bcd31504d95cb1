"""A run that has used up what it may pauses, and goes on as if it had not once it may use more."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.events import Event, ModelAnswered, RunPaused
from session.files.journal import read_journal
from session.files.run_folders import find_run
from tests.fixtures.doomed_run import STORY
from tests.fixtures.prompted_run import TOKENS, play_prompted, resume_with
from tests.fixtures.run_traces import files_of, journal_of
from tests.fixtures.whole_run import verify_run


@pytest.fixture(scope="module")
def unlimited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a run that may use what it likes."""
    folder = tmp_path_factory.mktemp("unlimited")
    play_prompted(STORY, folder)
    return folder


def calls_before(events: list[Event], role: str) -> int:
    """How many calls the run has made when it makes one in the middle of those in that role."""
    roles = [event.role for event in events if isinstance(event, ModelAnswered)]
    places = [place for place, asked in enumerate(roles) if asked == role]
    return places[len(places) // 2]


@pytest.mark.parametrize(
    "role", ["agent", "memory", *(pytest.param(role, marks=pytest.mark.slow) for role in ("critic", "analysis"))]
)
def test_a_run_whose_tokens_are_spent_in_any_call_goes_on_to_the_same_journal(
    tmp_path: Path, unlimited: Path, role: str
) -> None:
    limit = calls_before(journal_of(unlimited), role) * TOKENS
    paused = play_prompted(STORY, tmp_path, budgets={"max_tokens": limit})
    assert paused.end == "paused"
    assert isinstance(paused.events[-1], RunPaused)
    assert paused.events[-1].reason == f"max-tokens {limit} reached: {limit} spent"
    resumed = resume_with(STORY, tmp_path, budgets={})
    assert resumed.end == "done"
    assert journal_of(tmp_path)[1:] == journal_of(unlimited)[1:]
    assert files_of(tmp_path) == files_of(unlimited)
    assert verify_run(STORY, tmp_path).difference is None


def test_what_was_spent_before_counts_after_every_resumption_and_no_answer_is_paid_for_twice(
    tmp_path: Path, unlimited: Path
) -> None:
    limit = 20 * TOKENS
    play_prompted(STORY, tmp_path, budgets={"max_tokens": limit})
    for _ in range(2):
        again = resume_with(STORY, tmp_path)
        assert isinstance(again.events[-1], RunPaused)
        assert again.events[-1].reason == f"max-tokens {limit} reached: {limit} spent"
    more = resume_with(STORY, tmp_path, budgets={"max_tokens": 2 * limit})
    assert isinstance(more.events[-1], RunPaused)
    assert more.events[-1].reason == f"max-tokens {2 * limit} reached: {2 * limit} spent"
    answered = [line for line in read_journal(find_run(tmp_path)) if isinstance(line.event, ModelAnswered)]
    assert len(answered) * TOKENS == 2 * limit
    assert resume_with(STORY, tmp_path, budgets={}).end == "done"
    assert journal_of(tmp_path)[1:] == journal_of(unlimited)[1:]

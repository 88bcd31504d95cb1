"""Every run is listed, in any state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from session.errors import StoreError
from session.events import Event, RunEnded, RunPaused
from session.files.journal import JOURNAL_FILE, read_journal
from session.files.run_folders import SharedFiles, claimed, make_checkpoint
from session.values import Observation
from tests.fixtures.rewritten_journal import rewrite
from tests.fixtures.run_events import answered
from tests.unit.zorkgpt.report.dye_runs import SEEN, ended, played, started, turn, write_run
from zorkgpt.report.run_summary import KILLED, summarise

EPISODE: list[Event] = [started(), played(turn(1, "dip banner", score=5)), played(turn(2, "wait", score=2)), ended()]


def test_a_run_that_was_played_to_its_end_is_done(tmp_path: Path) -> None:
    events = [*EPISODE, started(2), played(turn(1, "wait", episode=2)), ended(2), RunEnded(2)]
    run = summarise(write_run(tmp_path, events))
    assert (run.state, run.reason) == ("done", "")
    assert (run.episodes, run.planned, run.turns) == (2, 2, 3)
    assert (run.best_score, run.max_score) == (5, 50)


def test_a_run_is_paused_until_it_goes_on(tmp_path: Path) -> None:
    paused = [*EPISODE[:2], RunPaused("max-tokens 5 reached", episode=1, turns=1)]
    run = summarise(write_run(tmp_path, paused))
    assert (run.state, run.reason, run.episodes) == ("paused", "max-tokens 5 reached", 0)
    assert summarise(write_run(tmp_path / "on", [*paused, *EPISODE[2:]])).state == "killed"


def test_a_killed_run_is_listed_with_what_it_got_to_and_is_not_killed_while_it_is_played(tmp_path: Path) -> None:
    folder = write_run(tmp_path, EPISODE[:3])
    journal = folder / JOURNAL_FILE
    journal.write_bytes(journal.read_bytes()[:-40])
    run = summarise(folder)
    assert (run.state, run.reason) == ("killed", KILLED)
    assert (run.turns, run.best_score) == (1, 5)
    with claimed(folder):
        assert (summarise(folder).state, summarise(folder).reason) == ("playing", "")


def test_a_run_of_which_nothing_was_written_was_killed(tmp_path: Path) -> None:
    run = summarise(write_run(tmp_path, []))
    assert (run.state, run.turns, run.best_score, run.tokens) == ("killed", 0, None, None)


@pytest.mark.parametrize("seq", [2, 3])
def test_a_journal_that_ends_before_a_checkpoint_was_truncated(tmp_path: Path, seq: int) -> None:
    run = write_run(tmp_path, [started(), played(turn(1, "up"))])
    make_checkpoint(run, seq, "", SharedFiles(tmp_path, ()))
    assert summarise(run).state == ("killed" if seq == 2 else "damaged")


@pytest.mark.parametrize(
    ("turns", "change"),
    [
        (1, lambda lines: [*lines[:2], lines[2].replace(b"wait", b"dive"), *lines[3:]]),
        (1, lambda lines: [*lines[:2], lines[2][:-3] + (b'1"}' if lines[2].endswith(b'0"}') else b'0"}'), *lines[3:]]),
        (1, lambda lines: [*lines[:2], *lines[3:]]),
        (0, lambda lines: [lines[0], lines[2], lines[1], *lines[3:]]),
        (2, lambda lines: [*lines[:4], lines[4].replace(b"run_ended", b"run_Ended")]),
    ],
    ids=["edited", "another sum", "left out", "swapped", "the last one edited"],
)
def test_a_line_that_was_changed_makes_a_run_damaged_and_the_turns_before_it_count(
    tmp_path: Path, turns: int, change: Callable[[list[bytes]], list[bytes]]
) -> None:
    folder = write_run(tmp_path, [*EPISODE, RunEnded(1)])
    journal = folder / JOURNAL_FILE
    lines = journal.read_bytes().split(b"\n")[:-1]
    journal.write_bytes(b"".join(line + b"\n" for line in change(lines)))
    with pytest.raises(StoreError) as refusal:
        list(read_journal(folder))
    run = summarise(folder)
    assert (run.state, run.reason, run.turns) == ("damaged", str(refusal.value), turns)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("manifest.json", None, "cannot read"),
        ("manifest.json", b"{}", "is not a manifest"),
        (JOURNAL_FILE, None, "cannot read"),
        (JOURNAL_FILE, b'{"v": 99, "event": {"kind": "turn_played"}}\n', "version 99"),
    ],
)
def test_a_run_with_a_file_that_is_missing_or_not_understood_is_damaged(
    tmp_path: Path, name: str, content: bytes | None, reason: str
) -> None:
    folder = write_run(tmp_path, EPISODE)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    run = summarise(folder)
    assert (run.state, run.run_id) == ("damaged", folder.name)
    assert reason in run.reason
    assert (run.story, run.planned) == (("", None) if name == "manifest.json" else ("dyeworks", 2))


def test_tokens_are_those_of_prompts_and_answers_and_half_a_surrogate_pair_is_no_damage(tmp_path: Path) -> None:
    calls = [
        answered(prompt=100, cached=90, completion=7, answer={"action": "say \ud83d"}),
        answered(role="memory", prompt=20, completion=3),
    ]
    run = summarise(write_run(tmp_path, [started(), *calls]))
    assert (run.state, run.tokens) == ("killed", 130)


def test_a_kind_of_event_that_is_not_known_is_passed_over(tmp_path: Path) -> None:
    folder = write_run(tmp_path, EPISODE[:2])
    rewrite(folder, lambda line: {**line, "event": {"kind": "moon_rose"}} if line["seq"] == 1 else line)
    assert (summarise(folder).turns, summarise(folder).state) == (1, "killed")


@pytest.mark.parametrize(("opening", "best"), [(Observation("Steam."), None), (replace(SEEN, score=10), 10)])
def test_the_best_score_counts_openings_and_is_none_without_points(
    tmp_path: Path, opening: Observation, best: int | None
) -> None:
    run = summarise(write_run(tmp_path, [started(opening=opening), played(turn(1, "wait", opening))]))
    assert run.best_score == best


def test_a_maximum_that_was_known_once_is_not_forgotten(tmp_path: Path) -> None:
    known, unknown = replace(SEEN, score=5, max_score=50), replace(SEEN, score=6, max_score=None)
    run = summarise(write_run(tmp_path, [started(opening=known), played(turn(1, "wait", unknown))]))
    assert (run.best_score, run.max_score) == (6, 50)

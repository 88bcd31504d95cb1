"""The files of a run folder beside its journal, and how a run is chosen."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from session.errors import StoreError
from session.events import RunPaused
from session.files.journal import Journal, Manifest, new_run_id, read_journal
from session.files.run_folders import (
    claimed,
    digests_at_start,
    find_run,
    is_claimed,
)
from session.game_configuration import BudgetOptions
from session.resolved_configuration import keep_budgets, kept_budgets
from tests.fixtures.run_events import turn_played

PLAY = """
import sys
from pathlib import Path
from session.files.run_folders import claimed
with claimed(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


MANIFEST: dict[str, Any] = {
    "run_id": "20260131-184500-1a2b",
    "created": "2026-01-31T18:45:00Z",
    "command": ("zorkgpt", "run"),
    "configuration": {},
    "story": "lock",
    "story_path": "lock.z5",
    "story_sha256": "5" * 64,
    "seeds": (1,),
    "first_episode": 1,
    "model": "scripted",
    "versions": {},
    "assistance": (),
}


class TestBudgets:
    def test_a_run_that_was_never_resumed_has_kept_none(self, tmp_path: Path) -> None:
        assert kept_budgets(tmp_path) is None

    def test_those_of_the_latest_resumption_hold(self, tmp_path: Path) -> None:
        for tokens in (5000, 9000):
            keep_budgets(tmp_path, BudgetOptions(max_tokens=tokens))
        assert kept_budgets(tmp_path) == BudgetOptions(max_tokens=9000)
        assert '\n "max_tokens": 9000' in (tmp_path / "budgets.json").read_text()

    @pytest.mark.parametrize(
        ("content", "complaint"), [('{"max_tokens": "many"}', "max_tokens: "), ("[]", "it: "), ("{", "it: ")]
    )
    def test_a_broken_file_is_named_with_the_place(self, tmp_path: Path, content: str, complaint: str) -> None:
        path = tmp_path / "budgets.json"
        path.write_text(content)
        with pytest.raises(StoreError, match=f"^{re.escape(f'{path} holds no budgets: {complaint}')}"):
            kept_budgets(tmp_path)


class TestWhoPlays:
    def test_nobody_where_the_run_was_never_played_or_is_left(self, tmp_path: Path) -> None:
        assert not is_claimed(tmp_path)
        with claimed(tmp_path):
            pass
        assert not is_claimed(tmp_path)

    def test_another_process_while_it_plays(self, tmp_path: Path) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", PLAY, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as player:
            assert player.stdout is not None
            player.stdout.readline()
            assert is_claimed(tmp_path)
            with (
                pytest.raises(StoreError, match=f"run {tmp_path.name} is being played by another process"),
                claimed(tmp_path),
            ):
                pass
            player.communicate()
        assert not is_claimed(tmp_path)


class TestWhichRun:
    def test_without_a_name_it_is_the_newest_that_has_a_manifest(self, tmp_path: Path) -> None:
        for run in ("20260131-184500-1a2b", "20260302-091500-9f9f", "20260303-000000-0000"):
            (tmp_path / "runs" / run).mkdir(parents=True)
            if not run.endswith("-0000"):
                (tmp_path / "runs" / run / "manifest.json").touch()
        assert find_run(tmp_path) == tmp_path / "runs" / "20260302-091500-9f9f"

    def test_without_a_name_it_is_not_one_without_a_turn_that_nobody_plays(self, tmp_path: Path) -> None:
        played, unplayed = "20260131-184500-1a2b", "20260302-091500-9f9f"
        for run in (played, unplayed):
            journal = Journal.create(tmp_path / "runs", Manifest(**MANIFEST | {"run_id": run}))
            journal.append(turn_played(1.0) if run == played else RunPaused("no connection", 1, 0))
            journal.close()
        assert find_run(tmp_path).name == played
        with claimed(tmp_path / "runs" / unplayed):
            assert find_run(tmp_path).name == unplayed
        rmtree(tmp_path / "runs" / played)
        assert find_run(tmp_path).name == unplayed

    def test_without_a_name_and_without_a_run_it_is_said_where_none_is(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match=f"^there is no run yet in {tmp_path / 'runs'}$"):
            find_run(tmp_path)

    def test_its_id_is_the_time_to_the_second_and_four_digits(self) -> None:
        assert re.fullmatch(r"20\d{6}-\d{6}-[0-9a-f]{4}", new_run_id())


class TestTheStart:
    def test_the_manifest_and_the_copies_are_known_by_their_digests(self, tmp_path: Path) -> None:
        files = {"manifest.json": b"{}", "start/Memories.md": b"# M", "start/lexicon.json": b""}
        (tmp_path / "start").mkdir()
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        assert digests_at_start(tmp_path) == {name: sha256(content).hexdigest() for name, content in files.items()}

    def test_what_cannot_be_read_is_said_with_the_reason(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match=f"cannot read what {tmp_path} keeps of its start: No such file"):
            digests_at_start(tmp_path)


class TestTheJournal:
    def test_one_of_which_nothing_is_whole_begins_anew(self, tmp_path: Path) -> None:
        (tmp_path / "journal.jsonl").write_bytes(b'{"v": 2, "se')
        journal = Journal.reopen(tmp_path, list(read_journal(tmp_path)), None)
        journal.append(turn_played(1.0))
        journal.close()
        assert [line.event for line in read_journal(tmp_path)] == [turn_played(1.0)]

    def test_it_is_no_program(self, tmp_path: Path) -> None:
        Journal(tmp_path).close()
        assert not (tmp_path / "journal.jsonl").stat().st_mode & 0o111

    def test_one_that_is_a_pipe_is_refused_and_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "journal.jsonl")
        with pytest.raises(StoreError, match=r"not a regular file|No such device"):
            Journal(tmp_path)

    def test_a_new_run_is_for_its_user_alone(self, tmp_path: Path) -> None:
        journal = Journal.create(tmp_path, Manifest(**MANIFEST))
        journal.close()
        modes = {path.name: path.stat().st_mode & 0o777 for path in (journal.folder, journal.folder / "manifest.json")}
        assert modes == {"20260131-184500-1a2b": 0o700, "manifest.json": 0o600}

    def test_one_that_is_missing_is_named_with_the_reason(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match=f"^cannot read {tmp_path / 'journal.jsonl'}: No such file or directory$"):
            list(read_journal(tmp_path))

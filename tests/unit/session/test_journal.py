"""The journal gives back what was put in, and survives being cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.errors import StoreError
from session.events import EpisodeStarted, Event, RunPaused, TurnPlayed
from session.journal import Journal, Manifest, new_run_id, read_journal, read_manifest
from session.values import GameObject, Location, Observation, Proposal, Reading, TurnRecord, Verdict

LAMP = GameObject(7, "brass lamp", parent=3, attributes=frozenset({2, 17}))
BEFORE = Observation("Cellar\n“Dark.”", Location(3, "Cellar"), (), (LAMP,), 0, 100, 4, "00c0ffee")
AFTER = Observation("Taken.", Location(3, "Cellar"), (LAMP,), (), -10, 100, 5, "deadbeef", died=True, ending="lost")
RECORD = TurnRecord(
    episode=2,
    turn=5,
    before=BEFORE,
    proposals=(Proposal("save"), Proposal("take lamp", "It is dark.", Reading(True, ("up",)))),
    verdicts=(Verdict(False, "no saving", "parser"), Verdict(True)),
    after=AFTER,
)
EVENTS: list[Event] = [
    EpisodeStarted(2, 7, BEFORE),
    TurnPlayed(RECORD, 0.25),
    RunPaused("out of money: \u2028 5 €"),
]


def manifest() -> Manifest:
    return Manifest(
        run_id=new_run_id(),
        created="2026-01-01T00:00:00Z",
        command=("zorkgpt", "run"),
        configuration={"max_turns_per_episode": 5},
        story="story.z5",
        story_sha256="0" * 64,
        seeds=(1, 2),
        model="scripted",
        versions={"python": "3"},
        assistance=(),
    )


def journaled(runs: Path) -> Path:
    """The journal of a run with the three events."""
    journal = Journal.create(runs, manifest())
    for event in EVENTS:
        journal.append(event)
    journal.close()
    return journal.folder / "journal.jsonl"


def test_what_was_appended_is_read_back_equal_and_in_order(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, manifest())
    for event in EVENTS:
        journal.append(event)
    journal.close()
    lines = list(read_journal(journal.folder))
    assert [line.event for line in lines] == EVENTS
    assert [line.seq for line in lines] == [1, 2, 3]


def test_an_event_is_in_the_file_before_append_returns(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, manifest())
    journal.append(EVENTS[0])
    assert [line.event for line in read_journal(journal.folder)] == EVENTS[:1]
    journal.close()


@pytest.mark.parametrize("cut", [1, 40])
def test_a_line_cut_off_by_a_kill_is_left_out(tmp_path: Path, cut: int) -> None:
    path = journaled(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    assert [line.event for line in read_journal(path.parent)] == EVENTS[:2]


def test_a_line_that_was_tampered_with_is_named(tmp_path: Path) -> None:
    path = journaled(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"turn": 5', b'"turn": "five"'))
    with pytest.raises(StoreError, match=r"journal\.jsonl:2"):
        list(read_journal(path.parent))


def test_an_event_of_a_kind_that_is_not_known_is_none_and_the_others_are_read(tmp_path: Path) -> None:
    path = journaled(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"turn_played", b"turn_dreamt"))
    assert [line.event for line in read_journal(path.parent)] == [EVENTS[0], None, EVENTS[2]]


def test_a_line_of_another_version_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = journaled(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'{"v": 1, "seq": 3', b'{"v": 2, "seq": 3'))
    with pytest.raises(StoreError, match=r"journal\.jsonl:3: version 2 of the journal; 1 is known"):
        list(read_journal(path.parent))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_store_error_and_leaves_nothing_to_fail_when_closed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "journal.jsonl").symlink_to("/dev/full")
    journal = Journal(folder)
    with pytest.raises(StoreError, match=r"cannot write the journal in .*: No space left"):
        journal.append(EVENTS[0])
    journal.close()


def test_the_manifest_is_read_back_equal(tmp_path: Path) -> None:
    written = manifest()
    journal = Journal.create(tmp_path, written)
    journal.close()
    assert read_manifest(journal.folder) == written


def test_a_run_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match="cannot make the run folder"):
        Journal.create(tmp_path / "runs", manifest())


def test_run_ids_do_not_repeat() -> None:
    assert len({new_run_id() for _ in range(50)}) == 50


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[]"])
def test_a_missing_or_broken_manifest_is_one_clear_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(StoreError, match="manifest"):
        read_manifest(tmp_path)

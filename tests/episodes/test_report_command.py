"""``zorkgpt report`` as typed: a page for every run, in any state."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from session.events import ModelAnswered, ModelFailed, TurnPlayed
from session.files.journal import JOURNAL_FILE, read_journal
from session.files.run_folders import find_run
from session.text import text_key
from tests.fixtures.misbehaving_server import MisbehavingServer, Streams
from tests.fixtures.prompted_run import play_prompted
from tests.fixtures.recorded_run import RECORDED
from tests.fixtures.report_data import calls_of, command_of, data_in, is_played, seen_in, text_of
from tests.fixtures.rewritten_journal import asked_differently
from tests.fixtures.troubled_server import Answers
from tests.fixtures.typed_command import typed

pytestmark = pytest.mark.usefixtures("in_own_folder")


def copied() -> Path:
    """A copy of the recorded work folder in the current one; its run folder."""
    shutil.copytree(RECORDED, "work")
    (run,) = Path("work/runs").iterdir()
    return run


def reported(run: Path, own_story: Path) -> dict[str, Any]:
    """The content of the run's page."""
    shown = typed("report", str(run), "-o", "page.html", "--game", str(own_story))
    assert shown.status == 0, shown
    (told,) = data_in(Path("page.html").read_text(encoding="utf-8"))["runs"]
    assert [f"Run {run.name}: {note['text']}" for note in told["notes"]] == shown.text.splitlines()[:-1]
    return dict(told)


def test_every_call_has_the_prompt_of_its_checksum_and_all_changes_come_to_what_was_known_at_the_end(
    own_story: Path,
) -> None:
    run = copied()
    told = reported(run, own_story)
    events = [line.event for line in read_journal(run)]
    asked = [event for event in events if isinstance(event, ModelAnswered | ModelFailed)]
    calls = [call for turn in told["turns"] for call in calls_of(turn)]
    assert (told["prompts"], told["notes"], told["learned_known"]) == ("rebuilt", [], True)
    assert sorted(call["event"]["prompt_sha256"] for call in calls) == sorted(event.prompt_sha256 for event in asked)
    for call in calls:
        prompt = "\x00".join(text_of(call["prompt"][part], told["lines"]) for part in ("system", "user"))
        assert (call["prompt"]["agrees"], sha256(prompt.encode()).hexdigest()) == (True, call["event"]["prompt_sha256"])
    played = [command_of(turn) for turn in told["turns"] if turn["turn"]]
    assert played == [event.record.action for event in events if isinstance(event, TurnPlayed)]
    taught: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)

    def taken(item: dict[str, Any] | None) -> dict[str, Any] | None:
        """The item without its sources, of which a change has only the new ones; these are noted."""
        if item is None:
            return None
        taught[item["key"]] |= {
            (each, turn) for each, first, last in item["sources"] for turn in range(first, last + 1)
        }
        return {**item, "sources": None}

    known = {item["key"]: taken(item) for item in told["start"]}
    for change in (change for turn in told["turns"] for change in turn["changes"]):
        assert known.get(change["key"]) == taken(change["before"])
        known[change["key"]] = taken(change["after"])
    noted = dict(taught)
    taught.clear()
    assert [item for item in known.values() if item is not None] != []
    assert sorted(filter(None, known.values()), key=str) == sorted(map(taken, told["end"]), key=str)
    assert {key: noted[key] for key in taught} == taught
    assert {item["kind"] for item in told["end"]} == {"memory", "knowledge", "route", "objective"}
    read = {key for turn in told["turns"] for key in turn["read"]}
    assert {key.partition(":")[0] for key in read} == {"m", "k", "o", "r"}
    assert read <= {*known}


def test_a_memory_whose_line_had_to_be_cut_was_in_the_prompt_all_the_same(own_story: Path) -> None:
    work, title = Path("work"), "Steam burns " * 100
    played = play_prompted(own_story, work, turns=1)
    here = played.turns[0].before.location
    assert here is not None
    (work / "Memories.md").write_text(f"## Location {here.num}: Here\n**[NOTE - PERMANENT] {title.strip()}**\nSeen.\n")
    play_prompted(own_story, work, turns=1)
    told = reported(find_run(work), own_story)
    assert f"m:{here.num}:{text_key(title)}:1" in {key for turn in told["turns"] for key in turn["read"]}


def test_of_a_run_of_another_version_all_is_shown_but_the_prompts_that_are_others_now(own_story: Path) -> None:
    run = copied()
    asked_differently(run, call=9)
    told = reported(run, own_story)
    (note,) = told["notes"]
    assert "plays the run differently from here on" in note["text"]
    assert (told["prompts"], told["learned_known"]) == ("partly", False)
    assert any(item["kind"] == "memory" for item in told["end"])
    assert told["map"]["rooms"] != []
    agree = [call["prompt"] and call["prompt"]["agrees"] for turn in told["turns"] for call in calls_of(turn)]
    assert agree.count(False) == 1
    assert None in agree


def test_without_its_story_a_run_is_shown_without_prompts() -> None:
    run = copied()
    shown = typed("report", str(run), "--game", "gone.z5")
    (told,) = data_in(Path("report.html").read_text(encoding="utf-8"))["runs"]
    assert shown.status == 0
    assert "could not be repeated" in told["notes"][0]["text"]
    played = sum(isinstance(line.event, TurnPlayed) for line in read_journal(run))
    assert (told["prompts"], sum(turn["turn"] > 0 for turn in told["turns"])) == ("none", played)
    assert told["map"]["rooms"] != []


@pytest.mark.parametrize("harm", ["cut", "changed", "no copies"])
def test_of_a_damaged_run_what_can_be_shown_is_shown_and_the_rest_is_said(harm: str, own_story: Path) -> None:
    run = copied()
    whole = reported(run, own_story)["turns"]
    journal = run / JOURNAL_FILE
    lines = journal.read_bytes().splitlines(keepends=True)
    if harm == "no copies":
        shutil.rmtree(run / "end")
    else:
        rest = [lines[70][:100]] if harm == "cut" else [lines[70].replace(b'"event"', b'"tneve"', 1), *lines[61:]]
        journal.write_bytes(b"".join([*lines[:70], *rest]))
    told = reported(run, own_story)
    shown = [(command_of(turn), seen_in(turn)["text"]) for turn in told["turns"] if is_played(turn)]
    assert shown == [(command_of(turn), seen_in(turn)["text"]) for turn in whole][: len(shown)]
    assert len(shown) == len(whole) if harm == "no copies" else 10 < len(shown) < len(whole)
    assert (told["notes"] == []) == (harm == "no copies")
    assert told["prompts"] == "rebuilt"
    assert {call["prompt"]["agrees"] for turn in told["turns"] for call in calls_of(turn)} == {True}


def test_a_broken_file_of_a_run_that_cannot_be_repeated_is_named_and_left_as_it_is(own_story: Path) -> None:
    run = copied()
    asked_differently(run, call=9)
    broken = {run / "end" / name: text for name, text in (("map_state.json", '{"rooms": 1}'), ("routes.json", "[[["))}
    for path, text in broken.items():
        path.write_text(text)
    before = sorted(path for path in run.rglob("*"))
    told = reported(run, own_story)
    assert (told["map"], len(told["notes"])) == (None, 3)
    assert "map_state.json holds no map (rooms: " in told["notes"][-1]["text"]
    assert sorted(path for path in run.rglob("*")) == before
    assert {path: path.read_text() for path in broken} == broken


def test_without_a_manifest_there_is_an_error_in_one_line(own_story: Path) -> None:
    run = copied()
    (run / "manifest.json").write_text("{}")
    shown = typed("report", str(run), "--game", str(own_story))
    assert (shown.status, shown.err.count(b"\n")) == (1, 1)
    assert not Path("report.html").exists()


def test_two_runs_are_on_one_page(own_story: Path) -> None:
    run = copied()
    other = run.with_name("20260101-120000-abcd")
    shutil.copytree(run, other)
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps({**manifest, "run_id": other.name}))
    runs = [str(run), str(other)]
    shown = typed("report", *runs, "--game", str(own_story))
    told = data_in(Path("report.html").read_text(encoding="utf-8"))
    assert shown.text.splitlines()[-1].startswith("2 runs in report.html, 0.")
    assert [run["figures"]["run"]["run_id"] for run in told["runs"]] == [Path(run).name for run in runs]
    assert json.dumps(told)


def test_a_run_writes_its_report_at_its_end_with_the_answers_that_could_not_be_used() -> None:
    with MisbehavingServer(Streams(("Rather not.",)), Answers()) as server:
        options = ("--max-turns", "12", "--quiet", "--base-url", server.base_url, "--workdir", "work")
        shown = typed("run", "--report", *options)
    (run,) = Path("work/runs").iterdir()
    (told,) = data_in((run / "report.html").read_text(encoding="utf-8"))["runs"]
    assert shown.status == 0
    assert (told["figures"]["run"]["state"], told["prompts"], len(told["turns"])) == ("done", "rebuilt", 13)
    first, *others = [call["event"] for turn in told["turns"] for call in calls_of(turn)]
    assert (first["unusable"], first["requests"]) == (["Rather not."], 2)
    assert {(*call["unusable"], call["text"]) for call in others if call["role"] == "agent"} == {("",)}
    assert sum(use["retries"] for use in told["figures"]["usage"]) == 1
    assert not Path("report.html").exists()

"""``zorkgpt replay`` as typed: its three ways, its exit statuses, and what it shows of a difference."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from orchestration.learning import shared_files
from orchestration.run import SOURCE, other_versions, source_digest
from session.events import TurnPlayed
from session.files.journal import JOURNAL_FILE, read_journal, read_manifest
from session.files.run_folders import AT_START, find_run
from session.files.shared_files import FORKS
from session.game_configuration import GameConfiguration
from tests.fixtures.command_line import Ran, ran, ran_on_a_terminal
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.recorded_run import RECORDED
from tests.fixtures.rewritten_journal import tamper
from tests.fixtures.run_traces import contents_of
from tests.fixtures.typed_command import refused, typed
from zorkgpt.report.played_run import read_run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_own_folder")]  # each case starts the interpreter anew

TURNS = 4
EVIL = "\x1b]0;owned\x07 [b]x[/b] \x1b[31mred\r\u202e"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, server: MisbehavingServer) -> Path:
    """A folder with a run of two episodes in ``work``. No test changes it."""
    folder = tmp_path_factory.mktemp("recorded")
    command = ("run", "--max-turns", str(TURNS), "--episodes", "2", "--quiet", "--base-url", server.base_url)
    assert ran(folder, *command, "--workdir", "work").status == 0
    return folder


@pytest.fixture
def here(recorded: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(recorded, tmp_path / "here")


def replay(folder: Path, *arguments: str) -> Ran:
    return typed("replay", *arguments, "--workdir", str(folder / "work"))


def changed_turn(folder: Path, change: Callable[[dict[str, Any]], object]) -> int:
    """The second turn's record was changed, every sum made to fit; the line it is in."""
    run = find_run(folder / "work")
    second = [line.seq for line in read_journal(run) if isinstance(line.event, TurnPlayed)][1]
    tamper(run, second, lambda event: change(event["record"]))
    return second


@pytest.mark.parametrize("way", ["--verify", "--from-actions"])
def test_a_difference_is_shown_side_by_side_with_its_line_and_status_1(here: Path, way: str) -> None:
    line = changed_turn(here, lambda record: record["after"].update(text="The sky falls."))
    shown = replay(here, way)
    assert (shown.status, shown.err) == (1, b"")
    for part in (f"Line {line} of the journal", "The sky falls.", f"differs after 1 turn: line {line} of its journal"):
        assert part in shown.text
    assert "seconds" not in shown.text  # only what differs is shown


def test_a_run_that_would_go_on_differently_says_so_and_what_shows_it(here: Path) -> None:
    changed_turn(here, lambda record: record["after"].update(text="The sky falls."))
    run = find_run(here / "work")
    told = (
        f"run {run.name} cannot continue: with this version or these files it plays differently from "
        f"turn 2 of episode 1 on; zorkgpt replay {run} shows the difference\n"
    )
    forked = replay(here, "--fork-at", "1:3")
    assert (forked.status, forked.err.decode()) == (1, f"zorkgpt: {told}")
    lines = (run / JOURNAL_FILE).read_bytes().splitlines(keepends=True)
    (run / JOURNAL_FILE).write_bytes(b"".join(lines[:-1]))  # killed before its end
    shared_files(GameConfiguration(zork_game_workdir=here / "work")).restore_from(run / AT_START)
    resumed = typed("resume", "--workdir", str(here / "work"))
    assert (resumed.status, resumed.err.decode()) == (1, f"zorkgpt: {told}")


def test_in_a_difference_control_characters_are_escaped_and_long_words_are_whole(here: Path) -> None:
    changed_turn(here, lambda record: record["after"].update(text=f"{EVIL} {'x' * 300}y"))
    assert "x" * 300 + "y" in replay(here).text
    for shown in (replay(here, "--verify"), ran_on_a_terminal(here, "replay", "--workdir", "work")):
        assert shown.status == 1
        for run in (b"\x1b]0;", b"\x07", "\u202e".encode(), b"\x1b[31mred"):
            assert run not in shown.out
        assert b"[b]x[/b]" in shown.out
        assert b"Traceback" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--verify", "--from-actions"), 2, "choose one"),
        (("--without-memory", "X"), 2, "add --fork-at TURN"),
        (("--fork-at", "3"), 2, "--fork-at 3: the run has episodes 1 to 2; write EPISODE:TURN, as in 1:12"),
        (("--fork-at", "soon"), 2, "expected a turn such as 12, or 2:12"),
        (("--fork-at", "1:99"), 2, "the run has no turn 99 in episode 1; it has 8 turns in all"),
        (("--fork-at", "1:0"), 2, "the run has no turn 0 in episode 1"),
        (("--fork-at", "3:1"), 2, "--fork-at 3:1: the run has episodes 1 to 2"),
        (("--fork-at", "2:4"), 2, "the run ends with turn 4 of episode 2: choose an earlier one"),
        (
            ("--fork-at", "1:2", "--without-memory", "Never heard of"),
            2,
            "there is no memory with this title at that turn",
        ),
        (("no-such-run",), 1, "there is no run no-such-run"),
        (("--from-actions", "nosuch.txt"), 1, "; nor is there a file nosuch.txt"),
        (("--game", "nowhere.z5"), 2, "nowhere.z5"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_nothing_is_left_behind(
    recorded: Path, arguments: tuple[str, ...], status: int, message: str
) -> None:
    before = contents_of(recorded)
    assert message in refused(status, "replay", *arguments, "--workdir", str(recorded / "work"))
    assert contents_of(recorded) == before


def test_a_fork_is_played_in_a_folder_of_its_own_and_can_be_replayed_and_watched(
    here: Path, server: MisbehavingServer
) -> None:
    before = contents_of(here)
    shown = replay(here, "--fork-at", "1:2", "--base-url", server.base_url, "--json")
    assert shown.status == 0, shown
    started = json.loads(shown.out.splitlines()[0])
    (fork,) = (here / "work" / FORKS).iterdir()
    assert started["kind"] == "run_started"
    assert started["folder"].endswith(f"{FORKS}/{fork.name}/runs/{fork.name}")
    assert read_manifest(find_run(fork)).forked_from == find_run(here / "work").name
    assert {name: digest for name, digest in contents_of(here).items() if FORKS not in name} == before
    again = typed("replay", "--workdir", str(fork))
    assert again.text == f"Run {fork.name} of tidehouse is repeated exactly: 8 turns\n"


def test_a_fork_has_the_budget_it_is_given(here: Path) -> None:
    shown = replay(here, "--fork-at", "1:2", "--max-tokens", "10", "--quiet")
    assert shown.status == 1
    assert "max-tokens 10 reached: " in shown.text
    assert replay(here, "--max-tokens", "10").status == 2


def test_a_run_of_another_version_is_repeated_with_a_word_about_it(
    recorded: Path, own_story: Path, tmp_path: Path
) -> None:
    manifest = read_manifest(find_run(recorded / "work"))
    assert manifest.versions[SOURCE] == source_digest()
    assert other_versions(manifest) == ""
    other = manifest.model_copy(update={"versions": {**manifest.versions, SOURCE: "0" * 12}})
    assert "0" * 12 in other_versions(other)
    assert source_digest() in other_versions(other)
    unknown = manifest.model_copy(update={"versions": {}})
    assert "source unknown" in other_versions(unknown)
    earlier = shutil.copytree(RECORDED, tmp_path / "work")
    word = other_versions(read_manifest(find_run(earlier)))
    shown = typed("replay", "--from-actions", "--game", str(own_story), "--workdir", str(earlier))
    assert (shown.status, word in shown.err.decode()) == (0, True)


@pytest.mark.parametrize("way", ["--verify", "--from-actions"])
def test_another_score_than_the_expected_one_is_status_1(recorded: Path, way: str) -> None:
    score = read_run(find_run(recorded / "work")).episodes[-1].observations[-1].score
    assert score is not None
    assert replay(recorded, way, "--expect-score", str(score)).status == 0
    shown = replay(recorded, way, "--expect-score", str(score + 1))
    assert (shown.status, shown.text.splitlines()[-1]) == (1, f"The score is {score}; expected {score + 1}")
    assert replay(recorded, "--fork-at", "1:2", "--expect-score", "1").status == 2


def test_a_script_with_a_command_that_cannot_reach_the_story_is_status_1(tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    for commands, status in (("look\nxyzzy", 0), (f"look\n{'x' * 5000}", 1)):
        script.write_text(commands)
        shown = typed("replay", "--from-actions", str(script), "--workdir", str(tmp_path))
        assert shown.status == status, shown
    script.write_text("look")
    for score, status in ((0, 0), (7, 1)):
        arguments = ("--expect-score", str(score), "--workdir", str(tmp_path))
        assert typed("replay", "--from-actions", str(script), *arguments).status == status


def test_after_a_script_no_unknown_place_or_score_is_named(tmp_path: Path) -> None:
    (tmp_path / "script.txt").write_text("look")
    riddles = Path(__file__).parents[1] / "stories" / "riddles.z5"
    shown = typed("replay", "--from-actions", str(tmp_path / "script.txt"), "--game", str(riddles))
    assert shown.text.endswith("\n1 command played\n")


def test_a_script_may_be_a_pipe(tmp_path: Path, own_story: Path) -> None:
    script = tmp_path / "pipe"
    os.mkfifo(script)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(script.write_text, "north\nlook\n")
        shown = typed("replay", "--from-actions", str(script), "--game", str(own_story), "--workdir", str(tmp_path))
    assert (shown.status, "Forecourt" in shown.text) == (0, True)

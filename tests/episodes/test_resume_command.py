"""``zorkgpt resume`` as typed: which run it resumes, and the error line if it cannot."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from session.files.journal import JOURNAL_FILE
from session.files.run_folders import CHECKPOINTS, claimed, find_run
from session.resolved_configuration import BUDGETS
from tests.fixtures.command_line import Ran, environment, ran
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.run_traces import contents_of, journal_of
from tests.fixtures.typed_command import typed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_own_folder")]  # each case starts the interpreter anew

TURNS = 12


def play(folder: Path, server: MisbehavingServer, *options: str) -> Ran:
    command = ("run", "--max-turns", str(TURNS), "--quiet", "--base-url", server.base_url)
    return ran(folder, *command, "--workdir", "work", *options)


def resume(folder: Path, *arguments: str) -> Ran:
    return typed("resume", *arguments, "--workdir", str(folder / "work"), "--quiet")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, server: MisbehavingServer, own_story: Path) -> Path:
    """A folder with a copy of the story, and in ``work`` a run of it that has spent its budget. No test changes it."""
    folder = tmp_path_factory.mktemp("stopped")
    shutil.copyfile(own_story, folder / "copy.z5")
    shown = play(folder, server, "--game", "copy.z5", "--max-tokens", "25")
    assert shown.status == 1, shown
    return folder


@pytest.fixture
def here(stopped: Path, tmp_path: Path) -> Path:
    """A copy of that folder, whose run knows its story there."""
    return shutil.copytree(stopped, tmp_path / "here")


def refusal(shown: Ran, status: int = 1) -> str:
    """The error line of a command that cannot do its work."""
    assert shown.status == status, shown
    assert shown.out == b""
    (line,) = shown.lines
    assert line.startswith("zorkgpt: ")
    return line


def test_the_newest_run_goes_on_to_the_journal_of_one_that_never_stopped(
    here: Path, tmp_path: Path, server: MisbehavingServer
) -> None:
    shown = resume(here, "--max-tokens", "1000000")
    assert shown.status == 0, shown
    assert f"Resuming run {find_run(here / 'work').name}" in shown.text
    play(tmp_path, server, "--game", str(here / "copy.z5"))
    assert journal_of(here / "work")[2:] == journal_of(tmp_path / "work")[2:]
    assert b"is repeated exactly: 12 turns" in typed("replay", "--workdir", str(here / "work")).out


def test_the_commands_for_the_usual_work_folder_do_not_name_it(here: Path) -> None:
    (here / "work").rename(here / "game_files")
    shown = ran(here, "resume", "--max-tokens", "1000000")
    assert shown.status == 0, shown
    assert " report makes a page of this run for the browser." in shown.text


def recommended(shown: Ran) -> list[str]:
    """What to type after ``zorkgpt``, by the last line of a run that was paused."""
    assert shown.status == 1, shown
    line = shown.text.splitlines()[-1]
    assert line.startswith("To resume: ")
    words = shlex.split(line.removeprefix("To resume: "))
    return [*words[words.index("resume") :], "--quiet"]


def test_the_commands_that_a_spent_budget_recommends_lead_to_the_end(here: Path) -> None:
    shown = resume(here)
    for _ in range(4):
        if shown.status == 0:
            break
        (spent,) = re.findall(r"max-tokens \d+ reached: (\d+) spent", shown.text)
        option, limit, _ = recommended(shown)[-3:]
        assert option == "--max-tokens"
        assert int(limit) >= 2 * int(spent)
        shown = typed(*recommended(shown))
    assert shown.status == 0, shown


KEY = "sk-of-this-server"


def keys_sent(server: MisbehavingServer) -> set[str]:
    """The request headers with keys since the last look."""
    sent = {asked.headers.get("authorization", "") for asked in server.asked}
    server.asked.clear()
    return sent


@pytest.mark.parametrize("more", [{}, {"OPENAI_BASE_URL": "http://localhost:9/v1"}])
def test_what_run_was_given_the_run_goes_on_with_in_the_same_environment(
    tmp_path: Path, server: MisbehavingServer, more: dict[str, str]
) -> None:
    keyed = environment(OPENAI_API_KEY=KEY, **more)
    command = ("run", "--max-turns", str(TURNS), "--quiet", "--base-url", server.base_url)
    paused = ran(tmp_path, *command, "--workdir", "work", "--max-tokens", "25", env=keyed)
    server.asked.clear()
    shown = ran(tmp_path, *recommended(paused)[:2], "--quiet", "--max-tokens", "200", env=keyed)
    assert keys_sent(server) == {f"Bearer {KEY}"}
    assert server.base_url in shown.text.splitlines()[0]
    assert shown.err == b""


def test_the_recommended_command_repeats_an_address_that_the_run_does_not_know(
    here: Path, server: MisbehavingServer
) -> None:
    shown = resume(here, "--base-url", server.base_url)
    assert recommended(shown)[2:4] == ["--base-url", server.base_url]
    assert "--base-url" not in recommended(resume(here))


@pytest.mark.parametrize("command", [("resume",), ("replay", "--fork-at", "1")])
def test_no_key_is_sent_where_a_run_says_that_others_may_have_written(
    here: Path, server: MisbehavingServer, command: tuple[str, ...]
) -> None:
    manifest = find_run(here / "work") / "manifest.json"
    manifest.chmod(0o666)
    server.asked.clear()
    shown = ran(here, *command, "--workdir", "work", "--quiet", env=environment(OPENAI_API_KEY=KEY))
    line = refusal(shown, status=2)
    assert str(manifest.relative_to(here)) in line
    assert f"it belongs to {manifest.owner()}" in line
    assert server.asked == []
    without_key = resume(here, "--max-tokens", "1000000")
    assert without_key.status == 0, without_key


def test_prices_that_are_learned_of_later_count(here: Path) -> None:
    unpriced = refusal(ran(here, "resume", "--workdir", "work", "--quiet", "--max-cost", "1"), status=2)
    assert unpriced.startswith(
        "zorkgpt: max-cost needs the price of 'served' (agent), which is not known; set the option prices"
    )
    *_, option, value = shlex.split(unpriced)
    dear = value.replace("0.5", "1e6")
    shown = ran(
        here, "resume", "--workdir", "work", "--quiet", "--max-cost", "1", "--max-tokens", "1000000", option, dear
    )
    assert "max-cost $1 reached: $" in shown.text
    (here / "zorkgpt.toml").write_text('[prices."served"]\ninput = 1e6\noutput = 1e6\n')
    table = ran(here, "runs", "show", "--workdir", "work").text
    assert float(table.split("\nagent ")[1].splitlines()[0].split()[-1].replace(",", "")) > 1


def test_a_raised_budget_holds_until_another_is_said(here: Path) -> None:
    assert "max-tokens 30 reached: " in resume(here, "--max-tokens", "30").text
    assert "max-tokens 30 reached: " in resume(here).text
    (find_run(here / "work") / BUDGETS).write_text('{"max_tokens": -1}')
    assert "budgets.json is not a file of budgets: max_tokens: " in refusal(resume(here))


def test_a_run_is_named_by_its_id_and_by_its_folder_and_has_checkpoints_of_its_own(
    here: Path, server: MisbehavingServer
) -> None:
    older = find_run(here / "work")
    play(here, server, "--game", "copy.z5")
    newer = find_run(here / "work")
    assert newer != older
    for name in (older.name, str(older)):
        assert f"Resuming run {older.name}" in resume(here, name).text
    assert f"there is {find_run(here / 'work').name}" in refusal(resume(here, f"{older.name[:-1]}x"))
    assert "no runs in" in refusal(typed("resume", "--workdir", "elsewhere"))
    shutil.copytree(newer / CHECKPOINTS, older / CHECKPOINTS)
    line = refusal(resume(here, older.name))
    assert f"{older / CHECKPOINTS}/" in line
    assert "does not match the journal in the same folder" in line


def test_a_run_that_has_ended_is_one_line_and_one_that_was_killed_before_its_last_line_tells_how_it_ended(
    tmp_path: Path, server: MisbehavingServer
) -> None:
    play(tmp_path, server)
    before = contents_of(tmp_path)
    run = find_run(tmp_path / "work")
    expected = f"zorkgpt: run {run.name} has ended; only a run that was interrupted or paused can be resumed"
    assert refusal(resume(tmp_path)) == expected
    assert contents_of(tmp_path) == before
    journal = run / JOURNAL_FILE
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    shown = resume(tmp_path)
    assert shown.status == 0
    going_on, end, learned = shown.text.splitlines()
    assert ", all of whose episodes were played: " in going_on
    assert end.startswith(f"Episode 1 stopped at the turn limit after {TURNS} turns: score ")
    assert learned.startswith("Learned so far: ")


def test_a_story_that_is_gone_or_another_is_one_line_and_one_that_has_moved_can_be_named(
    stopped: Path, here: Path, own_story: Path
) -> None:
    """The copied run's manifest names the story in the folder that it was played in."""
    manifest = find_run(here / "work") / "manifest.json"
    assert json.loads(manifest.read_text())["story_path"] == str(stopped / "copy.z5")
    another = here / "another.z5"
    another.write_bytes(own_story.read_bytes() + b"\0" * 512)
    run = find_run(here / "work").name
    assert f"{another} is not the story that run" in refusal(resume(here, run, "--game", str(another)))
    assert "has no run of this story" in refusal(resume(here, "--game", str(another)), status=2)
    assert "nowhere.z5" in refusal(resume(here, "--game", "nowhere.z5"), status=2)
    assert resume(here, "--game", str(here / "copy.z5"), "--max-tokens", "1000000").status == 0


@pytest.mark.parametrize("name", [JOURNAL_FILE, "manifest.json"])
def test_a_file_of_the_run_that_was_damaged_is_one_line_that_names_it(here: Path, name: str) -> None:
    path = find_run(here / "work") / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    before = contents_of(here / "work", but="log.jsonl")
    assert str(path) in refusal(resume(here))
    assert contents_of(here / "work", but="log.jsonl") == before


def test_a_run_that_another_process_plays_is_left_alone(here: Path) -> None:
    run = find_run(here / "work")
    with claimed(run):
        before = contents_of(here / "work")
        assert refusal(resume(here)) == f"zorkgpt: run {run.name} is being played by another process"
        assert contents_of(here / "work") == before
    shown = typed("resume", "--workdir", str(here / "work"), "--max-tokens", "1000000", "--json")
    assert shown.status == 0
    assert json.loads(shown.out.splitlines()[-1])["kind"] == "run_ended"

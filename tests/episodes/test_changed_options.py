"""``zorkgpt resume`` with another model or sampling: the change is in the run's journal and in everything read from
it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from session.events import OptionsChanged, TurnPlayed
from session.files.journal import read_journal, read_manifest
from session.files.run_folders import find_run
from tests.fixtures.command_line import Ran
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.run_traces import contents_of
from tests.fixtures.typed_command import printed, refused, typed

FIRST, SECOND = "first-model", "second-model"
ENOUGH = ("--max-tokens", "1000000")
CHANGES = ("--model", SECOND, "--set", "agent_sampling.temperature=0.5")


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory, server: MisbehavingServer) -> Path:
    """A folder with a run that has spent its tokens in its second turn or later. No test changes it."""
    folder = tmp_path_factory.mktemp("paused")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        options = ("--model", FIRST, "--base-url", server.base_url, "--workdir", "work", "--quiet")
        assert typed("run", "--max-turns", "24", "--max-tokens", "50", *options).status == 1
    return folder


@pytest.fixture(autouse=True)
def work(paused: Path, tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> Path:
    """The work folder in a copy of that folder, which is the current one."""
    folder = shutil.copytree(paused, tmp_path / "here")
    clean_environment.chdir(folder)
    return folder / "work"


def resume(*arguments: str) -> Ran:
    return typed("resume", "--workdir", "work", "--quiet", *arguments)


def asked_since(server: MisbehavingServer) -> list[tuple[str, float | None]]:
    """Model and temperature of every request since the last look."""
    found = [(asked.body["model"], asked.body.get("temperature")) for asked in server.asked if asked.body]
    server.asked.clear()
    return found


def changes_in(work: Path) -> list[OptionsChanged]:
    return [line.event for line in read_journal(find_run(work)) if isinstance(line.event, OptionsChanged)]


def out(*arguments: str) -> str:
    return printed(*arguments, "--workdir", "work")


def test_what_changes_is_asked_for_written_down_once_told_and_repeated_exactly(
    work: Path, server: MisbehavingServer
) -> None:
    asked_since(server)
    played = sum(isinstance(line.event, TurnPlayed) for line in read_journal(find_run(work)))
    shown = resume(*CHANGES, *ENOUGH)
    assert shown.status == 0, shown
    asked = asked_since(server)
    assert {model for model, _ in asked} == {SECOND}
    assert 0.5 in {temperature for _, temperature in asked}
    (change,) = changes_in(work)
    assert change.options == {"agent_model": SECOND, "agent_sampling.temperature": 0.5}
    words = f"after turn {played} of episode 1: agent_model = {SECOND}, agent_sampling.temperature = 0.5"
    assert f"Changed     {words}\n" in out("runs", "show")
    assert f"Changed {words}.\n" in out("status")
    assert SECOND in json.loads(out("runs", "list", "--json"))[0]["model"]
    assert f"From here on {SECOND}" in shown.out.decode()
    assert "is repeated exactly" in out("replay")
    assert "the checksums of all its prompts are the recorded ones" in out("prompt")


def test_a_change_holds_until_the_next_one(work: Path, server: MisbehavingServer) -> None:
    assert resume(*CHANGES, "--max-tokens", "80").status == 1
    asked_since(server)
    assert resume("--max-tokens", "110").status == 1
    assert {model for model, _ in asked_since(server)} == {SECOND}
    assert resume("--model", FIRST, *ENOUGH).status == 0
    assert {model for model, _ in asked_since(server)} == {FIRST}
    assert [change.options["agent_model"] for change in changes_in(work)] == [SECOND, FIRST]
    assert "is repeated exactly" in out("replay")


@pytest.mark.parametrize("arguments", [("--model", FIRST, *ENOUGH), ("--set", "budgets.max_tokens=1000000")])
def test_what_is_the_same_as_before_and_a_budget_are_no_change(work: Path, arguments: tuple[str, ...]) -> None:
    assert resume(*arguments).status == 0
    assert changes_in(work) == []


def test_a_fork_goes_on_as_its_run_did_last(work: Path, server: MisbehavingServer) -> None:
    resume(*CHANGES, *ENOUGH)
    asked_since(server)
    assert typed("replay", "--workdir", "work", "--fork-at", "5", "--quiet").status == 0
    assert {model for model, _ in asked_since(server)} == {SECOND}
    (fork,) = (work / "forks").iterdir()
    assert read_manifest(find_run(fork)).configuration["agent_model"] == SECOND
    assert changes_in(fork) == []
    assert "is repeated exactly" in typed("replay", "--workdir", str(fork)).out.decode()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("critic.mode=llm", "within a run only models, servers, sampling and budgets can change; "),
        ("game.seed=2", "within a run only models, servers, sampling and budgets can change; "),
        ("memory_sampling.memory_history_window=4", "within a run only models, servers, sampling and budgets"),
        ("llm.api_key=sk-0123456789", "other users can read a command line; set the key with ZORKGPT_LLM__API_KEY"),
        ("agent_model", "expected NAME=VALUE, such as --set critic.mode=llm"),
    ],
)
def test_what_would_make_it_another_run_is_refused_in_one_line(work: Path, setting: str, words: str) -> None:
    before = contents_of(work)
    line = refused(2, "resume", "--workdir", "work", "--quiet", "--set", setting)
    assert line.removeprefix("--set ").startswith(f"{setting.partition('=')[0]}: {words}")
    assert contents_of(work) == before


def test_a_key_is_sent_whoever_may_write_the_journal_unless_that_tells_of_an_address(
    work: Path, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = find_run(work) / "journal.jsonl"
    assert journal.stat().st_mode & 0o777 == 0o600
    journal.chmod(0o664)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    assert resume("--base-url", f"{server.base_url}/", "--max-tokens", "80").status == 1
    (change,) = changes_in(work)
    assert "llm.base_url" in change.options
    shown = resume(*ENOUGH)
    assert shown.status == 2
    assert f"{journal.relative_to(work.parent)} is not used with a key" in shown.err.decode()


def test_a_run_keeps_no_key_from_its_command_line() -> None:
    shown = typed("run", "--workdir", "other", "--set", "llm.critic.api_key=sk-0123456789")
    assert (shown.status, "set the key with ZORKGPT_LLM__CRITIC__API_KEY" in shown.err.decode()) == (2, True)
    assert "sk-0123456789" not in shown.err.decode()

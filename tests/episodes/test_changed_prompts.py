"""Prompts are changed by options, and a run keeps the text that it began with."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest

from session.files.journal import read_manifest
from session.files.run_folders import find_run
from tests.fixtures.command_line import ran
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.troubled_server import Answers
from tests.fixtures.typed_command import refused, typed

OWN = (files("zorkgpt.prompts") / "agent.md").read_text(encoding="utf-8")
VISIT = (files("zorkgpt.prompts") / "memory_visit.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_run_is_played_resumed_and_replayed_with_the_text_that_its_prompt_had_when_it_began(tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    file = folder / "agent.md"
    file.write_text(f"{OWN}\nPrefer doors, even for $$5.\n", encoding="utf-8")
    digest = sha256(file.read_bytes()).hexdigest()
    with MisbehavingServer(Answers()) as server:
        there = ("--base-url", server.base_url, "--workdir", "work", "--quiet")
        paused = ran(tmp_path, "run", *there, "--max-turns", "12", "--max-tokens", "15", "--set", "prompts=prompts")
        assert paused.status == 1, paused
        file.write_text("Do as you like.", encoding="utf-8")
        resumed = ran(tmp_path, "resume", "--workdir", "work", "--quiet", "--max-tokens", "1000000")
        assert resumed.status == 0, resumed
    systems = [asked.body["messages"][0]["content"] for asked in server.asked]
    agents = [system for system in systems if system.startswith("You play")]
    assert len(agents) >= 3
    assert all("\nPrefer doors, even for $5.\n" in system for system in agents)
    assert ran(tmp_path, "replay", "--workdir", "work").status == 0
    changed = read_manifest(find_run(tmp_path / "work")).configuration["prompts"]
    assert (list(changed), changed["agent"]["sha256"]) == (["agent"], digest)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("agent", f"{OWN}$5", "own.md has an unknown field, $;"),
        ("memory_visit", VISIT.replace("$visits", "$vists"), "own.md lacks the field $visits;"),
        ("agent", "\n \n", "prompts.agent: own.md is empty"),
        ("agents", OWN, "prompts.agents (own.md) is not a prompt; the closest one is agent"),
        ("agent", None, "prompts.agent on the command line: own.md is not an existing .md file"),
    ],
)
def test_a_prompt_that_cannot_be_filled_is_an_error_before_anything_is_played(
    in_own_folder: Path, name: str, text: str | None, problem: str
) -> None:
    if text is not None:
        (in_own_folder / "own.md").write_text(text, encoding="utf-8")
    assert problem in refused(2, "run", "--base-url", "http://127.0.0.1:9/v1", "--set", f"prompts.{name}=own.md")
    assert not (in_own_folder / "game_files").exists()


def test_no_other_file_of_the_user_is_read_as_a_prompt(in_own_folder: Path) -> None:
    secret = in_own_folder / "id_rsa"
    secret.write_text("a private key")
    (in_own_folder / "critic.md").symlink_to(secret)
    (in_own_folder / "zorkgpt.toml").write_text('[prompts]\ncritic = "critic.md"\n')
    shown = typed("config", "show")
    assert (shown.status, shown.out) == (2, b"")
    assert "critic.md is not an existing .md file" in shown.err.decode()

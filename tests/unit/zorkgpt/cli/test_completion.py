"""The program is started as a shell starts it to complete a line."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from session.model_files import MODEL_DIR_VARIABLE
from tests.fixtures.command_line import environment
from tests.fixtures.misbehaving_server import Drips, MisbehavingServer, Silent
from zorkgpt import api

PROGRAM = "import sys; sys.argv[0] = 'zorkgpt'; from zorkgpt.cli.main import main; main()"
EVIL = ('";touch evil;"', "$(touch evil)", "`touch evil`", "two words", "a\nb", "\x1b[2J", "'")


def _completed(folder: Path, *words: str, **more: str) -> list[str]:
    """Return what bash is offered for the last word; there is no error."""
    shell = {"_ZORKGPT_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["zorkgpt", *words])}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env=environment(**shell, COMP_CWORD=str(len(words)), **{MODEL_DIR_VARIABLE: str(folder / "models"), **more}),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert result.stderr == ""
    return result.stdout.split()


@pytest.mark.slow
def test_runs_and_stories_of_the_work_folder_are_offered_unless_a_shell_could_run_their_names(
    in_own_folder: Path, own_story: Path
) -> None:
    evil = in_own_folder / f"{EVIL[1]}.z5"
    shutil.copy(own_story, evil)
    one, other = (
        api.play(agent=lambda _: "look", max_turns=1, game=game, workdir=workdir).summary.run_id
        for game, workdir in ((own_story, "work"), (evil, "evil"))
    )
    there = ("--workdir", "work")
    for command in (("resume",), ("replay",), ("runs", "show"), ("report",), ("compare", one)):
        assert _completed(in_own_folder, *command, *there, "") == [one], command
    assert _completed(in_own_folder, "replay", *there, one[:8]) == [one]
    assert _completed(in_own_folder, "replay", *there, "x") == []
    assert _completed(in_own_folder, "runs", "show", "") == []
    assert _completed(in_own_folder, "status", *there, "--game", "") == ["tidehouse"]
    assert _completed(in_own_folder, "status", "--workdir", "evil", "--game", "") == []
    assert _completed(in_own_folder, "replay", "--workdir", "evil", "") == [other]


def test_kinds_of_help_are_added_to_those_that_were_typed(tmp_path: Path) -> None:
    assert _completed(tmp_path, "run", "--assist", "fresh-actions,") == [
        "fresh-actions,valid-actions",
        "fresh-actions,proven-routes",
    ]


@pytest.mark.slow
def test_options_are_named_and_the_values_of_those_that_have_a_few(tmp_path: Path) -> None:
    offered = _completed(tmp_path, "run", "--set", "critic.")
    assert {"critic.mode=", "critic.max_rejections="} <= set(offered)
    assert all(each.startswith("critic.") and each.endswith("=") for each in offered)
    assert _completed(tmp_path, "run", "--set", "critic.mode=") == [
        "critic.mode=object_tree",
        "critic.mode=hybrid",
        "critic.mode=llm",
    ]
    assert _completed(tmp_path, "mcp", "--set", "knowledge.enabled=t") == ["knowledge.enabled=true"]
    assert _completed(tmp_path, "run", "--set", "llm.api") == []
    assert _completed(tmp_path, "run", "--set", "no.such=") == []


@pytest.mark.slow
def test_models_are_those_of_the_server_and_those_that_were_pulled(tmp_path: Path) -> None:
    pulled = tmp_path / "models" / "hf" / "owner" / "model" / "small.gguf"
    pulled.parent.mkdir(parents=True)
    pulled.touch()
    with MisbehavingServer(Silent(), models=("qwen3:8b", "vendor/large", *EVIL)) as server:
        typed = ("run", "--base-url", server.base_url, "--model", "")
        assert _completed(tmp_path, *typed) == ["hf:owner/model:small.gguf", "qwen3:8b", "vendor/large"]
        assert _completed(tmp_path, "resume", "--model", "v", OPENAI_BASE_URL=server.base_url) == ["vendor/large"]
        assert server.asked == []
    assert not (tmp_path / "evil").exists()


@pytest.mark.slow
def test_nothing_is_offered_soon_and_without_an_error_if_there_is_no_server_or_folder(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "zorkgpt.toml").write_text("not [toml")
    assert _completed(tmp_path / "broken", "resume", "") == []
    assert _completed(tmp_path, "resume", "--workdir", "no/such/folder", "") == []
    assert _completed(tmp_path, "status", "--workdir", "''", "--game", "") == []
    begun = time.monotonic()
    assert _completed(tmp_path, "run", "--model", "", OPENAI_BASE_URL="http://127.0.0.1:9/v1") == []
    at_once = time.monotonic() - begun
    for listing in (Silent(), Drips()):
        with MisbehavingServer(Silent()) as server:
            server.listing = listing
            begun = time.monotonic()
            assert _completed(tmp_path, "run", "--base-url", server.base_url, "--model", "") == []
            assert time.monotonic() - begun < 1 + max(9, 3 * at_once)  # and the start of the program

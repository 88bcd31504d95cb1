"""``zorkgpt doctor``: a line a finding, and the exit status."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.fixtures.misbehaving_server import MisbehavingServer, says_error
from zorkgpt.cli.commands.doctor import doctor


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    clean_environment.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer(says_error(500), models=("big",)) as running:
        yield running


def test_all_well_is_status_0_and_a_tick_a_line(server: MisbehavingServer, own_story: Path) -> None:
    result = _run("--base-url", server.base_url, "--model", "big", "--game", str(own_story))
    lines = result.output.splitlines()
    subjects = ("Python", "Jericho", "Work folder", "Story", "Run", "Key", "Server", "Model")
    assert [line[:13].rstrip() for line in lines] == [f"✓ {subject}" for subject in subjects]
    assert result.exit_code == 0


def test_a_run_that_cannot_be_put_together_is_status_1(server: MisbehavingServer, own_story: Path) -> None:
    Path("zorkgpt.toml").write_text('knowledge_file = "lexicon.json"\n', encoding="utf-8")
    result = _run("--base-url", server.base_url, "--model", "big", "--game", str(own_story))
    (failed,) = [line for line in result.output.splitlines() if line.startswith("✗")]
    assert failed.startswith("✗ Run ")
    assert "two files of the work folder would be called lexicon.json" in result.output
    assert result.exit_code == 1


def test_a_need_that_is_not_met_is_status_1_with_its_mend(server: MisbehavingServer, tmp_path: Path) -> None:
    result = _run("--base-url", server.base_url, "--game", str(tmp_path / "none.z5"))
    (failed,) = [line for line in result.output.splitlines() if line.startswith("✗")]
    assert failed.startswith("✗ Story ")
    assert failed.endswith("name a story file with --game or game.file")
    assert result.exit_code == 1


def test_what_is_wrong_and_its_mend_are_one_sentence(server: MisbehavingServer, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(
        "no story, but text that is long enough for the header of one, and longer still"
    )
    result = _run("--base-url", server.base_url, "--game", str(tmp_path / "notes.txt"))
    assert "it is text: name a story file with --game or game.file" in result.output


def test_a_work_folder_that_cannot_be_made_is_a_need(
    server: MisbehavingServer, own_story: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    arguments = ("--base-url", server.base_url, "--model", "big", "--game", str(own_story))
    result = _run(*arguments, "--workdir", str(tmp_path / "file" / "work"))
    (failed,) = [line for line in result.output.splitlines() if line.startswith("✗")]
    assert failed.startswith("✗ Work folder ")
    assert "--workdir" in failed
    assert result.exit_code == 1


def _run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(doctor)
    return CliRunner().invoke(app, arguments)

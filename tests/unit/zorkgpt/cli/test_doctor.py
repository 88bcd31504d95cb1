"""``zorkgpt doctor``: a line a finding, and the exit status."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.fixtures.misbehaving_server import MisbehavingServer, says_error
from zorkgpt.cli.commands.setup import doctor

pytestmark = pytest.mark.usefixtures("in_own_folder")


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


@pytest.mark.parametrize(
    ("arguments", "subject", "words"),
    [
        (("--game", "notes.txt"), "Story", "it is text: name a story file with --game or game.file"),
        ((), "Run", "two files of the work folder would have the name lexicon.json"),
    ],
)
def test_a_need_that_is_not_met_is_status_1_with_its_mend(
    server: MisbehavingServer,
    own_story: Path,
    clean_environment: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    subject: str,
    words: str,
) -> None:
    Path("notes.txt").write_text("no story, but text that is long enough for the header of one, and longer still")
    if subject == "Run":
        clean_environment.setenv("ZORKGPT_KNOWLEDGE_FILE", "lexicon.json")
    result = _run("--base-url", server.base_url, "--model", "big", "--game", str(own_story), *arguments)
    (failed,) = [line for line in result.output.splitlines() if line.startswith("✗")]
    assert failed.startswith(f"✗ {subject} ")
    assert words in failed
    assert result.exit_code == 1


def _run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(doctor)
    return CliRunner().invoke(app, arguments)

"""Messages to users, for commands as they type them: clear, never missing, with the next step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.command_line import Ran
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.troubled_server import Answers
from tests.fixtures.typed_command import typed


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer(Answers()) as running:
        yield running


@pytest.fixture(autouse=True)
def work(clean_environment: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The work folder of the current folder, with nothing in it."""
    clean_environment.chdir(tmp_path)
    folder = tmp_path / "game_files"
    folder.mkdir()
    return folder


def run(server: MisbehavingServer, *options: str) -> Ran:
    return typed("run", "--quiet", "--max-turns", "2", "--base-url", server.base_url, *options)


def test_a_line_of_memories_that_is_not_understood_is_named_when_a_run_begins(
    server: MisbehavingServer, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    written = "# Location Memories\n\n## Location the quay\n**[NOTE - PERMANENT] Mine** *(Ep1, T2)*\nKeep this.\n"
    (work / "Memories.md").write_text(written)
    assert run(server).status == 0
    told = capfd.readouterr().err.splitlines()
    assert told[0] == (
        'zorkgpt: game_files/Memories.md:3: This names no location: write "## Location 15: Kitchen". '
        "Until then it is kept, but not used."
    )
    assert all("Memories.md:" in line for line in told)
    assert written in (work / "Memories.md").read_text()


def test_of_many_such_lines_the_first_are_named_and_a_command_that_names_all(
    server: MisbehavingServer, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "Memories.md").write_text("**Visits:** three\n\n" * 9)
    assert run(server).status == 0
    *_, last = told = capfd.readouterr().err.splitlines()
    assert len(told) == 6
    assert "4 more places not understood: " in last
    assert last.endswith(" memories check --workdir game_files names all")
    assert typed("memories", "check", "--workdir", "game_files").out.count(b"Memories.md:") == 9

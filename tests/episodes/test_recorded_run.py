"""This version repeats exactly what earlier versions have recorded.

``tests/recorded`` has a work folder for each version whose runs differ in format, named after the version. Such a run
contains every answer, prompt (as a digest), observation and shared file. If it cannot be repeated, neither can users'
runs, and the change belongs in the change log.

These files are never edited. When prompts change on purpose, only the commands of old runs can be repeated, and the
newest folder is recorded again. When the journal's format changes, old runs must still be readable, and a folder for
the new version is added:

    python -m tests.fixtures.recorded_run /srv/recorded

on a machine with ``/srv``. Copy its ``game_files/runs`` to ``tests/recorded/VERSION/runs``, without the ``run.lock``.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from session.files.run_folders import find_run
from tests.fixtures.command_line import Ran
from tests.fixtures.run_traces import contents_of
from tests.fixtures.typed_command import typed

RECORDED = sorted(path for path in (Path(__file__).parents[1] / "recorded").iterdir() if path.is_dir())
SOMEBODYS_OWN = re.compile(rb"/(?:home|root|tmp|work|Users)\b|\\\\Users")
TURNS = 20


@pytest.fixture(params=RECORDED, ids=lambda path: path.name)
def recorded(request: pytest.FixtureRequest, tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> Path:
    """A copy of each version's work folder."""
    clean_environment.chdir(tmp_path)
    return Path(shutil.copytree(request.param, tmp_path / "work"))


def test_the_commands_of_a_run_recorded_by_an_earlier_version_are_repeated_exactly(
    recorded: Path, own_story: Path
) -> None:
    assert_repeated(recorded, own_story, "--from-actions")


@pytest.mark.parametrize("recorded", RECORDED[-1:], ids=lambda path: path.name, indirect=True)
def test_the_run_recorded_last_is_repeated_exactly_with_every_prompt(recorded: Path, own_story: Path) -> None:
    assert_repeated(recorded, own_story, "--verify")


def assert_repeated(recorded: Path, own_story: Path, way: str) -> None:
    before = contents_of(recorded)
    shown = typed("replay", way, "--workdir", str(recorded), "--game", str(own_story))
    assert shown == Ran(0, f"Run {find_run(recorded).name} of tidehouse is repeated exactly: {TURNS} turns\n".encode())
    assert contents_of(recorded) == before


def test_a_recorded_run_tells_nothing_of_the_machine_that_it_was_recorded_on(recorded: Path) -> None:
    told = {path: SOMEBODYS_OWN.findall(path.read_bytes()) for path in recorded.rglob("*") if path.is_file()}
    assert not {path: found for path, found in told.items() if found}

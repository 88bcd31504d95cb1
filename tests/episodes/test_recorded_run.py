"""What an earlier version has recorded is repeated by this one, exactly.

``tests/recorded`` has a work folder for each version that wrote its runs in a way of its own, by the version's name.
Such a run holds every answer, prompt (by its digest), observation and shared file: where it is not repeated, users' own
runs are not either, and the change belongs into the change log.

Nothing there is ever edited. Where prompts change on purpose, the prompts of old runs cannot be repeated, only their
commands, and the newest folder is recorded anew; where the journal's format does, old runs still have to be read, and
a folder of the new version is added:

    python -m tests.fixtures.recorded_run /srv/recorded

on a machine with a ``/srv``, then its ``game_files/runs`` as ``tests/recorded/VERSION/runs``, without the ``run.lock``.
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

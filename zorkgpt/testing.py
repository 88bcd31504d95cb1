"""A pytest plugin for the tests of a story: pytest loads it wherever ZorkGPT is installed (docs/python.md).

It adds fixtures and two options of the configuration file, and imports the program when a fixture is first used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from session.values import Observation, Seed
    from zorkgpt.report.played_run import PlayedRun

STORY = "zorkgpt_story"
WALKTHROUGH = "zorkgpt_walkthrough"


class PlayCommands(Protocol):
    """The fixture ``play_commands``."""

    def __call__(self, commands: Iterable[str], *, seed: Seed = 1) -> list[Observation]:
        """Play the story from its opening, and return the observation after each command.

        The test fails if a command does not reach the story, such as one after its end.
        """
        ...


class ScriptedRun(Protocol):
    """The fixture ``scripted_run``."""

    def __call__(
        self, commands: Iterable[str], *, episodes: int = 1, seed: Seed = 1, options: Mapping[str, object] = ...
    ) -> PlayedRun:
        """Record a run whose every episode plays the commands, and return it: its map, its turns and what it learned.

        options: other options by their names in docs/reference/configuration.md

        Later runs of a test use the same work folder, so they begin with what the earlier ones learned.
        """
        ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the configuration file."""
    parser.addini(STORY, "the story file of the fixtures of ZorkGPT, relative to this file")
    parser.addini(WALKTHROUGH, "a file with the commands of the fixture `walkthrough`, relative to this file")


@pytest.fixture(scope="session")
def story(pytestconfig: pytest.Config) -> Path:
    """The story file under test."""
    return _configured(pytestconfig, STORY, "my-story.z5")


@pytest.fixture(scope="session")
def walkthrough(pytestconfig: pytest.Config) -> list[str]:
    """The commands of the walkthrough."""
    from session.commands import read_script

    return read_script(_configured(pytestconfig, WALKTHROUGH, "walkthrough.txt"))


@pytest.fixture
def play_commands(story: Path) -> PlayCommands:
    """A function that plays commands and returns what was observed."""
    from zorkgpt import api

    def play(commands: Iterable[str], *, seed: Seed = 1) -> list[Observation]:
        __tracebackhide__ = True
        seen: list[Observation] = []
        with api.open_game(story, seed=seed) as game:
            for number, command in enumerate(commands, start=1):
                seen.append(game.step(command))
                if seen[-1].refusal is not None:
                    pytest.fail(f"command {number}, {command!r}, did not reach the story: {seen[-1].refusal}")
        return seen

    return play


@pytest.fixture
def scripted_run(story: Path, tmp_path: Path) -> ScriptedRun:
    """A function that plays commands as a run with a journal, a map and everything learned."""
    from zorkgpt import api

    def play(
        commands: Iterable[str], *, episodes: int = 1, seed: Seed = 1, options: Mapping[str, object] | None = None
    ) -> PlayedRun:
        script = list(commands)
        return api.play(
            agent=lambda situation: script[situation.turn - 1],
            game=story,
            episodes=episodes,
            max_turns=len(script),
            seed=seed,
            workdir=tmp_path / "game_files",
            options=options or {},
        )

    return play


def _configured(config: pytest.Config, name: str, example: str) -> Path:
    """Return the file that an option names. The test fails if there is none."""
    given = str(config.getini(name))
    if not given:
        pytest.fail(f"{name} is not set: add {name} = {example} to the configuration of pytest, or define the fixture")
    path = (config.inipath.parent if config.inipath else config.rootpath) / given
    if not path.is_file():
        pytest.fail(f"{name} names {path}, which is not a file")
    return path

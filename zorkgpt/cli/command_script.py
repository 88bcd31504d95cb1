"""Plays a script of commands, one a line, from a story's opening: no model, and nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.errors import ConfigurationError
from session.events import EpisodeStarted, TurnPlayed
from session.text import counted
from session.values import Proposal, TurnRecord, Verdict
from zorkgpt.cli.screens import PlainScreen
from zorkgpt.cli.streams import print_line

if TYPE_CHECKING:
    from pathlib import Path

    from session.game_configuration import GameConfiguration


def play_script(path: Path, configuration: GameConfiguration) -> None:
    """Play the commands of a file, in which ``#`` begins a line of remarks, and show what the story answers.

    Raises ``ConfigurationError`` where the file is no text, and what opening a story raises.
    """
    from orchestration.opening import open_story

    screen, seed = PlainScreen(), configuration.game.seed
    commands = _commands(path)
    with open_story(configuration) as parts:
        before = parts.game.reset(seed)
        screen.show(EpisodeStarted(1, seed, before))
        for turn, command in enumerate(commands, start=1):
            after = parts.game.step(command)
            screen.show(
                TurnPlayed(TurnRecord(1, turn, before, (Proposal(command),), (Verdict(accepted=True),), after), 0.0)
            )
            before = after
    place = f" at {before.location.label}" if before.location else ""
    score = "" if before.score is None else f", score {before.score}"
    print_line(f"{counted(len(commands), 'command')} played: it ends{place}{score}")


def _commands(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is no script of commands: {error}") from error
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]

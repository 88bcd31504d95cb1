"""The interface of a running story to the rest of the program, and the state of a story as plain JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from pydantic import TypeAdapter, ValidationError
from typing_extensions import Self

from game_interface.core.machine.interpreter import Snapshot
from game_interface.core.status.status_reader import LearnedStatus
from game_interface.core.story_text import StoryQuestion
from session.errors import ConfigurationError, GameError
from session.values import HIGHEST_SEED, Observation, Seed, StoryFacts


@dataclass(frozen=True, slots=True)
class SavedState:
    """The state of a story at one of its prompts.

    story: SHA-256 of the story file
    command_places: the values of ``Interpreter.prompt_place`` at which the story reads commands; at others it reads an
        answer to a question
    """

    story: str
    snapshot: Snapshot
    observation: Observation
    command_places: tuple[int, ...] = ()
    question: StoryQuestion = field(default_factory=StoryQuestion)
    learned: LearnedStatus = field(default_factory=LearnedStatus)
    printed: frozenset[str] = frozenset()

    def packed(self) -> bytes:
        """Return the state as JSON, which :meth:`unpacked` reads on any machine."""
        return _STATES.dump_json(self)

    @classmethod
    def unpacked(cls, content: bytes) -> SavedState:
        """Read the state that :meth:`packed` wrote. Raises ``GameError`` if it is of another version."""
        try:
            return _STATES.validate_json(content)
        except ValidationError as error:
            raise GameError("The saved state is of another version.") from error


_STATES = TypeAdapter(SavedState)


class Game(Protocol):
    """A story that is being played, ready to use once constructed. Only one thread may use it at a time.

    As a context manager it closes itself on exit.

    facts: what is fixed for the story file
    observation: the latest observation, after the opening, the last step or the last restore
    """

    facts: StoryFacts
    observation: Observation

    def reset(self, seed: Seed) -> Observation:
        """Restart the story with random numbers drawn from ``seed``.

        The same seed and commands give the same observations. Raises ``ConfigurationError`` for an invalid seed, and
        for ``jericho`` if Jericho has no walkthrough of the story.
        """

    def step(self, command: str) -> Observation:
        """Send one command to the story and return the observation after its answer.

        A refused command (see ``commands.refusal``) does not reach the story: the result is the latest observation
        with the reason as its ``text`` and ``refusal``. After the story's end every command is refused until
        ``reset`` or ``restore``. Raises ``GameError`` if the command is not a string, and if the interpreter crashes
        or hangs.
        """

    def valid_actions(self) -> tuple[str, ...]:
        """Return commands that would change the world or the score now, or end the story, in a fixed order.

        There is one for each distinct change, and none that only kills the player. The interpreter tries a limited
        number of candidates, likely ones first, and is restored after each. Showing the result to a player counts as
        assistance (docs/records/specification.md, Assistance). Empty if the story does not read commands, has ended, or
        no candidate had an effect.
        """

    def save(self) -> SavedState:
        """Return the whole state, including the random number generator and the latest observation."""

    def restore(self, state: SavedState) -> Observation:
        """Restore ``state`` and return the observation that was saved with it.

        Raises ``GameError`` if ``state`` is not a saved state or belongs to another story.
        """

    def close(self) -> None:
        """Shut the interpreter down. All other methods raise ``GameError`` afterwards; closing twice is allowed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def require_seed(seed: object) -> None:
    """Raise ``ConfigurationError`` unless ``seed`` is ``jericho`` or an integer from 1 to 2147483647."""
    if seed == "jericho":
        return
    if isinstance(seed, bool) or not isinstance(seed, int) or not 1 <= seed <= HIGHEST_SEED:
        raise ConfigurationError(
            f"The seed must be a whole number from 1 to {HIGHEST_SEED}, or 'jericho', not {seed!r}."
        )


def require_command(command: object) -> None:
    """Raise ``GameError`` unless ``command`` is a string; the interpreter would crash on anything else."""
    if not isinstance(command, str):
        raise GameError(f"A command must be a string, not {command!r}.")


def require_saved_state(state: object) -> None:
    """Raise ``GameError`` unless ``state`` is a ``SavedState``."""
    if not isinstance(state, SavedState):
        raise GameError(f"Expected a saved state of a story, not {state!r:.40}.")

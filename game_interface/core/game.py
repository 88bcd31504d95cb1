"""What the rest of the program knows of a running story."""

from __future__ import annotations

from typing import Protocol

from typing_extensions import Self

from game_interface.core.machine.saved_state import SavedState
from session.errors import ConfigurationError, GameError
from session.values import Observation, Seed, StoryFacts

_HIGHEST_SEED = 2**31 - 1
"""The interpreter takes a C int; it would cut a higher seed, perhaps to 0, which means none."""


class Game(Protocol):
    """A story that is being played. It is ready as soon as it exists, and only one thread may use it at a time.

    A ``with`` block closes it at its end.
    """

    @property
    def facts(self) -> StoryFacts:
        """What is fixed for the story file."""
        ...

    @property
    def observation(self) -> Observation:
        """The latest observation: of the opening, the last step or the last restore."""
        ...

    def reset(self, seed: Seed) -> Observation:
        """Begin the story anew with random numbers drawn from ``seed``.

        The same seed and commands give the same observations. Raises ``ConfigurationError`` for a number below 1 or
        anything else that is no seed, and for ``jericho`` where Jericho knows no walkthrough of the story.
        """
        ...

    def step(self, command: str) -> Observation:
        """Give the story one command and return what can be observed after its answer.

        A command that must not reach the story (see ``commands.refusal``) changes nothing: the result is the latest
        observation with the reason as its ``text`` and ``refusal``. So it is with any command once the story has
        ended, until ``reset`` or ``restore``. Raises ``GameError`` where the command is no text, and where the
        interpreter died or hung.
        """
        ...

    def valid_actions(self) -> tuple[str, ...]:
        """Find commands that would change the world now, one for each different change, in a fixed order.

        They are found by trying, so a player who is shown them gets assistance (docs/specification.md, Assistance). The
        story is left as it was. Empty if the story does not read commands, has ended, or nothing was found in time.
        """
        ...

    def save(self) -> SavedState:
        """Return the whole state, with the random numbers and the latest observation."""
        ...

    def restore(self, state: SavedState) -> Observation:
        """Put the story back to where ``state`` was saved and return the observation of then.

        Raises ``GameError`` for what is no such state, is damaged, or belongs to another story.
        """
        ...

    def close(self) -> None:
        """End the interpreter, after which all other methods raise ``GameError``; closing twice is fine."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def require_seed(seed: object) -> None:
    """Raise ``ConfigurationError`` unless ``seed`` is one, of which the interpreter takes numbers as they are."""
    if seed == "jericho":
        return
    if isinstance(seed, bool) or not isinstance(seed, int) or not 1 <= seed <= _HIGHEST_SEED:
        raise ConfigurationError(
            f"A story's seed has to be a whole number, 1 or more and at most {_HIGHEST_SEED}, not {seed!r}."
        )


def require_command(command: object) -> None:
    """Raise ``GameError`` unless ``command`` is a text: C would crash on anything else."""
    if not isinstance(command, str):
        raise GameError(f"A command has to be a text, not {command!r}.")


def require_saved_state(state: object) -> None:
    """Raise ``GameError`` unless ``state`` is a story's."""
    if not isinstance(state, SavedState):
        raise GameError(f"Only what a story has saved can be restored, not {state!r:.40}.")

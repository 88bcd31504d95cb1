"""What the rest of the program knows of a running story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from game_interface.core.machine.saved_state import SavedState
    from session.values import Observation, StoryFacts


class Game(Protocol):
    """One story being played; ready as soon as it exists, by one thread at a time."""

    @property
    def facts(self) -> StoryFacts:
        """What is fixed for the story file."""
        ...

    @property
    def observation(self) -> Observation:
        """The latest observation: of the opening, the last step or the last restore."""
        ...

    def reset(self, seed: int) -> Observation:
        """The story is at its opening, its random numbers drawn from ``seed`` (1 or more).

        The same seed and commands give the same observations. Raises ``ConfigurationError`` for any other seed.
        """
        ...

    def step(self, command: str) -> Observation:
        """One command was given to the story, which answered.

        A command that must not reach the story (see ``commands.refusal``), and any command once the story has
        ended, until ``reset`` or ``restore``, leaves everything as it was and gives the latest observation with the
        reason as ``text`` and ``refusal``.
        Raises ``GameError`` where the command is no text, and where the interpreter died or hung.
        """
        ...

    def valid_actions(self) -> tuple[str, ...]:
        """Commands that would change the world now, one for each outcome, in a fixed order.

        A look-ahead, hence assistance (decision 28). The story is as it was before. Empty where the story asks
        a question, once it has ended, and where nothing was found in time.
        """
        ...

    def save(self) -> SavedState:
        """The whole state, random numbers and latest observation included."""
        ...

    def restore(self, state: SavedState) -> Observation:
        """The story is where ``state`` was saved; the observation equals the one of then.

        Raises ``GameError`` for a state of another story or a corrupt one.
        """
        ...

    def close(self) -> None:
        """The interpreter and what it held are gone: all other methods raise ``GameError``; closing twice is fine."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

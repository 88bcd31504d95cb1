"""The whole state of a game, as plain values and as JSON. No pickle."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from game_interface.core.machine.interpreter import Snapshot
from game_interface.core.story_text import StoryQuestion
from session.errors import GameError
from session.values import Observation


@dataclass(frozen=True, slots=True)
class Clues:
    """Where an unknown story keeps its status. All numbers but those in ``players`` are of globals.

    players: the objects that have been the player; more than one if the player changes bodies
    body: contains the object that is the player now
    rooms: each contains the room, in most places
    score, turns: contain the story's own values
    shown_score, shown_turns: contain the copies from when the status line was last drawn; only these may be known
    tells_score: the story answers ``score`` with a figure
    max_score: the maximum score according to that answer
    """

    players: tuple[int, ...] = ()
    body: int | None = None
    rooms: tuple[int, ...] = ()
    score: int | None = None
    turns: int | None = None
    shown_score: int | None = None
    shown_turns: int | None = None
    tells_score: bool = False
    max_score: int | None = None


@dataclass(frozen=True, slots=True)
class LearnedStatus:
    """What was learned about a story's status, and the number of consecutive turns with a value missing."""

    clues: Clues = Clues()
    missed: int = 0


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
    learned: LearnedStatus = LearnedStatus()

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

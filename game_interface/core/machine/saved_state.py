"""The whole state of a game, as plain values and as bytes: a line of JSON and two arrays. No pickle."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError
from typing_extensions import Self

from game_interface.core.machine.interpreter import Registers, Snapshot
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
class Learned:
    """What was learned about a story's status, and the number of consecutive turns with a value missing."""

    clues: Clues = Clues()
    missed: int = 0


@dataclass(frozen=True, slots=True)
class _Header:
    """The line of JSON before the arrays."""

    story: str
    registers: Registers
    text: str
    observation: Observation
    question: StoryQuestion
    learned: Learned
    memory_size: int
    stack_size: int
    command_places: tuple[int, ...] = ()
    status_line: str = ""


_HEADER = TypeAdapter(_Header)


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
    learned: Learned = Learned()

    def packed(self) -> bytes:
        """Return the state as bytes, which :meth:`unpacked` reads on any machine."""
        snapshot = self.snapshot
        header = _Header(
            story=self.story,
            registers=snapshot.registers,
            text=snapshot.text.decode("latin-1"),
            observation=self.observation,
            question=self.question,
            learned=self.learned,
            memory_size=len(snapshot.memory),
            stack_size=len(snapshot.stack),
            command_places=self.command_places,
            status_line=snapshot.status_line.decode("latin-1"),
        )
        return _HEADER.dump_json(header) + b"\n" + snapshot.memory + snapshot.stack

    @classmethod
    def unpacked(cls, content: bytes) -> Self:
        """Read the state that :meth:`packed` wrote. Raises ``GameError`` if it is of another version."""
        line, _, arrays = content.partition(b"\n")
        try:
            header = _HEADER.validate_json(line)
            text, status_line = header.text.encode("latin-1"), header.status_line.encode("latin-1")
        except (ValidationError, UnicodeEncodeError) as error:
            raise GameError("The saved state is of another version.") from error
        memory, stack = arrays[: header.memory_size], arrays[header.memory_size :]
        snapshot = Snapshot(memory, stack, header.registers, text, status_line)
        return cls(header.story, snapshot, header.observation, header.command_places, header.question, header.learned)

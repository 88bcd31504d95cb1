"""Runs one story in Jericho's interpreter, at the level of bytes. Only this module plays through Jericho."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Literal

from jericho import FrotzEnv
from jericho.defines import BINDINGS_DICT
from jericho.template_action_generator import TemplateActionGenerator
from pydantic import ConfigDict

from game_interface.core.commands import LONGEST_LINE, keypress
from game_interface.core.machine.containment import Containment, Screen
from game_interface.core.machine.story import Characters, DynamicMemory, Story, read_word, unicode_table, with_codes
from game_interface.core.machine.vocabulary_reader import Dictionary
from session.errors import GameError, reported_as

Prompt = Literal["line", "key"]
Stop = Literal["quit", "restart", "crash"]

READ_KEY = 246  # an opcode; Z-Machine Standard 1.1 §14
_FIRST_GLOBAL = 16
_LAST_VERSION_WITH_TERMINATOR = 4
_LAST_VERSION_WITH_STATUS_LINE = 3
"""Up to this version the first line of each text is the status line."""
_LONGEST_TEXT = 8192
_LARGE_CONSTANT, _SMALL_CONSTANT = 0, 1  # types of operands; Z-Machine Standard 1.1 §4.2


@dataclass(frozen=True, slots=True)
class Registers:
    """The machine's state besides its memory and stack.

    rng, rng_*: the state of the random number generator
    """

    pc: int
    sp: int
    fp: int
    frames: int
    opcode: int
    rng: int
    rng_interval: int
    rng_counter: int
    screen: Screen = field(default_factory=Screen)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole machine at a prompt: dynamic memory, stack, registers, the last text and the last status line.

    Jericho's profiles read the score and the ending from the text and the status line.
    """

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    memory: bytes
    stack: bytes
    registers: Registers
    text: bytes
    status_line: bytes = b""


_Cleaner = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class _Environment(FrotzEnv):  # type: ignore[misc]  # Jericho is untyped
    """Jericho's environment, contained before the story's first instruction. It does not load the story itself."""

    def __init__(self, story: Story, path: Path, characters: Characters) -> None:
        self._story, self._characters = story, characters
        with reported_as("the interpreter cannot be copied for this game", GameError):
            super().__init__(str(path), 1)

    def load(self, story_file: str, seed: int | None = None) -> None:
        self.story_file = story_file.encode()
        self.containment = Containment(self.frotz_lib, self._story.version, self._characters)
        self.is_fully_supported = bool(self.frotz_lib.is_supported(self.story_file))
        self._bindings = BINDINGS_DICT.get(self._story.md5, {}) if self.is_fully_supported else {}
        self._seed = seed


def private_folder() -> TemporaryDirectory[str]:
    """Create an empty temporary folder, removed by ``cleanup`` or at the end of this process.

    Raises ``GameError`` if it cannot be created.
    """
    with reported_as("no temporary folder can be made", GameError):
        return TemporaryDirectory(prefix="zorkgpt-", ignore_cleanup_errors=True)


class Interpreter:
    """A machine that runs one story, for one thread at a time.

    known: whether a profile of the story exists in Jericho and is used
    max_score, player: the maximum score and the player's object in the profile; ``None`` without a profile
    walkthrough_seed: the seed of Jericho's walkthrough of the story; ``None`` without one
    score, moves: functions that return the profile's values; 0 without a profile
    victory, defeat: functions that return above 0 if the profile recognises the last text as such. A defeat may be
        survived. Only valid with a profile: without one, every story that stops counts as a defeat.
    templates: the command templates for the story, with ``OBJ`` for a noun; empty without a profile
    memory: dynamic memory itself, not a copy: the next line changes it, so do not keep it
    """

    def __init__(self, story: Story, *, use_profile: bool = True) -> None:
        self._story = story
        self.version = story.version
        self._folder = private_folder()
        # A copy with a safe name: the interpreter crashes on a name without a dot, and the original may change.
        # Jericho recognises TextWorld's stories by name alone and then uses special commands.
        by_textworld = story.path.name.startswith("tw-") and "tw-print" in Dictionary.of(story).words
        self._file = Path(self._folder.name) / ("tw-story.z8" if by_textworld else "story.z8")
        with reported_as(f"the story cannot be copied to {self._file}", GameError):
            self._file.write_bytes(story.content)
        if not use_profile:
            self._file = self._file.with_name("unknown.z8")
            self._file.touch()
        table, characters = unicode_table(story)
        self._characters = Characters(characters)
        self._content = bytes(with_codes(story, table, self._characters)) if table else story.content
        self._environment = _Environment(story, self._file, self._characters)
        self._library = library = self._environment.frotz_lib
        library.getRngA.restype = ctypes.c_long
        library.dumb_get_screen.restype = ctypes.c_char_p
        self._printed, self._drawn = b"", ""
        self._clean = self._intercept_cleaning()
        self._containment = self._environment.containment
        self._opcode = ctypes.c_ubyte.in_dll(library, "next_opcode")
        self._stack = ctypes.create_string_buffer(library.getStackSize())
        self.memory: DynamicMemory = bytes(story.dynamic_size)
        self.known = bool(self._environment.is_fully_supported)
        bindings = self._environment.bindings
        self.templates = tuple(TemplateActionGenerator(bindings).templates) if bindings else ()
        self.walkthrough_seed: int | None = bindings.get("seed") if self.known else None
        self.max_score: int | None = None
        self.player: int | None = None
        self.score: Callable[[], int] = library.get_score
        self.moves: Callable[[], int] = library.get_moves
        self.victory: Callable[[], int] = library.victory
        self.defeat: Callable[[], int] = library.game_over
        self._open = False
        self._closed = False

    def reset(self, seed: int) -> str:
        """Restart the story, run to its first prompt and return the opening text."""
        if self._closed:
            raise GameError("The story is closed.")
        self._shut_down()
        content = self._content
        self._containment.resume()
        self._containment.screen, self._containment.status_line = Screen(), b""
        self._containment.begin_step()
        self._library.setup(self._environment.story_file, seed, content, len(content))
        self._containment.close_files(len(content))
        self._open = True
        self._show_status_line()
        if self.known:
            self.max_score, self.player = int(self._library.get_max_score()), int(self._library.get_self_object_num())
        address = ctypes.c_void_p.in_dll(self._library, "zmp").value or 0
        self._bytes = (ctypes.c_ubyte * self._story.dynamic_size).from_address(address)
        self.memory = memoryview(self._bytes).cast("B").toreadonly()
        return self._with_drawing(self._characters.decoded(self._printed))

    def send(self, line: str) -> str:
        """Send ``line`` to the story, run to its next prompt and return the printed text.

        If the story waits for a key, that is the key which ``keypress`` selects from ``line``, which otherwise must be
        ASCII without a line break.
        """
        self.require_open()
        at_key = self.prompt == "key"
        self._containment.begin_step(at_key=at_key)
        typed = keypress(line) if at_key else self._characters.encoded(line)
        self._printed, self._drawn = b"", ""
        text: bytes = self._library.step(typed + b"\n")
        self._show_status_line()
        return self._with_drawing(self._characters.decoded(self._printed or text))

    @contextmanager
    def trying(self) -> Iterator[Snapshot]:
        """Restore the machine on exit to its present state, which is also the context's value."""
        start = self.snapshot()
        try:
            yield start
        finally:
            self.restore(start)

    def snapshot(self) -> Snapshot:
        """Return the current state of the whole machine."""
        self.require_open()
        library = self._library
        library.getStack(self._stack)
        registers = Registers(
            library.getPC(),
            library.getSP(),
            library.getFP(),
            library.getFrameCount(),
            library.get_opcode(),
            *self.chance,
            self._containment.screen,
        )
        text: bytes = library.get_narrative_text()
        return Snapshot(bytes(self.memory), self._stack.raw, registers, text, self._containment.status_line)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore ``snapshot``, including the random number generator.

        Raises ``GameError`` if it does not fit the story; the C library does not check it.
        """
        self.require_open()
        library, registers, stack = self._library, snapshot.registers, len(self._stack) // 2
        if not (
            len(snapshot.memory) == len(self.memory)
            and len(snapshot.stack) == len(self._stack)
            and len(snapshot.text) < _LONGEST_TEXT
            and 0 <= registers.pc < len(self._story.content)
            and 0 <= registers.sp <= stack
            and 0 <= registers.fp <= stack
        ):
            raise GameError("The saved state does not fit the story.")
        self._containment.resume()
        self._containment.screen = registers.screen
        library.setRAM(snapshot.memory)
        library.setStack(snapshot.stack)
        library.setRng(registers.rng, registers.rng_interval, registers.rng_counter)
        library.setPC(registers.pc)
        library.setSP(registers.sp)
        library.setFP(registers.fp)
        library.setFrameCount(registers.frames)
        library.set_opcode(registers.opcode)
        library.set_narrative_text(snapshot.text)
        self._containment.status_line = snapshot.status_line
        self._show_status_line()

    def require_open(self) -> None:
        """Raise ``GameError`` after ``close``; the C library would crash."""
        if not self._open:
            raise GameError("The story is closed.")

    def _show_status_line(self) -> None:
        """Pass the status line, which was removed from the text, to Jericho: some profiles read the score from it."""
        if self.known and self._containment.status_line:
            self._clean(b"\n\n" + self._containment.status_line)

    def _with_drawing(self, text: str) -> str:
        """Return ``text`` with what the player has to see in the upper window: a menu above, a quotation below."""
        if not self._drawn:
            return text
        drawn = self._characters.decoded(self._drawn.encode("latin-1"))
        if self.prompt == "key":
            return f"{drawn}\n\n{dedent(text).strip(chr(10))}"
        return f"{text.rstrip().removesuffix('>').rstrip()}\n\n{drawn}"

    def _intercept_cleaning(self) -> Callable[[bytes], object]:
        """Keep each text as it is before Jericho's profile cuts it, and return the function that cuts.

        The last word, which the interpreter still holds in its buffer at a prompt, is added. Up to version 3 the
        profile removes the status line, which would be mistaken for text; from version 4 on it may remove text, so that
        it receives a copy, from which some profiles read the score.
        """
        library = self._library
        at = ctypes.c_int.in_dll(library, "ROM_IDX").value
        table = (ctypes.c_void_p * (at + 1)).in_dll(library, "clean_observation_fns")
        original = _Cleaner(table[at] or 0)
        has_status_line = self.version <= _LAST_VERSION_WITH_STATUS_LINE

        def clean(text: bytes) -> None:
            """Pass a copy of ``text`` to the profile, which may write two bytes in front of it."""
            copy = ctypes.create_string_buffer(b"\0\0" + text)
            original(ctypes.addressof(copy) + 2)

        def keep(address: int) -> int:
            library.flush_buffer()
            self._drawn = self._containment.finish_step(for_key=self.prompt == "key")
            self._printed = library.dumb_get_screen()
            if not has_status_line:
                clean(self._printed)
                return address
            rest: int = original(address)
            return rest

        self._kept_alive = _Cleaner(keep)
        table[at] = ctypes.cast(self._kept_alive, ctypes.c_void_p).value
        return clean

    @property
    def prompt(self) -> Prompt:
        """The input that the story waits for: a line of text or a single key."""
        return "key" if self._opcode.value == READ_KEY else "line"

    @property
    def listens(self) -> bool:
        """Whether the story waits for a line and has not stopped."""
        return self.prompt == "line" and self.stop is None

    @property
    def prompt_place(self) -> int:
        """The program counter and stack depth at the prompt. A story reads commands at only a few such places."""
        return int(self._library.getPC()) << 16 | int(self._library.getSP())

    @property
    def instruction(self) -> int:
        """The program counter at the prompt."""
        return int(self._library.getPC())

    @property
    def frames(self) -> int:
        """The number of routines that have not returned at the prompt."""
        return int(self._library.getFrameCount())

    @property
    def chance(self) -> tuple[int, int, int]:
        """The state of the random number generator. It changes whenever the story draws a number."""
        library = self._library
        return int(library.getRngA()), int(library.getRngInterval()), int(library.getRngCounter())

    def line_room(self) -> int:
        """Return the size of the story's text buffer in letters. The interpreter does not check for overflow.

        The buffer's address is the first operand of the waiting read instruction, whose types of operands the program
        counter points to (Z-Machine Standard 1.1 §4.4, and §15, read).
        """
        at = int(self._library.getPC())
        code = self.memory if at < len(self.memory) else self._story.content
        kind, operand = code[at] >> 6, code[at + 1]
        if kind == _LARGE_CONSTANT:
            address = read_word(code, at + 1)
        elif kind == _SMALL_CONSTANT:
            address = operand
        elif operand >= _FIRST_GLOBAL:
            address = read_word(self.memory, self._story.globals + 2 * (operand - _FIRST_GLOBAL))
        else:
            self._library.getStack(self._stack)
            place = self._library.getFP() - operand if operand else self._library.getSP()
            address = int.from_bytes(self._stack.raw[2 * place : 2 * place + 2], sys.byteorder)
        if not 0 < address < len(self.memory):
            return LONGEST_LINE
        room = self.memory[address]
        return min(room - 1 if self.version <= _LAST_VERSION_WITH_TERMINATOR else room, LONGEST_LINE)

    def counts_moves_at(self, address: int) -> bool:
        """Return whether the profile reads the number of moves from the word at ``address`` of dynamic memory."""
        before, low = self.moves(), address + 1
        self._bytes[low] ^= 1
        try:
            return self.moves() != before
        finally:
            self._bytes[low] ^= 1

    @property
    def stop(self) -> Stop | None:
        """The reason why the machine stopped; ``None`` while it runs."""
        return (self._containment.stop or "crash") if self._containment.halted.value > 0 else None

    def close(self) -> None:
        """Shut the machine down and remove its files."""
        self._shut_down()
        self._closed = True
        self._folder.cleanup()

    def _shut_down(self) -> None:
        if self._open:
            self.memory = bytes(self.memory)
            self._library.shutdown()
            self._open = False

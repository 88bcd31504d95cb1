"""Prevents a story from using files, restarting, and running on after its end.

It also separates the status line, which stories from version 4 on draw themselves, from the story's text, and prints
the characters beyond Latin-1.

Jericho ignores the quit opcode and executes the bytes after it, and it saves, restores and transcribes into files of
the working directory. The interpreter's opcode tables are ordinary writable data, so this module replaces the opcodes
concerned by its own (Z-Machine Standard 1.1 §14, §15).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from game_interface.core.commands import plain
from game_interface.core.machine.characters import Characters

Stop = Literal["quit", "restart"]

_Opcode = ctypes.CFUNCTYPE(None)
_SAVE, _RESTORE, _RESTART, _QUIT = 0x05, 0x06, 0x07, 0x0A  # 0OP
_EXT_SAVE, _EXT_RESTORE, _EXT_SAVE_UNDO, _EXT_RESTORE_UNDO, _PRINT_UNICODE = 0x00, 0x01, 0x09, 0x0A, 0x0B  # EXT
_PLAIN_OPCODES, _EXT_OPCODES, _VAR_OPCODES = 0x10, 0x1D, 0x40
_SPLIT_WINDOW, _SET_WINDOW, _BUFFER_MODE = 0x2A, 0x2B, 0x32  # VAR
_UPPER_WINDOW = 1
_MOST_STATUS_LINES = 5
"""Greatest height of an upper window with a status line. Menus and quotations have seven lines or more."""
_LAST_BRANCHING_VERSION = 3
_UNAVAILABLE = 0xFFFF  # the result of save_undo without undo


@dataclass(frozen=True, slots=True)
class Screen:
    """The state of the screen that decides what the next text is.

    upper_lines: the height of the upper window
    window: the window that the story prints to
    shows: whether the story prints to the screen at all
    """

    upper_lines: int = 0
    window: int = 0
    shows: bool = True


class _Setup(ctypes.Structure):
    """The beginning of the interpreter's settings, up to the folder in which it may open files."""

    _fields_ = (
        ("switches", ctypes.c_int * 12),
        ("script_columns", ctypes.c_int),
        ("sound", ctypes.c_int),
        ("error_report_mode", ctypes.c_int),
        ("names", ctypes.c_void_p * 10),
        ("story", ctypes.c_void_p),
        ("story_size", ctypes.c_size_t),
        ("restricted_path", ctypes.c_void_p),
    )


class Containment:
    """Replaces the dangerous opcodes of a freshly loaded interpreter library.

    stop: the opcode at which the story stopped the machine; ``None`` while it runs
    halted: the interpreter's own flag, above 0 once the machine has stopped for any reason
    upper_text: the address of the upper window's text while the story writes there; must be ``None`` before a step
    status_line: the text that was last removed from the upper window
    """

    def __init__(self, library: ctypes.CDLL, version: int, characters: Characters) -> None:
        self.stop: Stop | None = None
        self._library = library
        self._characters = characters
        self.halted = ctypes.c_int.in_dll(library, "emulator_halted")
        self.upper_text: int | None = None
        self.upper_lines = 0
        self.status_line = b""
        self._operand = ctypes.c_ushort.in_dll(library, "zargs")
        self._text_end = ctypes.c_void_p.in_dll(library, "screen_buffer_ptr")
        library.store.argtypes = [ctypes.c_ushort]
        library.branch.argtypes = [ctypes.c_bool]
        fail = partial(library.branch, False) if version <= _LAST_BRANCHING_VERSION else partial(library.store, 0)
        short: dict[int, Callable[[], object]] = {
            _SAVE: fail,
            _RESTORE: fail,
            _RESTART: partial(self._halt, "restart"),
            _QUIT: partial(self._halt, "quit"),
        }
        # Undo is kept outside the state that Jericho saves: after a restore it would undo another game.
        extended: dict[int, Callable[[], object]]
        extended = dict.fromkeys((_EXT_SAVE, _EXT_RESTORE, _EXT_RESTORE_UNDO), partial(library.store, 0))
        extended[_EXT_SAVE_UNDO] = partial(library.store, _UNAVAILABLE)
        extended[_PRINT_UNICODE] = self._print_unicode
        # Without buffering the interpreter wraps lines at a width that no restored state contains.
        variable: dict[int, Callable[[], object]] = {
            _SPLIT_WINDOW: self._split_window,
            _SET_WINDOW: self._set_window,
            _BUFFER_MODE: library.flush_buffer,
        }
        self._window = ctypes.c_int.in_dll(library, "cwin")
        self._shows = ctypes.c_int.in_dll(library, "ostream_screen")
        self._redirects = ctypes.c_int.in_dll(library, "ostream_memory")
        self._kept_alive: list[object] = []
        for name, size, actions in (
            ("op0_opcodes", _PLAIN_OPCODES, short),
            ("ext_opcodes", _EXT_OPCODES, extended),
            ("var_opcodes", _VAR_OPCODES, variable),
        ):
            table = (ctypes.c_void_p * size).in_dll(library, name)
            for number, action in actions.items():
                entry = _Opcode(action)
                self._kept_alive.append(entry)
                table[number] = ctypes.cast(entry, ctypes.c_void_p).value

    def resume(self) -> None:
        """Let the machine run again after a running state was restored."""
        self.stop = None
        self.halted.value = 0

    def close_files(self, story_size: int) -> None:
        """Redirect transcripts, recordings and auxiliary files to a folder that does not exist. Call after each load.

        Loading frees the path, so the C library must allocate it. It has one letter because the interpreter prefixes
        it to a name of up to 80 letters in a buffer of 81.
        """
        setup = _Setup.in_dll(self._library, "f_setup")
        if setup.story_size != story_size or setup.restricted_path is not None:
            return
        duplicate = ctypes.CDLL(None).strdup
        duplicate.argtypes, duplicate.restype = [ctypes.c_char_p], ctypes.c_void_p
        setup.restricted_path = duplicate(b"\x7f")

    @property
    def screen(self) -> Screen:
        """The state of the screen that decides how the next text is printed."""
        return Screen(self.upper_lines, self._window.value, bool(self._shows.value))

    @screen.setter
    def screen(self, screen: Screen) -> None:
        self.upper_lines = screen.upper_lines
        self._shows.value = screen.shows
        if self._window.value != screen.window:
            self._operand.value = screen.window
            self._library.z_set_window()

    def _print_unicode(self) -> None:
        """Print one character: itself, its plain form in text that the story only composes, or else a question mark."""
        character = chr(self._operand.value)
        is_lost = self._redirects.value and character not in self._characters.own
        code = None if is_lost else self._characters.code(character)
        for each in [code] if code else plain(character).encode("ascii", "replace"):
            self._library.print_char(each)

    def _split_window(self) -> None:
        self.upper_lines = self._operand.value
        self._library.z_split_window()

    def _set_window(self) -> None:
        """Remove the upper window's text when the story leaves it, if the window is no higher than a status line."""
        self._library.z_set_window()
        begin, end = self.upper_text, self._text_end.value or 0
        if begin is not None and begin < end and self.upper_lines <= _MOST_STATUS_LINES:
            self.status_line = ctypes.string_at(begin, end - begin)
            self._text_end.value = end = begin
        self.upper_text = end if self._operand.value == _UPPER_WINDOW else None

    def _halt(self, stop: Stop) -> None:
        self._library.flush_buffer()
        self.stop = stop
        self.halted.value = 1

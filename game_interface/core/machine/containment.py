"""Prevents a story from using files, restarting, and running on after its end.

It also separates what stories draw into the upper window of the screen from their text, and prints characters beyond
Latin-1.

Jericho ignores the quit opcode and executes the bytes after it, and it saves, restores and transcribes into files of
the working directory. The interpreter's opcode tables are ordinary writable data, so this module replaces the opcodes
concerned by its own (Z-Machine Standard 1.1 §14, §15).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from game_interface.core.commands import plain
from game_interface.core.machine.story import Characters

Stop = Literal["quit", "restart"]

_Opcode = ctypes.CFUNCTYPE(None)
_SAVE, _RESTORE, _RESTART, _QUIT = 0x05, 0x06, 0x07, 0x0A  # 0OP
_EXT_SAVE, _EXT_RESTORE, _EXT_SAVE_UNDO, _EXT_RESTORE_UNDO, _PRINT_UNICODE = 0x00, 0x01, 0x09, 0x0A, 0x0B  # EXT
_PLAIN_OPCODES, _EXT_OPCODES, _VAR_OPCODES = 0x10, 0x1D, 0x40
_SPLIT_WINDOW, _SET_WINDOW, _ERASE_WINDOW = 0x2A, 0x2B, 0x2D  # VAR
_SET_CURSOR, _SET_STYLE, _BUFFER_MODE = 0x2F, 0x31, 0x32  # VAR
_UPPER_WINDOW = 1
_ERASE_UNSPLIT = 0xFFFF  # the window's number -1: erase both and remove the upper one
_REVERSE_STYLE = 1
_LAST_ROW = 254
_LONGEST_TEXT = 8191
"""Bytes that fit into the interpreter's buffer."""
_MOST_STATUS_LINES = 5
"""Greatest height of an upper window with a status line. Menus and quotations have seven lines or more."""
_LAST_BRANCHING_VERSION = 3
_UNAVAILABLE = 0xFFFF  # the result of save_undo without undo

_REVERSED = 0x100
"""Added to the code of a character that is printed in reverse video."""
_TO_REVERSED = {code: code + _REVERSED for code in range(_REVERSED)}
_TO_NORMAL = {code + _REVERSED: code for code in range(_REVERSED)}
_WIDE_GAP = re.compile(r"(?<=\S) {5,}")
_SELECTED = re.compile(rf"[{chr(_REVERSED)}-{chr(2 * _REVERSED - 1)}]+")
_BAR = re.compile(rf"{chr(_REVERSED + ord(' '))}{{10}}|.*{chr(_REVERSED + ord(' '))}{{10}}\Z")
"""A row in reverse video with much more room than its text takes, such as a heading or a status line."""


@dataclass(slots=True)
class UpperWindow:
    """The characters in the upper window, by row, and where the next one goes.

    The interpreter prints both windows into one text and keeps no picture of the screen (Z-Machine Standard 1.1 §8).

    lines: the height of the window
    row, column: of the cursor, counted from 0
    """

    rows: tuple[str, ...] = ()
    lines: int = 0
    row: int = 0
    column: int = 0

    def write(self, printed: bytes, *, is_reversed: bool) -> None:
        """Draw ``printed`` at the cursor and move the cursor behind it."""
        rows = list(self.rows)
        for number, part in enumerate(printed.decode("latin-1").split("\n")):
            if number:
                self.row, self.column = self.row + 1, 0
            drawn = part.translate(_TO_REVERSED) if is_reversed else part
            rows += [""] * (self.row + 1 - len(rows))
            row = rows[self.row].ljust(self.column)
            end = self.column + len(drawn)
            rows[self.row] = row[: self.column] + drawn + row[end:]
            self.column = end
        self.rows = tuple(rows)

    def clear(self) -> None:
        """Erase the window and move the cursor to its beginning."""
        self.rows, self.row, self.column = (), 0, 0

    def text(self, first: int = 0, *, marks: bool = False) -> str:
        """Return the rows from ``first`` on as text, without empty margins.

        marks: whether to put reversed text, which is the mark of some menus, into brackets, except in bars at the top
        """
        rows = list(self.rows[first:])
        heading = next((number for number, row in enumerate(rows) if not _BAR.match(row)), len(rows))
        plain = [_plain(row, marks=marks and number >= heading) for number, row in enumerate(rows)]
        margin = min((len(row) - len(row.lstrip()) for row in plain if row), default=0)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(row[margin:] for row in plain)).strip("\n")


def _plain(row: str, *, marks: bool) -> str:
    """Return ``row`` in ordinary characters without trailing spaces."""

    def part(found: re.Match[str]) -> str:
        letters = found[0].translate(_TO_NORMAL)
        return f"[{letters.strip()}]" if marks and letters.strip() else letters

    return _WIDE_GAP.sub("    ", _SELECTED.sub(part, row).rstrip())


@dataclass(frozen=True, slots=True)
class Screen:
    """The state of the screen that decides what the next text is.

    upper: what the upper window contains
    window: the window that the story prints to
    shows: whether the story prints to the screen at all
    is_reversed: whether it prints in reverse video
    status_lines: the height of the upper window when the story last waited for a line
    drawing: what the last step has drawn into an upper window that was higher than a status line
    """

    upper: UpperWindow = field(default_factory=UpperWindow)
    window: int = 0
    shows: bool = True
    is_reversed: bool = False
    status_lines: int = 0
    drawing: str = ""


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
    status_line: the text that was last removed from the upper window
    """

    def __init__(self, library: ctypes.CDLL, version: int, characters: Characters) -> None:
        self.stop: Stop | None = None
        self._library = library
        self._characters = characters
        self.halted = ctypes.c_int.in_dll(library, "emulator_halted")
        self.status_line = b""
        self._clears_at_split = version == _LAST_BRANCHING_VERSION
        self._operands = (ctypes.c_ushort * 2).in_dll(library, "zargs")
        self._upper = UpperWindow()
        self._upper_text: int | None = None
        self._text_begin: int | None = None
        self._drops_erased = False
        self._written = b""
        self._first_row = 0
        self._is_reversed = False
        self._status_lines = 0
        self._drawing = self._drawn = ""
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
            _ERASE_WINDOW: self._erase_window,
            _SET_CURSOR: self._set_cursor,
            _SET_STYLE: self._set_style,
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
        window, shows = self._window.value, bool(self._shows.value)
        return Screen(replace(self._upper), window, shows, self._is_reversed, self._status_lines, self._drawing)

    @screen.setter
    def screen(self, screen: Screen) -> None:
        self._upper, self._is_reversed = replace(screen.upper), screen.is_reversed
        self._status_lines, self._drawing = screen.status_lines, screen.drawing
        self._shows.value = screen.shows
        if self._window.value != screen.window:
            self._operands[0] = screen.window
            self._library.z_set_window()

    def begin_step(self, *, at_key: bool = False) -> None:
        """Prepare for the text of a step. Call when no text is in the interpreter's buffer.

        at_key: whether the story waits for a key; then what it erases right after is not part of the text
        """
        self._text_begin, self._drops_erased = self._text_end.value, at_key
        self._upper_text = self._text_begin if self._window.value == _UPPER_WINDOW else None
        self._written, self._drawn = b"", ""

    def finish_step(self, *, for_key: bool) -> str:
        """Remove the upper window's text from that of the step; return what of it the player has to see besides.

        - While the story waits for a key: a window that is higher than the status line, such as a menu.
        - What was drawn into a window that was higher than a status line, such as a quotation, and not just before.
        - What the story prints in front of the prompt, if it reads there.

        for_key: whether the story waits for a key
        """
        self._take()
        if for_key and self._upper.lines > max(self._status_lines, 1):
            return self._upper.text(marks=True)
        if not for_key:
            self._status_lines = self._upper.lines
        if self._written.strip() and self._window.value == _UPPER_WINDOW:
            return self._upper.text(self._first_row)
        before, self._drawing = self._drawing, self._drawn
        return self._drawn if for_key or self._drawn != before else ""

    def _print_unicode(self) -> None:
        """Print one character: itself, its plain form in text that the story only composes, or else a question mark."""
        character = chr(self._operands[0])
        is_lost = self._redirects.value and character not in self._characters.own
        code = None if is_lost else self._characters.code(character)
        for each in [code] if code else plain(character).encode("ascii", "replace"):
            self._library.print_char(each)

    def _split_window(self) -> None:
        self._take()
        lines = self._upper.lines = self._operands[0]
        self._upper.rows = () if self._clears_at_split else self._upper.rows[:lines]
        self._library.z_split_window()

    def _set_window(self) -> None:
        """Remove the upper window's text when the story leaves it."""
        self._library.z_set_window()
        self._take()
        if self._written.strip() and self._upper.lines > _MOST_STATUS_LINES:
            self._drawn = self._upper.text(self._first_row)
        elif self._written:
            self.status_line = self._written
        self._written = b""
        self._upper_text = None
        if self._operands[0] == _UPPER_WINDOW:
            self._upper_text = self._text_end.value
            self._upper.row = self._upper.column = 0
            self._first_row = _LAST_ROW

    def _erase_window(self) -> None:
        self._library.flush_buffer()
        self._take()
        self._library.z_erase_window()
        if self._operands[0] != _UPPER_WINDOW:
            if self._drops_erased:
                self._text_end.value = self._text_begin
            else:
                self._print_drawing()
            self._upper_text = None if self._upper_text is None else self._text_end.value
            self._drawn = ""
        if self._operands[0] == _ERASE_UNSPLIT:
            self._upper_text, self._upper.lines = None, 0
        if self._operands[0] != 0:
            self._upper.clear()
            self._written = b""

    def _print_drawing(self) -> None:
        """Add a quotation to the text of the page that is turned now."""
        at, printed = self._text_end.value or 0, f"\n\n{self._drawn}\n\n".encode("latin-1")
        if self._drawn and at - (self._text_begin or at) + len(printed) < _LONGEST_TEXT:
            ctypes.memmove(at, printed, len(printed))
            self._text_end.value = at + len(printed)

    def _set_cursor(self) -> None:
        self._take()
        self._library.z_set_cursor()
        if self._upper_text is not None:
            self._upper.row, self._upper.column = (min(max(each - 1, 0), _LAST_ROW) for each in self._operands)

    def _set_style(self) -> None:
        self._take()
        style = self._operands[0]
        self._is_reversed = bool(style & _REVERSE_STYLE) or (self._is_reversed and style != 0)
        self._library.z_set_text_style()

    def _take(self) -> None:
        """Move what the story has printed to the upper window from the text to the picture of that window."""
        if self._upper_text is None:
            return
        self._library.flush_buffer()
        begin, end = self._upper_text, self._text_end.value or 0
        if begin < end:
            printed = ctypes.string_at(begin, end - begin)
            if printed.strip():
                self._first_row = min(self._first_row, self._upper.row)
            self._written += printed
            self._upper.write(printed, is_reversed=self._is_reversed)
            self._text_end.value = begin

    def _halt(self, stop: Stop) -> None:
        self._library.flush_buffer()
        self.stop = stop
        self.halted.value = 1

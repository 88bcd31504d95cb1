"""Story files, plain or inside a Blorb archive: their header, memory and text."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

from jericho.defines import BINDINGS_DICT
from typing_extensions import Self

from session.errors import StoryError

_ARCHIVE, _KIND = b"FORM", b"IFRS"
_Z_CODE, _GLULX = b"ZCOD", b"GLUL"
_CHUNK_HEADER = 8
"""Bytes before each chunk: its type and length."""


DynamicMemory: TypeAlias = "bytes | bytearray | memoryview"
"""A story's writable memory, from address 0 on, or a copy. For a ctypes array pass a memoryview."""

HEADER_SIZE = 64
_COMPILER_ADDRESS = 0x3C
PLAYABLE_VERSIONS = (1, 2, 3, 4, 5, 7, 8)
_LARGEST_FILE = 1024 * 1024
"""Bytes: twice the maximum size of a story (Z-Machine Standard 1.1 §1.1.4), to allow for padding."""
_OTHER_FORMATS = {
    b"FORM": "it is an archive of another kind than Blorb",
    b"Glul": "it is made for Glulx; this program plays Z-machine stories only",
    b"TADS": "it is made for TADS; this program plays Z-machine stories only",
    b"T3-i": "it is made for TADS; this program plays Z-machine stories only",
    b"PK\x03\x04": "it is a ZIP archive",
}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_SMALLEST_OBJECT_TABLE = 62 + 9
"""Bytes of 31 defaults and one object of version 1-3."""
_BLOCK = 512
"""Compilers pad story files to a multiple of this number of bytes."""
_STATUS_GLOBALS = 6
"""Bytes of the three globals that every story has (Z-Machine Standard 1.1 §8.2)."""
_CLOCK_VERSION, _CLOCK_FLAG = 3, 0x02
"""The only version with a time in the status line, and its bit in flags 1 (Z-Machine Standard 1.1 §11)."""
_LENGTH_UNIT = {1: 2, 2: 2, 3: 2, 4: 4, 5: 4, 7: 8, 8: 8}
"""Bytes per unit of the header's length field."""


@dataclass(frozen=True, slots=True)
class Story:
    """A story file with a consistent header (Z-Machine Standard 1.1 §1, §11).

    content: the whole file, or the story inside a Blorb archive. Padding at the end is changed if Jericho then knows
        the story
    sha256, md5: hashes of ``content``
    dynamic_size: bytes of dynamic memory, which static memory follows
    object_table, globals, abbreviations, dictionary: byte addresses; 0 for no abbreviations
    shows_time: whether the second and third global contain hours and minutes instead of score and moves
    """

    path: Path
    content: bytes = field(repr=False)
    sha256: str
    md5: str
    version: int
    release: int
    serial: str
    dynamic_size: int
    object_table: int
    globals: int
    abbreviations: int
    dictionary: int
    shows_time: bool

    @property
    def by_inform_6(self) -> bool:
        """Whether the header has the signature of Inform's compiler, version 6."""
        return self.content.startswith(b"6.", _COMPILER_ADDRESS)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the story file ``path``. Raises ``StoryError`` with a one-sentence reason if it is not a valid one."""
        content = _read(path)
        fault = _not_a_story(content)
        if fault:
            raise StoryError(f"{path} is not a story file: {fault}.")
        length = read_word(content, 0x1A) * _LENGTH_UNIT[content[0]]
        md5 = partial(hashlib.md5, usedforsecurity=False)
        known = (each for each in _as_filled_up(content, length) if md5(each).hexdigest() in BINDINGS_DICT)
        content = next(known, content)
        story = cls(
            path=path,
            content=content,
            sha256=hashlib.sha256(content).hexdigest(),
            md5=md5(content).hexdigest(),
            version=content[0],
            release=read_word(content, 0x02),
            serial=content[0x12:0x18].decode("ascii", "replace"),
            dynamic_size=read_word(content, 0x0E),
            object_table=read_word(content, 0x0A),
            globals=read_word(content, 0x0C),
            abbreviations=read_word(content, 0x18),
            dictionary=read_word(content, 0x08),
            shows_time=content[0] == _CLOCK_VERSION and bool(content[1] & _CLOCK_FLAG),
        )
        fault = _damage(story)
        if fault:
            raise StoryError(f"{path} is a damaged story file: {fault}.")
        return story


def read_word(content: DynamicMemory, address: int) -> int:
    """Return the big-endian 16-bit number at ``address``; 0 beyond the end."""
    return int.from_bytes(content[address : address + 2], "big") if address + 1 < len(content) else 0


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise StoryError(f"{path} is a {'folder' if path.is_dir() else 'device'}, not a story file.")
        with path.open("rb") as file:
            beginning = file.read(12)
            if beginning[:4] != _ARCHIVE or beginning[8:] != _KIND:
                return beginning + file.read(_LARGEST_FILE + 1 - len(beginning))
            what = "no story"
            while len(header := file.read(_CHUNK_HEADER)) == _CHUNK_HEADER:
                kind, size = header[:4], int.from_bytes(header[4:], "big")
                if kind == _Z_CODE:
                    return file.read(min(size, _LARGEST_FILE + 1))
                what = "a story for Glulx" if kind == _GLULX else what
                file.seek(size + size % 2, os.SEEK_CUR)
            raise StoryError(f"{path} is a Blorb archive with {what}; this program plays Z-machine stories only.")
    except FileNotFoundError as error:
        raise StoryError(f"There is no story file {path}; expected the path of a Z-machine story.") from error
    except (OSError, ValueError) as error:
        raise StoryError(f"The story file {str(path)!r} cannot be read: {error}.") from error


def _as_filled_up(content: bytes, length: int) -> Iterator[bytes]:
    """Yield ``content``, its first ``length`` bytes (the story), and these with every possible padding."""
    yield content
    if length:
        yield content[:length]
        yield content[:length] + bytes(-length % _BLOCK)
        yield from (content[:end] for end in range(length + -length % _BLOCK, len(content), _BLOCK))


def _not_a_story(content: bytes) -> str:
    """Return why ``content`` cannot be a story, or ``""`` if it may be one."""
    version = content[0] if content else 0
    is_utf_16 = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    starts_as_text = is_utf_16 or not _CONTROL.search(content[:_BLOCK])  # in UTF-8 or Latin-1
    faults = {
        "it is empty": not content,
        _OTHER_FORMATS.get(content[:4], ""): content[:4] in _OTHER_FORMATS,
        "it is text": starts_as_text,
        f"it is too short, {len(content)} bytes of the {HEADER_SIZE} of the header": len(content) < HEADER_SIZE,
        f"it is larger than any story, over {_LARGEST_FILE} bytes": len(content) > _LARGEST_FILE,
        "it is of version 6, which needs pictures and windows": version == 6,  # noqa: PLR2004 - versions are numbers
        f"it begins with byte {version}, and a story with its version, 1 to 8": version not in PLAYABLE_VERSIONS,
    }
    return next((fault for fault, holds in faults.items() if holds), "")


def _damage(story: Story) -> str:
    """Return how the header contradicts the file, or ``""``. A length or checksum of 0 means that it is not set."""
    content, size = story.content, len(story.content)
    length = read_word(content, 0x1A) * _LENGTH_UNIT[story.version]
    if length > size:
        return f"it is cut off, {size} bytes of the {length} that its header names"
    checksum = read_word(content, 0x1C)
    if length and checksum and sum(content[HEADER_SIZE:length]) % 0x10000 != checksum:
        return "its checksum is wrong"
    if not HEADER_SIZE <= story.dynamic_size <= size:
        return f"static memory cannot start at {story.dynamic_size} in a file of {size} bytes"
    places = {
        "the object table": (story.object_table, story.dynamic_size - _SMALLEST_OBJECT_TABLE),
        "the table of globals": (story.globals, story.dynamic_size - _STATUS_GLOBALS),
        "the dictionary": (story.dictionary, size - 1),
        "the first instruction": (read_word(content, 0x06), size - 1),
        "the table of abbreviations": (story.abbreviations or HEADER_SIZE, size - 1),
    }
    for name, (address, last) in places.items():
        if not HEADER_SIZE <= address <= last:
            return f"{name} starts at {address}, and must start between {HEADER_SIZE} and {last}"
    return ""


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PUNCTUATION = "\n0123456789.,!?_#'\"/\\-:()"
_PUNCTUATION_VERSION_1 = "0123456789.,!?_#'\"/\\<-:()"
_LATIN_1 = range(0xA0, 0x100)
"""The codes of the characters beyond ASCII that the interpreter can print and read."""
_FIRST_EXTRA_CODE = 155
_EXTRA_CHARACTERS = "äöüÄÖÜß»«ëïÿËÏáéíóúýÁÉÍÓÚÝàèìòùÀÈÌÒÙâêîôûÂÊÎÔÛåÅøØãñõÃÑÕæÆçÇþðÞÐ£œŒ¡¿"

_ALPHABET_ADDRESS = 0x34
_EXTENSION_ADDRESS = 0x36
_UNICODE_TABLE_WORD = 3
_FIRST_EXTENSIBLE_VERSION = 5
_NEWLINE_CODE = 13
_FIRST_LETTER_CHAR = 6
_ESCAPE_CHAR = 6
_FIRST_LOCK_CHAR = 4
_PUNCTUATION_ALPHABET = 2
_STRING_END = 0x8000
_LONGEST_ABBREVIATION = 128
"""Bytes after which an abbreviation is considered corrupt and cut off."""


def unicode_table(story: Story) -> tuple[int, str]:
    """Return the address and the characters of the story's Unicode table, or 0 and ``""`` if it has none.

    The table replaces the standard characters from code 155 on (Z-Machine Standard 1.1 §3.8.5.4).
    """
    content = story.content
    extension = read_word(content, _EXTENSION_ADDRESS) if story.version >= _FIRST_EXTENSIBLE_VERSION else 0
    if extension and read_word(content, extension) >= _UNICODE_TABLE_WORD:
        address = read_word(content, extension + 2 * _UNICODE_TABLE_WORD)
        if 0 < address < len(content):
            words = range(address + 1, address + 1 + 2 * content[address], 2)
            return address, "".join(chr(read_word(content, at)) for at in words)
    return 0, ""


class Characters:
    """The bytes for a story's characters, because the interpreter prints and reads Latin-1 only.

    A character beyond Latin-1 is given a byte whose own character the story does not use.

    own: the characters of the story's table, or those of Latin-1 in the standard one, besides ASCII
    """

    def __init__(self, table: Iterable[str] = ()) -> None:
        """table: the characters of the story's Unicode table; empty if it has none."""
        table = tuple(table)
        self.own = frozenset(table or _EXTRA_CHARACTERS.replace("œŒ", ""))
        self._free = [code for code in _LATIN_1 if chr(code) not in self.own]
        self._codes: dict[str, int] = {}
        self._meant: dict[int, str] = {}
        for character in table:
            self.code(character)

    def code(self, character: str) -> int | None:
        """Return the byte for ``character``; ``None`` if it has none."""
        if ord(character) <= _LATIN_1[-1]:
            return None if ord(character) in self._meant else ord(character)
        if character not in self._codes and character.isprintable() and self._free:
            self._codes[character] = self._free.pop()
            self._meant[self._codes[character]] = character
        return self._codes.get(character)

    def decoded(self, printed: bytes) -> str:
        """Return the text that the interpreter ``printed``."""
        return printed.decode("ascii") if printed.isascii() else printed.decode("latin-1").translate(self._meant)

    def encoded(self, line: str) -> bytes:
        """Return the bytes by which the interpreter reads ``line``."""
        if line.isascii() and "\0" not in line:
            return line.encode("ascii")
        return bytes(self.code(each) or ord("?") for each in line)


def with_codes(story: Story, address: int, characters: Characters) -> DynamicMemory:
    """Return the content of ``story`` in which the Unicode table at ``address`` has the bytes of ``characters``."""
    content = bytearray(story.content)
    for at in range(address + 1, address + 1 + 2 * content[address], 2):
        code = characters.code(chr(read_word(content, at)))
        content[at : at + 2] = (code or read_word(content, at)).to_bytes(2, "big")
    return content


class TextDecoder:
    """Decodes the strings of one story (Z-Machine Standard 1.1 §3).

    Corrupt strings are decoded as well as possible, without an exception.
    """

    def __init__(self, story: Story) -> None:
        self._content = story.content
        self._abbreviations = story.abbreviations
        self._abbreviation_chars = range(1, {1: 1, 2: 2}.get(story.version, 4))
        self._has_locks = story.version in (1, 2)
        self._extra = unicode_table(story)[1] or _EXTRA_CHARACTERS
        self._alphabets = self._alphabets_of(story)

    def decode(self, address: int, length: int) -> str:
        """Return the string of at most ``length`` bytes at ``address``, with abbreviations expanded."""
        return "".join(self._letters(self._characters(address, length), abbreviated=True))

    def _characters(self, address: int, length: int) -> Iterator[int]:
        """Yield the 5-bit Z-characters of a string."""
        for at in range(address, min(address + length, len(self._content) - 1), 2):
            triple = read_word(self._content, at)
            yield triple >> 10 & 31
            yield triple >> 5 & 31
            yield triple & 31
            if triple & _STRING_END:
                return

    def _letters(self, characters: Iterator[int], *, abbreviated: bool) -> Iterator[str]:
        """Yield the text of Z-characters. An abbreviation cannot contain other abbreviations."""
        alphabet = locked = 0
        for char in characters:
            current, alphabet = alphabet, locked
            if char >= _FIRST_LETTER_CHAR:
                if current == _PUNCTUATION_ALPHABET and char == _ESCAPE_CHAR:
                    yield self._from_zscii(next(characters, 0) << 5 | next(characters, 0))
                else:
                    yield self._alphabets[current][char - _FIRST_LETTER_CHAR]
            elif char == 0:
                yield " "
            elif char in self._abbreviation_chars:
                number = 32 * (char - 1) + next(characters, 0)
                if abbreviated and self._abbreviations:
                    address = 2 * read_word(self._content, self._abbreviations + 2 * number)
                    yield from self._letters(self._characters(address, _LONGEST_ABBREVIATION), abbreviated=False)
            elif char == 1:
                yield "\n"
            elif self._has_locks:
                alphabet = (locked + (char - 1 if char < _FIRST_LOCK_CHAR else char - 3)) % 3
                locked = alphabet if char >= _FIRST_LOCK_CHAR else locked
            else:
                alphabet = char - 3

    def _alphabets_of(self, story: Story) -> list[Sequence[str]]:
        """Return the three alphabets for Z-characters 6 to 31: the story's own (Z-Machine Standard 1.1 §3.5.5), if any.

        The first place of the third alphabet is the escape.
        """
        address = read_word(self._content, _ALPHABET_ADDRESS) if story.version >= _FIRST_EXTENSIBLE_VERSION else 0
        if not 0 < address <= len(self._content) - 3 * len(_LETTERS):
            punctuation = _PUNCTUATION_VERSION_1 if story.version == 1 else _PUNCTUATION
            return [_LETTERS, _LETTERS.upper(), " " + punctuation]
        starts = range(address, address + 3 * len(_LETTERS), len(_LETTERS))
        letters, capitals, others = (
            [self._from_zscii(code) for code in self._content[start : start + len(_LETTERS)]] for start in starts
        )
        others[1] = "\n"
        return [letters, capitals, others]

    def _from_zscii(self, code: int) -> str:
        if code == _NEWLINE_CODE:
            return "\n"
        if 32 <= code <= 126:  # noqa: PLR2004 - printable ASCII
            return chr(code)
        index = code - _FIRST_EXTRA_CODE
        return self._extra[index] if 0 <= index < len(self._extra) else ""

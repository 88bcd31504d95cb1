"""Story files: their header and memory, also within a Blorb archive."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeAlias

from jericho.defines import BINDINGS_DICT
from typing_extensions import Self

from session.errors import StoryError

_ARCHIVE, _KIND = b"FORM", b"IFRS"
_Z_CODE, _GLULX = b"ZCOD", b"GLUL"
_CHUNK_HEADER = 8
"""Bytes before each chunk: what it is, and its length."""


def is_blorb(beginning: bytes) -> bool:
    """Return whether a file with this ``beginning``, of 12 bytes, is a Blorb archive."""
    return beginning[:4] == _ARCHIVE and beginning[8:12] == _KIND


def story_in_blorb(file: BinaryIO, largest: int) -> bytes | None:
    """Return the first ``largest`` bytes of the Z-machine story in the Blorb archive ``file``; ``None`` without one."""
    return next((file.read(min(size, largest)) for kind, size in _chunks(file) if kind == _Z_CODE), None)


def holds_glulx(file: BinaryIO) -> bool:
    """Return whether the story in the Blorb archive ``file`` is one for Glulx, another machine."""
    return any(kind == _GLULX for kind, _ in _chunks(file))


def _chunks(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield the kind and length of every chunk, with ``file`` at the beginning of its content."""
    at = 12
    while True:
        file.seek(at)
        header = file.read(_CHUNK_HEADER)
        if len(header) < _CHUNK_HEADER:
            return
        size = int.from_bytes(header[4:], "big")
        yield header[:4], size
        at += _CHUNK_HEADER + size + size % 2


DynamicMemory: TypeAlias = "bytes | bytearray | memoryview"
"""A story's memory as it can change in play, from address 0 on, or a copy; of a ctypes array take a memoryview."""

HEADER_SIZE = 64
PLAYABLE_VERSIONS = (1, 2, 3, 4, 5, 7, 8)
_LARGEST_FILE = 1024 * 1024
"""Bytes: twice what a story can have (Z-Machine Standard 1.1 §1.1.4), for files that are padded."""
_OTHER_FORMATS = {
    b"FORM": "it is an archive of another kind than Blorb",
    b"Glul": "it is made for Glulx, and this program plays Z-machine stories",
    b"TADS": "it is made for TADS, and this program plays Z-machine stories",
    b"T3-i": "it is made for TADS, and this program plays Z-machine stories",
    b"PK\x03\x04": "it is a ZIP archive",
}
_SMALLEST_OBJECT_TABLE = 62 + 9
"""Bytes of 31 defaults and one object of version 1-3."""
_BLOCK = 512
"""Bytes to a multiple of which compilers fill up the files of stories."""
_STATUS_GLOBALS = 6
"""Bytes of the three globals that every story has (Z-Machine Standard 1.1 §8.2)."""
_CLOCK_VERSION, _CLOCK_FLAG = 3, 0x02
"""The only version whose status line may show the time, and the bit of flags 1 for it (Z-Machine Standard 1.1 §11)."""
_LENGTH_UNIT = {1: 2, 2: 2, 3: 2, 4: 4, 5: 4, 7: 8, 8: 8}
"""Bytes that one unit of the header's length field stands for."""


@dataclass(frozen=True, slots=True)
class Story:
    """A story file whose header holds together (Z-Machine Standard 1.1 §1, §11).

    content: the whole file; of a Blorb archive the story in it, and of a story that Jericho knows, but for what was
        added behind its end, the story as Jericho knows it
    sha256, md5: of the content
    dynamic_size: bytes of dynamic memory, which end where static memory starts
    object_table, globals, abbreviations, dictionary: byte addresses; abbreviations 0 where there are none
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

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the story in the file ``path``. Raises ``StoryError``, which says in one sentence why it is not one."""
        content = _read(path)
        fault = _not_a_story(content)
        if fault:
            raise StoryError(f"{path} is not a story file: {fault}.")
        length = read_word(content, 0x1A) * _LENGTH_UNIT[content[0]]
        content = next((each for each in _as_filled_up(content, length) if _md5(each) in BINDINGS_DICT), content)
        story = cls(
            path=path,
            content=content,
            sha256=hashlib.sha256(content).hexdigest(),
            md5=_md5(content),
            version=content[0],
            release=read_word(content, 0x02),
            serial=content[0x12:0x18].decode("ascii", "replace"),
            dynamic_size=read_word(content, 0x0E),
            object_table=read_word(content, 0x0A),
            globals=read_word(content, 0x0C),
            abbreviations=read_word(content, 0x18),
            dictionary=read_word(content, 0x08),
        )
        fault = _damage(content) or _misplaced_table(story)
        if fault:
            raise StoryError(f"{path} is a damaged story file: {fault}.")
        return story

    @property
    def shows_time(self) -> bool:
        """Whether the second and third global hold the hours and minutes of a clock, not score and moves."""
        return self.version == _CLOCK_VERSION and bool(self.content[1] & _CLOCK_FLAG)


def read_word(content: DynamicMemory, address: int) -> int:
    """Return the big-endian 16-bit number at ``address``; 0 beyond the end."""
    return int.from_bytes(content[address : address + 2], "big") if address + 1 < len(content) else 0


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise StoryError(f"{path} is a {'folder' if path.is_dir() else 'device'}, not a story file.")
        with path.open("rb") as file:
            beginning = file.read(12)
            if not is_blorb(beginning):
                return beginning + file.read(_LARGEST_FILE + 1 - len(beginning))
            story = story_in_blorb(file, _LARGEST_FILE + 1)
            if story is None:
                what = "a story for Glulx" if holds_glulx(file) else "no story"
                raise StoryError(f"{path} is a Blorb archive with {what}, and this program plays Z-machine stories.")
            return story
    except FileNotFoundError as error:
        raise StoryError(f"There is no story file {path}; --game FILE names another.") from error
    except (OSError, ValueError) as error:
        raise StoryError(f"The story file {str(path)!r} cannot be read: {error}.") from error


def _as_filled_up(content: bytes, length: int) -> Iterator[bytes]:
    """Yield ``content`` itself, its first ``length`` bytes, which are the story, and these filled up to any length."""
    yield content
    if length:
        yield content[:length]
        yield content[:length] + bytes(-length % _BLOCK)
        yield from (content[:end] for end in range(length + -length % _BLOCK, len(content), _BLOCK))


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _not_a_story(content: bytes) -> str:
    """Return what else ``content`` is, or ``""`` if it may be a story."""
    version = content[0] if content else 0
    faults = {
        "it is empty": not content,
        _OTHER_FORMATS.get(content[:4], ""): content[:4] in _OTHER_FORMATS,
        "it is text": content.isascii() and version >= ord(" "),
        f"it is too short, {len(content)} bytes of the {HEADER_SIZE} of the header": len(content) < HEADER_SIZE,
        f"it is larger than any, over {_LARGEST_FILE} bytes": len(content) > _LARGEST_FILE,
        "it is of version 6, which needs pictures and windows": version == 6,  # noqa: PLR2004 - versions are numbers
        f"its first byte names version {version}, which there is not": version not in PLAYABLE_VERSIONS,
    }
    return next((fault for fault, holds in faults.items() if holds), "")


def _misplaced_table(story: Story) -> str:
    """Return which table of the header lies where it cannot, or ``""``."""
    size = len(story.content)
    if not HEADER_SIZE <= story.dynamic_size <= size:
        return f"static memory cannot start at {story.dynamic_size} in a file of {size} bytes"
    first_instruction = read_word(story.content, 0x06)
    places = {
        "the object table": (story.object_table, story.dynamic_size - _SMALLEST_OBJECT_TABLE),
        "the table of globals": (story.globals, story.dynamic_size - _STATUS_GLOBALS),
        "the dictionary": (story.dictionary, size - 1),
        "the first instruction": (first_instruction, size - 1),
        "the table of abbreviations": (story.abbreviations or HEADER_SIZE, size - 1),
    }
    for name, (address, last) in places.items():
        if not HEADER_SIZE <= address <= last:
            return f"{name} is said to be at {address}, and has to be from {HEADER_SIZE} to {last}"
    return ""


def _damage(content: bytes) -> str:
    """Return how the header's length and checksum contradict the file, or ``""``; 0 means that they are not set."""
    length = read_word(content, 0x1A) * _LENGTH_UNIT[content[0]]
    if length > len(content):
        return f"it is cut off, {len(content)} bytes of the {length} that its header names"
    checksum = read_word(content, 0x1C)
    if length and checksum and sum(content[HEADER_SIZE:length]) % 0x10000 != checksum:
        return "its checksum is wrong"
    return ""

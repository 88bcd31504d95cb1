"""Gives a byte to each character of a story, because the interpreter prints and reads Latin-1 only."""

from __future__ import annotations

from collections.abc import Iterable

from game_interface.core.machine.story import DynamicMemory, Story, read_word

_LATIN_1 = range(0xA0, 0x100)
_STANDARD = "äöüÄÖÜß»«ëïÿËÏáéíóúýÁÉÍÓÚÝàèìòùÀÈÌÒÙâêîôûÂÊÎÔÛåÅøØãñõÃÑÕæÆçÇþðÞÐ£¡¿"
"""The characters of Latin-1 that stories without a table of their own can print."""


class Characters:
    """The bytes for a story's characters.

    A character beyond Latin-1 is given a byte whose own character the story does not use.

    own: the characters of the story's table or of the standard one, besides ASCII
    """

    def __init__(self, table: Iterable[str] = ()) -> None:
        """table: the characters of the story's Unicode table; empty if it has none."""
        table = tuple(table)
        self.own = frozenset(table or _STANDARD)
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

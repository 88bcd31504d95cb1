"""Decodes the text of the Z-machine (Z-Machine Standard 1.1 §3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from game_interface.core.machine.story import Story, read_word

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PUNCTUATION = "\n0123456789.,!?_#'\"/\\-:()"
_PUNCTUATION_VERSION_1 = "0123456789.,!?_#'\"/\\<-:()"
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


class TextDecoder:
    """Decodes the strings of one story. Corrupt strings are decoded as well as possible, without an exception."""

    def __init__(self, story: Story) -> None:
        self._content = story.content
        self._abbreviations = story.abbreviations
        self._abbreviation_chars = range(1, {1: 1, 2: 2}.get(story.version, 4))
        self._has_locks = story.version in (1, 2)
        self._extra = _extra_characters(story)
        self._alphabets = self._own_alphabets(story) or _standard_alphabets(story.version)

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
        alphabet = locked = 0
        for char in characters:
            current, alphabet = alphabet, locked
            if char >= _FIRST_LETTER_CHAR:
                yield self._letter(current, char, characters)
            elif char == 0:
                yield " "
            elif char in self._abbreviation_chars:
                number = 32 * (char - 1) + next(characters, 0)
                yield self._abbreviation(number) if abbreviated else ""
            elif char == 1:
                yield "\n"
            elif self._has_locks:
                alphabet = (locked + (char - 1 if char < _FIRST_LOCK_CHAR else char - 3)) % 3
                locked = alphabet if char >= _FIRST_LOCK_CHAR else locked
            else:
                alphabet = char - 3

    def _letter(self, alphabet: int, char: int, characters: Iterator[int]) -> str:
        if alphabet == _PUNCTUATION_ALPHABET and char == _ESCAPE_CHAR:
            return self._from_zscii(next(characters, 0) << 5 | next(characters, 0))
        return self._alphabets[alphabet][char - _FIRST_LETTER_CHAR]

    def _abbreviation(self, number: int) -> str:
        """Return the text of an abbreviation, which cannot contain other abbreviations."""
        if not self._abbreviations:
            return ""
        address = 2 * read_word(self._content, self._abbreviations + 2 * number)
        return "".join(self._letters(self._characters(address, _LONGEST_ABBREVIATION), abbreviated=False))

    def _own_alphabets(self, story: Story) -> list[Sequence[str]]:
        """Return the story's own alphabets, if any (Z-Machine Standard 1.1 §3.5.5)."""
        address = read_word(self._content, _ALPHABET_ADDRESS) if story.version >= _FIRST_EXTENSIBLE_VERSION else 0
        if not 0 < address <= len(self._content) - 3 * len(_LETTERS):
            return []
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


def _standard_alphabets(version: int) -> list[Sequence[str]]:
    """Return the three alphabets for Z-characters 6 to 31. The first place of the third is the escape."""
    punctuation = _PUNCTUATION_VERSION_1 if version == 1 else _PUNCTUATION
    return [_LETTERS, _LETTERS.upper(), " " + punctuation]


def _extra_characters(story: Story) -> str:
    """Return the characters of the ZSCII codes from 155 on, from the story's own table or the Standard."""
    extension = read_word(story.content, _EXTENSION_ADDRESS) if story.version >= _FIRST_EXTENSIBLE_VERSION else 0
    has_table = extension and read_word(story.content, extension) >= _UNICODE_TABLE_WORD
    table = read_word(story.content, extension + 2 * _UNICODE_TABLE_WORD) if has_table else 0
    if not 0 < table < len(story.content):
        return _EXTRA_CHARACTERS
    end = table + 1 + 2 * story.content[table]
    return story.content[table + 1 : end].decode("utf-16-be", "replace")

"""Functions on text: cutting, counting tokens, and finding full descriptions of rooms.

A story describes a room in full on the first visit and after `look`. On later visits most stories print only its name
and the things in it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

CUT_MARK = " […]"
SHORTEST_WITH_END = 60
"""Characters. A shorter text is cut to its beginning only."""

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a pair, which UTF-8 cannot encode."""
ASIDE = re.compile(r"^\s*\([^()]*\)[ \t]*$", re.MULTILINE)
"""Lines in brackets, in which a story says how it has read the command."""
_PADDING = re.compile(r"[ \t]{3,}")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_SENTENCE_END = re.compile(r"[.!?…:][\"'\u2019\u201d)\]]*(?=\s)|(?=\n)")
_UNFINISHED = re.compile(r"(?:\b(?:Dr|Mrs?|Ms|St)\.|:)$")
_MARK = re.compile('["\u201c\u201d]')
_WORD_END = re.compile(r"(?=\s)")


def one_line(text: str) -> str:
    """Return the text on one line, stripped, with each run of white space as one space."""
    return " ".join(text.split())


def printable(text: str) -> str:
    r"""Return the text with every invisible character escaped: ESC becomes ``\x1b``. Line ends stay.

    These are control characters, those that change the direction of writing or have no width, and private, unassigned
    and surrogate code points.
    """
    spaced = text.replace("\r\n", "\n").replace("\t", "    ")
    if spaced.replace("\n", "").isprintable():
        return spaced
    return "".join(
        each if each == "\n" or each.isprintable() or unicodedata.category(each) == "Zs" else ascii(each)[1:-1]
        for each in spaced
    )


_HEADING = r"#{1,6}[ \t]|={3,}[ \t]*[^=\s]"


def quoted(text: str, structure: str = "") -> str:
    """Return a text of others with a bar before each line that looks like a heading of a prompt.

    structure: a pattern of other lines that get a bar, at their beginning
    """
    if not structure and not any(sign in text for sign in ("# ", "#\t", "===")):  # as in nearly every text
        return text
    heading = re.compile(rf"[ \t]*(?:{_HEADING}|{structure})" if structure else rf"[ \t]*(?:{_HEADING})")
    return "".join(f"| {line}" if heading.match(line) else line for line in text.splitlines(keepends=True))


def without_padding(text: str) -> str:
    """Return the text for a prompt, with each long run of blanks, as in menus, as two, and of blank lines as one."""
    return without_blank_lines(_PADDING.sub("  ", text) if "  " in text or "\t" in text else text).strip()


def without_blank_lines(text: str) -> str:
    """Return the text with each run of blank lines, as of a screen that is cleared, reduced to one."""
    return _BLANK_LINES.sub("\n\n", text)


def first_line(text: str) -> str:
    """Return the first line of an answer that is a sentence; later lines are often about other events.

    Lines in brackets, and one line that ends without a sentence, such as a heading, are before it.
    """
    shown: list[str] = []
    for line in text.strip().splitlines():
        is_aside = ASIDE.fullmatch(line) is not None
        if shown and not line.strip() and not ASIDE.fullmatch(shown[-1]):
            break
        shown += [line] if line.strip() else []
        is_second = len(shown) > 1 and not ASIDE.fullmatch(shown[-2])
        if not is_aside and (is_second or _SENTENCE_END.search(f"{line} ")):
            break
    return one_line(" ".join(shown))


def without_period(message: object) -> str:
    """Return a message without a period at its end, for a sentence that ends after it."""
    return str(message).removesuffix(".")


def sentences_of(text: str) -> list[str]:
    """Return the sentences and headings of a text, each on one line."""
    return [one_line(part) for part in _SENTENCE_END.sub("\\g<0>\0", text).split("\0") if part.strip()]


def sentence_around(sentences: Sequence[str], at: int) -> str:
    """Return a sentence with those beside it that belong to it: of its quotation, after its colon or after "Mr."."""
    first, text = 0, ""
    for last, following in enumerate((*sentences[1:], "")):
        text = " ".join(sentences[first : last + 1])
        is_within = text.count('"') % 2 or text.count("\u201c") > text.count("\u201d")
        is_open = is_within and not following.startswith(
            ('"', "\u201c")
        )  # with which each paragraph of a speech begins
        goes_on = text.endswith(('"', "\u201d")) and following[:1].islower()
        if following and (is_open or goes_on or _UNFINISHED.search(text)):
            continue
        if last >= at:
            break
        first = last + 1
    return text


def quotation(text: str) -> str:
    """Return the text in quotation marks, with single ones for those within it; one that has them gets no others."""
    inner = text[1:-1] if text[:1] in {'"', "\u201c"} and text[-1:] in {'"', "\u201d"} else text
    unquoted = text if _MARK.search(inner) else inner
    return '"' + _MARK.sub("'", unquoted) + '"'


@lru_cache(maxsize=4096)  # the same titles and lines are looked at each turn
def text_key(text: str) -> str:
    """Return a key that is equal for two texts that differ only in case and white space."""
    return one_line(text).casefold()


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return the number with its noun, in the plural unless the number is 1: "1 turn", "2 turns".

    plural: an irregular plural: "memories"
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def out_of(score: int, most: int | None) -> str:
    """Return a score in words, with its maximum if that is known: "5 of 350"."""
    return f"{score}" if most is None else f"{score} of {most}"


def points_changed(change: int) -> str:
    """Return a change of the score in words: "+5 points", "-1 point"."""
    return f"{change:+d} {'point' if abs(change) == 1 else 'points'}"


def with_numbers(names: Mapping[str, int]) -> list[str]:
    """Return each name, after the number of its things if there are several."""
    return [name if number == 1 else f"{number} x {name}" for name, number in names.items()]


def cut_at(text: str, characters: int, mark: str = CUT_MARK) -> str:
    """Return the text, cut to at most so many characters including ``mark`` at its end.

    If there is no room for more, only the mark is returned.
    """
    if len(text) <= characters:
        return text
    return text[: max(0, characters - len(mark))].rstrip() + mark


def cut_middle(text: str, characters: int) -> str:
    """Return the text, or its beginning and its end with the number of characters between them, in so many at most.

    The end of a story's text is often the most important part, so the middle is cut. The cut is between sentences if
    that uses most of the room, else between words.
    """
    room = characters - len(f" [… {len(text)} characters]")
    if len(text) <= characters or characters < SHORTEST_WITH_END:
        return cut_at(text, characters)
    beginning = text[: _break_before(text, room // 2)]
    end = text[_break_after(text, len(text) - room + len(beginning)) :]
    return f"{beginning} [… {len(text) - len(beginning) - len(end)} characters]{end}"


def shared_room(lengths: Sequence[int], characters: int) -> list[int]:
    """Return the number of characters for each text: equal shares, with unused parts redistributed."""
    if sum(lengths) <= characters:
        return list(lengths)
    shares = [0] * len(lengths)
    left = max(0, characters)
    shortest_first = sorted(range(len(lengths)), key=lengths.__getitem__)
    for done, number in enumerate(shortest_first):
        shares[number] = min(lengths[number], left // (len(lengths) - done))
        left -= shares[number]
    return shares


def _break_before(text: str, at: int) -> int:
    """Return the last end of a sentence up to ``at``, else of a word; ``at`` if neither is near."""
    nearby = at // 2
    for pattern in (_SENTENCE_END, _WORD_END):
        places = [found.end() for found in pattern.finditer(text, nearby, at + 1) if found.end() <= at]
        if places:
            return places[-1]
    return at


def _break_after(text: str, at: int) -> int:
    """Return the first end of a sentence from ``at`` on, else of a word; ``at`` if neither is near."""
    nearby = at + (len(text) - at) // 2
    for pattern, start in ((_SENTENCE_END, at - 1), (_WORD_END, at)):
        found = pattern.search(text, start, nearby)
        if found:
            return max(at, found.end())
    return at


LONGEST_TITLE = 80
"""Characters. A shorter line directly above the version of a story is its title, a longer one is narration."""

_SERIAL = re.compile(r"\bserial number \d", re.IGNORECASE)
_COPYRIGHT = re.compile(r"^[ \t]*(?:copyright\b|\(c\))", re.IGNORECASE | re.MULTILINE)
_FIRST_SENTENCE = re.compile(r".*?(?:[.!?][\"'\u2019\u201d)\]]*(?=\s)|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RoomDescription:
    """The last full description of a room, verbatim, and its turn."""

    text: str
    turn: int

    def is_repeated_in(self, text: str) -> bool:
        """Return whether ``text`` also describes the room in full: it has the first sentence after the room's name."""
        _, _, body = self.text.partition("\n")
        sentence = _FIRST_SENTENCE.match(body.lstrip())
        return sentence is not None and sentence[0] != "" and sentence[0] in text


def description_in(text: str, name: str) -> str | None:
    """Return the part of a text from the line with the room's name on; ``None`` if there is no such line.

    The name may be in brackets.
    """
    place = 0
    for line in text.splitlines(keepends=True):
        stripped = line.strip()
        if name and (stripped.strip("()[]") == name or stripped.startswith((f"{name}, ", f"{name} ("))):
            return text[place:].strip()
        place += len(line)
    return None


_ASKING = re.compile("[?:][\"'\u2019\u201d)\\]]*$")
_YES_OR_NO = re.compile(r"\b(?:yes or no|y/n)\b[^\n]*$", re.IGNORECASE)
_ADDRESSED = re.compile(r"\b(?:you|yours?|or)\b|:$|/", re.IGNORECASE)
_DARK_HERE = re.compile(r"\b(?:pitch[ -](?:dark|black)|too dark)\b|^\W*darkness\W*$", re.IGNORECASE | re.MULTILINE)
_DARK = re.compile(rf"{_DARK_HERE.pattern}|\bdarkness\b", _DARK_HERE.flags)


def asks(text: str) -> bool:
    """Return whether a text ends with a question, whose answer the story reads in its own way."""
    return any(form.search(text.rstrip()) for form in (_ASKING, _YES_OR_NO))


def addresses_player(text: str) -> bool:
    """Return whether the last sentence of a text says "you" or "your", offers a choice ("or"), or is incomplete."""
    return any(_ADDRESSED.search(sentence) for sentence in sentences_of(text)[-1:])


def is_dark(text: str, *, of_elsewhere: bool = True) -> bool:
    """Return whether a text describes darkness, in common English words.

    of_elsewhere: also by the word within a sentence, with which a text may describe what lies behind a door
    """
    return (_DARK if of_elsewhere else _DARK_HERE).search(text) is not None


@lru_cache(maxsize=8)
def prologue_of(opening: str, first_room: str) -> str:
    """Return the text before the first room, without the banner of title, authors, licence and version.

    first_room: the name of the room; if no line has it, the whole opening is the prologue
    """
    room = description_in(opening, first_room)
    paragraphs = re.split(r"\n\s*\n", opening if room is None else opening.strip().removesuffix(room))
    banner = next((place for place, text in enumerate(paragraphs) if _SERIAL.search(text)), None)
    if banner is not None:
        is_titled = banner > 0 and all(len(line) < LONGEST_TITLE for line in paragraphs[banner - 1].splitlines())
        first = next((place for place, text in enumerate(paragraphs) if _COPYRIGHT.search(text)), banner)
        del paragraphs[min(first, banner - is_titled) : banner + 1]
    return "\n\n".join(paragraphs).strip()


FIRST_GUESS = 0.25
FEWEST_A_CHARACTER, MOST_A_CHARACTER = 0.15, 1.0
SHARE_OF_NEWEST = 0.2


@dataclass(slots=True)
class TokenCounter:
    """Estimates tokens from characters, and learns the ratio from the counts of the server.

    tokens_per_character: limited to plausible values, since some servers count only the tokens that were not cached
    """

    tokens_per_character: float = FIRST_GUESS

    def estimate(self, text: str) -> int:
        """Return the estimated number of tokens of a text, rounded up."""
        return math.ceil(len(text) * self.tokens_per_character)

    def learn(self, characters: int, tokens: int) -> None:
        """Move the ratio towards that of a prompt; 0 tokens mean that the server has not counted it."""
        if characters > 0 and tokens > 0:
            newest = min(max(tokens / characters, FEWEST_A_CHARACTER), MOST_A_CHARACTER)
            self.tokens_per_character += SHARE_OF_NEWEST * (newest - self.tokens_per_character)

    def characters(self, tokens: int) -> int:
        """Return the maximum number of characters in so many tokens."""
        length = max(0, int(tokens / self.tokens_per_character))
        is_too_long = math.ceil(length * self.tokens_per_character) > tokens  # by the rounding of floats
        return max(0, length - is_too_long)

    def cut(self, text: str, tokens: int) -> str:
        """Return the text in at most so many tokens, with its middle cut if necessary."""
        return cut_middle(text, self.characters(tokens))


def who_plays(player: str, model: Sequence[str], server: Sequence[str], *notes: str) -> str:
    """Return the name of the player for display, or else the models with their servers and notes on them."""
    served = ", ".join(model) + (f" at {', '.join(server)}" if server else "")
    if any(notes):
        served += f" ({', '.join(filter(None, notes))})"
    if player and served:
        return f"{player} ({served} learns from it)"
    return player or served

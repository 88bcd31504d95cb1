"""The file ``lexicon.json``, which counts how each form of command fared at each location; all runs add to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from session.errors import StoreError, first_problem

if TYPE_CHECKING:
    from pathlib import Path

MOST_FORMS = 300
MOST_ANSWERS = 8  # of a form at a location
MOST_ASKED = 500


@dataclass(frozen=True, slots=True)
class Answered:
    """How often an answer came in turns that changed nothing, and in turns that changed something.

    example: the first command that changed something
    """

    silent: NonNegativeInt = 0
    changed: NonNegativeInt = 0
    example: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts how one form fared at one location.

    changed, told: how many turns changed something, and how many did not, where the answer is not kept word by word
        because it was long or there were ``MOST_ANSWERS`` already
    answers: the short answers, as ``FormTrial.words`` has them
    example: the first command that changed something, of those whose answer is not kept
    """

    changed: NonNegativeInt = 0
    told: NonNegativeInt = 0
    answers: Mapping[str, Answered] = field(default_factory=dict)
    example: str = ""

    def with_one(self, words: str, command: str, *, changed: bool) -> Tally:
        """Return the tally with one turn more."""
        example = command if changed else ""
        if words and (words in self.answers or len(self.answers) < MOST_ANSWERS):
            kept = self.answers.get(words, Answered())
            kept = Answered(kept.silent + (not changed), kept.changed + changed, kept.example or example)
            return replace(self, answers={**self.answers, words: kept})
        kept_example = self.example or example
        return replace(self, changed=self.changed + changed, told=self.told + (not changed), example=kept_example)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All that is known of the forms.

    forms: the tallies by form and location id, which is 0 where it is not known
    asked: the command that had a short answer while nothing changed, by answer; "" where several commands had it, or
        where it took no turn of the story; only the latest ``MOST_ASKED`` are kept
    """

    version: Literal[1] = 1
    forms: Mapping[str, Mapping[NonNegativeInt, Tally]] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)

    def render(self) -> str:
        """Return the text of the file."""
        return _FILE.dump_json(self, indent=1).decode() + "\n"


@dataclass(frozen=True, slots=True)
class FormTrial:
    """A change to the lexicon that counts how a form fared in one turn.

    words: the beginning of a short answer with a blank for each word of the command; "" for a long answer
    command: what was typed; "" where the form has nothing to fill in
    took_turn: false where the parser could not read the command
    """

    form: str
    location_id: int
    changed: bool
    words: str
    command: str
    took_turn: bool

    def apply_to(self, document: Lexicon) -> Lexicon:
        """Return the lexicon with the turn counted, or the same lexicon where it has no room for another form."""
        places = document.forms.get(self.form)
        if places is None and len(document.forms) >= MOST_FORMS:
            return document
        tally = (places or {}).get(self.location_id, Tally()).with_one(self.words, self.command, changed=self.changed)
        forms = {**document.forms, self.form: {**(places or {}), self.location_id: tally}}
        return replace(document, forms=forms, asked=self._asked(document.asked))

    def _asked(self, asked: Mapping[str, str]) -> Mapping[str, str]:
        known = asked.get(self.words)
        if not self.words or self.changed or not (self.command or not self.took_turn) or known == "":
            return asked
        one = self.command if self.took_turn and known in {None, self.command} else ""
        return dict([*asked.items(), (self.words, one)][-MOST_ASKED:]) if known is None else {**asked, self.words: one}


_FILE = TypeAdapter(Lexicon)


def parse_lexicon(text: str, path: Path) -> Lexicon:
    """Return the lexicon that the text of the file ``path`` holds; an empty one for "". Raises ``StoreError``."""
    if not text:
        return Lexicon()
    try:
        return _FILE.validate_json(text)
    except ValidationError as error:
        raise StoreError(
            f"{path} is no lexicon that this version reads ({first_problem(error)}); "
            "mend it, or move it away to start a new one"
        ) from error

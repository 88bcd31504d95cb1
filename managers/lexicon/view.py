"""Tells the lexicon on one line: which forms of commands worked in this story, with a real command of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from managers.lexicon.forms import SLOTS
from managers.prompting import as_many_as_fit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from managers.lexicon.document import Lexicon, Tally

WORKING_SHARE = 0.2
"""A form works if it changed something in so large a share of the turns in which it was not refused.

In fewer of them, it was somebody else in the story who changed something.
"""

_TITLE = "Worked in this story: "


@dataclass(frozen=True, slots=True)
class WorkingForms:
    """A command for each form that worked; what a player would hardly guess comes first.

    That is what has most objects and prepositions; of forms alike in this, the one that worked most often.
    """

    examples: tuple[str, ...] = ()

    def text(self, characters: int) -> str:
        """Return the examples on a line of at most so many characters; "" where there are none or no room for any."""
        kept = as_many_as_fit(self.examples, lambda examples: len(_line(examples)) <= characters)
        return _line(kept) if kept else ""


def working_forms(lexicon: Lexicon) -> WorkingForms:
    """Return what the lexicon knows of forms that worked, at all locations together."""
    refusals = _Refusals.of(lexicon)
    found = {form: refusals.record_of(places.values()) for form, places in lexicon.forms.items()}
    working = [(form, record) for form, record in found.items() if record.works]
    working.sort(key=lambda each: (-_difficulty(each[0]), -each[1].changed, each[0]))
    return WorkingForms(tuple(record.example or form for form, record in working))


@dataclass(frozen=True, slots=True)
class _FormRecord:
    """In how many turns a form changed something and told something, refusals left out, and a command that worked."""

    changed: int
    told: int
    example: str

    @property
    def works(self) -> bool:
        return self.changed > 0 and self.changed >= WORKING_SHARE * (self.changed + self.told)


@dataclass(frozen=True, slots=True)
class _Refusals:
    """Tells which answers are refusals: those that several commands had and that mostly came without any change, and
    those that took no turn of the story.
    """

    asked: Mapping[str, str]
    totals: Mapping[str, int]

    @classmethod
    def of(cls, lexicon: Lexicon) -> _Refusals:
        totals: Counter[str] = Counter()
        for tally in (tally for places in lexicon.forms.values() for tally in places.values()):
            for words, answered in tally.answers.items():
                totals[words] += answered.silent - answered.changed
        return cls(lexicon.asked, totals)

    def record_of(self, tallies: Iterable[Tally]) -> _FormRecord:
        changed = told = 0
        examples: list[str] = []
        for tally in tallies:
            taken = [answered for words, answered in tally.answers.items() if not self._is_refusal(words)]
            changed += tally.changed + sum(answered.changed for answered in taken)
            told += tally.told + sum(answered.silent for answered in taken)
            examples += [tally.example, *(answered.example for answered in taken)]
        return _FormRecord(changed, told, next(filter(None, examples), ""))

    def _is_refusal(self, words: str) -> bool:
        return self.asked.get(words) == "" and self.totals[words] > 0


def _difficulty(form: str) -> int:
    """Return how many parts a form has besides its verb, what stands for an object counting twice."""
    _, *parts = form.split()
    return sum(2 if part in SLOTS else 1 for part in parts)


def _line(examples: Iterable[str]) -> str:
    return _TITLE + "; ".join(examples)

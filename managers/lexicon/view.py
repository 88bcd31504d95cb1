"""Tells the lexicon in a few lines: which forms worked, which were understood, and which were only refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from managers.prompting import as_many_as_fit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from managers.lexicon.document import Lexicon, Tally

WORKING_SHARE = 0.2
"""A form works if it changed something in so large a share of the turns in which it was not refused.

In fewer of them, it was somebody else in the story who changed something.
"""

_CHANGED, _UNDERSTOOD = "Changed something", "Understood, changed nothing so far"
_ANSWERED = "Only these answers so far"  # a search that finds nothing is carried out, and reads like a refusal
_SHARES = {_CHANGED: 0.5, _UNDERSTOOD: 0.2, _ANSWERED: 0.3}
_MOSTLY = "mostly: "
_SEPARATOR = "; "


@dataclass(frozen=True, slots=True)
class FormsByOutcome:
    """The forms that worked, were understood or were only refused, the most frequent of each kind first.

    A refused form stands with the answer that it had most often.
    """

    working: tuple[str, ...] = ()
    understood: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def text(self, characters: int) -> str:
        """Return a line for each kind, in at most so many characters; "" where nothing is known or has room.

        Each kind has a share of the room. What the others do not need of theirs goes to the first kind that needs it.
        """
        kinds = {_CHANGED: self.working, _UNDERSTOOD: self.understood, _ANSWERED: self.refused}
        whole = {title: _line(title, forms) for title, forms in kinds.items() if forms}
        reserved = {title: min(len(line) + 1, int(characters * _SHARES[title])) for title, line in whole.items()}
        lines: list[str] = []
        for title in whole:
            del reserved[title]
            room = characters - sum(len(line) + 1 for line in lines) - sum(reserved.values())
            lines += _line_within(title, kinds[title], room)
        return "\n".join(lines)


def forms_anywhere(lexicon: Lexicon) -> FormsByOutcome:
    """Return the forms by how they fared at all locations together."""
    refusals = _Refusals.of(lexicon)
    return _by_outcome({form: refusals.record_of(places.values()) for form, places in lexicon.forms.items()})


def forms_at(lexicon: Lexicon, location_id: int) -> FormsByOutcome:
    """Return the forms that were used at a location by how they fared there."""
    refusals = _Refusals.of(lexicon)
    here = {form: places[location_id] for form, places in lexicon.forms.items() if location_id in places}
    return _by_outcome({form: refusals.record_of([tally]) for form, tally in here.items()})


class _FormRecord(NamedTuple):
    """In how many turns a form changed something, told something and was refused, and its most frequent refusal."""

    changed: int
    told: int
    refused: int
    answer: str

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
        refused: Counter[str] = Counter()
        for tally in tallies:
            changed, told = changed + tally.changed, told + tally.told
            for words, answered in tally.answers.items():
                if self._is_refusal(words):
                    refused[words] += answered.silent + answered.changed
                else:
                    changed, told = changed + answered.changed, told + answered.silent
        answer = max(refused, key=lambda words: refused[words], default="")
        return _FormRecord(changed, told, sum(refused.values()), f"{_MOSTLY}{answer}" if len(refused) > 1 else answer)

    def _is_refusal(self, words: str) -> bool:
        return self.asked.get(words) == "" and self.totals[words] > 0


def _by_outcome(records: Mapping[str, _FormRecord]) -> FormsByOutcome:
    working = {form: each.changed for form, each in records.items() if each.works}
    understood = {form: each.told for form, each in records.items() if each.told + each.changed and not each.works}
    refused = {
        f"{form} ({each.answer})": each.refused for form, each in records.items() if not each.told + each.changed
    }
    return FormsByOutcome(*(tuple(_most_frequent_first(each)) for each in (working, understood, refused)))


def _most_frequent_first(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda form: (-counts[form], form))


def _line_within(title: str, forms: Iterable[str], characters: int) -> list[str]:
    """Return a line with the forms that there is room for, or none where there is no room for any."""
    kept = as_many_as_fit(forms, lambda forms: len(_line(title, forms)) <= characters)
    return [_line(title, kept)] if kept else []


def _line(title: str, forms: Iterable[str]) -> str:
    return f"{title}: {_SEPARATOR.join(forms)}"

"""The lexicon in a few lines: which forms worked, which were understood, which only had the parser's answers."""

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
"""A form that changed something in fewer of the turns in which it was not refused did not do it: somebody else did."""

_CHANGED, _UNDERSTOOD = "Changed something", "Understood, changed nothing so far"
_ANSWERED = "Only these answers so far"  # a search that finds nothing is carried out, and reads like a refusal
_SHARES = {_CHANGED: 0.5, _UNDERSTOOD: 0.2, _ANSWERED: 0.3}
_MOSTLY = "mostly: "
_SEPARATOR = "; "


@dataclass(frozen=True, slots=True)
class Summary:
    """Forms by what came of them, the most frequent first; a refused one with its only or its most frequent answer."""

    working: tuple[str, ...] = ()
    understood: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def text(self, characters: int) -> str:
        """A line for each kind, within so many characters; "" where nothing is known or nothing has room.

        Each kind has a share of the room; what the others leave of theirs goes to the first that wants it.
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


def summary(lexicon: Lexicon) -> Summary:
    """How each form fared anywhere."""
    refusals = _Refusals.of(lexicon)
    return _summary({form: refusals.fare(places.values()) for form, places in lexicon.forms.items()})


def local_summary(lexicon: Lexicon, location_id: int) -> Summary:
    """How each form fared at one location."""
    refusals = _Refusals.of(lexicon)
    return _summary(
        {form: refusals.fare([places[location_id]]) for form, places in lexicon.forms.items() if location_id in places}
    )


class _Fare(NamedTuple):
    """Turns in which the form changed something, told something, was refused, and the answer that refused it most."""

    changed: int
    told: int
    refused: int
    answer: str

    @property
    def works(self) -> bool:
        return self.changed > 0 and self.changed >= WORKING_SHARE * (self.changed + self.told)


@dataclass(frozen=True, slots=True)
class _Refusals:
    """Knows a refusal by its words: several commands had the same answer, mostly without any change, or it took no
    turn.
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

    def fare(self, tallies: Iterable[Tally]) -> _Fare:
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
        return _Fare(changed, told, sum(refused.values()), f"{_MOSTLY}{answer}" if len(refused) > 1 else answer)

    def _is_refusal(self, words: str) -> bool:
        return self.asked.get(words) == "" and self.totals[words] > 0


def _summary(fares: Mapping[str, _Fare]) -> Summary:
    working = {form: fare.changed for form, fare in fares.items() if fare.works}
    understood = {form: fare.told for form, fare in fares.items() if not fare.works and fare.told + fare.changed}
    refused = {f"{form} ({fare.answer})": fare.refused for form, fare in fares.items() if not fare.told + fare.changed}
    return Summary(*(tuple(_most_frequent_first(each)) for each in (working, understood, refused)))


def _most_frequent_first(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda form: (-counts[form], form))


def _line_within(title: str, forms: Iterable[str], characters: int) -> list[str]:
    """Return a line with the forms that there is room for, or none where there is no room for any."""
    kept = as_many_as_fit(forms, lambda forms: len(_line(title, forms)) <= characters)
    return [_line(title, kept)] if kept else []


def _line(title: str, forms: Iterable[str]) -> str:
    return f"{title}: {_SEPARATOR.join(forms)}"

"""The facts of a turn: score, belongings, new rooms and deaths, as the machine tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.objective import Evidence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from session.objective import EvidenceKind
    from session.values import GameObject, TurnRecord


def evidence_of(record: TurnRecord, visited: Collection[int]) -> tuple[Evidence, ...]:
    """Return the facts of a turn. ``visited``: ids of the locations in which turns of the episode were begun."""
    before = record.before.location
    here = before.num if before else None
    facts = [
        Evidence(record.turn, here, kind, text)
        for kind, text in (*_score(record), *_belongings(record), *_death(record))
    ]
    after = record.after.location
    if record.moved and after is not None and after.num not in visited:
        text = f"first visit to {after.label}"
        facts.append(Evidence(record.turn, after.num, "new_room", text))
    return tuple(facts)


def _score(record: TurnRecord) -> Iterator[tuple[EvidenceKind, str]]:
    change = record.score_change
    if change:
        yield "score_up" if change > 0 else "score_down", f"score {change:+d}, now {record.after.score}"


def _belongings(record: TurnRecord) -> Iterator[tuple[EvidenceKind, str]]:
    before, after = record.before.inventory, record.after.inventory
    if before is None or after is None:
        return
    gained, lost = _names_missing(before, after), _names_missing(after, before)
    if gained:
        yield "item_gained", f"gained {gained}"
    if lost:
        yield "item_lost", f"no longer carried: {lost}"


def _death(record: TurnRecord) -> Iterator[tuple[EvidenceKind, str]]:
    if record.after.died:
        yield "death", "the player died"


def _names_missing(from_: tuple[GameObject, ...], of: tuple[GameObject, ...]) -> str:
    known = {thing.num for thing in from_}
    return ", ".join(thing.name or f"object #{thing.num}" for thing in of if thing.num not in known)

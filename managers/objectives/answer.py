"""The model's answer about objectives, and the facts by which it is checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from session.objective import Evidence, EvidenceKind, Objective, ObjectiveStatus
from session.text import cut_at, one_line, text_key
from session.values import GameObject, TurnRecord


def evidence_of(record: TurnRecord, visited: Collection[int]) -> tuple[Evidence, ...]:
    """Return the facts of a turn.

    visited: ids of the locations at which a turn of the episode began
    """
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


LONGEST_TEXT = 400  # characters
LONGEST_EVIDENCE = 200
ELLIPSIS = "…"
STALE = "no progress"
OF_PLAYER = "the player's own"


class CompletedObjective(BaseModel):
    """An open objective that is achieved."""

    id: int = Field(description="number of the open objective")
    turn: int = Field(description="turn in which it was achieved")


class DroppedObjective(BaseModel):
    """An open objective to give up."""

    id: int = Field(description="number of the open objective")
    reason: str = Field("", description="why it is given up or what it is merged into")


class FoundObjective(BaseModel):
    """A new objective."""

    text: str = Field(description="what to achieve, in one sentence")
    location_id: int | None = Field(None, description="the location it is about, or null")
    evidence: str = Field("", description="the knowledge, memory, exit, fact or turn that it comes from")


class ObjectivesAnswer(BaseModel):
    """Which objectives are achieved, which are given up, and which are new."""

    reasoning: str = ""
    completed: list[CompletedObjective] = Field(default_factory=list)
    dropped: list[DroppedObjective] = Field(default_factory=list)
    objectives: list[FoundObjective] = Field(default_factory=list, description="new objectives only")

    @field_validator("objectives", mode="before")
    @classmethod
    def _plain_texts_are_objectives(cls, value: object) -> object:
        """Accept plain texts for objectives, which models often give."""
        if not isinstance(value, list):
            return value
        return [{"text": each} if isinstance(each, str) else each for each in value]


def answer_of_player(record: TurnRecord) -> ObjectivesAnswer:
    """Return the player's notes on objectives as an answer. They are based on the turn before."""
    notes = record.objective_notes
    return ObjectivesAnswer(
        completed=[CompletedObjective(id=note.done, turn=record.turn - 1) for note in notes if note.done is not None],
        objectives=[FoundObjective(text=note.new, evidence=OF_PLAYER) for note in notes if note.new],
    )


@dataclass(frozen=True, slots=True)
class Moment:
    """The turn and location of an answer. ``known_locations``: the ids of all known locations."""

    turn: int
    location_id: int | None
    known_locations: Collection[int]


class ObjectiveUpdate:
    """The objectives of an episode with the changes from a model's answer.

    changed: the objectives that were found, completed or dropped, by id
    refused: the rejected parts of the answer, with reasons
    """

    def __init__(self, objectives: Iterable[Objective], moment: Moment) -> None:
        self._objectives = {objective.id: objective for objective in objectives}
        self._moment = moment
        self._taken = {text_key(each.text) for each in self._objectives.values() if each.status != "dropped"}
        self.changed: dict[int, Objective] = {}
        self.refused: list[str] = []

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """Every objective of the episode, oldest first."""
        return tuple(self._objectives.values())

    def take(self, answer: ObjectivesAnswer, evidence: tuple[Evidence, ...], *, cap: int, stale_after: int) -> None:
        """Apply the valid parts of the answer. Objectives that end come first, to make room for new ones.

        cap: maximum number of open objectives
        stale_after: turns without progress after which an objective is dropped
        """
        for completed in answer.completed:
            self._complete(completed)
        for dropped in answer.dropped:
            self._end(dropped.id, "dropped", cut_at(one_line(dropped.reason), LONGEST_EVIDENCE, mark=ELLIPSIS))
        for objective in self._active():
            if self._moment.turn - objective.last_progress(evidence) >= stale_after:
                self._end(objective.id, "dropped", STALE)
        for found in answer.objectives:
            self._add(found, cap)

    def _active(self) -> list[Objective]:
        return [each for each in self._objectives.values() if each.is_active]

    def _complete(self, completed: CompletedObjective) -> None:
        objective = self._objectives.get(completed.id)
        found = objective.turn if objective else 0
        if not 1 <= completed.turn <= self._moment.turn:
            self.refused.append(f"completion of {completed.id}: turn {completed.turn} was not played")
        elif completed.turn < found:
            self.refused.append(f"completion of {completed.id}: it was found in turn {found}, after that turn")
        else:
            self._end(completed.id, "completed", f"turn {completed.turn}")

    def _end(self, id_: int, status: Literal["completed", "dropped"], ending: str) -> None:
        objective = self._objectives.get(id_)
        if objective is None or not objective.is_active:
            self.refused.append(f"{status} {id_}: no such objective is open")
            return
        self._put(replace(objective, status=status, ended_turn=self._moment.turn, ending=ending))

    def _add(self, found: FoundObjective, cap: int) -> None:
        location_id = found.location_id
        suffix = "" if location_id is None else f" (Location {location_id})"
        line = cut_at(one_line(found.text), LONGEST_TEXT - len(suffix), mark=ELLIPSIS)
        named = re.search(rf"\blocation #?{location_id}\b", line, re.IGNORECASE)
        text = line if not line or named else line + suffix
        if not text:
            self.refused.append("an objective without a text")
        elif location_id is not None and location_id not in self._moment.known_locations:
            self.refused.append(f"location {location_id} is not known: {text}")
        elif text_key(text) in self._taken:
            self.refused.append(f"known already: {text}")
        elif len(self._active()) >= cap:
            self.refused.append(f"more than {cap} open: {text}")
        else:
            self._taken.add(text_key(text))
            self._put(
                Objective(
                    id=max(self._objectives, default=0) + 1,
                    text=text,
                    turn=self._moment.turn,
                    found_at=self._moment.location_id,
                    evidence=cut_at(one_line(found.evidence), LONGEST_EVIDENCE, mark=ELLIPSIS),
                    location_id=location_id,
                )
            )

    def _put(self, objective: Objective) -> None:
        self._objectives[objective.id] = objective
        self.changed[objective.id] = objective


def with_status(changed: Iterable[Objective], status: ObjectiveStatus) -> list[str]:
    """Return the texts of the objectives that have this status."""
    return [objective.text for objective in changed if objective.status == status]

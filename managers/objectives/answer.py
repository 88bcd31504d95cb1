"""The model's answer about objectives, and the facts by which it is checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from session.objective import Evidence, EvidenceKind, Objective
from session.text import cut_at, one_line, text_key
from session.values import GameObject, TurnRecord


def evidence_of(record: TurnRecord, visited: Collection[int]) -> tuple[Evidence, ...]:
    """Return the facts of a turn.

    visited: ids of the locations at which a turn of the episode began
    """
    before, after = record.before, record.after
    here = before.location.num if before.location else None
    change = record.score_change
    facts: list[tuple[EvidenceKind, str]] = []
    if change:
        facts.append(("score_up" if change > 0 else "score_down", f"score {change:+d}, now {after.score}"))
    if before.inventory is not None and after.inventory is not None:
        gained, lost = (
            _names_missing(before.inventory, after.inventory),
            _names_missing(after.inventory, before.inventory),
        )
        facts += [("item_gained", f"gained {gained}")] if gained else []
        facts += [("item_lost", f"no longer carried: {lost}")] if lost else []
    if after.died:
        facts.append(("death", "the player died"))
    evidence = [Evidence(record.turn, here, kind, text) for kind, text in facts]
    if record.moved and after.location is not None and after.location.num not in visited:
        text = f"first visit to {after.location.label}"
        evidence.append(Evidence(record.turn, after.location.num, "new_room", text))
    return tuple(evidence)


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


class ObjectiveUpdate:
    """The objectives of an episode with the changes from a model's answer.

    turn, location_id: of the answer
    objectives: all of the episode by id, oldest first
    changed: those that were found, completed or dropped, by id
    refused: the rejected parts of the answer, with reasons
    """

    def __init__(self, objectives: Iterable[Objective], turn: int, location_id: int | None) -> None:
        self.turn = turn
        self.location_id = location_id
        self.objectives = {objective.id: objective for objective in objectives}
        self.changed: dict[int, Objective] = {}
        self.refused: list[str] = []
        self._taken = {text_key(each.text) for each in self.objectives.values() if each.status != "dropped"}

    def take(
        self,
        answer: ObjectivesAnswer,
        evidence: tuple[Evidence, ...],
        known_locations: Collection[int],
        *,
        cap: int,
        stale_after: int,
    ) -> None:
        """Apply the valid parts of the answer. Objectives that end come first, to make room for new ones.

        known_locations: the ids of all known locations
        cap: maximum number of open objectives
        stale_after: turns without progress after which an objective is dropped
        """
        for completed in answer.completed:
            id_, turn, objective = completed.id, completed.turn, self.objectives.get(completed.id)
            if not 1 <= turn <= self.turn:
                self.refused.append(f"completion of {id_}: turn {turn} was not played")
            elif objective is not None and turn < objective.turn:
                self.refused.append(f"completion of {id_}: it was found in turn {objective.turn}, after that turn")
            else:
                self._end(id_, "completed", f"turn {turn}")
        for dropped in answer.dropped:
            self._end(dropped.id, "dropped", cut_at(one_line(dropped.reason), LONGEST_EVIDENCE, mark=ELLIPSIS))
        for objective in [each for each in self.objectives.values() if each.is_active]:
            if self.turn - objective.last_progress(evidence) >= stale_after:
                self._end(objective.id, "dropped", STALE)
        for found in answer.objectives:
            self._add(found, known_locations, cap)

    def _end(self, id_: int, status: Literal["completed", "dropped"], ending: str) -> None:
        objective = self.objectives.get(id_)
        if objective is None or not objective.is_active:
            self.refused.append(f"{status} {id_}: no such objective is open")
        else:
            ended = replace(objective, status=status, ended_turn=self.turn, ending=ending)
            self.objectives[id_] = self.changed[id_] = ended

    def _add(self, found: FoundObjective, known_locations: Collection[int], cap: int) -> None:
        location_id = found.location_id
        suffix = "" if location_id is None else f" (Location {location_id})"
        line = cut_at(one_line(found.text), LONGEST_TEXT - len(suffix), mark=ELLIPSIS)
        named = re.search(rf"\blocation #?{location_id}\b", line, re.IGNORECASE)
        text = line if not line or named else line + suffix
        if not text:
            self.refused.append("an objective without a text")
        elif location_id is not None and location_id not in known_locations:
            self.refused.append(f"location {location_id} is not known: {text}")
        elif text_key(text) in self._taken:
            self.refused.append(f"known already: {text}")
        elif sum(each.is_active for each in self.objectives.values()) >= cap:
            self.refused.append(f"more than {cap} open: {text}")
        else:
            self._taken.add(text_key(text))
            id_ = max(self.objectives, default=0) + 1
            evidence = cut_at(one_line(found.evidence), LONGEST_EVIDENCE, mark=ELLIPSIS)
            objective = Objective(id_, text, self.turn, self.location_id, evidence, location_id)
            self.objectives[id_] = self.changed[id_] = objective

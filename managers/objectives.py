"""The objectives of an episode, their prompt, its answer, and the facts that check it.

See docs/records/specification.md, Objectives, and Objective prompts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator

from managers.done import numbers_named
from managers.prompting import (
    LONGEST_ACTION,
    NONE,
    Line,
    Part,
    carried_labels,
    lines_of,
    own_reasons,
    place,
    turn_text,
)
from session.game_state import LONGEST_OBJECTIVE, GameState
from session.memory import Memory
from session.text import cut_at, description_in, one_line, out_of
from session.values import ENDINGS, TurnRecord
from zorkgpt.llm.language_model import at_most

LONGEST_EVIDENCE = 200  # characters
STALE = "no progress"
OF_PLAYER = "the player's own"
GIVEN_UP = "given up by the player"
AT_LAST = "found at the end of the episode"
MAX_ENDED_SHOWN = 5
RECENT_TURNS = 20
REASONED = 5  # turns that are shown with the reason for them
DESCRIPTION_LINES = 2  # the room's name, and the paragraph below it


ObjectiveStatus = Literal["active", "completed", "dropped"]
EvidenceKind = Literal["score_up", "score_down", "new_room", "item_gained", "item_lost", "death", "ending"]

PROGRESS: frozenset[EvidenceKind] = frozenset({"score_up", "new_room", "item_gained"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact of one turn, read from the Z-machine's state and never from text (docs/records/specification.md,
    Evidence).

    location_id: of the fact; for a new room, of that room; ``None`` if it is unknown
    """

    turn: int
    location_id: int | None
    kind: EvidenceKind
    text: str


@dataclass(frozen=True, slots=True)
class Objective:
    """Something to achieve in this episode.

    id: counts from 1 within an episode
    text: one line; contains ``Location N`` if ``location_id`` is known
    turn: in which it was set
    evidence: the source, in the model's words
    location_id: of its place; ``None`` for no particular place
    ended_turn, ending: the turn in which it was completed or dropped, and the evidence or reason
    """

    id: int
    text: str
    turn: int
    evidence: str = ""
    location_id: int | None = None
    status: ObjectiveStatus = "active"
    ended_turn: int | None = None
    ending: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it is neither completed nor dropped."""
        return self.status == "active"

    @property
    def places(self) -> list[int]:
        """The ids of the locations that its text names."""
        return numbers_named(self.text)

    def last_progress(self, evidence: Iterable[Evidence]) -> int:
        """Return the last turn with progress at the objective's place, or the turn in which it was found.

        For an objective without a place, progress anywhere counts.
        """
        turns = (
            each.turn for each in evidence if each.kind in PROGRESS and self.location_id in {None, each.location_id}
        )
        return max((self.turn, *turns))


def evidence_of(record: TurnRecord, visited: Collection[int]) -> tuple[Evidence, ...]:
    """Return the facts of a turn.

    visited: ids of the locations at which a turn of the episode began
    """
    after = record.after
    change = record.score_change
    facts: list[tuple[EvidenceKind, str]] = []
    if change:
        facts.append(("score_up" if change > 0 else "score_down", f"score {change:+d}, now {after.score}"))
    gained, lost = (", ".join(thing.label for thing in things) for things in (record.newly_held, record.no_longer_held))
    facts += [("item_gained", f"gained {gained}")] if gained else []
    facts += [("item_lost", f"no longer carried: {lost}")] if lost else []
    if after.died:
        facts.append(("death", "the player died"))
    if after.ending is not None:
        facts.append(("ending", ENDINGS[after.ending]))
    evidence = [Evidence(record.turn, record.before.location_id, kind, text) for kind, text in facts]
    if record.moved and after.location is not None and after.location.num not in visited:
        text = f"first visit in this game: {place(after.location)}"
        evidence.append(Evidence(record.turn, after.location.num, "new_room", text))
    return tuple(evidence)


class CompletedObjective(BaseModel):
    """An open objective that is achieved."""

    id: int = Field(description="number of the open objective")
    turn: int = Field(description="turn in which it was achieved")


class DroppedObjective(BaseModel):
    """An open objective to give up."""

    id: int = Field(description="number of the open objective")
    reason: Annotated[str, at_most(LONGEST_EVIDENCE)] = Field(
        "", description=f"why it is given up or what it is merged into, at most {LONGEST_EVIDENCE} characters"
    )


class FoundObjective(BaseModel):
    """A new objective."""

    text: Annotated[str, at_most(LONGEST_OBJECTIVE)] = Field(
        description=f"what to achieve, in one sentence of at most {LONGEST_OBJECTIVE} characters"
    )
    location_id: int | None = Field(None, description="the location it is about, or null")
    evidence: Annotated[str, at_most(LONGEST_EVIDENCE)] = Field(
        "",
        description="the knowledge, memory, exit, fact or turn that it comes from, "
        f"at most {LONGEST_EVIDENCE} characters",
    )


class ChangedObjective(BaseModel):
    """An open objective of which a part is achieved."""

    id: int = Field(description="number of the open objective")
    rest: Annotated[str, at_most(LONGEST_OBJECTIVE)] = Field(
        description=f"what is left to do of it, at most {LONGEST_OBJECTIVE} characters"
    )


class ObjectivesAnswer(BaseModel):
    """Which objectives are achieved, whole or in part, which are given up, and which are new."""

    reasoning: str = ""
    completed: list[CompletedObjective] = Field(default_factory=list)
    changed: list[ChangedObjective] = Field(default_factory=list)
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
    done = [note.done for note in notes if note.done is not None and not note.rest]
    done += [number for note in notes for number in note.also_done]
    new = [text for note in notes for text in (note.new, *note.also_new) if text]
    return ObjectivesAnswer(
        completed=[CompletedObjective(id=number, turn=record.turn - 1) for number in done],
        changed=[
            ChangedObjective(id=note.done, rest=note.rest) for note in notes if note.done is not None and note.rest
        ],
        dropped=[DroppedObjective(id=number, reason=GIVEN_UP) for note in notes for number in note.dropped],
        objectives=[FoundObjective(text=text, evidence=OF_PLAYER) for text in new],
    )


def memory_lines(memory: Memory) -> list[Line]:
    """Return the title and the text of a memory."""
    return [Line(f"  - {memory.headline(memory.category)}"), Line("    ", one_line(memory.text))]


def play_part(state: GameState, evidence: Iterable[Evidence], turns: int, above: int = 0) -> Part:
    """Return the command, facts, reasoning and response of the last ``turns`` turns.

    Of the earlier ones, the first ``above`` are shown elsewhere and do not count as left out.

    Responses of turns without facts get the room that others leave, then descriptions of rooms and the reasoning. What
    a text with a description says besides is a response like others. The parts of a text keep the story's order.
    """
    facts: defaultdict[int, list[str]] = defaultdict(list)
    last = len(state.turns)
    first = max(0, last - turns)
    for each in evidence:
        if each.turn > first:
            facts[each.turn].append(one_line(each.text))
    reasoned = max(first, last - REASONED)
    reasons = own_reasons(state.turns, reasoned)
    items = []
    for turn in range(first + 1, last + 1):
        record, is_kept = state.turns[turn - 1], turn == last or bool(facts[turn])
        command, room = cut_at(one_line(record.command_text), LONGEST_ACTION), record.after.location_label
        lines = [Line(turn_text(turn, command, at=record.before.location, facts=facts[turn]))]
        why = one_line(reasons.get(turn, ""))
        if why:
            lines.append(Line("  Why: ", why, rank=2))
        described = description_in(record.after.text, room) or "" if turn < last else ""
        described_lines = lines_of(described, room)[:DESCRIPTION_LINES]
        head = "  Response: "
        for is_room, part in groupby(lines_of(record.response, room), key=lambda line: line in described_lines):
            rank = 2 if is_room else 0 if is_kept else 1
            lines.append(Line(head, "\n".join(part), rank=rank, turn=turn))
            head = "  "
        items.append(lines)
    return Part("play", items, others=max(0, first - above), empty="", joins=" ")


def present_texts(
    state: GameState, objectives: Sequence[Objective], attribute_names: Mapping[str, int], most_turns: int
) -> dict[str, str]:
    """Return the fields of ``objectives_play.md`` that are never shortened."""
    lines = [f"{each.id}. {each.text} (set in turn {each.turn})" for each in objectives if each.is_active] or [NONE]
    ended = [each for each in objectives if not each.is_active]
    if len(ended) > MAX_ENDED_SHOWN:
        lines.append(f"({len(ended) - MAX_ENDED_SHOWN} ended earlier)")
    words = {"completed": "marked as achieved"}
    lines += [
        f"- {words.get(each.status, each.status)} in turn {each.ended_turn}: {each.text}"
        for each in ended[-MAX_ENDED_SHOWN:]
    ]
    known = {num: thing.label for num, thing in state.held.items()}
    labels = carried_labels(state.latest, attribute_names, known)
    score, here = state.previous_zork_score, state.current_room_id
    return {
        "objectives": "\n".join(lines),
        "turn": f"{state.turn_count} of {most_turns}",
        "score": "not known" if score is None else out_of(score, state.latest.max_score),
        "location": "not known" if here is None else one_line(f"{state.current_room_name_for_map} (ID: {here})"),
        "inventory": one_line(", ".join(labels)) or "nothing",
    }


def usefulness(memory: Memory) -> tuple[bool, bool, int, int]:
    """Return the sort key for usefulness: dangers, then changes of score, then the newest."""
    return memory.category == "DANGER", bool(memory.score_change), memory.episode, memory.last_turn

"""The news of a visit, what a model answers when it is asked about them, and what the answer changes.

The docstrings and descriptions of the answers are part of what the model reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import shorten
from typing import Any, Literal

from pydantic import BaseModel, create_model, field_validator, model_validator

from managers.memory.outcome import ActionOutcome, likely_tiers
from managers.memory.revision import Revision
from session.memory import DEFAULT_CATEGORY, Memory, MemoryStatus, MemorySynthesisResponse, Persistence
from session.text import one_line

LONGEST_TITLE = 120  # characters
LONGEST_TEXT = 1000  # characters
LONGEST_QUOTE = 200  # characters


class VisitMemory(MemorySynthesisResponse):
    """One memory of a visit. ``turn``: in which it showed."""

    turn: int | None = None

    @field_validator("persistence", mode="before")
    @classmethod
    def _in_any_case(cls, value: object) -> object:
        """Take capitals, too, in which prompts name the tiers."""
        return value.lower() if isinstance(value, str) else value


class VisitSynthesis(BaseModel):
    """A model's answer to what a visit taught; a lone ``MemorySynthesisResponse`` counts as a list of one."""

    memories: list[VisitMemory]

    @model_validator(mode="before")
    @classmethod
    def _one_is_a_list_of_one(cls, answer: object) -> object:
        if isinstance(answer, dict) and "memories" not in answer and "should_remember" in answer:
            return {"memories": [answer]}
        return answer


class BriefMemory(BaseModel):
    """What a small model is asked for: which turn taught most, and what kind of knowledge that is.

    The words are then the story's own: its model would invent some.
    """

    turn: int
    category: Literal["SUCCESS", "FAILURE", "DISCOVERY", "DANGER", "NOTE"]
    persistence: Persistence


@dataclass(frozen=True, slots=True)
class VisitNews:
    """The news of one visit to a location, about which a model is asked.

    outcomes: at least one, oldest first
    memories: all that is remembered there already, memories that were given up too
    """

    outcomes: tuple[ActionOutcome, ...]
    memories: tuple[Memory, ...]

    @property
    def is_first(self) -> bool:
        """Whether this is the episode's first visit there, with its first turn among the news."""
        return any(outcome.first_visit for outcome in self.outcomes)

    @property
    def score_change(self) -> int | None:
        """The points won or lost in all, ``None`` where the score is not known."""
        changes = [outcome.score_change for outcome in self.outcomes if outcome.score_change is not None]
        return sum(changes) if changes else None

    @property
    def turns(self) -> str:
        """The first and the last turn: ``12-14``, or ``12``."""
        first, last = self.outcomes[0].turn, self.outcomes[-1].turn
        return str(first) if first == last else f"{first}-{last}"

    def brief_schema(self) -> type[BriefMemory]:
        """Return a ``BriefMemory`` that allows only the turns of the news, and only tiers that are likely for one."""
        tiers: dict[Persistence, None] = {"core": None} if self._arrival else {}
        for outcome in self.outcomes:
            tiers |= dict.fromkeys(likely_tiers(outcome))
        turns: Any = Literal[tuple(outcome.turn for outcome in self.outcomes)]
        persistence: Any = Literal[tuple(tiers)]
        return create_model(
            BriefMemory.__name__, __base__=BriefMemory, turn=(turns, ...), persistence=(persistence, ...)
        )

    def quoted(self, answer: BriefMemory) -> VisitMemory:
        """Return the memory in the story's words: what it said on arrival for a core memory, else its response.

        A memory of a response gets a tier that is likely for that very command.
        """
        outcome = next(outcome for outcome in self.outcomes if outcome.turn == answer.turn)
        likely = likely_tiers(outcome)
        tier = answer.persistence if answer.persistence in likely else likely[0]
        title = f"{outcome.action} leads elsewhere" if outcome.moved else f"{outcome.action} was tried"
        told = outcome.response
        if answer.persistence == "core" and self._arrival:
            tier, title, told = "core", "What is here at first", self._arrival
        return VisitMemory(
            turn=answer.turn,
            category=answer.category,
            persistence=tier,
            should_remember=True,
            memory_title=title,
            memory_text=f'"{shorten(one_line(told), LONGEST_QUOTE, placeholder=" […]")}"',
        )

    def revision(self, answer: VisitMemory, episode: int) -> Revision:
        """Return what the answer changes at the location."""
        last = self.outcomes[-1]
        return Revision(
            location_id=last.location_id,
            location_name=last.location_name,
            new=self._memory(answer, episode) if answer.should_remember else None,
            superseded=tuple(sorted(answer.supersedes_memory_titles)),
            invalidated=tuple(sorted(answer.invalidate_memory_titles)),
            reason=answer.invalidation_reason or "",
            turn=last.turn,
        )

    @property
    def _arrival(self) -> str:
        """What the story said when the player came for the first time, "" for a later visit."""
        return next((each.arrival_text for each in self.outcomes if each.arrival_text.strip()), "")

    def _memory(self, answer: VisitMemory, episode: int) -> Memory:
        """Return the memory of the answer: about the turn that it names, else about the whole visit."""
        shown = next((outcome for outcome in self.outcomes if outcome.turn == answer.turn), None)
        return Memory(
            category=answer.category or DEFAULT_CATEGORY,
            title=one_line(answer.memory_title or "")[:LONGEST_TITLE],
            episode=episode,
            turns=str(shown.turn) if shown else self.turns,
            score_change=shown.score_change if shown else self.score_change,
            text=(answer.memory_text or "").strip()[:LONGEST_TEXT],
            persistence=answer.persistence or "permanent",
            # A memory cannot be given up before it is known: what the model doubts so is tentative.
            status=MemoryStatus.ACTIVE if answer.status == MemoryStatus.ACTIVE else MemoryStatus.TENTATIVE,
        )

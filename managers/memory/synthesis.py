"""The news of a visit, what a model answers about them, and how the answer changes the memories.

A visit consists of the turns that begin at one location, up to the one that leads elsewhere. A model reads the
docstrings of the answers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated

from pydantic import BaseModel, Field, field_validator, model_validator

from managers.memory.document import Revision, stands
from managers.memory.outcome import ActionOutcome, names
from session.knowledge import Source
from session.memory import DEFAULT_CATEGORY, Memory, MemoryStatus, MemorySynthesisResponse, Persistence
from session.text import one_line, text_key
from session.values import Location, TurnRecord
from zorkgpt.llm.language_model import at_most

LONGEST_TITLE = 120  # characters
LONGEST_TEXT = 1000  # characters
LEAST_SHARED = 0.25  # of the words of a title or of a text, because a model also uses its own words
SHORTEST_WORD = 4  # letters; shorter ones say nothing about the matter, and longer ones are compared by so many
_ARRIVAL_WORD = re.compile(rf"\w{{{SHORTEST_WORD},}}")


class VisitMemory(MemorySynthesisResponse):
    """One memory of a visit."""

    memory_title: Annotated[str, at_most(LONGEST_TITLE)] | None = Field(
        default=None, description=f"at most {LONGEST_TITLE} characters"
    )
    memory_text: Annotated[str, at_most(LONGEST_TEXT)] | None = Field(
        default=None, description=f"at most {LONGEST_TEXT} characters"
    )
    turn: int | None = Field(default=None, description="the turn in which it showed")
    location_id: int | None = Field(default=None, description="of another location that it is about, else null")

    @field_validator("persistence", mode="before")
    @classmethod
    def _in_any_case(cls, value: object) -> object:
        """Take capitals, too, in which prompts name the tiers."""
        return value.lower() if isinstance(value, str) else value


class VisitSynthesis(BaseModel):
    """What a visit taught."""

    memories: list[VisitMemory]

    @model_validator(mode="before")
    @classmethod
    def _one_is_a_list_of_one(cls, answer: object) -> object:
        """Take a memory alone as well."""
        if isinstance(answer, dict) and "memories" not in answer and "should_remember" in answer:
            return {"memories": [answer]}
        return answer


@dataclass(slots=True)
class VisitTracker:
    """Follows an episode from visit to visit and collects the news of a visit for one model call.

    location_id: the location at which the last turn began
    news: of the current visit, oldest first, all of one location
    waiting: by location id, the news of visits that have ended and that no model was asked about yet, oldest first
    stays: by location id, all turns there that were not asked about, without those on a route
    tried: the commands of the visit, each with whether it had an effect
    visited: ids of the locations at which a turn began
    laid_down: names of the objects that the player put down, by location id
    unlit: ids of the locations that were dark at the episode's first turn there
    is_asked_about: the visit was asked about before its end; only points and deaths are news since
    """

    location_id: int | None = None
    news: list[ActionOutcome] = field(default_factory=list)
    waiting: dict[int, list[ActionOutcome]] = field(default_factory=dict)
    stays: defaultdict[int, list[ActionOutcome]] = field(default_factory=lambda: defaultdict(list))
    tried: set[tuple[str, bool]] = field(default_factory=set)
    visited: set[int] = field(default_factory=set)
    laid_down: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    unlit: set[int] = field(default_factory=set)
    is_asked_about: bool = False

    def is_pending(self, outcome: ActionOutcome) -> bool:
        """Return whether news of the same kind at the location waits for a question."""
        return outcome.key in {each.key for each in (*self.news, *self.waiting.get(outcome.location.num, ()))}

    def wait(self) -> None:
        """Let the news of the visit wait for a question."""
        for outcome in self.news:
            self.waiting.setdefault(outcome.location.num, []).append(outcome)
        self.news.clear()

    def enter(self, location_id: int) -> bool:
        """Note that a turn begins at the location, and return whether it is the episode's first there."""
        is_first = location_id not in self.visited
        self.visited.add(location_id)
        if location_id != self.location_id:
            self.tried.clear()
            stays = self.stays[location_id]
            while stays and stays[-1].record.moved:  # by which the visit before it ended
                stays.pop()
            self.is_asked_about = False
        self.location_id = location_id
        return is_first


@dataclass(frozen=True, slots=True)
class VisitNews:
    """The news of a location, of one visit or of several that were not asked about, for a model.

    outcomes: at least one, oldest first
    first_news: the turn of the oldest outcome that is news; the others are shown beside it
    memories: all memories of the location, including superseded ones
    elsewhere: memories of other locations that the player has seen in this episode, by location id
    rooms: the names of all known locations, by id
    is_new_place: the player was never there in an earlier episode
    played: the turns of the episode so far, one of which an answer may name
    aims: the ids of the locations that plan, objectives or notes name, or to which the plan's commands lead
    """

    outcomes: tuple[ActionOutcome, ...]
    memories: tuple[Memory, ...]
    elsewhere: Mapping[int, tuple[Memory, ...]] = field(default_factory=dict)
    rooms: Mapping[int, str] = field(default_factory=dict)
    is_new_place: bool = True
    played: Sequence[TurnRecord] = ()
    aims: Collection[int] = ()
    first_news: int | None = None

    @property
    def here(self) -> Location:
        """The location."""
        return self.outcomes[-1].location

    @property
    def first(self) -> ActionOutcome | None:
        """The outcome of the episode's first turn there, ``None`` if it is of a visit before the news."""
        return next((outcome for outcome in self.outcomes if outcome.first_visit and outcome not in self.earlier), None)

    @property
    def earlier(self) -> Sequence[ActionOutcome]:
        """Those of visits before the news, which were not asked about then."""
        news = self.outcomes[-1].record.turn if self.first_news is None else self.first_news
        turns = reversed(self.played[: news - 1])
        came = next((turn.turn for turn in turns if turn.moved and turn.after.location == self.here), 0)
        return [outcome for outcome in self.outcomes if outcome.record.turn <= came]

    def tier(self, answer: VisitMemory, laid_down: Collection[str]) -> Persistence | None:
        """Return the tier that the facts allow for the answer's memory (docs/records/specification.md, Core memories).

        laid_down: names of objects that the player put down at the location in this episode
        """
        if answer.persistence != "core":
            return answer.persistence
        last, first = self.outcomes[-1], self.first
        if self._place(answer) != self.here.num:
            return "permanent"
        title, text = answer.memory_title or "", answer.memory_text or ""
        arrival = first.arrival_text.strip() if first else ""
        if names(f"{title} {text}", laid_down) - names(arrival, laid_down):
            return "ephemeral"
        if first is None:
            return "permanent"
        first_turn = first.record.turn
        # Without other turns in the question the answer need not name one.
        turn = last.record.turn if answer.turn is None else answer.turn
        found = [name for outcome in self.outcomes for name in outcome.revealed]
        is_found = bool(names(title, found) - names(arrival, found))
        is_of_arrival = turn in {first_turn, first_turn - 1}
        is_shown = not arrival or (was_shown(title, text, arrival) and not is_found)
        return "core" if is_of_arrival and is_shown else "permanent"

    def _title_of(self, named: str) -> str:
        """Return the title of the memory that an answer names, often with the colon and the text that follow it."""
        memories = chain(self.memories, *self.elsewhere.values())
        titles = [memory.title for memory in memories if not memory.is_given_up]
        if text_key(named) in map(text_key, titles):
            return named
        return max(
            (each for each in titles if text_key(named).startswith(f"{text_key(each)}:")), key=len, default=named
        )

    def revisions(self, answer: VisitMemory, episode: int) -> tuple[Revision, ...]:
        """Return the changes of the answer: at its location, then at others, where a superseded one is invalidated."""
        here, place, turn = self.here, self._place(answer), self.outcomes[-1].record.turn
        main = Revision(
            location_id=place,
            location_name=here.name if place == here.num else self.rooms[place],
            new=self._memory(answer, episode) if answer.should_remember else None,
            superseded=tuple(sorted(map(self._title_of, answer.supersedes_memory_titles))),
            invalidated=tuple(sorted(map(self._title_of, answer.invalidate_memory_titles))),
            reason=answer.invalidation_reason or "",
            turn=turn,
        )
        everywhere = {here.num: self.memories, **self.elsewhere}
        at_place = everywhere.pop(place, ())
        given_up = main.invalidated if main.new_persistent is None else (*main.invalidated, *main.superseded)
        reason = main.reason or f"Location {place}: {one_line(answer.memory_title or '')}"
        others = []
        for room, memories in everywhere.items():
            found = tuple(title for title in given_up if stands(memories, title) and not stands(at_place, title))
            if found:
                others.append(Revision(room, invalidated=found, reason=reason, turn=turn))
        return (main, *others)

    def _place(self, answer: VisitMemory) -> int:
        """Return the location that the answer is about: this one, unless it names another one that is known."""
        named = answer.location_id
        return self.here.num if named is None or named not in self.rooms else named

    def _memory(self, answer: VisitMemory, episode: int) -> Memory:
        """Return the memory of the answer, about the turn that it names, or else about the whole visit."""
        records = [*(outcome.record for outcome in self.outcomes), *self.played]
        shown = [record for record in records if record.turn == answer.turn]
        if answer.persistence == "core" and self.first is not None:  # it may name the turn that led here
            shown = [self.first.record]
        records = shown[:1] or [outcome.record for outcome in self.outcomes]
        changes = [record.score_change for record in records if record.score_change is not None]
        return Memory(
            category=answer.category or DEFAULT_CATEGORY,
            title=one_line(answer.memory_title or ""),
            episode=episode,
            turns=Source(episode, records[0].turn, records[-1].turn).turns,
            score_change=sum(changes) if changes else None,
            text=(answer.memory_text or "").strip(),
            persistence=answer.persistence or "permanent",
            # A memory cannot be given up before it is known: what the model doubts so is tentative.
            status=MemoryStatus.ACTIVE if answer.status == MemoryStatus.ACTIVE else MemoryStatus.TENTATIVE,
        )


def visit_of(answer: VisitMemory, visits: Sequence[VisitNews]) -> VisitNews:
    """Return which of the visits, at least one, the answer is about: by its location, or else by its turn.

    The turn of a core memory may be the one that led to the location; then the text on arrival decides.
    """
    title, text = answer.memory_title or "", answer.memory_text or ""
    last = visits[-1]
    for visit in visits:
        if answer.location_id == visit.here.num:
            return visit
    for visit in visits if answer.persistence == "core" else ():
        first = visit.first
        is_of_arrival = first is not None and answer.turn in {first.record.turn - 1, first.record.turn}
        if first and is_of_arrival and was_shown(title, text, first.arrival_text):
            return visit
    for visit in visits:
        if answer.turn in {outcome.record.turn for outcome in visit.outcomes}:
            return visit
    turns = [turn for turn in last.played if turn.turn == answer.turn]
    places = [place for turn in turns for place in (turn.before.location, turn.after.location)]
    return next((visit for place in places for visit in visits if visit.here == place), last)


def was_shown(title: str, text: str, arrival: str) -> bool:
    """Return whether the words of a memory's title or text, if it has any to compare, are in a text on arrival."""
    title_stems, text_stems, shown = (
        {word[:SHORTEST_WORD] for word in _ARRIVAL_WORD.findall(part.casefold())} for part in (title, text, arrival)
    )
    parts = [stems for stems in (title_stems, text_stems) if stems]
    return not parts or any(len(stems & shown) >= LEAST_SHARED * len(stems) for stems in parts)

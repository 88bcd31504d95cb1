"""The facts of an episode, from its turns to the line in ``episode_summaries.jsonl``."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Annotated, Final

from pydantic import Field, TypeAdapter, ValidationError

from session.events import EpisodeEnd
from session.game_state import GameState
from session.text import cut_middle, one_line
from session.values import Location, Observation, TurnRecord, Verdict

STEPS_KEPT: Final = 6
LONGEST_RESPONSE: Final = 4000  # characters


@dataclass(frozen=True, slots=True)
class EpisodeNotes:
    """The facts of an episode so far.

    turns: how many were played
    score, best_score, max_score: points; ``None`` if the story keeps no score
    rooms: ids of the locations, in the order in which they were seen
    scored, deaths: oldest first
    recent: the turns since the latest death, at most the last six
    critic_total, critic_turns: the sum of the critic's scores, and how many turns have one
    """

    turns: int = 0
    score: int | None = None
    best_score: int | None = None
    max_score: int | None = None
    rooms: tuple[int, ...] = ()
    scored: tuple[Scored, ...] = ()
    deaths: tuple[Death, ...] = ()
    recent: tuple[Step, ...] = ()
    critic_total: float = 0.0
    critic_turns: int = 0

    def with_turn(self, record: TurnRecord) -> EpisodeNotes:
        """Return the notes with a turn added."""
        here = record.before.location
        response = cut_middle(one_line(record.after.text), LONGEST_RESPONSE)
        step = Step(record.turn, here, one_line(record.action), response)
        recent = (*self.recent, step)[-STEPS_KEPT:]
        change = record.score_change
        judged = critic_score(record.verdicts[-1]) if record.verdicts else None
        scores = [score for score in (self.best_score, record.before.score, record.after.score) if score is not None]
        return replace(
            self,
            turns=record.turn,
            score=record.after.score,
            best_score=max(scores, default=None),
            max_score=record.after.max_score,
            rooms=_with_rooms(self.rooms, record.before, record.after),
            scored=(*self.scored, Scored(step.turn, here, step.action, change)) if change else self.scored,
            deaths=(*self.deaths, Death(recent)) if record.after.died else self.deaths,
            recent=() if record.after.died else recent,
            critic_total=self.critic_total + (judged or 0.0),
            critic_turns=self.critic_turns + (judged is not None),
        )

    def summary(self, episode: int, end: EpisodeEnd) -> EpisodeSummary:
        """Return the summary of the episode, which ended in this way."""
        return EpisodeSummary(
            episode=episode,
            end=end,
            turns=self.turns,
            score=self.score,
            best_score=self.best_score,
            max_score=self.max_score,
            rooms=len(self.rooms),
            scored=self.scored,
            deaths=self.deaths,
            critic_score=self.critic_total / self.critic_turns if self.critic_turns else None,
        )


def notes_of_opening(state: GameState) -> EpisodeNotes:
    """Return the notes before the first turn of an episode."""
    here, score = state.current_room_id, state.previous_zork_score
    return EpisodeNotes(score=score, best_score=score, rooms=() if here is None else (here,))


def critic_score(verdict: Verdict) -> float | None:
    """Return the confidence of a verdict, negative if it refuses; ``None`` if it has none."""
    if verdict.confidence is None:
        return None
    return verdict.confidence if verdict.accepted else -verdict.confidence


def _with_rooms(rooms: tuple[int, ...], *seen: Observation) -> tuple[int, ...]:
    for observation in seen:
        if observation.location is not None and observation.location.num not in rooms:
            rooms = (*rooms, observation.location.num)
    return rooms


SUMMARIES_FILE: Final = "episode_summaries.jsonl"
INSTRUCTIVE_SCORE: Final = 50
INSTRUCTIVE_TURNS: Final = 100
PLANNED_TURNS: Final = 20
"""After fewer turns there is little to plan from."""
INSTRUCTIVE_CRITIC_SCORE: Final = 0.3


@dataclass(frozen=True, slots=True)
class Step:
    """A turn that was played. ``response``: the story's answer on one line, a very long one without its middle."""

    turn: int
    location: Location | None
    action: str
    response: str


@dataclass(frozen=True, slots=True)
class Scored:
    """A turn in which the score changed, by ``change`` points."""

    turn: int
    location: Location | None
    action: str
    change: int


@dataclass(frozen=True, slots=True)
class Death:
    """A death of the player. ``steps``: the turns that led to it; the last one is that of the death."""

    steps: Annotated[tuple[Step, ...], Field(min_length=1)]

    @property
    def last(self) -> Step:
        """The turn in which the player died."""
        return self.steps[-1]


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """The results of an episode.

    turns: how many were played
    score, best_score, max_score: points; ``None`` if the story keeps no score
    rooms: how many were seen
    scored, deaths: oldest first
    critic_score: the critic's average confidence in the commands, from -1 to 1; ``None`` if it gave none
    """

    episode: int
    end: EpisodeEnd
    turns: int
    score: int | None = None
    best_score: int | None = None
    max_score: int | None = None
    rooms: int = 0
    scored: tuple[Scored, ...] = ()
    deaths: tuple[Death, ...] = ()
    critic_score: float | None = None

    @property
    def is_worth_a_question(self) -> bool:
        """Whether to call a model about it (docs/specification.md, Episode synthesis)."""
        return self.is_instructive or self.turns >= PLANNED_TURNS

    @property
    def is_instructive(self) -> bool:
        """Whether it teaches something: by a death, many points, many turns or a critic that was sure of itself."""
        return (
            bool(self.deaths)
            or (self.score is not None and self.score >= INSTRUCTIVE_SCORE)
            or self.turns >= INSTRUCTIVE_TURNS
            or (self.critic_score is not None and self.critic_score >= INSTRUCTIVE_CRITIC_SCORE)
        )


_SUMMARIES: TypeAdapter[EpisodeSummary] = TypeAdapter(EpisodeSummary)


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """A line of the file. ``summary``: ``None`` if the line is not understood."""

    text: str
    summary: EpisodeSummary | None = None


@dataclass(frozen=True, slots=True)
class Summaries:
    """The lines of the file, one summary each. Lines that are not understood are kept."""

    lines: tuple[SummaryLine, ...]

    def render(self) -> str:
        """Return the text of the file."""
        return "\n".join(line.text for line in self.lines)

    def before(self, episode: int) -> list[EpisodeSummary]:
        """Return the summaries of the episodes with a lower number, lowest first."""
        found = [line.summary for line in self.lines if line.summary and line.summary.episode < episode]
        return sorted(found, key=lambda summary: summary.episode)

    def not_understood(self) -> list[int]:
        """Return the numbers of the lines that are not empty and hold no summary; the first line has number 1."""
        return [number for number, line in enumerate(self.lines, start=1) if line.text.strip() and not line.summary]


def parse_summaries(text: str) -> Summaries:
    """Return the summaries that the text of the file holds."""
    return Summaries(tuple(map(_parsed, text.split("\n"))))


@dataclass(frozen=True, slots=True)
class KeepSummary:
    """A change to the file that adds a summary, in the place of one of the same episode."""

    summary: EpisodeSummary

    def apply_to(self, document: Summaries) -> Summaries:
        """Return the document with the summary, or the same document if it already has it."""
        new = _parsed(_written(self.summary))
        lines = tuple(new if self._is_its(line) else line for line in document.lines)
        if new not in lines:
            end = len(lines) - (not lines[-1].text)
            lines = (*lines[:end], new, SummaryLine(""))
        return document if lines == document.lines else replace(document, lines=lines)

    def _is_its(self, line: SummaryLine) -> bool:
        return line.summary is not None and line.summary.episode == self.summary.episode


def _written(summary: EpisodeSummary) -> str:
    """Return the summary as a line of the file.

    Half characters, which a broken story may print, are replaced, since no file can hold them.
    """
    line = json.dumps(_SUMMARIES.dump_python(summary, mode="json"), ensure_ascii=False)
    return line.encode(errors="replace").decode()


def _parsed(line: str) -> SummaryLine:
    try:
        return SummaryLine(line, _SUMMARIES.validate_json(line))
    except ValidationError:
        return SummaryLine(line)

"""The facts of an episode, from its turns to the line in ``episode_summaries.jsonl``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from pydantic import Field, TypeAdapter, ValidationError

from session.events import EpisodeEnd
from session.game_state import GameState
from session.text import cut_middle, one_line
from session.values import Location, TurnRecord

STEPS_KEPT: Final = 6
LONGEST_RESPONSE: Final = 4000  # characters
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


def summary_of(turns: Sequence[TurnRecord], state: GameState, end: EpisodeEnd) -> EpisodeSummary:
    """Return the summary of an episode that ended in this way.

    turns: all of the episode
    state: after the last of them
    """
    score, here = state.previous_zork_score, state.current_room_id
    seen = [observation for turn in turns for observation in (turn.before, turn.after)]
    rooms = {observation.location.num for observation in seen if observation.location}
    scores = [each for each in (score, *(observation.score for observation in seen)) if each is not None]
    scored: list[Scored] = []
    deaths: list[Death] = []
    recent: list[TurnRecord] = []
    for turn in turns:
        recent.append(turn)
        if turn.score_change:
            scored.append(Scored(turn.turn, turn.before.location, one_line(turn.action), turn.score_change))
        if turn.after.died:
            deaths.append(Death(tuple(map(_step, recent[-STEPS_KEPT:]))))
            recent.clear()
    verdicts = [turn.verdicts[-1] for turn in turns if turn.verdicts]
    opinions = [
        each.confidence if each.accepted else -each.confidence for each in verdicts if each.confidence is not None
    ]
    return EpisodeSummary(
        episode=state.episode,
        end=end,
        turns=len(turns),
        score=score,
        best_score=max(scores, default=None),
        max_score=turns[-1].after.max_score if turns else None,
        rooms=len(rooms if here is None else rooms | {here}),
        scored=tuple(scored),
        deaths=tuple(deaths),
        critic_score=sum(opinions) / len(opinions) if opinions else None,
    )


def _step(turn: TurnRecord) -> Step:
    response = cut_middle(one_line(turn.after.text), LONGEST_RESPONSE)
    return Step(turn.turn, turn.before.location, one_line(turn.action), response)


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


def parse_summaries(text: str) -> Summaries:
    """Return the summaries that the text of the file holds."""
    return Summaries(tuple(map(_parsed, text.split("\n"))))


@dataclass(frozen=True, slots=True)
class KeepSummary:
    """A change to the file that adds a summary, in the place of one of the same episode."""

    summary: EpisodeSummary

    def apply_to(self, document: Summaries) -> Summaries:
        """Return the document with the summary, or the same document if it already has it.

        Half characters, which a broken story may print, are replaced, since no file can hold them.
        """
        text = json.dumps(_SUMMARIES.dump_python(self.summary, mode="json"), ensure_ascii=False)
        new, episode = _parsed(text.encode(errors="replace").decode()), self.summary.episode
        lines = tuple(
            new if line.summary is not None and line.summary.episode == episode else line for line in document.lines
        )
        if new not in lines:
            end = len(lines) - (not lines[-1].text)
            lines = (*lines[:end], new, SummaryLine(""))
        return document if lines == document.lines else replace(document, lines=lines)


def _parsed(line: str) -> SummaryLine:
    try:
        return SummaryLine(line, _SUMMARIES.validate_json(line))
    except ValidationError:
        return SummaryLine(line)

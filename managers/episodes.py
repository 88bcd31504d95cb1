"""Episodes that have ended: their facts, ``episode_summaries.jsonl``, and the question about what they teach."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import not_
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from managers.knowledge.analysis import LONGEST_LINE
from managers.plan import MOST_COMMANDS, Played
from managers.prompting import Line, Part, fitted_prompt, place, turn_text
from session.commands import Vocabulary, plain_command, referred_to
from session.events import EpisodeEnd
from session.files.markdown import BYTE_ORDER_MARK
from session.game_state import EpisodeProgress, GameState, Tries
from session.knowledge import INSIGHTS, PLAN_LINES, KnowledgeLine, Source
from session.text import TokenCounter, counted, cut_at, cut_middle, one_line, quotation
from session.values import Location
from zorkgpt.llm.language_model import Prompt, at_most
from zorkgpt.prompts.loader import fill_prompt

STORY_ENDS: Final = ("won", "lost", "over")
STEPS_KEPT: Final = 6
LONGEST_RESPONSE: Final = 4000  # characters
SUMMARIES_FILE: Final = "episode_summaries.jsonl"
INSTRUCTIVE_SCORE: Final = 50
INSTRUCTIVE_TURNS: Final = 100
PLANNED_TURNS: Final = 20
"""After fewer turns there is little to plan from."""
INSTRUCTIVE_CRITIC_SCORE: Final = 0.3
LONGEST_HANDOVER: Final = 1200  # characters, about 300 tokens
COMMANDS_SHOWN: Final = 3
LONGEST_NAME: Final = 80  # characters of a command
LONGEST_QUOTE: Final = 160  # characters of the story's words, where there is no room for more
OUTCOMES: Final[Mapping[EpisodeEnd, str]] = {
    "won": "was won",
    "lost": "was lost",
    "over": "came to the story's end",
    "crashed": "broke off, because the story's program failed",
    "turn_limit": "reached its turn limit",
    "stuck": "was stopped because it made no progress",
    "left": "was left by its player",
}
INSTRUCTIONS_SHARE: Final = 3  # at most one in so many tokens of the prompt
EARLIER_SHOWN: Final = 5
POINTS_SHOWN: Final = 40
LONGEST_PLAN_LINE: Final = 600  # characters
DEATHS_SHOWN: Final = 5
DEATHS_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Step:
    """A turn that was played. ``response``: the story's answer on one line, a very long one without its middle."""

    turn: int
    location: Location | None
    action: str
    response: str


@dataclass(frozen=True, slots=True)
class Scored:
    """A turn in which the score changed, by ``change`` points.

    after: the command to which ``action`` refers, as in "take it"; "" if it refers to none
    """

    turn: int
    location: Location | None
    action: str
    change: int
    after: Annotated[str, Field(exclude_if=not_)] = ""

    @property
    def played(self) -> Played:
        """The location's id, ``None`` if it is unknown, and the plain command."""
        return None if self.location is None else self.location.num, plain_command(self.action)


@dataclass(frozen=True, slots=True)
class Death:
    """A death of the player, or the loss of the game.

    steps: the turns that led to it; the last one is that of the death
    is_loss: the story was lost without a death
    """

    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    is_loss: Annotated[bool, Field(exclude_if=not_)] = False

    @property
    def last(self) -> Step:
        """The turn in which the player died or lost."""
        return self.steps[-1]

    @property
    def what(self) -> str:
        """What it was, in words."""
        return "the story was lost" if self.is_loss else "the player died"

    @property
    def before(self) -> tuple[str, ...]:
        """The latest commands before it."""
        return tuple(step.action for step in self.steps[-COMMANDS_SHOWN - 1 : -1])


class KnownEnd(NamedTuple):
    """A turn that killed the player or ended the story.

    how: in words
    after: the latest commands before it, in words, if they are known: the same command may be harmless without them
    change: of the score
    """

    episode: int
    step: Step
    how: str
    after: str
    change: int = 0

    @property
    def place(self) -> int | None:
        """The location's id; ``None`` if it is unknown."""
        return self.step.location.num if self.step.location else None

    @property
    def when(self) -> str:
        """The episode and the turn in words."""
        return f"episode {self.episode}, turn {self.step.turn}"


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """The results of an episode.

    turns: how many were played
    score, best_score, max_score: points; ``None`` if they were never known
    rooms: how many were seen
    scored, deaths: oldest first
    in_vain: the latest turns in which commands that had won points at their location earlier won none, nor did others;
        their change is 0
    critic_score: the critic's average confidence in the commands, from -1 to 1; ``None`` if it gave none
    ending: the turn in which the story ended; ``None`` if the episode ended in another way
    """

    episode: int
    end: EpisodeEnd
    turns: int
    score: int | None = None
    best_score: int | None = None
    max_score: int | None = None
    rooms: int = 0
    scored: tuple[Scored, ...] = ()
    in_vain: tuple[Scored, ...] = ()
    deaths: tuple[Death, ...] = ()
    critic_score: float | None = None
    ending: Step | None = None

    @property
    def points(self) -> str:
        """The score in words, "" if it was never known."""
        of = "" if self.max_score is None else f" out of {self.max_score}"
        return "" if self.score is None else f"{counted(self.score, 'point')}{of}"

    @property
    def ends(self) -> Iterator[KnownEnd]:
        """The turns that killed the player or ended the story."""
        deaths = {death.last: death for death in self.deaths}
        changes = {scored.turn: scored.change for scored in self.scored}
        for step in dict.fromkeys([*deaths, *filter(None, [self.ending])]):
            points = f" with {self.points}" if self.points else ""
            ended = [f"the story ended, {self.end}{points}"] if step == self.ending else []
            how = "; ".join([*(["you died"] if step in deaths and not deaths[step].is_loss else []), *ended])
            before = _after(deaths[step].before) if step in deaths else ""
            yield KnownEnd(self.episode, step, how, before, changes.get(step.turn, 0))

    @property
    def is_instructive(self) -> bool:
        """Whether it teaches something: by a death or an end, many points or turns, or a confident critic."""
        return (
            bool(self.deaths)
            or self.ending is not None
            or (self.score is not None and self.score >= INSTRUCTIVE_SCORE)
            or self.turns >= INSTRUCTIVE_TURNS
            or (self.critic_score is not None and self.critic_score >= INSTRUCTIVE_CRITIC_SCORE)
        )


def summary_of(
    state: GameState, end: EpisodeEnd, known_points: Iterable[Scored], vocabulary: Vocabulary
) -> EpisodeSummary:
    """Return the summary of an episode that ended in this way.

    known_points: the turns of earlier episodes in which points were won
    """
    turns = state.turns
    progress = EpisodeProgress(turns[0].before if turns else state.latest)
    scored: list[Scored] = []
    deaths: list[Death] = []
    recent: list[Step] = []
    ending = None
    commands = [turn.action for turn in turns]
    for number, turn in enumerate(turns):
        progress.count(turn)
        where, action = turn.before.location, one_line(turn.action)
        recent.append(Step(turn.turn, where, action, cut_middle(one_line(turn.response), LONGEST_RESPONSE)))
        ending = recent[-1] if end in STORY_ENDS and turn.after.ending is not None else None
        if turn.score_change:
            at = referred_to(commands, number)
            after = "" if at is None else one_line(commands[at])
            scored.append(Scored(turn.turn, where, action, turn.score_change, after))
        if turn.after.is_defeat:
            deaths.append(Death(tuple(recent[-STEPS_KEPT:]), is_loss=not turn.after.died))
            recent.clear()
    verdicts = [turn.verdicts[-1] for turn in turns if turn.verdicts]
    opinions = [
        each.confidence if each.accepted else -each.confidence for each in verdicts if each.confidence is not None
    ]
    return EpisodeSummary(
        episode=state.episode,
        end=end,
        turns=progress.turns,
        score=progress.score,
        best_score=progress.best_score,
        max_score=progress.max_score,
        rooms=len(progress.rooms),
        scored=tuple(scored),
        in_vain=tuple(_in_vain(known_points, scored, state.tries, vocabulary)),
        deaths=tuple(deaths),
        critic_score=sum(opinions) / len(opinions) if opinions else None,
        ending=ending,
    )


_SUMMARIES: TypeAdapter[EpisodeSummary] = TypeAdapter(EpisodeSummary)


def _in_vain(
    known_points: Iterable[Scored], scored: Collection[Scored], tries: Tries, vocabulary: Vocabulary
) -> Iterator[Scored]:
    """Yield the latest turn of each command that had won points at its location in an earlier episode, but not now."""
    for known in {each.played: each for each in known_points}.values():
        place, command = known.played
        turns = tries.of(place, command)
        won = (each.played[1] for each in scored if each.played[0] == place and each.change > 0)
        if turns and not turns[-1].moved and not any(vocabulary.means_same(each, command) for each in won):
            yield Scored(turns[-1].turn, known.location, known.action, 0)


@dataclass(frozen=True, slots=True)
class Summaries:
    """The lines of the file, each with its summary; ``None`` for a line that is not understood, which is kept."""

    lines: tuple[tuple[str, EpisodeSummary | None], ...]

    def render(self) -> str:
        """Return the text of the file."""
        return "\n".join(line for line, _ in self.lines)

    def before(self, episode: int) -> list[EpisodeSummary]:
        """Return the summaries of the episodes with a lower number, lowest first."""
        found = [summary for _, summary in self.lines if summary and summary.episode < episode]
        return sorted(found, key=lambda summary: summary.episode)

    def with_summary(self, summary: EpisodeSummary) -> Summaries:
        """Return the summaries with this one, in the place of one of the same episode; the same object if it is there.

        Half characters, which a broken story may print, are replaced, since no file can hold them.
        """
        text = json.dumps(_SUMMARIES.dump_python(summary, mode="json"), ensure_ascii=False)
        (new,) = parse_summaries(text.encode(errors="replace").decode()).lines
        lines = tuple(
            new if known and known.episode == summary.episode else (line, known) for line, known in self.lines
        )
        if new not in lines:
            end = len(lines) - (not lines[-1][0])
            lines = (*lines[:end], new, ("", None))
        return self if lines == self.lines else Summaries(lines)


def parse_summaries(text: str) -> Summaries:
    """Return the summaries that the text of the file holds."""
    lines: list[tuple[str, EpisodeSummary | None]] = []
    for line in text.split("\n"):
        try:
            lines.append((line, _SUMMARIES.validate_json(line.removeprefix(BYTE_ORDER_MARK))))
        except ValidationError:
            lines.append((line, None))
    return Summaries(tuple(lines))


def handover_text(summary: EpisodeSummary) -> str:
    """Return the report of this episode for the next one, in at most ``LONGEST_HANDOVER`` characters."""
    outcome = [f"{outcome_line(summary)} The story has begun anew since: nothing done then is done now."]
    room = LONGEST_HANDOVER - sum(len(line) + 1 for line in outcome)
    deaths = Part("deaths", [[Line(line)] for line in death_lines(summary)], empty="").fit(room).text
    return "\n".join(filter(None, [*outcome, deaths]))


def outcome_line(summary: EpisodeSummary) -> str:
    """Return a sentence about how the episode ended."""
    figures = []
    if summary.score is not None:
        best = "" if summary.best_score == summary.score else f" ({summary.best_score} at best)"
        figures.append(f"{summary.points}{best}")
    if summary.rooms:
        figures.append(f"{counted(summary.rooms, 'room')} seen")
    reached = f", with {' and '.join(figures)}" if figures else ""
    last = summary.ending
    by = f", by `{_short(last.action)}` at {place(last.location)}" if last else ""
    return f"Episode {summary.episode} {OUTCOMES[summary.end]} after {counted(summary.turns, 'turn')}{by}{reached}."


def points_text(scored: Scored) -> str:
    """Return the location, turn and command of each change of the score."""
    after = f" after `{_short(scored.after)}`" if scored.after else ""
    return f"`{_short(scored.action)}`{after} at {place(scored.location)} ({scored.change:+d}, turn {scored.turn})"


def lesson_of(death: Death, episode: int, text: str = "") -> KnowledgeLine:
    """Return a lesson from a death. Without a model's ``text``, it has the story's own words.

    The same death in two episodes then gives the same text.
    """
    text = text or f'{_deadly(death)}: "{cut_middle(death.last.response, LONGEST_QUOTE)}"'
    return KnowledgeLine(text, (Source(episode, death.steps[0].turn, death.last.turn),))


def death_lines(summary: EpisodeSummary) -> list[str]:
    """Return a sentence for each death: the location, the command, the commands before it, the story's words."""
    changes = {scored.turn: f" ({scored.change:+d})" for scored in summary.scored}
    return [
        f"In turn {death.last.turn} of episode {summary.episode}: {_deadly(death)}{changes.get(death.last.turn, '')}: "
        f"{quotation(death.last.response)}"
        for death in summary.deaths
    ]


def _deadly(death: Death) -> str:
    return f"{death.what} at {place(death.last.location)} on `{_short(death.last.action)}`{_after(death.before)}"


def _after(commands: Sequence[str]) -> str:
    return f" after {', '.join(f'`{_short(command)}`' for command in commands)}" if commands else ""


def _short(text: str) -> str:
    return cut_at(text, LONGEST_NAME)


def episode_prompt(
    summaries: Sequence[EpisodeSummary],
    *,
    insights: str,
    knowledge: str,
    plan: Sequence[str] = (),
    outlook: Sequence[str] = (),
    budget: int,
    tokens: TokenCounter,
) -> Prompt:
    """Return the question about what the episode taught, in at most ``budget`` tokens if the instructions leave room.

    summaries: of earlier episodes, oldest first, then of this one
    insights: the known ones; the model can refer to the program's own by number, starting with 1
    plan: the plan for this episode
    outlook: what a plan for the next one should take into account
    """
    *earlier, summary = summaries
    fields = {"insights": insights, "episode": outcome_line(summary)}
    before = _earlier_items(earlier[-EARLIER_SHOWN:])
    deaths = []
    for death in summary.deaths[-DEATHS_SHOWN:]:
        lines = [Line(f"{'Loss' if death.is_loss else 'Death'} in turn {death.last.turn}:")]
        for step in death.steps[-STEPS_KEPT:]:
            lines.append(Line(turn_text(step.turn, _short(step.action), at=step.location)))
            lines.append(Line("  Response: ", step.response))
        deaths.append(lines)
    points = [[Line(points_text(scored))] for scored in summary.scored[-POINTS_SHOWN:]]
    parts = [
        Part("knowledge", [[Line(line)] for line in knowledge.splitlines()], keeps="best"),
        Part("earlier", before, others=len(earlier) - len(before)),
        Part("plan", [[Line(line)] for line in plan]),
        Part("outlook", [[Line(line)] for line in outlook], keeps="best", share=0.25),
        Part("points", points, others=len(summary.scored) - len(points)),
        Part("deaths", deaths, share=DEATHS_SHARE, others=len(summary.deaths) - len(deaths), separator="\n\n"),
    ]
    return fitted_prompt(fill_prompt("episode"), ["episode_play"], fields, parts, tokens.characters(budget))


def _earlier_items(earlier: Sequence[EpisodeSummary]) -> list[list[Line]]:
    """Return the outcome and the last death of each episode; the same death is described only the last time."""
    items: list[list[Line]] = []
    shown: dict[str, str] = {}
    for summary in reversed(earlier):
        lines = [outcome_line(summary)]
        for line in death_lines(summary)[-1:]:
            when, _, what = line.partition(": ")
            where = shown.setdefault(what, when)
            lines.append(line if where == when else f"{when}: as {where[0].lower()}{where[1:]}")
        items.insert(0, [*map(Line, lines)])
    return items


KnownText = Annotated[str, at_most(LONGEST_LINE)]
PlanText = Annotated[str, at_most(LONGEST_PLAN_LINE)]


class DeathLesson(BaseModel):
    """What one death or loss teaches."""

    turn: int = Field(description="turn of the death or loss")
    text: KnownText = Field(
        description=f"what killed or lost, how to see it coming, what to do instead; at most {LONGEST_LINE} characters"
    )


class ProposedInsight(BaseModel):
    """Something that will be true again."""

    heading: str = Field(description=f"one of: {', '.join(INSIGHTS)}")
    text: KnownText = Field(description=f"one sentence or two, at most {LONGEST_LINE} characters")
    turns: list[int] = Field(default_factory=list, description="turns of this episode that show it")
    replaces: list[int] = Field(default_factory=list, description="numbers of the insights that it takes the place of")


class EpisodeAnswer(BaseModel):
    """What the episode teaches."""

    reasoning: str = ""
    plan: Annotated[list[PlanText], at_most(PLAN_LINES, "lines")] | None = Field(
        None,
        description=f"lines for the next player, at most {PLAN_LINES}, each of at most {LONGEST_PLAN_LINE} characters; "
        "null: as it is",
    )
    commands: Annotated[list[str], at_most(MOST_COMMANDS, "commands")] | None = Field(
        None,
        description=f"the exact opening of the next game, at most {MOST_COMMANDS} commands; null: as they are",
    )
    achieved: list[int] = Field(
        default_factory=list, description="numbers of the open objectives that were achieved in the episode"
    )
    deaths: list[DeathLesson] = Field(default_factory=list)
    insights: list[ProposedInsight] = Field(default_factory=list)

"""The question about an episode that has ended: its prompt, and how its answer is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, Field

from managers.episodes.summary import STEPS_KEPT, Death, EpisodeSummary, Scored
from managers.knowledge.analysis import entries_numbered, proposed_text, with_sources_of
from managers.knowledge.prompt import numbered_list
from managers.prompting import Line, Part, fitted_prompt, share_out, turn_text
from session.events import EpisodeEnd
from session.knowledge import INSIGHTS, KnowledgeEntry, KnowledgeLine, Source, as_sources
from session.text import TokenCounter, counted, cut_at, cut_middle, one_line, text_key
from session.values import Location
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt

LONGEST_HANDOVER: Final = 1200  # characters, about 300 tokens
COMMANDS_SHOWN: Final = 3
DEATHS_HANDED_OVER: Final = 3
GAINS_SHOWN: Final = 8
LONGEST_NAME: Final = 80  # characters of a command or a location
LONGEST_QUOTE: Final = 160  # characters of the story's words, where there is no room for more
OUTCOMES: Final[Mapping[EpisodeEnd, str]] = {
    "won": "was won",
    "lost": "was lost",
    "over": "came to the story's end",
    "crashed": "broke off, for the story's program failed",
    "turn_limit": "reached its turn limit",
    "left": "was left by its player",
}


def handover_text(summary: EpisodeSummary) -> str:
    """Return the report of this episode for the next one, in at most ``LONGEST_HANDOVER`` characters."""
    outcome = [f"{outcome_line(summary)} The story has begun anew since: nothing done then is done now."]
    found = [scored for scored in summary.scored if scored.change > 0][:GAINS_SHOWN]
    gains = [f"Points came in episode {summary.episode} by {'; '.join(map(points_text, found))}."] if found else []
    room = LONGEST_HANDOVER - sum(len(line) + 1 for line in (*outcome, *gains))
    return cut_at("\n".join([*outcome, *death_lines(summary, DEATHS_HANDED_OVER, room), *gains]), LONGEST_HANDOVER)


def outcome_line(summary: EpisodeSummary) -> str:
    """Return a sentence about how the episode ended."""
    figures = []
    if summary.score is not None:
        of = "" if summary.max_score is None else f" out of {summary.max_score}"
        best = "" if summary.best_score == summary.score else f" ({summary.best_score} at best)"
        figures.append(f"{counted(summary.score, 'point')}{of}{best}")
    if summary.rooms:
        figures.append(f"{counted(summary.rooms, 'room')} seen")
    told = f", with {' and '.join(figures)}" if figures else ""
    return f"Episode {summary.episode} {OUTCOMES[summary.end]} after {counted(summary.turns, 'turn')}{told}."


def points_text(scored: Scored) -> str:
    """Return the location, turn and command of each change of the score."""
    return f"`{_short(scored.action)}` at {place(scored.location)} ({scored.change:+d}, turn {scored.turn})"


def place(location: Location | None) -> str:
    """Return the name of a location with its id, because rooms may share a name."""
    return "an unknown place" if location is None else f"{_short(one_line(location.label))} ({location.num})"


def plain_lesson(death: Death, episode: int) -> KnowledgeLine:
    """Return a lesson from a death in the story's own words, used without a model's answer.

    The same death in two episodes gives the same text.
    """
    text = f'{_deadly(death)}: "{cut_middle(death.last.response, LONGEST_QUOTE)}"'
    return KnowledgeLine(text, (Source(episode, death.steps[0].turn, death.last.turn),))


def death_lines(summary: EpisodeSummary, most: int, characters: int) -> list[str]:
    """Return a sentence for each of the latest deaths: the location, the command, the commands before it, the story's
    words.

    The story's words share the remaining characters, with a minimum for each.
    """
    deaths = summary.deaths[-most:]
    heads = [f"In turn {death.last.turn} of episode {summary.episode}: {_deadly(death)}" for death in deaths]
    room = characters - sum(len(head) + len(': ""\n') for head in heads)
    quotes = share_out([death.last.response for death in deaths], max(room, LONGEST_QUOTE * len(deaths)))
    return [f'{head}: "{quote}"' for head, quote in zip(heads, quotes, strict=True)]


def _deadly(death: Death) -> str:
    before = [f"`{_short(step.action)}`" for step in death.steps[-COMMANDS_SHOWN - 1 : -1]]
    after = f" after {', '.join(before)}" if before else ""
    return f"the player died at {place(death.last.location)} on `{_short(death.last.action)}`{after}"


def _short(text: str) -> str:
    return cut_at(text, LONGEST_NAME)


INSTRUCTIONS_SHARE: Final = 3  # at most one in so many tokens of the prompt
EARLIER_SHOWN: Final = 5
EARLIER_DEATH: Final = 400  # characters
POINTS_SHOWN: Final = 40
DEATHS_SHOWN: Final = 5
DEATHS_SHARE: Final = 0.5
LEAST_TOLD: Final = 80  # characters of an answer of the story's, before an earlier death is left out instead


def episode_prompt(
    summary: EpisodeSummary,
    *,
    insights: Sequence[KnowledgeEntry],
    knowledge: str,
    earlier: Sequence[EpisodeSummary],
    plan: Sequence[str] = (),
    outlook: str = "",
    budget: int,
    tokens: TokenCounter,
) -> Prompt:
    """Return the question about what the episode taught, in at most ``budget`` tokens if the instructions leave room.

    insights: the known ones; the model can refer to the program's own by number, starting with 1
    earlier: the episodes before, oldest first
    plan: the plan for this episode
    outlook: what a plan for the next one should take into account
    """
    ours = [entry for entry in insights if entry.is_ours]
    fields = {"insights": numbered_list(insights, ours), "episode": outcome_line(summary)}
    before = [
        [Line(line) for line in (outcome_line(each), *death_lines(each, 1, EARLIER_DEATH))]
        for each in earlier[-EARLIER_SHOWN:]
    ]
    parts = [
        Part("knowledge", [[Line(line)] for line in knowledge.splitlines()], keeps="best"),
        Part("earlier", before),
        Part("plan", [[Line(line)] for line in plan]),
        Part("outlook", [[Line(line)] for line in outlook.splitlines()], keeps="best", share=0.25),
        Part("points", [[Line(points_text(scored))] for scored in summary.scored[-POINTS_SHOWN:]]),
        Part(
            "deaths",
            list(map(_death, summary.deaths[-DEATHS_SHOWN:])),
            share=DEATHS_SHARE,
            least=LEAST_TOLD,
            separator="\n\n",
        ),
    ]
    return fitted_prompt(fill_prompt("episode"), ["episode_play"], fields, parts, budget=budget, tokens=tokens)


def _death(death: Death) -> list[Line]:
    """Return a death with the turns that led to it."""
    lines = [Line(f"Death in turn {death.last.turn}:")]
    for step in death.steps[-STEPS_KEPT:]:
        lines.append(Line(turn_text(step.turn, _short(step.action), where=f", {place(step.location)}")))
        lines.append(Line("  Response: ", step.response))
    return lines


FEWEST_MERGED: Final = 2
"""How many insights one without turns of its own has to join."""

_HEADINGS: Final = {text_key(heading): heading for heading in INSIGHTS}


class DeathLesson(BaseModel):
    """What one death teaches."""

    turn: int = Field(description="turn of the death")
    text: str = Field(description="what killed, how to see it coming, what to do instead")


class ProposedInsight(BaseModel):
    """Something that will be true again."""

    heading: str = Field(description=f"one of: {', '.join(INSIGHTS)}")
    text: str = Field(description="one sentence or two")
    turns: list[int] = Field(default_factory=list, description="turns of this episode that show it")
    replaces: list[int] = Field(default_factory=list, description="numbers of the insights that it takes the place of")


class EpisodeAnswer(BaseModel):
    """What the episode teaches."""

    reasoning: str = ""
    plan: list[str] | None = Field(None, description="lines for the next player, at most five; null: as it is")
    deaths: list[DeathLesson] = Field(default_factory=list)
    insights: list[ProposedInsight] = Field(default_factory=list)


def known_insights(lines: Mapping[str, Sequence[KnowledgeLine]]) -> list[KnowledgeEntry]:
    """Return all insights, in the order of their headings."""
    return [KnowledgeEntry(heading, line) for heading in INSIGHTS for line in lines.get(heading, ())]


@dataclass(frozen=True, slots=True)
class EpisodeLessons:
    """The lessons of an episode, taken from a model's answer.

    of_deaths: what deaths teach, each with the turns that led to it
    insights: all insights that are known by now, with the changes that the answer made
    refused: the texts of the parts of the answer that made no sense
    """

    of_deaths: list[KnowledgeLine]
    insights: list[KnowledgeEntry]
    refused: list[str]


def lessons_of(
    answer: EpisodeAnswer,
    summary: EpisodeSummary,
    known: Sequence[KnowledgeEntry],
    numbered: Sequence[KnowledgeEntry],
    admits: Callable[[KnowledgeLine], bool],
) -> EpisodeLessons:
    """Return everything in the answer that makes sense and may be known.

    known: all insights before
    numbered: those that the model can refer to by number, starting with 1
    admits: returns whether a line may be added, by its sources
    """
    lessons = EpisodeLessons([], list(known), [])
    deaths = {death.last.turn: death for death in summary.deaths}
    for lesson in answer.deaths:
        text, death = proposed_text(lesson.text), deaths.get(lesson.turn)
        if death is None or not text:
            lessons.refused.append(lesson.text)
        else:
            source = Source(summary.episode, death.steps[0].turn, death.last.turn)
            lessons.of_deaths.append(KnowledgeLine(text, (source,)))
    for insight in answer.insights:
        heading, text = _HEADINGS.get(text_key(insight.heading)), proposed_text(insight.text)
        is_played = all(1 <= turn <= summary.turns for turn in insight.turns)
        named = entries_numbered(insight.replaces, numbered)
        merged = [each for each in lessons.insights if each in named or text_key(each.line.text) == text_key(text)]
        own = KnowledgeLine(text, as_sources(summary.episode, insight.turns))
        is_founded = own.sources or len([each for each in merged if each.is_ours]) >= FEWEST_MERGED
        if heading is None or not text or not is_played or not is_founded:
            lessons.refused.append(insight.text)
            continue
        new = with_sources_of(merged, own)
        # The turns that the model names must be admissible themselves, without the inherited ones.
        if all(admits(line) for line in (own, new) if line.sources):
            kept = [each for each in lessons.insights if each not in merged or not each.is_ours]
            if not any(text_key(each.line.text) == text_key(text) for each in kept):
                kept.append(KnowledgeEntry(heading, new))
            lessons.insights[:] = kept
    return lessons

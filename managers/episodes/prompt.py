"""The question about an episode that has ended: its prompt, and how its answer is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pydantic import BaseModel, Field

from managers.episodes.summary import STEPS_KEPT, Death, EpisodeSummary, Scored
from managers.knowledge.analysis import entries_numbered, proposed_text, with_sources_of
from managers.knowledge.view import numbered_list
from managers.prompting import Line, Part, fitted_prompt, is_for_a_small_model, share_out, turn_text
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
    return (
        f"Episode {summary.episode} {OUTCOMES[summary.end]} after {counted(summary.turns, 'turn')}{_figures(summary)}."
    )


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


def _figures(summary: EpisodeSummary) -> str:
    figures = []
    if summary.score is not None:
        of = "" if summary.max_score is None else f" out of {summary.max_score}"
        best = "" if summary.best_score == summary.score else f" ({summary.best_score} at best)"
        figures.append(f"{counted(summary.score, 'point')}{of}{best}")
    if summary.rooms:
        figures.append(f"{counted(summary.rooms, 'room')} seen")
    return f", with {' and '.join(figures)}" if figures else ""


def _short(text: str) -> str:
    return cut_at(text, LONGEST_NAME)


INSTRUCTIONS_SHARE: Final = 3  # at most one in so many tokens of the prompt
EARLIER_SHOWN: Final = 5
EARLIER_DEATH: Final = 400  # characters
POINTS_SHOWN: Final = 40
DEATHS_SHOWN: Final = 5
DEATHS_SHARE: Final = 0.5
LEAST_TOLD: Final = 80  # characters of an answer of the story's, before an earlier death is left out instead


def has_room(budget: int, tokens: TokenCounter) -> bool:
    """Return whether a model with prompts of ``budget`` tokens is called. A small one would invent lessons."""
    return not is_for_a_small_model(budget, "episode", tokens, share=INSTRUCTIONS_SHARE)


def nameable(insights: Sequence[KnowledgeEntry]) -> list[KnowledgeEntry]:
    """Return the insights that a model can refer to by number, starting with 1: the program's own."""
    return [entry for entry in insights if entry.is_ours]


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
    """Return the question about what the episode taught, in at most ``budget`` tokens if ``has_room``.

    insights: the known ones; the model can refer to those in :func:`nameable` by number
    earlier: the episodes before, oldest first
    plan: the plan for this episode
    outlook: what a plan for the next one should take into account
    """
    fields = {"insights": numbered_list(insights, nameable(insights)), "episode": outcome_line(summary)}
    parts = [
        Part("knowledge", [[Line(line)] for line in knowledge.splitlines()], keeps="best"),
        Part("earlier", list(map(_earlier, earlier[-EARLIER_SHOWN:]))),
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


def _earlier(summary: EpisodeSummary) -> list[Line]:
    return [Line(line) for line in (outcome_line(summary), *death_lines(summary, 1, EARLIER_DEATH))]


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


class EpisodeLessons:
    """The lessons of an episode, taken from a model's answer.

    of_deaths: what deaths teach, each with the turns that led to it
    insights: all insights that are known by now, with the changes that the answer made
    refused: the texts of the parts of the answer that made no sense
    """

    def __init__(
        self,
        summary: EpisodeSummary,
        known: Sequence[KnowledgeEntry],
        numbered: Sequence[KnowledgeEntry],
        admits: Callable[[KnowledgeLine], bool],
    ) -> None:
        """Begin with the insights that are ``known``.

        numbered: those that the model can refer to by number, starting with 1
        admits: returns whether a line may be added, by its sources
        """
        self._summary = summary
        self._numbered = numbered
        self._admits = admits
        self.of_deaths: list[KnowledgeLine] = []
        self.insights = list(known)
        self.refused: list[str] = []

    def take(self, answer: EpisodeAnswer) -> None:
        """Take everything in the answer that makes sense and may be known."""
        self.refused += [lesson.text for lesson in answer.deaths if not self._take_lesson(lesson)]
        self.refused += [insight.text for insight in answer.insights if not self._take_insight(insight)]

    def by_heading(self) -> dict[str, tuple[KnowledgeLine, ...]]:
        """Return the insights that the program wrote, under all four headings."""
        return {
            heading: tuple(each.line for each in self.insights if each.section == heading and each.is_ours)
            for heading in INSIGHTS
        }

    def _take_lesson(self, lesson: DeathLesson) -> bool:
        text = proposed_text(lesson.text)
        death = next((death for death in self._summary.deaths if death.last.turn == lesson.turn), None)
        if death is None or not text:
            return False
        source = Source(self._summary.episode, death.steps[0].turn, death.last.turn)
        self.of_deaths.append(KnowledgeLine(text, (source,)))
        return True

    def _take_insight(self, insight: ProposedInsight) -> bool:
        """Take an insight, with the sources of those that it replaces. Returns whether it makes sense.

        The turns that the model names for it must be admissible themselves, without the inherited ones.
        """
        heading, text = _HEADINGS.get(text_key(insight.heading)), proposed_text(insight.text)
        is_played = all(1 <= turn <= self._summary.turns for turn in insight.turns)
        if heading is None or not text or not is_played:
            return False
        key = text_key(text)
        named = entries_numbered(insight.replaces, self._numbered)
        merged = [each for each in self.insights if each in named or text_key(each.line.text) == key]
        own = KnowledgeLine(text, as_sources(self._summary.episode, insight.turns))
        if not own.sources and len([each for each in merged if each.is_ours]) < FEWEST_MERGED:
            return False
        new = with_sources_of(merged, own)
        if all(self._admits(line) for line in (own, new) if line.sources):
            self._replace(merged, KnowledgeEntry(heading, new))
        return True

    def _replace(self, merged: Sequence[KnowledgeEntry], new: KnowledgeEntry) -> None:
        key = text_key(new.line.text)
        self.insights = [each for each in self.insights if each not in merged or not each.is_ours]
        if not any(text_key(each.line.text) == key for each in self.insights):
            self.insights.append(new)

"""A model's answer about an episode, and the lessons that are taken from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, Field

from managers.knowledge.analysis import entries_numbered, proposed_text, with_sources_of
from session.knowledge import INSIGHTS, KnowledgeEntry, KnowledgeLine, Source, as_sources
from session.text import text_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from managers.episodes.summary import EpisodeSummary

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

        numbered: those that the model can name; the first has the number 1
        admits: tells whether a line may be known, by its sources
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
        """Take an insight, with the sources of those that it replaces; return whether it makes sense.

        The turns that the model names for it have to be admitted by themselves, not only with the inherited ones.
        """
        heading, text = _HEADINGS.get(text_key(insight.heading)), proposed_text(insight.text)
        is_played = all(1 <= turn <= self._summary.turns for turn in insight.turns)
        if heading is None or not text or not is_played:
            return False
        merged = self._merged(insight.replaces, text_key(text))
        own = KnowledgeLine(text, as_sources(self._summary.episode, insight.turns))
        if not own.sources and len([each for each in merged if each.is_ours]) < FEWEST_MERGED:
            return False
        new = with_sources_of(merged, own)
        if all(self._admits(line) for line in (own, new) if line.sources):
            self._replace(merged, KnowledgeEntry(heading, new))
        return True

    def _merged(self, numbers: Iterable[int], key: str) -> list[KnowledgeEntry]:
        """Return the insights that are still known and have one of these numbers, or say the same."""
        named = entries_numbered(numbers, self._numbered)
        return [each for each in self.insights if each in named or text_key(each.line.text) == key]

    def _replace(self, merged: Sequence[KnowledgeEntry], new: KnowledgeEntry) -> None:
        key = text_key(new.line.text)
        self.insights = [each for each in self.insights if each not in merged or not each.is_ours]
        if not any(text_key(each.line.text) == key for each in self.insights):
            self.insights.append(new)

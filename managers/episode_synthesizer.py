"""Sums up episodes, has a model find what they teach and plan the next one, and reports the last one to the next."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from structlog.typing import FilteringBoundLogger
from typing_extensions import Self, override

from managers.base_manager import BaseManager, ManagerParts, ManagerStatus
from managers.episodes.prompt import (
    EpisodeAnswer,
    EpisodeLessons,
    episode_prompt,
    handover_text,
    has_room,
    known_insights,
    nameable,
    plain_lesson,
)
from managers.episodes.summary import (
    SUMMARIES_FILE,
    EpisodeNotes,
    EpisodeSummary,
    KeepSummary,
    Summaries,
    notes_of_opening,
    parse_summaries,
)
from managers.knowledge.view import most_useful
from managers.knowledge_manager import KnowledgeManager
from managers.prompting import turn_text
from managers.state_manager import StateManager
from session.context import Place, PromptSection
from session.errors import LanguageModelError
from session.events import EpisodeEnd
from session.files.document_store import DocumentStore
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.knowledge import KnowledgeEntry
from session.text import TokenCounter, cut_at, one_line
from session.values import Observation, TurnRecord

LAST_EPISODE_TITLE = "The last episode, and the plan"
DEATH_ANALYSIS = "DEATH & DANGER ANALYSIS"
LATEST_SHOWN = 8  # turns
LONGEST_TOLD = 120  # characters of what the story said to one of these
SHARE_OF_BUDGET = 4  # insights, and knowledge, take at most one in so many tokens of the prompt


@dataclass(frozen=True, slots=True)
class SynthesizerState:
    """The synthesizer's state in an episode, in addition to its file.

    notes: the facts of the episode so far
    handover: the report of the last episode for the player
    plan: for this episode
    summary: ``None`` until the episode has ended
    updates, failures, refused: answers used, calls without an answer, and parts of answers that made no sense
    """

    notes: EpisodeNotes = field(default_factory=EpisodeNotes)
    handover: str = ""
    plan: tuple[str, ...] = ()
    summary: EpisodeSummary | None = None
    updates: int = 0
    failures: int = 0
    refused: int = 0


class EpisodeSynthesizer(BaseManager):
    """Follows the current episode, and owns ``episode_summaries.jsonl`` with the earlier ones.

    knowledge_manager: keeps the lessons and provides the model
    state_manager: shows how an episode ended
    others: managers that contribute to the plan's question
    tokens: estimates the tokens of a prompt

    Raises ``StoreError`` if the file cannot be read.
    """

    def __init__(
        self,
        logger: logging.Logger | FilteringBoundLogger,
        config: GameConfiguration,
        game_state: GameState,
        knowledge_manager: KnowledgeManager,
        state_manager: StateManager,
        *,
        others: Sequence[BaseManager] = (),
        tokens: TokenCounter | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self.knowledge_manager = knowledge_manager
        self.state_manager = state_manager
        self.others = others
        self.tokens = tokens or TokenCounter()
        self._store: DocumentStore[Summaries, KeepSummary] = DocumentStore(
            config.zork_game_workdir / SUMMARIES_FILE, parse_summaries
        )
        self._state = SynthesizerState()
        lines = self._store.document.not_understood()
        if lines:
            self.log_warning("summaries of episodes are not understood", file=str(self.path), lines=lines)

    @classmethod
    def build(cls, parts: ManagerParts) -> Self:
        """Make the synthesizer for the run's knowledge and state."""
        knowledge, state = parts.get(KnowledgeManager), parts.get(StateManager)
        others = tuple(parts.managers)
        return cls(parts.logger, parts.config, parts.game_state, knowledge, state, others=others, tokens=parts.tokens)

    @classmethod
    @override
    def shared_files(cls, config: GameConfiguration) -> tuple[SharedFile, ...]:
        del config
        return (SharedFile(SUMMARIES_FILE),)

    @override
    def stores(self) -> tuple[DocumentStore[Summaries, KeepSummary], ...]:
        return (self._store,)

    def section(self, observation: Observation) -> PromptSection | None:
        """Return how the last episode ended, and the plan for this one: they are the same throughout the episode."""
        del observation
        plan = "".join(f"\n- {line}" for line in self._state.plan)
        told = [self.handover(), f"Plan for this episode:{plan}" if plan else ""]
        return PromptSection(LAST_EPISODE_TITLE, "\n".join(filter(None, told)), 6, Place.PLAN)

    def reset(self, game_state: GameState | None = None) -> None:
        """Begin the notes of a new episode, and read how the last one went. Raises ``StoreError``."""
        super().reset(game_state)
        self._store.refresh()
        earlier = self._earlier()
        self._state = replace(
            self._state,
            notes=notes_of_opening(self.game_state),
            handover=handover_text(earlier[-1]) if earlier else "",
            plan=self.knowledge_manager.plan(),
            summary=None,
        )

    def learn(self, record: TurnRecord) -> None:
        """Note a turn: score, rooms, the critic's opinion, and a death with the turns that led to it."""
        self._state = replace(self._state, notes=self._state.notes.with_turn(record))

    def handover(self) -> str:
        """Return the report of the last episode for the player, in the past tense.

        It is "" before the first episode, and if ``knowledge.enabled`` is false. It does not change during an
        episode, so that the server can cache the beginning of a prompt.
        """
        return self._state.handover if self.config.knowledge.enabled else ""

    def end(self, end: EpisodeEnd) -> EpisodeSummary:
        """Sum the episode up, draw lessons from it, and show other programs how it ended.

        Raises ``BudgetSpent``, after the summary has been kept, and ``StoreError``.
        """
        summary = self._state.notes.summary(self.game_state.episode, end)
        self._state = replace(self._state, summary=summary)
        self._store.apply(KeepSummary(summary))
        self.synthesize_inter_episode_wisdom()
        self.state_manager.export_current_state()
        return summary

    def synthesize_inter_episode_wisdom(self) -> bool:
        """Add what the episode teaches to the knowledge, and plan the next one. Returns whether anything new was
        learnt.

        The model is called once (docs/specification.md, Episode synthesis). If it does not answer or is too small,
        deaths are reported in the story's own words. Raises ``BudgetSpent``.
        """
        summary = self._state.summary
        if summary is None or not summary.is_worth_a_question or not self.config.knowledge.enabled:
            return False
        if not has_room(self.config.prompt_budgets.analysis, self.tokens):
            return self._keep_plain_lessons(summary)
        try:
            budget = self.config.prompt_budgets.analysis
            known = known_insights(self.knowledge_manager.insights())
            shown = most_useful(known, self.tokens.characters(budget // SHARE_OF_BUDGET))
            prompt = episode_prompt(
                summary,
                insights=shown,
                knowledge=self.knowledge_manager.text(budget // SHARE_OF_BUDGET),
                earlier=self._earlier(),
                plan=self._state.plan,
                outlook="\n".join(filter(None, [*(each.outlook() for each in self.others), *self._noted()])),
                budget=budget,
                tokens=self.tokens,
            )
            lessons = EpisodeLessons(summary, known, nameable(shown), self.knowledge_manager.admits)
            answer = self.knowledge_manager.model.complete("analysis", prompt, EpisodeAnswer).value
            lessons.take(answer)
            if answer.plan is not None:
                self.knowledge_manager.replace_plan(answer.plan)
            return self._keep(lessons, known)
        except LanguageModelError as error:
            self._state = replace(self._state, failures=self._state.failures + 1)
            self.log_warning("no lessons are drawn: the model gave no answer", error=str(error))
            return self._keep_plain_lessons(summary)

    @property
    def path(self) -> Path:
        """The file of the summaries."""
        return self._store.path

    @override
    def get_status(self) -> ManagerStatus:
        state = self._state
        return {
            "type": "episode",
            "state": {
                "episode": self.game_state.episode,
                "end": state.summary.end if state.summary else None,
                "has_handover": bool(state.handover),
            },
            "metrics": {
                "deaths": len(state.notes.deaths),
                "rooms": len(state.notes.rooms),
                "summaries": len(self._earlier()),
                "updates": state.updates,
                "failures": state.failures,
                "refused": state.refused,
            },
        }

    def _noted(self) -> list[str]:
        """Return the agent's notes, and the latest turns: there the next episode may go on."""
        state = self.game_state
        latest = list(enumerate(state.action_history, start=1))[-LATEST_SHOWN:]
        noted = [f"Noted: {note}" for note in state.notes]
        for turn, played in latest:
            told = cut_at(one_line(played.response), LONGEST_TOLD)
            noted.append(turn_text(turn, f"{played.action}: {told}", where=f" [{state.turn_location(turn)}]"))
        return noted

    def _earlier(self) -> list[EpisodeSummary]:
        return self._store.document.before(self.game_state.episode)

    def _keep_plain_lessons(self, summary: EpisodeSummary) -> bool:
        lessons = [plain_lesson(death, summary.episode) for death in summary.deaths]
        return self.knowledge_manager.add_lines(DEATH_ANALYSIS, lessons) > 0 if lessons else False

    def _keep(self, lessons: EpisodeLessons, known: list[KnowledgeEntry]) -> bool:
        deaths = self.knowledge_manager.add_lines(DEATH_ANALYSIS, lessons.of_deaths) if lessons.of_deaths else 0
        if lessons.insights != known:
            self.knowledge_manager.replace_insights(lessons.by_heading())
        is_changed = known_insights(self.knowledge_manager.insights()) != known
        self._state = replace(
            self._state, updates=self._state.updates + 1, refused=self._state.refused + len(lessons.refused)
        )
        self.log_info("lessons are drawn", deaths=deaths, insights=is_changed, refused=lessons.refused)
        return is_changed or deaths > 0

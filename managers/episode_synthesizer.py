"""Sums episodes up, draws lessons from them, and tells the next one how the last one went (seeds 0 and 2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from managers.base_manager import BaseManager, ManagerStatus
from managers.episodes.answer import EpisodeAnswer, Wisdom, known_insights
from managers.episodes.notes import EpisodeNotes, notes_of_opening
from managers.episodes.prompt import episode_prompt, has_room, nameable
from managers.episodes.summary import SUMMARIES_FILE, EpisodeSummary, KeepSummary, Summaries, parse_summaries
from managers.episodes.texts import handover_text, plain_lesson
from managers.knowledge.view import most_useful
from session.errors import LanguageModelError
from session.files.document_store import DocumentStore, StoreState
from session.token_counter import TokenCounter

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from structlog.typing import FilteringBoundLogger

    from session.events import EpisodeEnd
    from session.files.document_store import Watch
    from session.game_configuration import GameConfiguration
    from session.game_state import GameState
    from session.knowledge import KnowledgeEntry, KnowledgeLine
    from session.values import TurnRecord
    from zorkgpt.llm.language_model import LanguageModel

DEATH_ANALYSIS = "DEATH & DANGER ANALYSIS"
SHARE_OF_BUDGET = 4  # insights, and knowledge, take at most one in so many tokens of the prompt


class KnowledgeWriter(Protocol):
    """What is needed of the knowledge manager: its model, what it knows, and a way to add to that."""

    @property
    def model(self) -> LanguageModel:
        """Answers in the role ``analysis``."""
        ...

    def text(self, tokens: int) -> str:
        """The strategic sections within so many tokens."""
        ...

    def insights(self) -> Mapping[str, Sequence[KnowledgeLine]]:
        """The lines below each heading of ``CROSS-EPISODE INSIGHTS``."""
        ...

    def admits(self, line: KnowledgeLine) -> bool:
        """The line may be known; one that may not is counted."""
        ...

    def add_lines(self, section: str, lines: Sequence[KnowledgeLine]) -> int:
        """The lines are in the section, those that it takes; how many that are."""
        ...

    def replace_insights(self, insights: Mapping[str, Sequence[KnowledgeLine]]) -> None:
        """These are the insights, besides those that a person wrote."""
        ...


class StateExporter(Protocol):
    """What is needed of the state manager."""

    def export_current_state(self) -> None:
        """Whoever watches from outside sees how things stand."""
        ...


@dataclass(frozen=True, slots=True)
class SynthesizerState:
    """All that is known of an episode besides the files: plain values, for snapshots.

    handover: what this episode was told of the last one
    summary: once the episode has ended
    updates, failures, refused: answers taken, calls that gave none, and parts of answers that made no sense
    """

    notes: EpisodeNotes = field(default_factory=EpisodeNotes)
    handover: str = ""
    summary: EpisodeSummary | None = None
    updates: int = 0
    failures: int = 0
    refused: int = 0
    store: StoreState[KeepSummary] = field(default_factory=StoreState)

    def committed(self) -> SynthesizerState:
        """The same once what is due has reached the file."""
        return replace(self, store=self.store.committed())


class EpisodeSynthesizer(BaseManager):
    """Knows how episodes went: the one being played, and those before it from ``episode_summaries.jsonl``.

    knowledge_manager: gets the lessons, and lends its model
    state_manager: shows how an episode ended
    tokens: how texts are counted

    Raises ``StoreError`` where the file cannot be read.
    """

    def __init__(
        self,
        logger: logging.Logger | FilteringBoundLogger,
        config: GameConfiguration,
        game_state: GameState,
        knowledge_manager: KnowledgeWriter,
        state_manager: StateExporter,
        *,
        tokens: TokenCounter | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self.knowledge_manager = knowledge_manager
        self.state_manager = state_manager
        self.tokens = tokens or TokenCounter()
        self._store: DocumentStore[Summaries, KeepSummary] = DocumentStore(
            config.zork_game_workdir / SUMMARIES_FILE, parse_summaries
        )
        self._state = SynthesizerState()
        lines = self._store.document.not_understood()
        if lines:
            self.log_warning("summaries of episodes are not understood", file=str(self.path), lines=lines)

    def reset(self, game_state: GameState | None = None) -> None:
        """A new episode begins at its opening, and is told of the last one. Raises ``StoreError``."""
        super().reset(game_state)
        self._store.refresh()
        earlier = self._earlier()
        self._state = replace(
            self._state,
            notes=notes_of_opening(self.game_state),
            handover=handover_text(earlier[-1]) if earlier else "",
            summary=None,
        )

    def learn(self, record: TurnRecord) -> None:
        """The turn is noted: score, rooms, what the critic said, a death with the turns before it."""
        self._state = replace(self._state, notes=self._state.notes.with_turn(record))

    def handover(self) -> str:
        """What this episode's player is told of the last one, in the past tense; "" before the first.

        Stays the same all through an episode, so that a prompt's prefix stays cached (decision 25). "" where
        ``knowledge.enabled`` is false, too: a hand-over is knowledge of earlier episodes.
        """
        return self._state.handover if self.config.knowledge.enabled else ""

    def end(self, end: EpisodeEnd) -> EpisodeSummary:
        """The episode is summed up, its lessons are drawn where it has any, and whoever watches sees how it ended.

        Raises ``BudgetSpent``, with the summary kept, and ``StoreError``.
        """
        summary = self._state.notes.summary(self.game_state.episode, end)
        self._state = replace(self._state, summary=summary)
        self._store.apply(KeepSummary(summary))
        self.synthesize_inter_episode_wisdom()
        self.state_manager.export_current_state()
        return summary

    def synthesize_inter_episode_wisdom(self) -> bool:
        """The knowledge has what the episode teaches that has ended; false where that is nothing new.

        One call in the role ``analysis``, where one of the seed's four conditions is met. Where the model gives no
        answer, or is too small to be asked, deaths are told in the story's own words. Raises ``BudgetSpent``.
        """
        summary = self._state.summary
        if summary is None or not summary.is_instructive or not self.config.knowledge.enabled:
            return False
        if not has_room(self.config.prompt_budgets.analysis, self.tokens):
            return self._keep_plain_lessons(summary)
        try:
            return self._ask(summary)
        except LanguageModelError as error:
            self._state = replace(self._state, failures=self._state.failures + 1)
            self.log_warning("no lessons are drawn: the model gave no answer", error=str(error))
            return self._keep_plain_lessons(summary)

    @property
    def path(self) -> Path:
        """The file of the summaries."""
        return self._store.path

    @property
    def digest(self) -> str:
        """Of what the file holds, as far as this run knows; 64 hex digits."""
        return self._store.digest

    def hold(self, watch: Watch) -> None:
        """The file changes in :meth:`commit` alone, and looks at it are told to ``watch``."""
        self._store.hold(watch)

    def commit(self) -> None:
        """The summary is in the file, and what others wrote is known; idempotent. Raises ``StoreError``."""
        self._store.commit()
        self._store.refresh()

    def state(self) -> SynthesizerState:
        """All that is known of the episode and not yet in files, for a snapshot."""
        return replace(self._state, store=self._store.state())

    def restore(self, state: SynthesizerState) -> None:
        """Everything stands as it did when ``state`` was taken. Raises ``StoreError``."""
        self._store.restore(state.store)
        self._state = state

    def get_status(self) -> ManagerStatus:
        """How the episode goes, and how the model's answers fared."""
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

    def _earlier(self) -> list[EpisodeSummary]:
        return self._store.document.before(self.game_state.episode)

    def _keep_plain_lessons(self, summary: EpisodeSummary) -> bool:
        lessons = [plain_lesson(death, summary.episode) for death in summary.deaths]
        return self.knowledge_manager.add_lines(DEATH_ANALYSIS, lessons) > 0 if lessons else False

    def _ask(self, summary: EpisodeSummary) -> bool:
        budget = self.config.prompt_budgets.analysis
        known = known_insights(self.knowledge_manager.insights())
        shown = most_useful(known, self.tokens.characters(budget // SHARE_OF_BUDGET))
        prompt = episode_prompt(
            summary,
            insights=shown,
            knowledge=self.knowledge_manager.text(budget // SHARE_OF_BUDGET),
            earlier=self._earlier(),
            budget=budget,
            tokens=self.tokens,
        )
        wisdom = Wisdom(summary, known, nameable(shown), self.knowledge_manager.admits)
        wisdom.enter(self.knowledge_manager.model.complete("analysis", prompt, EpisodeAnswer).value)
        return self._enter(wisdom, known)

    def _enter(self, wisdom: Wisdom, known: list[KnowledgeEntry]) -> bool:
        lessons = self.knowledge_manager.add_lines(DEATH_ANALYSIS, wisdom.lessons) if wisdom.lessons else 0
        if wisdom.insights != known:
            self.knowledge_manager.replace_insights(wisdom.by_heading())
        is_changed = known_insights(self.knowledge_manager.insights()) != known
        self._state = replace(
            self._state, updates=self._state.updates + 1, refused=self._state.refused + wisdom.refused
        )
        self.log_info("lessons are drawn", deaths=lessons, insights=is_changed, refused=wisdom.refused)
        return is_changed or lessons > 0

"""Learns memories from visits: collects their news, has a model choose what to remember, and stores it.

A visit consists of the turns that begin at one location, up to the one that leads elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from managers.base_manager import BaseManager
from managers.memory.news import NewsLedger
from managers.memory.outcome import ActionOutcome, ZMachineContext, outcome_of
from managers.memory.prompt import (
    brief_prompt,
    brief_schema,
    memory_of,
    visit_prompt,
    wants_brief_prompt,
    worked_again,
    worth_keeping,
)
from managers.memory.synthesis import VisitMemory, VisitNews, VisitSynthesis
from managers.memory.tiers import MemoryTiers
from session.errors import LanguageModelError
from session.memory import Memory, MemoryStatus
from session.text import TokenCounter
from session.values import Location, TurnRecord
from zorkgpt.llm.language_model import LanguageModel
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

LONGEST_WAIT = 5  # turns that news may wait for the visit to end
MOST_MEMORIES = 8  # of one visit
LOGGED_REASONING = 200  # characters


class MemoryLearner:
    """Follows the visits of an episode and learns from each.

    visit: the current one
    counts: model calls and failed ones, memories learnt, core memories made permanent, notes that failed

    owner: the manager whose episode, options and log are used
    tiers: the memories
    ledger: decides which outcomes are news
    model: returns the model, or ``None`` if there is none
    has_stopped: returns whether a route stopped in the last turn
    directions: the story's direction words
    rooms: returns the names of all known locations by id
    tokens: counts the tokens of texts
    """

    def __init__(
        self,
        owner: BaseManager,
        tiers: MemoryTiers,
        ledger: NewsLedger,
        model: Callable[[], LanguageModel | None],
        *,
        has_stopped: Callable[[], bool],
        directions: Iterable[str],
        rooms: Callable[[], Mapping[int, str]],
        tokens: TokenCounter,
    ) -> None:
        self.visit = VisitTracker()
        self.counts: Counter[str] = Counter()
        self._owner = owner
        self._tiers = tiers
        self._ledger = ledger
        self._model = model
        self._has_stopped = has_stopped
        self._movements = MovementAnalyzer(directions)
        self._rooms = rooms
        self._tokens = tokens
        self._window = owner.config.get_memory_history_window()

    def learn(self, record: TurnRecord) -> None:
        """Add the turn to its visit, and learn from the visit once it ends or its news have waited some turns.

        What a turn teaches belongs to the location at which it began. On a route only a
        death is news, and the step at which it stopped.
        """
        location = record.before.location
        if location is None or record.after.refusal is not None:
            return
        if location.num != self.visit.location_id:
            self._synthesise(self.visit.take())
            self._tiers.visit(location, record.episode)
        first_visit = self.visit.enter(location.num)
        outcome = ActionOutcome.of(record, location, self._movements, first_visit=first_visit)
        self.visit.laid_down |= {(location.num, name) for name in outcome.laid_down}
        is_as_known = record.is_of_route and not record.after.died and not self._has_stopped()
        if not is_as_known and self._is_news(outcome):
            self.visit.add(outcome)
        self.visit.tried |= {(outcome.command, outcome.had_effect)}
        if self.visit.is_due(record, flush_on_death=self._owner.config.simple_memory.flush_on_death):
            self._synthesise(self.visit.take())

    def learn_at_once(
        self, location: Location, turn: int, action: str, response: str, context: ZMachineContext
    ) -> None:
        """Learn from one command by itself, at the location at which it was typed, if its outcome is news."""
        outcome = outcome_of(location, turn, action, response, context, self._movements)
        if self._is_news(outcome):
            self._synthesise((outcome,))

    def conclude(self) -> None:
        """Learn from the visit that goes on what it has taught so far."""
        self._synthesise(self.visit.take())

    def forget(self) -> None:
        """Forget what was visited, because a new episode begins."""
        self.visit = VisitTracker()

    def commit(self) -> None:
        """Write what was learnt to the files, if they can be written."""
        self._tiers.commit()
        self._ledger.commit()

    def _is_news(self, outcome: ActionOutcome) -> bool:
        """Return whether the outcome is news by itself, or because the command failed earlier on this visit.

        A repeated command without effect is rarely news if it has worked on this visit: it is done.
        """
        memories = self._tiers.at(outcome.location_id)
        if (outcome.command, not outcome.had_effect) in self.visit.tried and not (outcome.in_fight or outcome.is_idle):
            return outcome.had_effect or (outcome.is_substantial and self._ledger.is_news(outcome, memories))
        return self._ledger.is_news(outcome, memories)

    def _synthesise(self, outcomes: tuple[ActionOutcome, ...]) -> None:
        """Have the model choose what to remember of these outcomes, and store it.

        If it does not answer, they remain news.
        """
        model = self._model()
        if model is None or not outcomes:
            return
        visit = self._visit_news(outcomes)
        if not visit.is_worth_a_question:
            return
        is_small = wants_brief_prompt(self._owner.config.prompt_budgets.memory, self._tokens)
        try:
            answers = self._choose(model, visit) if is_small else self._ask(model, visit)
        except LanguageModelError as error:
            self.counts["synthesis_failures"] += 1
            self._owner.log_warning(
                "nothing learnt from a visit", location_id=outcomes[0].location_id, error=str(error)
            )
            return
        made = filter(None, [self._adopt(answer, visit) for answer in answers[:MOST_MEMORIES]])
        self._ledger.note(outcomes, [memory for memory in made if memory.persistence != "ephemeral"], visit.memories)
        if not self._tiers.store.holds:
            self.commit()

    def _visit_news(self, outcomes: tuple[ActionOutcome, ...]) -> VisitNews:
        here, state = outcomes[0].location_id, self._owner.game_state
        memories = tuple(self._tiers.at(here))
        rooms = sorted(state.visited_locations - {here})
        standing = ((room, tuple(filter(_stands, self._tiers.at(room)))) for room in rooms)
        return VisitNews(
            outcomes,
            memories,
            elsewhere={room: found for room, found in standing if found},
            rooms=self._rooms(),
            worked=worked_again(memories, here, state),
        )

    def _ask(self, model: LanguageModel, visit: VisitNews) -> list[VisitMemory]:
        self.counts["synthesis_calls"] += 1
        budget = self._owner.config.prompt_budgets.memory
        prompt = visit_prompt(visit, self._owner.game_state, self._tokens, window=self._window, budget=budget)
        return model.complete("memory", prompt, VisitSynthesis).value.memories

    def _choose(self, model: LanguageModel, visit: VisitNews) -> list[VisitMemory]:
        """Return the memories of turns that scored or killed, or else that of the turn chosen by the model."""
        outcomes = worth_keeping(visit)
        telling = [outcome for outcome in outcomes if outcome.score_change or outcome.died]
        if telling or len(outcomes) <= 1:
            return [memory_of(outcome) for outcome in telling or outcomes]
        self.counts["synthesis_calls"] += 1
        answer = model.complete("memory", brief_prompt(outcomes), brief_schema(outcomes)).value
        return [memory_of(outcome) for outcome in outcomes if outcome.turn == answer.turn]

    def _adopt(self, answer: VisitMemory, visit: VisitNews) -> Memory | None:
        """Add the answer's memory and invalidate those that it names, even if the new memory is refused.

        Returns the memory if it was added.
        """
        tier = visit.tier(answer, self.visit.laid_down_at(visit.outcomes[0].location_id))
        if tier is not None and tier != answer.persistence:
            reason = "not shown on arrival" if visit.is_first else "not first visit"
            self.counts["core_validation_downgrade"] += 1
            self._owner.log_warning(
                f"CORE memory rejected: {reason}, downgrading to {tier.upper()}", title=answer.memory_title
            )
            answer = answer.model_copy(update={"persistence": tier})
        episode = self._owner.game_state.episode
        main, *others = visit.revisions(answer, episode)
        self._owner.log_info(
            "memory synthesised",
            location_id=main.location_id,
            title=answer.memory_title,
            reasoning=answer.reasoning[:LOGGED_REASONING],
        )
        new = main.new if main.new is not None and self._tiers.revise(main) else None
        self.counts["memories_learnt"] += new is not None
        if new is None:
            others = [*visit.revisions(answer.model_copy(update={"should_remember": False}), episode)]
            others[0] = replace(others[0], superseded=())
        for revision in others:
            if revision.invalidated:
                self._tiers.revise(revision)
        return new


class VisitTracker:
    """Follows an episode from visit to visit and collects the news of a visit for one model call.

    news: of the current visit, oldest first, all of one location
    tried: the commands of the visit, each with whether it had an effect
    visited: ids of the locations at which a turn began
    location_id: the location at which the last turn began
    laid_down: ids of locations, each with the name of an object that the player put down there
    """

    def __init__(self) -> None:
        self.news: tuple[ActionOutcome, ...] = ()
        self.tried: frozenset[tuple[str, bool]] = frozenset()
        self.visited: frozenset[int] = frozenset()
        self.location_id: int | None = None
        self.laid_down: frozenset[tuple[int, str]] = frozenset()

    def enter(self, location_id: int) -> bool:
        """Note that a turn begins at the location, and return whether it is the episode's first there."""
        is_first = location_id not in self.visited
        self.visited |= {location_id}
        if location_id != self.location_id:
            self.tried = frozenset()
        self.location_id = location_id
        return is_first

    def laid_down_at(self, location_id: int) -> set[str]:
        """Return the names of what the player laid down at the location in this episode."""
        return {name for place, name in self.laid_down if place == location_id}

    def add(self, outcome: ActionOutcome) -> None:
        """Hold the news back; the same twice in a visit counts once."""
        if outcome.key not in {pending.key for pending in self.news}:
            self.news = (*self.news, outcome)

    def take(self) -> tuple[ActionOutcome, ...]:
        """Return the news and hold them back no longer."""
        news, self.news = self.news, ()
        return news

    def is_due(self, record: TurnRecord, *, flush_on_death: bool) -> bool:
        """Return whether the news should wait no longer: the player left or died, the story ended, or time passed."""
        if not self.news:
            return False
        after = record.after
        is_over = record.moved or after.location is None or after.ending is not None or (after.died and flush_on_death)
        return is_over or record.turn - self.news[0].turn + 1 >= LONGEST_WAIT


def _stands(memory: Memory) -> bool:
    return memory.status != MemoryStatus.SUPERSEDED

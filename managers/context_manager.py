"""Builds the contexts that the agent, the critic and the extractor are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from typing_extensions import Self, override

from managers.base_manager import BaseManager, Log, ManagerParts, ManagerStatus
from managers.history import HistoryTeller
from managers.prompting import CHARACTERS_PER_TOKEN, LONGEST_ACTION, fit_sections
from managers.things_here import ThingsHere
from session.context import AgentContext, Place, PromptSection, render_sections
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import RoomDescription, TokenCounter, counted, cut_at, cut_middle, prologue_of, without_padding
from session.values import Observation

REASONED = 3
"""Turns, at least, that are shown with the reasoning behind them."""
LONGEST_LABEL = 200  # characters
LONGEST_LIST = 800  # characters: of belongings, or of things in sight
LONGEST_REASON = 400  # characters
HISTORY_SHARE, STORY_SHARE, ROOM_SHARE, OPENING_SHARE = 0.5, 0.5, 0.25, 0.125
"""Of the room beside the instructions, the most that each may take."""
HISTORY_TITLES = ("Previous Reasoning and Actions", "And then")


class Rejection(NamedTuple):
    """A command that was proposed in this turn but not played, and the reason."""

    action: str
    reason: str


class _Past(NamedTuple):
    """The latest turns as prompt sections, and the responses that they contain in full, the latest last."""

    sections: tuple[PromptSection, ...] = ()
    answers: tuple[str, ...] = ()


class _PromptBudget(NamedTuple):
    """The maximum length of a prompt in tokens, and the instructions at its beginning."""

    tokens: int
    system: str = ""

    def share(self, part: float) -> int:
        """Return the given part of the room beside the instructions, in characters.

        The result does not depend on updated token counts, so that texts are cut alike in every turn.
        """
        return max(0, int((self.tokens * CHARACTERS_PER_TOKEN - len(self.system)) * part))


class ContextManager(BaseManager):
    """Orders the sections of a context and keeps it within its token budget.

    Sections that change rarely come first, so that the server can cache the beginning of the prompt
    (docs/specification.md, Prompt order). The priority of a section determines when it is dropped
    (docs/specification.md, Prompt budgets).

    The latest response and the room's description appear once each: in the history, so that the server can cache them,
    or in a section of their own if the history does not contain all of them.
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        *,
        tokens: TokenCounter | None = None,
        prompt_budget: int | None = None,
        things_here: ThingsHere | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self.tokens = tokens or TokenCounter()
        self.prompt_budget = prompt_budget or config.prompt_budgets.agent
        self._things_here = things_here or ThingsHere()
        self._dropped = 0

    @classmethod
    def build(cls, parts: ManagerParts) -> Self:
        """Build the manager with the run's token counter and the names of the story's attributes."""
        things_here = ThingsHere(parts.story.attribute_names)
        return cls(parts.logger, parts.config, parts.game_state, tokens=parts.tokens, things_here=things_here)

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._things_here.reset()

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "context_manager",
            "state": {"tokens_per_character": round(self.tokens.tokens_per_character, 3)},
            "metrics": {"turns": len(self.game_state.action_history), "sections_dropped": self._dropped},
        }

    def add_reasoning(self, turn: int, reasoning: str, action: str) -> None:
        """Add the reasoning for a turn's command to the history."""
        self.game_state.add_reasoning(turn, reasoning, action)

    def get_agent_context(
        self,
        observation: Observation,
        learnt: Sequence[PromptSection] = (),
        *,
        valid_actions: tuple[str, ...] | None = None,
        rejections: Sequence[Rejection] = (),
        system: str = "",
        turn_limit: int | None = None,
    ) -> AgentContext:
        """Return the agent's context for the next turn, within its token budget.

        learnt: the sections of the managers
        valid_actions: the commands from which the agent must choose, or ``None`` if any command is allowed
        rejections: earlier proposals in this turn
        system: the instructions, which count towards the budget
        turn_limit: the last turn of the episode
        """
        window = self.config.agent.history_window
        slid = len(self.game_state.action_reasoning_history) // window * window
        budget = _PromptBudget(self.prompt_budget, system)
        turn = "" if turn_limit is None else f"{self.game_state.turn_count + 1} of {turn_limit}"
        notes = "\n".join(f"{number}. {note}" for number, note in enumerate(self.game_state.notes, start=1))
        others = (
            PromptSection("Your notes", notes, 3),
            PromptSection("Turn", turn, place=Place.PRESENT),
            PromptSection("How the story began", self._opening(budget), 9, Place.OPENING),
            PromptSection("Not played this turn", _bullets(map(_rejected, rejections)), place=Place.CHOICE),
            PromptSection("Commands that would do something now", _bullets(valid_actions or ()), place=Place.CHOICE),
            *learnt,
        )
        pasts = self._pasts(budget, max(0, slid - window), slid, most=2 * window)
        return AgentContext(tuple(self._fitted(budget, observation, pasts, others)), valid_actions)

    def get_critic_context(
        self, observation: Observation, action: str, learnt: Sequence[PromptSection] = (), *, system: str = ""
    ) -> str:
        """Return the context in which the critic judges a proposed ``action``, within its token budget.

        learnt: the sections of the managers; the critic gets those that belong after the history
        """
        first = max(0, len(self.game_state.action_reasoning_history) - REASONED)
        budget = _PromptBudget(self.config.prompt_budgets.critic, system)
        others = (
            PromptSection("Proposed command", cut_at(action, LONGEST_ACTION), place=Place.CHOICE),
            *(section for section in learnt if section.place > Place.HISTORY),
        )
        pasts = self._pasts(budget, first, first, most=REASONED, priority=3)
        return render_sections(self._fitted(budget, observation, pasts, others))

    def get_extractor_text(self, observation: Observation, *, system: str = "") -> str:
        """Return the story's text for the extractor, cut to its token budget."""
        room = self.config.prompt_budgets.info_ext - self.tokens.estimate(system)
        return self.tokens.cut(observation.text, max(room, 1))

    def get_recent_reasoning_formatted(self, num_turns: int = 3) -> str:
        """Return the last ``num_turns`` turns with reasoning, command and response, or "" before the first turn.

        An entry of the history that is not a dict is logged and left out.
        """
        entries = self._entries(self.game_state.action_reasoning_history)
        latest = entries[max(0, len(entries) - max(0, num_turns)) :]
        room = _PromptBudget(self.prompt_budget).share(HISTORY_SHARE)
        teller = HistoryTeller(self.game_state.action_history, room, most=max(1, len(latest)))
        return "\n\n".join(turn.text for turn in teller.tell(latest))

    def _entries(self, history: Sequence[Any]) -> list[dict[str, Any]]:
        return [entry for entry in history if self._is_entry(entry)]

    def _is_entry(self, entry: object) -> bool:
        if isinstance(entry, dict):
            return True
        self.log_warning("an entry of the reasoning history is not a dict", found=type(entry).__name__)
        return False

    def _pasts(
        self, budget: _PromptBudget, first: int, middle: int, *, most: int, priority: int = 1
    ) -> Iterator[_Past]:
        """Yield the turns from index ``first`` on in two blocks, then only those from ``middle`` on, then none.

        A block is dropped as a whole, so that the server can cache the text between two drops. Only the last turns of
        the earlier block include reasoning (docs/specification.md, Turn history in prompts).
        """
        history = self.game_state.action_reasoning_history
        halves = self._entries(history[first:middle]), self._entries(history[middle:])
        blocks = [entries for entries in halves if entries]
        teller = HistoryTeller(
            self.game_state.action_history,
            budget.share(HISTORY_SHARE),
            most,
            reasoned=len(halves[1]) + REASONED,
            precedes_present=True,
            is_transcript=not self.config.agent.show_reasoning,
        )
        titled = list(zip(HISTORY_TITLES, blocks, strict=False))
        for dropped in range(len(blocks) + 1):
            yield _past(teller, titled[dropped:], priority)

    def _fitted(
        self, budget: _PromptBudget, observation: Observation, pasts: Iterable[_Past], others: Iterable[PromptSection]
    ) -> list[PromptSection]:
        """Return the sections that have a text and fit.

        Other sections contain what the past does not, so they are rebuilt whenever part of the past is dropped. A
        section that was dropped before is not added again.
        """
        room = self.tokens.characters(budget.tokens) - len(budget.system)
        lost: set[str] = set()
        kept: list[PromptSection] = []
        for past in pasts:
            sections = _laid_out([*past.sections, *self._now(budget, observation, past), *others])
            wanted = [section for section in sections if section.title not in lost]
            kept = fit_sections(wanted, room)
            lost |= {section.title for section in wanted} - {section.title for section in kept}
            if all(section in kept for section in past.sections):
                break
        self._dropped += len(lost)
        return kept

    def _now(self, budget: _PromptBudget, observation: Observation, past: _Past) -> Iterator[PromptSection]:
        """Yield the present and the room, without the texts that the past contains."""
        text = without_padding(observation.text)
        is_told = observation.refusal is None and past.answers[-1:] == (text,)
        facts = []
        if observation.location is not None:
            label = cut_at(observation.location.label, LONGEST_LABEL)
            facts.append(f"Location: {label} (ID: {observation.location.num})")
        here = self._things_here.text(observation, self.game_state)
        if here:
            facts.append(f"Here: {cut_at(here, LONGEST_LIST)}")
        if observation.inventory is not None:
            carried = self._things_here.carried(observation.inventory)
            facts.append(f"Inventory: {cut_at(carried, LONGEST_LIST) or 'nothing'}")
        if observation.score is not None:
            of = "" if observation.max_score is None else f" of {observation.max_score}"
            facts.append(f"Score: {observation.score}{of}")
        if not (is_told and facts):
            speaker = "The story says" if observation.refusal is None else "The command did not reach the story"
            facts.append(f"{speaker}:\n{cut_middle(text, budget.share(STORY_SHARE))}")
        yield PromptSection("Present", "\n".join(facts), place=Place.PRESENT)
        described = observation.location and self.game_state.room_description(observation.location.num)
        if described:
            yield self._room(budget, described, (*past.answers, text))

    def _room(self, budget: _PromptBudget, described: RoomDescription, told: Sequence[str]) -> PromptSection:
        """Return the section with the room's description, without its text if ``told`` contains it."""
        age = self.game_state.turn_count - described.turn
        ago = f" ({counted(age, 'turn')} ago)" if age else ""
        if age > self.config.room_description_age_window:
            ago = f" ({counted(age, 'turn')} ago, some of it may have changed)"
        text = without_padding(described.text)
        is_told = any(text in each for each in told)
        shown = "" if is_told else cut_middle(text, budget.share(ROOM_SHARE))
        return PromptSection(f"ROOM DESCRIPTION{ago}:", shown, 4, Place.ROOM)

    def _opening(self, budget: _PromptBudget) -> str:
        """Return the prologue, which often states the aim of the game; "" before the first turn."""
        state = self.game_state
        first_room = state.opening_location.name if state.opening_location else ""
        text = without_padding(prologue_of(state.opening, first_room))
        return cut_middle(text, budget.share(OPENING_SHARE)) if state.turn_count else ""


def _past(teller: HistoryTeller, blocks: Sequence[tuple[str, Sequence[Mapping[str, Any]]]], priority: int) -> _Past:
    """Return the blocks as text, each with its title. Only the last has the given priority."""
    told = teller.tell([entry for _, block in blocks for entry in block])
    answers: list[str] = []
    sections = []
    for left, (title, block) in zip(range(len(blocks) - 1, -1, -1), blocks, strict=True):
        turns = list(islice(told, len(block)))
        answers += [turn.answer for turn in turns if turn.answer is not None]
        text = ("\n" if teller.is_transcript else "\n\n").join(turn.text for turn in turns)
        sections.append(PromptSection(title, text, 8 if left else priority, Place.HISTORY))
    return _Past(tuple(sections), tuple(answers))


def _laid_out(sections: Iterable[PromptSection]) -> list[PromptSection]:
    """Merge sections of one title, with a blank line between their texts, drop empty ones, and sort them by place."""
    by_title: dict[str, PromptSection] = {}
    for section in sections:
        if section.text:
            first = by_title.get(section.title)
            by_title[section.title] = (
                section if first is None else replace(section, text=f"{first.text}\n\n{section.text}")
            )
    return sorted(by_title.values(), key=lambda section: section.place)


def _rejected(rejection: Rejection) -> str:
    return f"`{cut_at(rejection.action, LONGEST_ACTION)}`: {cut_at(rejection.reason, LONGEST_REASON)}"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)

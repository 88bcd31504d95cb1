"""Builds the contexts that the agent, the critic and the extractor are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from typing_extensions import override

from managers.base_manager import BaseManager, ManagerStatus
from managers.prompting import LONGEST_ACTION, HistoryStyle, fit_sections
from session.context import AgentContext, Place, PromptSection, render_sections
from session.text import cut_at
from session.token_counter import TokenCounter

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable, Sequence

    from structlog.typing import FilteringBoundLogger
    from typing_extensions import Self

    from managers.base_manager import ManagerParts
    from session.game_configuration import GameConfiguration
    from session.game_state import GameState
    from session.values import Observation

OPENING_TOKENS = 300
ROOM_DESCRIPTION_TOKENS = 200
STORY_TOKENS = 1000
LONGEST_LABEL = 200  # characters
LONGEST_INVENTORY = 800  # characters
LONGEST_REASON = 400  # characters
HISTORY = HistoryStyle(reasoning_tokens=120, response_tokens=200)


class Rejection(NamedTuple):
    """A command that was proposed in the present turn and was not played, and the reason."""

    action: str
    reason: str


class ContextManager(BaseManager):
    """Puts the sections of a context into their order and keeps it within its token budget.

    The sections that change rarely come first, so that the server finds the beginning of the prompt in its cache
    (docs/specification.md, Prompt order); a section's priority says when it is dropped (docs/specification.md, Prompt
    budgets).

    The story's latest text is shown once: at the end of the history, where the server's cache has it in the next turns,
    or in the section of the present where the history does not have the whole of it.
    """

    def __init__(
        self,
        logger: logging.Logger | FilteringBoundLogger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        tokens: TokenCounter | None = None,
        prompt_budget: int | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self.tokens = tokens or TokenCounter()
        self.prompt_budget = prompt_budget or config.prompt_budgets.agent
        self._dropped = 0

    @classmethod
    def build(cls, parts: ManagerParts) -> Self:
        """Make the manager with the run's count of tokens."""
        return cls(parts.logger, parts.config, parts.game_state, tokens=parts.tokens)

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "context_manager",
            "state": {"tokens_per_character": round(self.tokens.tokens_per_character, 3)},
            "metrics": {"turns": len(self.game_state.action_history), "sections_dropped": self._dropped},
        }

    def add_reasoning(self, turn: int, reasoning: str, action: str) -> None:
        """Add the reasoning behind a turn's command to the history."""
        self.game_state.add_reasoning(turn, reasoning, action)

    def get_agent_context(
        self,
        observation: Observation,
        learnt: Sequence[PromptSection] = (),
        *,
        valid_actions: tuple[str, ...] | None = None,
        rejections: Sequence[Rejection] = (),
        system: str = "",
    ) -> AgentContext:
        """Return what the agent may know now, within its token budget.

        learnt: what the managers have to say
        valid_actions: the commands that the agent may choose from; ``None`` where it may choose any
        rejections: what was proposed in this turn already
        system: the instructions, which take their part of the budget
        """
        earlier, recent = self._history_blocks()
        latest = recent or earlier
        is_told = self._ends_with_the_text_of(observation)
        present = self._present(observation, with_text=not is_told)
        history = "Previous Reasoning and Actions"
        sections = (
            PromptSection("How the story began", self._opening(), 9, Place.OPENING),
            PromptSection(history, earlier, 8, Place.HISTORY),
            PromptSection("And then" if earlier else history, recent, 1, Place.HISTORY),
            self._room(observation),
            PromptSection("Present", present or self._present(observation), place=Place.PRESENT),
            PromptSection("Not played this turn", _bullets(map(_rejected, rejections)), place=Place.CHOICE),
            PromptSection("Commands that would do something now", _bullets(valid_actions or ()), place=Place.CHOICE),
        )
        kept = self._fit(_laid_out([*sections, *learnt]), self.prompt_budget, system)
        if is_told and all(section.text != latest for section in kept):
            full = self._present(observation)
            kept = [replace(each, text=full) if each.title == "Present" else each for each in kept]
            kept = self._fit(kept, self.prompt_budget, system)
        return AgentContext(tuple(kept), valid_actions)

    def get_critic_context(
        self, observation: Observation, action: str, learnt: Sequence[PromptSection] = (), *, system: str = ""
    ) -> str:
        """Return what the critic may know when it judges a proposed ``action``, within its token budget.

        learnt: what the managers have to say; the critic is shown what bears on the present moment
        """
        sections = (
            PromptSection("Previous Reasoning and Actions", self.get_recent_reasoning_formatted(), 3, Place.HISTORY),
            self._room(observation),
            PromptSection("Present", self._present(observation), place=Place.PRESENT),
            PromptSection("Proposed command", cut_at(action, LONGEST_ACTION), place=Place.CHOICE),
            *(section for section in learnt if section.place > Place.HISTORY),
        )
        return render_sections(self._fit(_laid_out(sections), self.config.prompt_budgets.critic, system))

    def get_extractor_text(self, observation: Observation, *, system: str = "") -> str:
        """Return the story's text for the extractor, cut to its token budget."""
        room = self.config.prompt_budgets.info_ext - self.tokens.estimate(system)
        return self.tokens.cut(observation.text, max(room, 1))

    def get_recent_reasoning_formatted(self, num_turns: int = 3) -> str:
        """Return the last ``num_turns`` turns with their reasoning, command and response; "" before the first.

        An entry of the history that is no dict is left out, and logged.
        """
        entries = self._entries(self.game_state.action_reasoning_history)
        latest = entries[max(0, len(entries) - max(0, num_turns)) :]
        return HISTORY.text(latest, self.game_state.action_history, self.tokens)

    def _entries(self, history: Sequence[Any]) -> list[dict[str, Any]]:
        return [entry for entry in history if self._is_entry(entry)]

    def _is_entry(self, entry: object) -> bool:
        if isinstance(entry, dict):
            return True
        self.log_warning("an entry of the reasoning history is no dict", found=type(entry).__name__)
        return False

    def _history_blocks(self) -> tuple[str, str]:
        """Return the latest turns as two texts, the earlier and the later ones.

        A turn is dropped together with a whole block of turns, so that the text stays in the server's cache meanwhile
        (docs/specification.md, Turn history in prompts).
        """
        history = self.game_state.action_reasoning_history
        block = self.config.agent.history_window
        middle = len(history) // block * block
        earlier, recent = history[max(0, middle - block) : middle], history[middle:]
        return self._shown(earlier), self._shown(recent)

    def _shown(self, history: Sequence[Any]) -> str:
        as_text = HISTORY.text if self.config.agent.show_reasoning else HISTORY.transcript
        return as_text(self._entries(history), self.game_state.action_history, self.tokens)

    def _ends_with_the_text_of(self, observation: Observation) -> bool:
        """Tell whether the end of the history has all that the story says now."""
        latest = self._entries(self.game_state.action_reasoning_history[-1:])
        told = [HISTORY.response(entry, self.game_state.action_history, self.tokens) for entry in latest]
        return observation.refusal is None and told == [observation.text.strip()]

    def _opening(self) -> str:
        """Return the story's first text after the first turn, since it often tells the aim of the game."""
        return self.tokens.cut(self.game_state.opening.strip(), OPENING_TOKENS) if self.game_state.turn_count else ""

    def _room(self, observation: Observation) -> PromptSection:
        age = self._room_description_age(observation)
        title = f"ROOM DESCRIPTION ({age} turns ago):" if age else "ROOM DESCRIPTION:"
        return PromptSection(title, self._room_description(observation), 4, Place.ROOM)

    def _room_description(self, observation: Observation) -> str:
        age = self._room_description_age(observation)
        text = self.game_state.last_room_description.strip()
        if age is None or age > self.config.room_description_age_window or text == observation.text.strip():
            return ""
        return self.tokens.cut(text, ROOM_DESCRIPTION_TOKENS)

    def _room_description_age(self, observation: Observation) -> int | None:
        state = self.game_state
        here = observation.location
        if here is None or state.last_room_description_location_id != here.num:
            return None
        return state.turn_count - state.last_room_description_turn

    def _present(self, observation: Observation, *, with_text: bool = True) -> str:
        lines = []
        if observation.location is not None:
            label = cut_at(observation.location.label, LONGEST_LABEL)
            lines.append(f"Location: {label} (ID: {observation.location.num})")
        if observation.inventory is not None:
            carried = ", ".join(thing.name or f"object #{thing.num}" for thing in observation.inventory)
            lines.append(f"Inventory: {cut_at(carried, LONGEST_INVENTORY) or 'nothing'}")
        if observation.score is not None:
            of = "" if observation.max_score is None else f" of {observation.max_score}"
            lines.append(f"Score: {observation.score}{of}")
        if with_text:
            speaker = "The story says" if observation.refusal is None else "The command did not reach the story"
            lines.append(f"{speaker}:\n{self.tokens.cut(observation.text.strip(), STORY_TOKENS)}")
        return "\n".join(lines)

    def _fit(self, sections: Sequence[PromptSection], budget: int, system: str) -> list[PromptSection]:
        """Return the sections that have a text and find room beside ``system`` in ``budget`` tokens."""
        wanted = [section for section in sections if section.text]
        kept = fit_sections(wanted, self.tokens.characters(budget) - len(system))
        self._dropped += len(wanted) - len(kept)
        return kept


def _laid_out(sections: Iterable[PromptSection]) -> list[PromptSection]:
    """Sort the sections by their places and drop empty ones; those of one title are one, their texts a line apart."""
    by_title: dict[str, PromptSection] = {}
    for section in sections:
        if section.text:
            first = by_title.get(section.title)
            text = section.text if first is None else f"{first.text}\n\n{section.text}"
            by_title[section.title] = replace(section, text=text)
    return sorted(by_title.values(), key=lambda section: section.place)


def _rejected(rejection: Rejection) -> str:
    return f"`{cut_at(rejection.action, LONGEST_ACTION)}`: {cut_at(rejection.reason, LONGEST_REASON)}"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)

"""The texts in which a model is asked what is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from managers.knowledge.play import LearntTurn, ephemeral_turns, of_episode
from managers.knowledge.view import by_usefulness, shown, size, within
from managers.memory.view import last_turn
from session.game_state import GameState, PlayedAction
from session.knowledge import INSIGHTS, KnowledgeEntry
from session.memory import LocationMemories, Memory
from session.text import cut_at, one_line
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt, prompt_fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from session.token_counter import TokenCounter

NONE = "(none)"
KNOWLEDGE_SHARE, EPHEMERAL_SHARE, MEMORIES_SHARE = 0.4, 0.15, 0.15
RESPONSE_LENGTHS = ((400, 400), (400, 120), (240, 0), (80, 0))
"""Characters of the responses shown, of turns with a fact and of others, until all turns fit; then the oldest go."""
BRIEF_TURNS = 8
BRIEF_ACTION, BRIEF_RESPONSE = 80, 160  # characters
MEMORY_LENGTH = 200  # characters
LONGEST_ACTION = 200  # characters


@dataclass(frozen=True, slots=True)
class Played:
    """All that a model can be asked about.

    turns: since the knowledge was last updated, oldest first
    history: every command of the episode with its response; the first is that of turn 1
    ephemeral, persistent: the memories of this episode, by the label of their location
    ephemeral_turns: those that an ephemeral memory is about
    """

    episode: int
    turns: Sequence[LearntTurn]
    history: Sequence[PlayedAction]
    ephemeral: Sequence[tuple[str, Memory]] = ()
    persistent: Sequence[tuple[str, Memory]] = ()
    ephemeral_turns: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt with what it shows.

    known: the lines of knowledge that have a number in it; the first has the number 1
    turns: the turns that may be cited
    """

    prompt: Prompt
    known: tuple[KnowledgeEntry, ...] = ()
    turns: tuple[int, ...] = ()


def what_was_played(
    state: GameState, turns: Sequence[LearntTurn], memories: LocationMemories | None, names: Mapping[int, str]
) -> Played:
    """These turns of the episode, with what is remembered of it. ``names``: of locations, by id."""
    episode = state.episode
    return Played(
        episode=episode,
        turns=turns,
        history=state.action_history,
        ephemeral=of_episode(episode, memories.ephemeral_cache, names) if memories else (),
        persistent=of_episode(episode, memories.memory_cache, names) if memories else (),
        ephemeral_turns=ephemeral_turns(memories, episode),
    )


def wants_brief_prompt(budget: int, tokens: TokenCounter) -> bool:
    """The full instructions would take more than half of the budget: it is a small model's."""
    return 2 * tokens.estimate(fill_prompt("knowledge")) > budget


def update_question(played: Played, entries: Sequence[KnowledgeEntry], budget: int, tokens: TokenCounter) -> Question:
    """The question what the turns taught, within ``budget`` tokens if leaving out can do it: the oldest turns first.

    What never changes is in the system role, so that it caches (decision 25).
    """
    room = _Room("knowledge", "knowledge_play", budget, tokens, episode=str(played.episode))
    chosen = set(within(by_usefulness(entries), room.share(KNOWLEDGE_SHARE)))
    known = [entry for entry in entries if entry in chosen]
    numbered = tuple(entry for entry in known if entry.is_ours and entry.section not in INSIGHTS)
    room.fill("knowledge", _listed(known, numbered))
    room.fill("memories", _remembered(played.persistent, room.share(MEMORIES_SHARE)))
    room.fill("ephemeral", _remembered(played.ephemeral, room.share(EPHEMERAL_SHARE)))
    turns = _fitting(played, room.left)
    room.fill("play", "\n".join(turns.values()) or NONE)
    return Question(room.prompt(), numbered, tuple(turns))


def brief_question(played: Played, budget: int, tokens: TokenCounter) -> Question:
    """The question which turn taught most, out of the latest that scored or killed and were no ephemeral doing.

    Within ``budget`` tokens if leaving out can do it, and about no turn at all where there is none.
    """
    telling = [turn for turn in played.turns if turn.is_telling and turn.turn not in played.ephemeral_turns]
    candidates = telling[-BRIEF_TURNS:]
    question = _brief(candidates, played)
    while len(candidates) > 1 and tokens.estimate(question.prompt.system + question.prompt.user) > budget:
        candidates = candidates[1:]
        question = _brief(candidates, played)
    return question


def consolidation_question(
    entries: Sequence[KnowledgeEntry], excess: int, budget: int, tokens: TokenCounter
) -> Question:
    """The question which of the program's lines to merge or cut; the least useful where there is not room for all.

    excess: characters that are too many
    """
    figures = {"size": str(size(entries)), "excess": str(excess)}
    room = _Room("knowledge_consolidation", "knowledge_consolidation_lines", budget, tokens, **figures)
    ours = by_usefulness(entry for entry in entries if entry.is_ours)
    chosen = set(within(reversed(ours), room.left))
    known = tuple(entry for entry in entries if entry in chosen)
    room.fill("knowledge", _listed(known, known))
    return Question(room.prompt(), known)


def quoted(turn: LearntTurn, played: PlayedAction) -> str:
    """What the turn taught in the story's own words, for a model that would invent some."""
    effects = [f"score {turn.score_change:+d}"] if turn.score_change else []
    effects += ["the player died"] if turn.died else []
    action, response = cut_at(one_line(played.action), BRIEF_ACTION), cut_at(one_line(played.response), BRIEF_RESPONSE)
    return f'At {turn.place}, {action} ({", ".join(effects)}): "{response}"'


class _Room:
    """A prompt being filled; ``left``: characters that there is still room for."""

    def __init__(self, system: str, template: str, budget: int, tokens: TokenCounter, **texts: str) -> None:
        self._system, self._template, self._texts = fill_prompt(system), template, dict(texts)
        empty = fill_prompt(template, **dict.fromkeys(prompt_fields(template), NONE))
        used = len(self._system) + len(empty) + sum(map(len, texts.values()))
        self.left = self._whole = max(0, tokens.characters(budget) - used)

    def share(self, of_whole: float) -> int:
        """So much of the room that there was at first."""
        return int(of_whole * self._whole)

    def fill(self, name: str, text: str) -> None:
        """The field has this text, and there is less room."""
        self._texts[name] = text
        self.left = max(0, self.left - len(text))

    def prompt(self) -> Prompt:
        """The prompt, every field of it being filled."""
        return Prompt(self._system, fill_prompt(self._template, **self._texts))


def _brief(candidates: Sequence[LearntTurn], played: Played) -> Question:
    lines = (f"Turn {turn.turn}: {quoted(turn, played.history[turn.turn - 1])}" for turn in candidates)
    numbers = tuple(turn.turn for turn in candidates)
    user = fill_prompt("knowledge_brief_play", play="\n".join(lines), turns=", ".join(map(str, numbers)))
    return Question(Prompt(fill_prompt("knowledge_brief"), user), turns=numbers)


def _listed(known: Iterable[KnowledgeEntry], numbered: Sequence[KnowledgeEntry]) -> str:
    """The lines below their titles, in the order of the file."""
    numbers = {entry: number for number, entry in enumerate(numbered, start=1)}
    sections: dict[str, list[str]] = {}
    for entry in known:
        mark = f"{numbers[entry]}." if entry in numbers else "-"
        sections.setdefault(entry.section, []).append(f"{mark} {shown(entry)}")
    return (
        "\n".join(line for title, lines in sections.items() for line in ([f"{title}:"] if title else []) + lines)
        or NONE
    )


def _remembered(memories: Sequence[tuple[str, Memory]], characters: int) -> str:
    """A line a memory, the latest that there is room for."""
    lines: list[str] = []
    for place, memory in sorted(memories, key=lambda each: last_turn(each[1]), reverse=True):
        line = cut_at(f"- T{memory.turns}, {place}: {memory.title}: {one_line(memory.text)}", MEMORY_LENGTH)
        characters -= len(line) + 1
        if characters < 0:
            break
        lines.append(line)
    return "\n".join(lines) or NONE


def _fitting(played: Played, characters: int) -> dict[int, str]:
    """The turns as text, by number, within so many characters."""
    for telling, other in RESPONSE_LENGTHS:
        lines = {turn.turn: _turn_text(turn, played, telling if turn.facts else other) for turn in played.turns}
        length = sum(len(line) + 1 for line in lines.values())
        if length <= characters:
            break
    for number in tuple(lines):
        if length <= characters:
            break
        length -= len(lines.pop(number)) + 1
    return lines


def _turn_text(turn: LearntTurn, played: Played, length: int) -> str:
    action, response = played.history[turn.turn - 1]
    facts = f" [{', '.join(turn.facts)}]" if turn.facts else ""
    mark = " EPHEMERAL" if turn.turn in played.ephemeral_turns else ""
    text = f"Turn {turn.turn} at {turn.place}{mark}{facts}: {cut_at(one_line(action), LONGEST_ACTION)}"
    return f"{text}\n  {cut_at(one_line(response), length)}" if length else text

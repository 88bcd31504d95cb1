"""The prompt that asks a model what to remember of a visit (docs/specification.md, Memory prompts)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from managers.memory.outcome import signals_of
from managers.prompting import NONE, HistoryStyle, as_many_as_fit, fit_prompt, is_for_a_small_model, turn_text
from session.memory import MemoryStatus
from session.text import one_line
from zorkgpt.prompts.loader import fill_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from managers.memory.outcome import ActionOutcome
    from managers.memory.synthesis import VisitNews
    from session.game_state import GameState
    from session.memory import Memory
    from session.token_counter import TokenCounter
    from zorkgpt.llm.language_model import Prompt

ARRIVAL_TOKENS = 300
EXISTING_TOKENS = 800
MEMORY_TOKENS = 60
RESPONSE_TOKENS = 200
BRIEF_ARRIVAL_TOKENS = 40
BRIEF_RESPONSE_TOKENS = 25
REASONING = HistoryStyle(reasoning_tokens=100, response_tokens=40, on_one_line=True, by_turn=False)
"""Responses are short here, since they stand in full among the recent actions."""
NO_SIGNALS = "• No strong signals from context"


def wants_brief_prompt(budget: int, tokens: TokenCounter) -> bool:
    """Tell whether a prompt of ``budget`` tokens has to be the brief one."""
    return is_for_a_small_model(budget, "memory", tokens)


def visit_prompt(
    visit: VisitNews, state: GameState, tokens: TokenCounter, *, window: int, budget: int, syntax: str = ""
) -> Prompt:
    """Return the prompt that asks what to remember of a visit.

    It is kept within ``budget`` tokens by leaving out the oldest turns. What never changes is in the system role, so
    that the server can cache it.

    window: how many turns up to the first news are shown, besides all later ones
    syntax: how forms of commands fared; the brief prompt of a small model has no room for it
    """
    is_brief = wants_brief_prompt(budget, tokens)
    name = "memory_brief" if is_brief else "memory"
    turns = max(state.turn_count, visit.outcomes[-1].turn) - visit.outcomes[0].turn + window
    texts = {
        **_visit_texts(visit, tokens, is_brief=is_brief),
        **_latest_turns(visit, state, tokens, turns),
        "syntax": syntax or NONE,
    }
    shorter = (_latest_turns(visit, state, tokens, count) for count in range(turns - 1, 0, -1))
    return fit_prompt(fill_prompt(name), [f"{name}_visit"], texts, shorter, budget=budget, tokens=tokens)


def format_existing(memories: Sequence[Memory], tokens: TokenCounter) -> str:
    """Return a line for each memory with its status, superseded ones last and without their text."""
    superseded_last = sorted(memories, key=lambda memory: memory.status == MemoryStatus.SUPERSEDED)
    lines = as_many_as_fit(
        (_existing_line(memory, tokens) for memory in superseded_last),
        lambda lines: sum(map(tokens.estimate, lines)) <= EXISTING_TOKENS,
    )
    return "\n".join(lines) or NONE


def format_recent_actions(actions: Sequence[tuple[str, str]], start_turn: int, tokens: TokenCounter) -> str:
    """Return commands with their responses as text, the first of them having been played in ``start_turn``."""
    return "\n\n".join(
        turn_text(turn, action, f"Response: {tokens.cut(response.strip(), RESPONSE_TOKENS)}")
        for turn, (action, response) in enumerate(actions, start=start_turn)
    )


def _existing_line(memory: Memory, tokens: TokenCounter) -> str:
    line = f"- [{memory.category} - {memory.persistence.upper()} - {memory.status}] {memory.title}"
    is_superseded = memory.status == MemoryStatus.SUPERSEDED
    return line if is_superseded else f"{line}: {tokens.cut(one_line(memory.text), MEMORY_TOKENS)}"


def _latest_turns(visit: VisitNews, state: GameState, tokens: TokenCounter, count: int) -> dict[str, str]:
    """Return the fields that tell of the latest ``count`` turns."""
    played = _played_until(visit.outcomes[-1], state)
    recent, reasoned = played[-count:], state.action_reasoning_history[-count:]
    last_turn = max(state.turn_count, visit.outcomes[-1].turn)
    return {
        "actions": format_recent_actions(recent, last_turn - len(recent) + 1, tokens),
        "reasoning": REASONING.text(reasoned, played, tokens) or NONE,
    }


def _visit_texts(visit: VisitNews, tokens: TokenCounter, *, is_brief: bool) -> dict[str, str]:
    """Return the fields that do not depend on how many turns are told."""
    arrival_tokens = BRIEF_ARRIVAL_TOKENS if is_brief else ARRIVAL_TOKENS
    last = visit.outcomes[-1]
    return {
        "location": one_line(last.location_name) or f"Location #{last.location_id}",
        "location_id": str(last.location_id),
        "memories": format_existing(visit.memories, tokens),
        "arrival": "\n".join(_arrival_lines(visit, tokens, arrival_tokens)),
        "outcomes": "\n".join(_answered_lines(visit, tokens) if is_brief else _outcome_lines(visit)),
        "signals": "\n".join(_signals(visit)) or NO_SIGNALS,
        "visit": "FIRST VISIT" if visit.is_first else "RETURN VISIT (no CORE)",
    }


def _played_until(outcome: ActionOutcome, state: GameState) -> list[tuple[str, str]]:
    """Return the commands of the episode with their responses, up to that of ``outcome``."""
    played: list[tuple[str, str]] = list(state.action_history)
    if outcome.turn > state.turn_count:
        played.append((outcome.action, outcome.response))
    return played


def _arrival_lines(visit: VisitNews, tokens: TokenCounter, longest: int) -> Iterator[str]:
    for outcome in visit.outcomes:
        if outcome.first_visit and outcome.arrival_text.strip():
            yield f"On arrival the story showed: {tokens.cut(outcome.arrival_text.strip(), longest)}"


def _outcome_lines(visit: VisitNews) -> Iterator[str]:
    for outcome in visit.outcomes:
        yield turn_text(outcome.turn, f"{outcome.action} ({', '.join(_effects(outcome))})")


def _answered_lines(visit: VisitNews, tokens: TokenCounter) -> Iterator[str]:
    """Yield the same lines with the beginning of the story's answer, unless that describes another place."""
    for outcome, line in zip(visit.outcomes, _outcome_lines(visit), strict=True):
        told = "" if outcome.moved else tokens.cut(one_line(outcome.response), BRIEF_RESPONSE_TOKENS)
        yield f"{line} {told}".rstrip()


def _effects(outcome: ActionOutcome) -> Iterator[str]:
    yield "the player went elsewhere" if outcome.moved else "the player stayed"
    if outcome.score_change:
        yield f"score {outcome.score_change:+d}"
    if outcome.died:
        yield "the player DIED"
    if outcome.inventory_changed:
        yield "inventory changed"
    if outcome.sight_changed and not (outcome.moved or outcome.inventory_changed or outcome.score_change):
        yield "something in sight changed"


def _signals(visit: VisitNews) -> Iterator[str]:
    for outcome in visit.outcomes:
        for words, tier in signals_of(outcome):
            yield f"• Turn {outcome.turn}: {words} (likely {tier.upper()})"

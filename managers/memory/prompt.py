"""The texts in which a model is asked what a visit taught (seed 1, Synthesis Prompt Logic; seed 2, Multi-Step)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from managers.memory.signals import signals_of
from session.memory import MemoryStatus
from session.text import one_line
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt, prompt_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from managers.memory.outcome import ActionOutcome
    from managers.memory.synthesis import VisitNews
    from session.game_state import GameState
    from session.memory import Memory
    from session.token_counter import TokenCounter

ARRIVAL_TOKENS = 300
EXISTING_TOKENS = 800
MEMORY_TOKENS = 60
RESPONSE_TOKENS = 200
REASONING_TOKENS = 100
REASONED_RESPONSE_TOKENS = 40  # the whole response stands in the action sequence
NO_ACTION = "(No action recorded)"
NO_REASONING = "(No reasoning recorded)"
NO_RESPONSE = "(No response recorded)"
BRIEF_ARRIVAL_TOKENS = 40
BRIEF_RESPONSE_TOKENS = 25
NONE = "(none)"
NO_SIGNALS = "• No strong signals from context"


def wants_brief_prompt(budget: int, tokens: TokenCounter) -> bool:
    """The full instructions would take more than half of the budget: it is a small model's."""
    return 2 * tokens.estimate(fill_prompt("memory")) > budget


def visit_prompt(
    visit: VisitNews, state: GameState, tokens: TokenCounter, *, window: int, budget: int, syntax: str = ""
) -> Prompt:
    """The question what to remember of the visit, within ``budget`` tokens if leaving out the oldest turns can do it.

    window: turns up to the first news that are shown with all later ones. What never changes is in the system role, so
    that it caches (decision 25).
    syntax: how forms of commands fared; the brief prompt of a small model has no room for it
    """
    is_brief = wants_brief_prompt(budget, tokens)
    name = "memory_brief" if is_brief else "memory"
    system, template = fill_prompt(name), f"{name}_visit"
    turns = max(state.turn_count, visit.outcomes[-1].turn) - visit.outcomes[0].turn + window
    prompt = Prompt(system, "")
    for count in range(turns, 0, -1):
        texts = {**_texts(visit, state, tokens, count, is_brief=is_brief), "syntax": syntax or NONE}
        prompt = Prompt(system, fill_prompt(template, **{field: texts[field] for field in prompt_fields(template)}))
        if tokens.estimate(prompt.system + prompt.user) <= budget:
            break
    return prompt


def format_existing(memories: Sequence[Memory], tokens: TokenCounter) -> str:
    """A line a memory with its status, those that stand first; of those given up only the titles."""
    lines = []
    room = EXISTING_TOKENS
    for memory in sorted(memories, key=lambda memory: memory.status == MemoryStatus.SUPERSEDED):
        line = f"- [{memory.category} - {memory.persistence.upper()} - {memory.status}] {memory.title}"
        if memory.status != MemoryStatus.SUPERSEDED:
            line += f": {tokens.cut(one_line(memory.text), MEMORY_TOKENS)}"
        room -= tokens.estimate(line)
        if room < 0:
            break
        lines.append(line)
    return "\n".join(lines) or NONE


def format_recent_actions(actions: Sequence[tuple[str, str]], start_turn: int, tokens: TokenCounter) -> str:
    """Commands with their responses, oldest first, the first of them played in ``start_turn`` (seed 2)."""
    return "\n\n".join(
        f"Turn {turn}: {action}\nResponse: {tokens.cut(response.strip(), RESPONSE_TOKENS)}"
        for turn, (action, response) in enumerate(actions, start=start_turn)
    )


def format_recent_reasoning(entries: Sequence[object], played: Sequence[tuple[str, str]], tokens: TokenCounter) -> str:
    """Why the player did what, with the command and its response, oldest first (seed 2); what is no entry is left out.

    played: every command of the episode with its response; one is found by its command, the latest first
    """
    return "\n\n".join(_reasoned_turn(entry, played, tokens) for entry in entries if isinstance(entry, dict))


def _reasoned_turn(entry: dict[str, object], played: Sequence[tuple[str, str]], tokens: TokenCounter) -> str:
    action = str(entry.get("action") or NO_ACTION)
    reasoning = one_line(str(entry.get("reasoning") or "")) or NO_REASONING
    response = next((answer for done, answer in reversed(played) if done == action), NO_RESPONSE)
    return (
        f"Turn {entry.get('turn', '?')}:\nReasoning: {tokens.cut(reasoning, REASONING_TOKENS)}\n"
        f"Action: {action}\nResponse: {tokens.cut(one_line(response), REASONED_RESPONSE_TOKENS)}"
    )


def _texts(visit: VisitNews, state: GameState, tokens: TokenCounter, count: int, *, is_brief: bool) -> dict[str, str]:
    """The fields of the templates, with the latest ``count`` turns."""
    arrival_tokens = BRIEF_ARRIVAL_TOKENS if is_brief else ARRIVAL_TOKENS
    last = visit.outcomes[-1]
    last_turn = max(state.turn_count, last.turn)
    played = _played_until(last, state)
    recent = played[-count:]
    reasoned = state.action_reasoning_history[-count:]
    return {
        "location": one_line(last.location_name) or f"Location #{last.location_id}",
        "location_id": str(last.location_id),
        "memories": format_existing(visit.memories, tokens),
        "actions": format_recent_actions(recent, last_turn - len(recent) + 1, tokens),
        "reasoning": format_recent_reasoning(reasoned, played, tokens) or NONE,
        "arrival": "\n".join(_arrival_lines(visit, tokens, arrival_tokens)),
        "outcomes": "\n".join(_answered_lines(visit, tokens) if is_brief else _outcome_lines(visit)),
        "signals": "\n".join(_signals(visit)) or NO_SIGNALS,
        "visit": "FIRST VISIT" if visit.is_first else "RETURN VISIT (no CORE)",
    }


def _played_until(outcome: ActionOutcome, state: GameState) -> list[tuple[str, str]]:
    """Every command of the episode with its response, that of ``outcome`` too where the state has not got it yet."""
    played = [(entry[0], entry[1]) for entry in state.action_history]
    if outcome.turn > state.turn_count:
        played.append((outcome.action, outcome.response))
    return played


def _arrival_lines(visit: VisitNews, tokens: TokenCounter, longest: int) -> Iterator[str]:
    for outcome in visit.outcomes:
        if outcome.first_visit and outcome.arrival_text.strip():
            yield f"On arrival the story showed: {tokens.cut(outcome.arrival_text.strip(), longest)}"


def _outcome_lines(visit: VisitNews) -> Iterator[str]:
    for outcome in visit.outcomes:
        yield f"Turn {outcome.turn}: {outcome.action} ({', '.join(_effects(outcome))})"


def _answered_lines(visit: VisitNews, tokens: TokenCounter) -> Iterator[str]:
    """The same with the beginning of the story's answer, where that is not another place."""
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

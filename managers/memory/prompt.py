"""The prompt that asks a model what to remember of a visit (docs/specification.md, Memory prompts)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from managers.memory.outcome import signals_of
from managers.prompting import (
    LONGEST_ACTION,
    NONE,
    as_many_as_fit,
    first_that_fits,
    is_for_a_small_model,
    room_for_fields,
    share_out,
    turn_text,
)
from session.memory import MemoryStatus
from session.text import cut_at, description_in, one_line, prologue_of, without_padding
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from managers.memory.outcome import ActionOutcome
    from managers.memory.synthesis import VisitNews
    from session.game_state import GameState
    from session.memory import Memory
    from session.text import TokenCounter

SHARE_OF_MEMORIES = 2  # they take at most one in so many characters of the room
LEAST_TOLD = 300  # characters of a text that is cut, before turns are left out instead
TOLD_BELOW = "(as it stands below, under what is new)"
NO_SIGNALS = "• No strong signals from context"


def wants_brief_prompt(budget: int, tokens: TokenCounter) -> bool:
    """Tell whether a prompt of ``budget`` tokens has to be the brief one."""
    return is_for_a_small_model(budget, "memory", tokens)


def visit_prompt(visit: VisitNews, state: GameState, tokens: TokenCounter, *, window: int, budget: int) -> Prompt:
    """Return the prompt that asks what to remember of a visit, within ``budget`` tokens if that can be done.

    All is told whole as long as there is room, which goes to the memories first, since they may have to be written
    anew; then long texts are cut in their middle, then the oldest turns are left out. What never changes is in the
    system role, so that the server can cache it.

    window: how many turns up to the first news are told, besides all later ones
    """
    last = visit.outcomes[-1]
    texts = {
        "location": _short(last.location_name) or f"Location #{last.location_id}",
        "location_id": str(last.location_id),
        "outcomes": "\n".join(_outcome_lines(visit)),
        "signals": "\n".join(_signals(visit)) or NO_SIGNALS,
        "visit": _visit_status(visit),
    }
    room = room_for_fields("memory", "memory_visit", budget, tokens) - sum(map(len, texts.values()))
    texts["memories"] = existing_memories(visit.memories, room // SHARE_OF_MEMORIES)
    story = _story(visit, state, room - len(texts["memories"]), window)
    return Prompt(fill_prompt("memory"), fill_prompt("memory_visit", **texts, **story))


def existing_memories(memories: Sequence[Memory], characters: int) -> str:
    """Return a line for each memory with its status; superseded ones last and without text, as far as there is room."""
    standing = [memory for memory in memories if memory.status != MemoryStatus.SUPERSEDED]
    given_up = [memory for memory in memories if memory.status == MemoryStatus.SUPERSEDED]
    heads = [f"{_head(memory)}: " for memory in standing]
    told = [one_line(memory.text) for memory in standing]
    texts, _ = share_out(told, characters - sum(len(head) + 1 for head in heads))
    lines = [head + text for head, text in zip(heads, texts, strict=True)]
    room = characters - sum(len(line) + 1 for line in lines)
    titles = as_many_as_fit(
        map(_head, reversed(given_up)), lambda titles: sum(len(title) + 1 for title in titles) <= room
    )
    return "\n".join([*lines, *reversed(titles)]) or NONE


@dataclass(frozen=True, slots=True)
class _ToldTurn:
    """A turn as the prompt tells it: what was played, what the story answered, and why it was played."""

    turn: int
    action: str
    response: str
    reason: str


def _story(visit: VisitNews, state: GameState, characters: int, window: int) -> dict[str, str]:
    """Return the fields that tell the arrival and the latest turns, within so many characters.

    The fewest turns are told where even that leaves a long text hardly more than a line.
    """
    arrival = _without_banner(_arrival(visit), visit.outcomes[0].location_name)
    most = max(1, max(state.turn_count, visit.outcomes[-1].turn) - visit.outcomes[0].turn + window)
    turns = _played_turns(visit, state, most)
    forms = (_shared_out(turns[-count:], arrival, characters) for count in range(most, 0, -1))
    fields, _ = first_that_fits(forms, lambda form: form[1] >= LEAST_TOLD)
    return fields


def _shared_out(turns: Sequence[_ToldTurn], arrival: str, characters: int) -> tuple[dict[str, str], float]:
    """Return the fields with all texts cut to their share of the room, and how long those are that were cut."""
    texts = [arrival, *(turn.response for turn in turns), *(turn.reason for turn in turns)]
    beside = sum(map(len, _laid_out(turns, texts).values())) - sum(map(len, texts))
    cut, longest = share_out(texts, characters - beside)
    return _laid_out(turns, cut), longest


def _laid_out(turns: Sequence[_ToldTurn], texts: Sequence[str]) -> dict[str, str]:
    """Return the fields of the turns. ``texts``: the arrival, then each turn's response, then each turn's reason."""
    arrival, responses, reasons = texts[0], texts[1 : len(turns) + 1], texts[len(turns) + 1 :]
    told = zip(turns, responses, reasons, strict=True)
    played = [(turn_text(turn.turn, turn.action, f"Response: {text}"), turn.turn, why) for turn, text, why in told]
    return {
        "actions": "\n\n".join(text for text, _, _ in played),
        "reasoning": "\n".join(f"Turn {turn}: {why}" for _, turn, why in played if why) or NONE,
        "arrival": f"On arrival the story showed: {arrival}" if arrival else "",
    }


def _played_turns(visit: VisitNews, state: GameState, most: int) -> list[_ToldTurn]:
    """Return the latest turns of the episode, up to that of the last news, at most so many."""
    last = visit.outcomes[-1]
    played: list[tuple[str, str]] = list(state.action_history[-most:])
    if last.turn > state.turn_count:
        played = [*played, (last.action, last.response)][-most:]
    first_turn = max(state.turn_count, last.turn) - len(played) + 1
    reasons = {entry.get("turn"): one_line(str(entry.get("reasoning") or "")) for entry in _reasoned(state, most)}
    arrival = _arrival(visit)
    return [
        _ToldTurn(
            turn,
            _short(action),
            TOLD_BELOW if arrival and without_padding(response) == arrival else without_padding(response),
            reasons.get(turn, ""),
        )
        for turn, (action, response) in enumerate(played, start=first_turn)
    ]


def _reasoned(state: GameState, most: int) -> Iterable[dict[str, object]]:
    return (entry for entry in state.action_reasoning_history[-most:] if isinstance(entry, dict))


def _short(text: str) -> str:
    return cut_at(one_line(text), LONGEST_ACTION)


def _without_banner(arrival: str, room: str) -> str:
    """Return a text of arrival without the story's title, authors and version, which an opening has."""
    return "\n\n".join(filter(None, (prologue_of(arrival, room), description_in(arrival, room))))


def _head(memory: Memory) -> str:
    return f"- [{memory.category} - {memory.persistence.upper()} - {memory.status}] {memory.title}"


def _arrival(visit: VisitNews) -> str:
    """Return what the story showed on the episode's first arrival, "" where this is no first visit."""
    return next((without_padding(each.arrival_text) for each in visit.outcomes if each.first_visit), "")


def _visit_status(visit: VisitNews) -> str:
    return "FIRST VISIT" if visit.is_first else "RETURN VISIT, or the same one going on (no CORE)"


def _outcome_lines(visit: VisitNews) -> Iterator[str]:
    for outcome in visit.outcomes:
        yield turn_text(outcome.turn, f"{_short(outcome.action)} ({', '.join(_effects(outcome))})")


def _effects(outcome: ActionOutcome) -> Iterator[str]:
    elsewhere = f"the player went to {outcome.destination}" if outcome.destination else "the player went elsewhere"
    yield elsewhere if outcome.moved else "the player stayed"
    if outcome.score_change:
        yield f"score {outcome.score_change:+d}"
    if outcome.died:
        yield "the player DIED"
    yield from (f"took {name}" for name in outcome.taken)
    yield from (f"no longer carries {name}" for name in outcome.laid_down)
    if outcome.inventory_changed and not (outcome.taken or outcome.laid_down):
        yield "inventory changed"
    yield from (f"{name} came to light" for name in outcome.revealed)
    if outcome.sight_changed and not (outcome.moved or outcome.inventory_changed or outcome.score_change):
        yield "something in sight changed"


def _signals(visit: VisitNews) -> Iterator[str]:
    """Yield each signal once, with the turns that give it."""
    turns: dict[str, list[int]] = {}
    for outcome in visit.outcomes:
        for words, tier in signals_of(outcome):
            turns.setdefault(f"{words} (likely {tier.upper()})", []).append(outcome.turn)
    for signal, numbers in turns.items():
        yield f"• Turn{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}: {signal}"

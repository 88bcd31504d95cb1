"""The prompt that asks a model about objectives (docs/specification.md, Objective prompts)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from managers.prompting import LEFT_OUT, NONE, fit_prompt, turn_text
from session.memory import MemoryStatus
from session.text import one_line
from zorkgpt.mapping.map_render import MAX_ADJACENT
from zorkgpt.prompts.loader import fill_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from session.game_state import GameState
    from session.memory import Memory
    from session.objective import Evidence, Objective, ObjectivesState
    from session.token_counter import TokenCounter
    from zorkgpt.llm.language_model import Prompt
    from zorkgpt.mapping.map_graph import MapGraph
    from zorkgpt.mapping.navigation import FrontierRoom

MAX_MEMORIES = 5
MAX_ADJACENT_MEMORIES = 3
MAX_ENDED_SHOWN = 10
MAX_FACTS = 60
LATEST_FACTS = 12
MAX_FRONTIER_ROOMS = 10
RECENT_TURNS = 20
LATEST_TURNS = 3
KNOWLEDGE_TOKENS = 5000
LINE_TOKENS = 50
MEMORY_TOKENS = 60
NO_MEMORIES = "No memories available for current or adjacent locations"
SHORTENED_FIRST = (
    ("map", "routing"),
    ("knowledge", ""),
    ("map", ""),
    ("syntax", ""),
    ("memories", ""),
    ("play", "latest_play"),
    ("facts", "latest_facts"),
    ("facts", ""),
    ("play", ""),
)
"""What is shortened when there is no room, step by step, and the short form; "" where it is left out."""


def format_memories(memories: Sequence[Memory], tokens: TokenCounter) -> str:
    """Return the first five memories, two lines each, with their status where that is not ACTIVE."""
    if not memories:
        return "  (No memories)"
    return "\n".join(line for memory in memories[:MAX_MEMORIES] for line in _memory_lines(memory, tokens))


def format_neighbourhood(
    here: str, current: Sequence[Memory], adjacent: Mapping[str, Sequence[Memory]], tokens: TokenCounter
) -> str:
    """Return the memories of this location and of at most five adjacent ones.

    here: id and name of the location, as the keys of ``adjacent`` have them for the others
    """
    next_door = [(label, memories[:MAX_ADJACENT_MEMORIES]) for label, memories in adjacent.items() if memories]
    parts = [f"## Memories for Current Location {here}:\n{format_memories(current, tokens)}"] if current else []
    parts += ["\n## Memories for Adjacent Locations:"] if next_door else []
    parts += [
        f"\n**Location {label}:**\n{format_memories(memories, tokens)}" for label, memories in next_door[:MAX_ADJACENT]
    ]
    return "\n".join(parts) or NO_MEMORIES


def format_frontier(rooms: Sequence[FrontierRoom], names: Mapping[int, str]) -> str:
    """Return a line for each of the nearest rooms with untried exits: the exits, and the way there."""
    return "\n".join(
        f"- Location {room.location_id} ({one_line(names.get(room.location_id, ''))}): untried "
        + ", ".join(map(one_line, room.untried_exits))
        + (f"; way there: {', '.join(map(one_line, room.route.commands))}" if room.route.commands else "")
        for room in rooms[:MAX_FRONTIER_ROOMS]
    )


def format_objectives(objectives: Sequence[Objective]) -> str:
    """Return the open objectives with their numbers, and then the latest that have ended."""
    lines = [f"{each.id}. {each.text} (found in turn {each.turn})" for each in objectives if each.is_active]
    ended = [each for each in objectives if not each.is_active]
    lines += [f"- {each.status} in turn {each.ended_turn}: {each.text}" for each in ended[-MAX_ENDED_SHOWN:]]
    return "\n".join(lines) or NONE


def format_facts(evidence: Sequence[Evidence], tokens: TokenCounter) -> str:
    """Return the facts, a line each."""
    return "\n".join(tokens.cut(_fact(each), LINE_TOKENS) for each in evidence) or NONE


def format_play(state: GameState, tokens: TokenCounter, turns: int) -> str:
    """Return the last so many turns: command, reasoning and response of each."""
    first = len(state.action_history) - turns + 1
    reasons = {entry.get("turn"): entry.get("reasoning") for entry in state.action_reasoning_history[-turns:]}
    lines = [
        turn_text(
            turn,
            tokens.cut(one_line(played.action), LINE_TOKENS),
            f"  Why: {tokens.cut(one_line(str(reasons.get(turn) or NONE)), LINE_TOKENS)}",
            f"  Response: {tokens.cut(one_line(played.response), LINE_TOKENS)}",
        )
        for turn, played in enumerate(state.action_history, start=1)
        if turn >= first
    ]
    return "\n".join(lines) or NONE


def format_map(
    game_map: MapGraph, here: str, here_id: int | None, routing: str, frontier: Sequence[FrontierRoom]
) -> str:
    """Return the whole map, the exits of this and the adjacent locations, the untried exits, and figures."""
    lines = ["## Map Visualization (Mermaid Format)", game_map.render_mermaid()]
    if here_id is not None:
        lines += [
            f"\nNote: Node IDs match location IDs in memories (L{here_id} = Location {here_id})",
            f"**Current location**: L{here_id}\n",
            routing,
        ]
    untried = format_frontier(frontier, game_map.room_names)
    if untried:
        lines.append(f"\n## Untried Exits (nearest first)\n{untried}")
    lines += [
        "\n## Exploration Statistics",
        f"- Rooms discovered: {len(game_map.rooms)}",
        f"- Current location: {here}",
    ]
    return "\n".join(lines)


def location_line(game: GameState) -> str:
    """Return the name and id of the player's location."""
    if game.current_room_id is None:
        return "not known"
    return f"{game.current_room_name_for_map} (ID: {game.current_room_id})"


def play_texts(game: GameState, state: ObjectivesState, tokens: TokenCounter) -> dict[str, str]:
    """Return the fields of ``objectives_play.md``, and short forms of ``facts`` and ``play``."""
    score = game.previous_zork_score
    return {
        "objectives": format_objectives(state.objectives),
        "facts": format_facts(state.evidence[-MAX_FACTS:], tokens),
        "latest_facts": format_facts(state.evidence[-LATEST_FACTS:], tokens),
        "play": format_play(game, tokens, RECENT_TURNS),
        "latest_play": format_play(game, tokens, LATEST_TURNS),
        "turn": str(game.turn_count),
        "score": "not known" if score is None else str(score),
        "location": location_line(game),
        "inventory": ", ".join(name or "something unnamed" for name in game.current_inventory) or "nothing",
    }


def objectives_prompt(
    templates: Sequence[str], texts: Mapping[str, str], *, max_active: int, budget: int, tokens: TokenCounter
) -> Prompt:
    """Return the prompt made of these templates and texts, in at most ``budget`` tokens if that can be done.

    What is shortened or left out is said in ``SHORTENED_FIRST``; objectives and the present always stay.
    """
    system = fill_prompt("objectives", max_active=str(max_active))
    shorter = ({name: texts.get(short_form, LEFT_OUT)} for name, short_form in SHORTENED_FIRST)
    return fit_prompt(system, templates, texts, shorter, budget=budget, tokens=tokens)


def _memory_lines(memory: Memory, tokens: TokenCounter) -> Iterator[str]:
    status = "" if memory.status == MemoryStatus.ACTIVE else f" [{memory.status}]"
    yield f"  - [{memory.category}] {tokens.cut(memory.title, LINE_TOKENS)}{status}"
    yield f"    {tokens.cut(one_line(memory.text), MEMORY_TOKENS)}"


def _fact(evidence: Evidence) -> str:
    place = "" if evidence.location_id is None else f", Location {evidence.location_id}"
    return one_line(f"Turn {evidence.turn}{place}: {evidence.text}")

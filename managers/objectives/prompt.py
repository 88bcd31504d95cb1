"""The prompt that asks a model about objectives (docs/specification.md, Objective prompts)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from managers.history import SHORTEST_REPEATED, told_once
from managers.memory.prompt import last_turn
from managers.prompting import LEFT_OUT, NONE, MadeOnce, as_many_as_fit, first_that_fits, fit_prompt, turn_text
from session.game_state import GameState
from session.memory import Memory, MemoryStatus
from session.objective import Evidence, Objective, ObjectivesState
from session.text import TokenCounter, cut_at, cut_middle, one_line, prologue_of, without_padding
from zorkgpt.llm.language_model import Prompt
from zorkgpt.mapping.map_graph import MAX_ADJACENT, MapGraph, mermaid
from zorkgpt.mapping.navigation import FrontierRoom, neighbourhood
from zorkgpt.prompts.loader import fill_prompt

MAX_ENDED_SHOWN = 5
MAX_UNTRIED_ROOMS = 10
RECENT_TURNS = 20
SHORTEST_OPENING = 80  # characters
LONGEST_ACTION = 200  # characters
LONGEST_TITLE = 200  # characters
MEMORIES_AT_LEAST = 4  # no memory is longer than a quarter of the room for all
DRAWN_RADII = (4, 3, 2, 1)  # moves from here
TURN_LENGTHS = (
    (1200, 1200, 600),
    (900, 600, 400),
    (700, 400, 240),
    (500, 240, 160),
    (400, 160, 100),
    (320, 130, 60),
    (300, 110, 0),
    (260, 80, 0),
    (220, 60, 0),
    (160, 0, 0),
    (80, 0, 0),
)
"""Characters of a response with a fact or of the latest one, of another response, and of a reason, until all turns fit;
then the oldest turns go."""
NO_MEMORIES = "No memories available for current or adjacent locations"

Part = Callable[[int], str]
"""Returns the fullest form of a text that has at most so many characters, "" where there is none so short."""


def memories_here_and_next_door(here: str, current: Sequence[Memory], adjacent: Mapping[str, Sequence[Memory]]) -> Part:
    """Return the memories of this location and of at most five adjacent ones, as far as there is room.

    The most useful one of each location goes first, then the second of each, and so on.
    here: id and name of the location, as the keys of ``adjacent`` have them for the others
    """
    useful_first = {
        label: sorted(memories, key=_worth, reverse=True) for label, memories in adjacent.items() if memories
    }
    doors = sorted(useful_first, key=lambda label: _worth(useful_first[label][0]), reverse=True)[:MAX_ADJACENT]
    places = {here: sorted(current, key=_worth, reverse=True)}
    places.update((label, memories) for label, memories in useful_first.items() if label in doors)
    in_turn = sorted((number, label) for label, memories in places.items() for number in range(len(memories)))

    def fitted(characters: int) -> str:
        longest = characters // MEMORIES_AT_LEAST
        lines = {(number, label): format_memories([places[label][number]], longest) for number, label in in_turn}

        def told(kept: Iterable[tuple[int, str]]) -> str:
            chosen: dict[str, list[str]] = defaultdict(list)
            for each in sorted(kept):
                chosen[each[1]].append(lines[each])
            return _neighbourhood(here, {label: "\n".join(of_place) for label, of_place in chosen.items()})

        return told(as_many_as_fit(in_turn, lambda kept: len(told(kept)) <= characters, skips=True))

    return fitted if in_turn else lambda _characters: NO_MEMORIES


def format_memories(memories: Sequence[Memory], longest: int) -> str:
    """Return the memories, two lines each: one that was given up has its title alone, others their text, too.

    longest: characters of a text
    """
    lines = []
    for memory in memories:
        status = "" if memory.status == MemoryStatus.ACTIVE else f" [{memory.status}]"
        lines.append(f"  - [{memory.category}] {cut_at(memory.title, LONGEST_TITLE)}{status}")
        if memory.status != MemoryStatus.SUPERSEDED:
            lines.append(f"    {cut_middle(one_line(memory.text), longest)}")
    return "\n".join(lines) or "  (No memories)"


def format_untried(game_map: MapGraph, frontier: Sequence[FrontierRoom]) -> str:
    """Return a line for each room with untried exits: the exits, and the way there; the nearest rooms first.

    Rooms to which no way is known come last: to find one may be worth it.
    """
    ways = {room.location_id: ", ".join(map(one_line, room.route.commands)) for room in frontier}
    told = {number: f"; way there: {way}" if way else "" for number, way in ways.items()}
    told.update((number, "; no way there is known") for number in sorted(game_map.rooms) if number not in ways)
    untried = ((number, way, game_map.untried_exits(number)) for number, way in told.items())
    lines = (
        f"- Location {number} ({one_line(game_map.room_names.get(number, ''))}): untried "
        f"{', '.join(map(one_line, exits))}{way}"
        for number, way, exits in untried
        if exits
    )
    return "\n".join(islice(lines, MAX_UNTRIED_ROOMS))


def story_opening(state: GameState) -> Part:
    """Return what the story told before its first room: often the aim of the game."""
    first_room = state.opening_location.name if state.opening_location else ""
    text = without_padding(prologue_of(state.opening, first_room)) or NONE
    shortest = min(len(text), SHORTEST_OPENING)
    return lambda characters: cut_middle(text, characters) if characters >= shortest else ""


def format_objectives(objectives: Sequence[Objective]) -> str:
    """Return the open objectives with their numbers, and then the latest that have ended."""
    lines = [f"{each.id}. {each.text} (found in turn {each.turn})" for each in objectives if each.is_active] or [NONE]
    ended = [each for each in objectives if not each.is_active]
    lines += [f"- {each.status} in turn {each.ended_turn}: {each.text}" for each in ended[-MAX_ENDED_SHOWN:]]
    return "\n".join(lines)


def recent_play(state: GameState, evidence: Iterable[Evidence], turns: int) -> Part:
    """Return the last so many turns: command, facts, reasoning and response of each, as far as there is room.

    The description of a room stands in the last turn that has it, so that what is new in the others is not cut for it.
    """
    facts = _facts_by_turn(evidence)
    reasons = {entry.get("turn"): entry.get("reasoning") for entry in state.action_reasoning_history[-turns:]}
    first = max(0, len(state.action_history) - turns)
    rooms = {
        line: room.turn
        for room in state.room_descriptions.values()
        for line in without_padding(room.text).splitlines()
        if len(line) >= SHORTEST_REPEATED and room.turn > first
    }
    latest_first = [
        (
            turn,
            cut_at(one_line(action), LONGEST_ACTION),
            one_line(_without_rooms_of_others(turn, response, rooms)),
            one_line(str(reasons.get(turn) or "")),
        )
        for turn, (action, response) in enumerate(state.action_history[first:], start=first + 1)
    ][::-1]

    def told(turn: int, action: str, response: str, why: str, lengths: tuple[int, int, int]) -> str:
        is_telling = turn in facts or turn == len(state.action_history)
        telling, other, reason = lengths
        details = {
            "Why": (why, reason),
            "Response": (response, telling if is_telling else other),
        }
        cut = {name: cut_middle(text, longest) for name, (text, longest) in details.items() if text and longest}
        return turn_text(
            turn,
            action,
            *(f"  {name}: {text}" for name, text in cut.items()),
            where=f" [{facts[turn]}]" if turn in facts else "",
        )

    forms = MadeOnce([told(*played, lengths) for played in latest_first] for lengths in TURN_LENGTHS)

    def fitted(characters: int) -> str:
        form = first_that_fits(forms, lambda form: len("\n".join(form)) <= characters)
        kept = as_many_as_fit(form, lambda kept: len("\n".join(kept)) <= characters)
        return "\n".join(reversed(kept))

    return fitted


def _without_rooms_of_others(turn: int, response: str, rooms: Mapping[str, int]) -> str:
    """Return the response with the turn that describes a room in place of the description, unless it is this turn.

    rooms: that turn for each line of a description
    """
    others = {line: described_in for line, described_in in rooms.items() if described_in != turn}
    return told_once(without_padding(response).splitlines(), others)


def map_around(
    game_map: MapGraph, here: str, here_id: int | None, routing: str, frontier: Sequence[FrontierRoom]
) -> Part:
    """Return the map, the exits of this and the adjacent locations, the untried exits, and figures.

    Where there is no room to draw the whole map, what lies within some moves is drawn, in the end nothing.
    """
    untried = format_untried(game_map, frontier)
    rest = [f"\n## Untried Exits (nearest first)\n{untried}"] if untried else []
    rest += [
        "\n## Exploration Statistics",
        f"- Rooms discovered: {len(game_map.rooms)}",
        f"- Current location: {here}",
    ]
    if here_id is not None:
        rest.insert(0, routing)

    def drawn(graph: str) -> str:
        lines = ["## Map Visualization (Mermaid Format)", graph]
        if here_id is not None:
            lines += [
                f"\nNote: Node IDs match location IDs in memories (L{here_id} = Location {here_id})",
                f"**Current location**: L{here_id}\n",
            ]
        return "\n".join([*lines, *rest])

    def forms() -> Iterator[str]:
        yield drawn(game_map.render_mermaid())
        if here_id is not None:
            for radius in DRAWN_RADII:
                rooms = neighbourhood(game_map, here_id, radius)
                names = {number: name for number, name in game_map.room_names.items() if number in rooms}
                yield drawn(mermaid(names, game_map.connections))
        yield "\n".join(rest).strip()
        yield routing

    made = MadeOnce(forms())

    def fitted(characters: int) -> str:
        return next((form for form in made if len(form) <= characters), "")

    return fitted


def location_line(game: GameState) -> str:
    """Return the name and id of the player's location."""
    if game.current_room_id is None:
        return "not known"
    return f"{game.current_room_name_for_map} (ID: {game.current_room_id})"


def present_texts(game: GameState, state: ObjectivesState) -> dict[str, str]:
    """Return the fields of ``objectives_play.md`` that are never shortened."""
    score = game.previous_zork_score
    return {
        "objectives": format_objectives(state.objectives),
        "turn": str(game.turn_count),
        "score": "not known" if score is None else str(score),
        "location": location_line(game),
        "inventory": ", ".join(name or "something unnamed" for name in game.current_inventory) or "nothing",
    }


def objectives_prompt(
    templates: Sequence[str],
    texts: Mapping[str, str],
    parts: Mapping[str, Part],
    *,
    max_active: int,
    budget: int,
    tokens: TokenCounter,
) -> Prompt:
    """Return the prompt made of these templates, in at most ``budget`` tokens if that can be done.

    texts: the fields that always stay
    parts: the fields that share what room the others leave, by name; what a short one leaves goes to longer ones
    """
    system = fill_prompt("objectives", max_active=str(max_active))

    def filled(shared: Mapping[str, str]) -> Prompt:
        return fit_prompt(system, templates, {**texts, **shared}, (), budget=budget, tokens=tokens)

    room = tokens.characters(budget) - len(system) - len(filled(dict.fromkeys(parts, LEFT_OUT)).user)
    whole = {name: part(room) for name, part in parts.items()}
    fitted: dict[str, str] = {}
    for name in sorted(whole, key=lambda name: len(whole[name])):
        share = (room - sum(map(len, fitted.values()))) // (len(whole) - len(fitted))
        fitted[name] = whole[name] if len(whole[name]) <= share else parts[name](share)
    return filled({name: text or LEFT_OUT for name, text in fitted.items()})


def _neighbourhood(here: str, told: Mapping[str, str]) -> str:
    parts = [f"## Memories for Current Location {here}:\n{told[here]}"] if here in told else []
    next_door = {label: text for label, text in told.items() if label != here}
    parts += ["\n## Memories for Adjacent Locations:"] if next_door else []
    parts += [f"\n**Location {label}:**\n{text}" for label, text in next_door.items()]
    return "\n".join(parts)


def _worth(memory: Memory) -> tuple[bool, bool, bool, int, int]:
    """Return what sorts memories by their use: dangers, then what won points, then the newest; given up ones last."""
    return (
        memory.status != MemoryStatus.SUPERSEDED,
        memory.category == "DANGER",
        bool(memory.score_change),
        memory.episode,
        last_turn(memory),
    )


def _facts_by_turn(evidence: Iterable[Evidence]) -> dict[int, str]:
    """Return the facts of each turn on one line, by their places."""
    facts: dict[int, dict[int | None, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in evidence:
        facts[each.turn][each.location_id].append(one_line(each.text))
    return {
        turn: "; ".join(_told_of(place, texts) for place, texts in by_place.items()) for turn, by_place in facts.items()
    }


def _told_of(place: int | None, texts: Iterable[str]) -> str:
    told = ", ".join(texts)
    return told if place is None else f"Location {place}: {told}"

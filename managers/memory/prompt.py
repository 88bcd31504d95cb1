"""The questions about a visit, and the memories of a location as prompts show them.

A small model only chooses the turn that is worth remembering. The memory is then made from facts of the machine: its
title is the command and its result; points, deaths, refusals and handled objects decide tier and category
(docs/records/specification.md, Memory prompts).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from managers.done import numbers_named
from managers.memory.outcome import ARRIVAL, ActionOutcome, as_printed, signals_of
from managers.memory.synthesis import VisitMemory, VisitNews
from managers.prompting import (
    LONGEST_ACTION,
    Line,
    Part,
    as_many_as_fit,
    fitted_prompt,
    own_reasons,
    place,
    room_beside,
    turn_text,
)
from managers.questions import ChosenTurn, choice_of
from session.commands import plain_command
from session.game_configuration import SimpleMemoryOptions
from session.game_state import GameState
from session.memory import ARRIVAL_TITLE, DEFAULT_CATEGORY, Memory, MemoryStatus
from session.text import (
    TokenCounter,
    counted,
    cut_at,
    cut_middle,
    description_in,
    one_line,
    points_changed,
    prologue_of,
    sentences_of,
    text_key,
    without_padding,
)
from session.values import ENDINGS, GameObject, Location, Seed, TurnRecord
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt

TENTATIVE_HEADING = "⚠️  TENTATIVE MEMORIES (unconfirmed, may be invalidated):"
MARKERS = {"core": " [spawn]", "ephemeral": " [session]"}
LINES_AT_LEAST = 4  # no memory is longer than a quarter of the budget
LONGEST_QUOTE = 200  # characters
LONGEST_COMMAND = 60
LONGEST_RESULT = 50
LONGEST_ARRIVAL = 500  # characters
MEMORIES_SHARE, ELSEWHERE_SHARE = 0.5, 0.15
STEPS_BEFORE = 12  # commands before the shown turns, of a visit that brought points
SHOWN_ABOVE = "(as above)"
TURNS_BELOW = "(below, among all turns played)"
STATES = ("open", "locked", "on", "lit", "worn")
"""Attributes that a player can see, if their numbers are known."""
NO_SIGNALS = "• No strong signals from context"

_SENTENCE = re.compile(r".+?[.!?](?=\s|$)")


def location_text(
    memories: Sequence[Memory],
    done: Sequence[Sequence[TurnRecord]],
    options: SimpleMemoryOptions,
    tokens: TokenCounter,
    *,
    show_markers: bool,
    is_cut: bool,
) -> tuple[str, tuple[int, ...]]:
    """Return the memories as text, and the indices of those in it (specification, Location memory in prompts).

    memories: without superseded ones
    done: for each memory the turns of this game in which was done what it is about
    is_cut: long memories lose their middle, so that a small model is shown several; else only those that are longer
        than the whole room
    """
    longest = tokens.characters(options.max_tokens // LINES_AT_LEAST)
    room = {"SUCCESS": options.max_successful_actions_shown, "FAILURE": options.max_failed_actions_shown}
    lines: dict[int, str] = {}
    newest_first = sorted(
        enumerate(memories), key=lambda each: (each[1].episode, each[1].last_turn, each[0]), reverse=True
    )
    for number, memory in newest_first:
        left = room.get(memory.category, len(memories))
        if left > 0:
            room[memory.category] = left - 1
            marker = MARKERS.get(memory.persistence, "") if show_markers else ""
            head = f"[{memory.category}] {memory.title}: "  # the heading gives the status
            marks = [f"{plain_command(turn.action)} done, turn {turn.turn}" for turn in done[number]]
            marker += f" ({'; '.join(marks)})" if marks else ""
            text = one_line(memory.text)
            if is_cut or len(head) + len(text) > tokens.characters(options.max_tokens):
                head = cut_middle(head, longest)
                text = cut_middle(text, longest - len(head))
            lines[number] = head + text + marker

    def listed(kept: Collection[int]) -> str:
        shown = [lines[each] for each in sorted(kept) if memories[each].status == MemoryStatus.ACTIVE]
        tentative = [f"  {lines[each]}" for each in sorted(kept) if memories[each].status == MemoryStatus.TENTATIVE]
        if tentative:
            shown += ["", TENTATIVE_HEADING, *tentative] if shown else [TENTATIVE_HEADING, *tentative]
        others = 0 if is_cut else len(memories) - len(kept)
        left_out = [f"({counted(others, 'more memory', 'more memories')} left out)"] if others else []
        return "\n".join([*shown, *left_out])

    kept = as_many_as_fit(
        sorted(lines, key=lambda number: (memories[number].is_arrival, memories[number].category != "DANGER")),
        lambda kept: tokens.estimate(listed(kept)) <= options.max_tokens,
        skips=True,
    )
    return listed(kept), tuple(kept)


def shuffled_location(location_id: int, known_ids: Collection[int], seed: Seed) -> int | None:
    """Return the location whose memories are shown at ``location_id`` instead of its own, as a control of ablations.

    The locations with memories (``known_ids``) form a circle in an order drawn from ``seed``, and each is shown the
    memories of the next. Return ``None`` if this location, or every other one, has no memories.
    """
    circle = sorted(known_ids, key=lambda known: (hashlib.sha256(f"{seed} {known}".encode()).digest(), known))
    if location_id not in known_ids or len(circle) == 1:
        return None
    return circle[(circle.index(location_id) + 1) % len(circle)]


def worth_keeping(visit: VisitNews) -> list[ActionOutcome]:
    """Return the outcomes worth remembering, each with a different title, without those already remembered."""
    by_title: dict[str, ActionOutcome] = {}
    for outcome in visit.outcomes:
        record = outcome.record
        if outcome.had_effect:
            is_walk = record.moved and outcome.is_direction
            is_worth_it = record.is_decisive or not is_walk
        elif outcome.seems_failed:
            is_worth_it = not outcome.is_direction
        else:
            is_room = one_line(record.after.text).startswith(outcome.location.label)
            is_worth_it = outcome.is_substantial and not is_room
        if is_worth_it:
            by_title[text_key(title_of(outcome))] = outcome
    known = {text_key(memory.title) for memory in visit.memories if not memory.is_given_up}
    return [outcome for title, outcome in by_title.items() if title not in known]


CUT_SENTENCES = re.compile(r"\(\d+ sentences? left out\)")
"""What replaces the middle sentences of an arrival's text, by :func:`_arrival_text`."""


def brief_question(outcomes: Sequence[ActionOutcome]) -> tuple[Prompt, type[ChosenTurn]]:
    """Return the question which of the outcomes, all of one location, is most worth keeping."""
    here = outcomes[0].location
    name = cut_at(one_line(here.label), LONGEST_COMMAND)
    lines = (turn_text(each.record.turn, f"{title_of(each)} {_text(each)}") for each in outcomes)
    prompt = Prompt(
        fill_prompt("memory_brief"), fill_prompt("memory_brief_visit", location=name, outcomes="\n".join(lines))
    )
    return prompt, choice_of(outcome.record.turn for outcome in outcomes)


def arrival_memory(printed: str, location: Location, episode: int, turn: int) -> Memory | None:
    """Return what the story printed on arrival, ``None`` without a description; ``turn``: the first that shows it."""
    text = _arrival_text(printed, location)
    title = f"{ARRIVAL_TITLE}{one_line(location.label)}"
    return Memory(DEFAULT_CATEGORY, title, episode, str(turn), None, text, "core") if text else None


def _arrival_text(printed: str, location: Location) -> str:
    """Return the outer sentences of a description under the location's name, without lines in brackets."""
    _, *lines = (description_in(printed, location.name) or "").splitlines() or [""]
    shown = [line for line in lines if not (line.strip().startswith("[") and line.strip().endswith("]"))]
    kept = [*sentences_of("\n".join(shown))]
    number = len(kept)
    while kept and len(" ".join(kept)) > LONGEST_ARRIVAL:
        del kept[len(kept) // 2]  # a story often names last what can be taken
    left = [f"({counted(number - len(kept), 'sentence')} left out)"] if 0 < len(kept) < number else []
    middle = (len(kept) + 1) // 2
    return " ".join([*kept[:middle], *left, *kept[middle:]])


def memory_of(outcome: ActionOutcome) -> VisitMemory:
    """Return the memory of an outcome."""
    record, had_effect = outcome.record, outcome.had_effect
    points, shows_more = record.score_change or 0, bool(outcome.revealed) or record.moved
    if points < 0 or record.after.is_defeat:
        category = "DANGER"
    elif points or record.after.ending == "won":
        category = "SUCCESS"
    elif had_effect:
        category = "DISCOVERY" if shows_more else "NOTE"
    else:
        category = "FAILURE" if outcome.seems_failed else "DISCOVERY"
    return VisitMemory(
        turn=record.turn,
        category=category,
        persistence="permanent" if record.is_decisive or shows_more or not had_effect else "ephemeral",
        should_remember=True,
        memory_title=title_of(outcome),
        memory_text=_text(outcome),
    )


def title_of(outcome: ActionOutcome) -> str:
    """Return the command and its result: "`open drawer`: a can of oil"."""
    results = ", ".join(_results(outcome)) or _first_sentence(outcome)
    return f"`{cut_at(one_line(outcome.record.action), LONGEST_COMMAND)}`: {cut_at(results, LONGEST_RESULT)}"


def _results(outcome: ActionOutcome) -> Iterator[str]:
    """Yield the results of the command that the machine shows."""
    change = outcome.record.score_change
    if outcome.record.after.died:
        yield "death"
    if outcome.record.after.ending is not None:
        yield ENDINGS[outcome.record.after.ending]
    if change:
        yield points_changed(change)
    if outcome.destination:
        yield f"leads to {outcome.destination.label}"
    yield from outcome.revealed
    yield from (f"{name} taken" for name in outcome.taken if name not in outcome.revealed)
    yield from (f"{name} laid down" for name in outcome.laid_down)


def _text(outcome: ActionOutcome) -> str:
    """Return the story's words that are not in the title. Words about another location do not count."""
    destination, text = outcome.destination, one_line(outcome.record.after.text)
    words = text
    if destination is not None and not outcome.record.after.is_defeat:
        words = text.partition(destination.label)[0]
    elif not any(_results(outcome)):
        words = text.removeprefix(_first_sentence(outcome))
    words = words.strip() or ("" if destination else text)
    if words:
        return f'"{cut_middle(words, LONGEST_QUOTE)}"'
    return "The story printed nothing." if destination is None else f"The player was then in {destination.label}."


def _first_sentence(outcome: ActionOutcome) -> str:
    text = one_line(outcome.record.after.text)
    found = _SENTENCE.match(text)
    return found[0] if found else text


def visit_prompt(
    visits: Sequence[VisitNews],
    state: GameState,
    characters: int,
    played: Sequence[TurnRecord],
    attribute_names: Mapping[str, int],
    *,
    has_turns: bool = True,
) -> Prompt:
    """Return the prompt that asks what to remember of the visits, in at most ``characters`` characters if possible.

    visits: at least one, each to another location
    played: the turns up to the last news that are shown: :func:`turns_of`
    has_turns: false if a text beside the prompt has them
    """
    outcomes = sorted((each for visit in visits for each in visit.outcomes), key=lambda each: each.record.turn)
    are_several = len(visits) > 1
    fields = {
        "locations": "; ".join(f"{_short(visit.here.label)} (ID: {visit.here.num})" for visit in visits),
        "outcomes": "\n".join(
            turn_text(
                each.record.turn,
                f"{_short(each.record.action)} ({', '.join(_effects(each, state, attribute_names))})",
                *([f"Response: {_short(each.record.response)}"] if each.record.turn < played[0].turn else []),
                at=each.location if are_several else None,
            )
            for each in outcomes
        ),
        "signals": "\n".join(_signals(visits, outcomes, state)) or NO_SIGNALS,
        "visits": "; ".join(
            f"{place(visit.here)}: {_visit_status(visit)}" if are_several else _visit_status(visit) for visit in visits
        ),
    }
    system, templates = fill_prompt("memory"), ["memory_visit"]
    room = room_beside(system, templates, fields, characters)
    fields["elsewhere"] = _elsewhere(visits).fit(int(ELSEWHERE_SHARE * room)).text
    parts, arrivals = _story_parts(visits, state, played), [_arrival_shown(visit) for visit in visits]
    if not has_turns:
        parts = [Part(each.name, [[Line(TURNS_BELOW)]]) if each.name == "actions" else each for each in parts]
    for above in (arrivals, [None] * len(visits)):  # without references if one of the texts has no room
        items = [
            item
            for visit, shown in zip(visits, above, strict=True)
            for item in existing_memories(visit.memories, shown, at=visit.here if are_several else None).items
        ]
        fields["memories"] = Part("memories", items, keeps="best").fit(int(MEMORIES_SHARE * room)).text
        prompt = fitted_prompt(system, templates, fields, parts, characters)
        referred = (visit.here for visit, shown in zip(visits, above, strict=True) if shown is not None)
        if all(_arrival_key(here) in prompt.shows for here in referred):
            break
    return prompt


def _visit_status(visit: VisitNews) -> str:
    if not visit.is_new_place:
        return "RETURN VISIT, known from an earlier episode (no CORE)"
    return "FIRST VISIT" if visit.first else "LATER IN THE EPISODE OF THE FIRST VISIT (no CORE)"


def _elsewhere(visits: Sequence[VisitNews]) -> Part:
    """Return a line for each memory of other locations that may matter here, tentative ones first.

    It is tentative, names a visited location by its number, or is of a location that is an aim of the player.
    """
    here = {visit.here.num for visit in visits}
    others = {room: memories for visit in visits for room, memories in visit.elsewhere.items() if room not in here}
    shown = [
        (room, memory)
        for room, memories in others.items()
        for memory in memories
        if room in visits[-1].aims
        or memory.status == MemoryStatus.TENTATIVE
        or not here.isdisjoint(numbers_named(f"{memory.title} {memory.text}"))
    ]
    shown.sort(key=lambda each: (each[1].episode, each[1].last_turn), reverse=True)
    shown.sort(key=lambda each: each[1].status != MemoryStatus.TENTATIVE)
    lines = [Line(f"{_head(memory, f'Location {room}')}: ", one_line(memory.text)) for room, memory in shown]
    return Part("elsewhere", [[line] for line in lines], keeps="best")


def existing_memories(
    memories: Sequence[Memory], shown_above: Memory | None = None, *, at: Location | None = None
) -> Part:
    """Return a line for each memory with its status; superseded ones last and without text.

    shown_above: the arrival memory, if the prompt contains its text anyway
    at: their location, if the prompt has several
    """
    marks = [] if at is None else [f"Location {at.num}"]
    lines = [
        Line(f"{_head(memory, *marks)}: ", SHOWN_ABOVE if memory is shown_above else one_line(memory.text))
        for memory in memories
        if not memory.is_given_up
    ]
    lines += [Line(_head(memory, *marks)) for memory in memories if memory.is_given_up]
    return Part("memories", [[line] for line in lines], keeps="best")


def _arrival_shown(visit: VisitNews) -> Memory | None:
    """Return the arrival memory if it says what the story printed on this arrival."""
    memory = next((each for each in visit.memories if each.is_arrival and each.status == MemoryStatus.ACTIVE), None)
    is_same = memory and visit.first and _arrival_text(visit.first.arrival_text, visit.here) == one_line(memory.text)
    return memory if is_same else None


def turns_of(visits: Sequence[VisitNews], state: GameState, window: int) -> Sequence[TurnRecord]:
    """Return the turns that the question shows with their texts: ``window`` up to the first news, then all."""
    first = min(each.record.turn for visit in visits for each in visit.outcomes if each not in visit.earlier)
    last = max((visit.outcomes[-1].record for visit in visits), key=lambda record: record.turn)
    most = max(1, max(state.turn_count, last.turn) - first + window)
    played = state.turns[-most:]
    return [*played, last][-most:] if last.turn > state.turn_count else played


def _story_parts(visits: Sequence[VisitNews], state: GameState, played: Sequence[TurnRecord]) -> list[Part]:
    """Return the arrivals, and the latest turns of the episode up to that of the last news."""
    turns, shown_from, here = [], played[0].turn, {visit.here.num for visit in visits}
    outcomes = [each for visit in visits for each in visit.outcomes]
    has_scored = any((outcome.record.score_change or 0) > 0 for outcome in outcomes)
    before = state.turns[max(0, shown_from - 1 - STEPS_BEFORE) : shown_from - 1] if has_scored else ()
    if before:
        steps = "; ".join(
            f"{_short(record.action)}{f' (to {record.after.location_id})' if record.moved else ''}" for record in before
        )
        head = f"From turn {before[0].turn} at {place(before[0].before.location)}, without texts: "
        turns.append([Line(head, steps, weight=len(before))])
    at = {outcome.record.turn: outcome.location for outcome in outcomes}
    texts = [without_padding(visit.first.arrival_text) for visit in visits if visit.first]
    for record in played:
        turn, text = record.turn, without_padding(record.response)
        arrival = next((each for each in texts if each and text.endswith(each)), "")
        if record.moved and record.after.location is not None and record.after.location.num not in here:
            text = _as_before(record, state, shown_from) or text
        elif arrival:
            text = f"{text.removesuffix(arrival)}{SHOWN_ABOVE}"
        where = at.get(turn, record.before.location)
        turns.append(
            [Line(turn_text(turn, _short(record.command_text), at=where)), Line("Response: ", text, turn=turn)]
        )
    reasons = own_reasons(state.turns, shown_from - 1).items()
    reasoning = [[Line(f"Turn {turn}: ", one_line(reason))] for turn, reason in reasons]
    return [
        Part("arrival", [each for visit in visits for each in _arrival(visit, visits, state, shown_from)], empty=""),
        Part("actions", turns, separator="\n\n", others=shown_from - 1 - len(before)),
        Part("reasoning", reasoning),
    ]


def _arrival(visit: VisitNews, visits: Sequence[VisitNews], state: GameState, shown_from: int) -> list[list[Line]]:
    """Return what the story printed when the player came, unless a turn shown or a memory of the arrival has it."""
    here, name, at = visit.here, visit.here.label, f" at {place(visit.here)}" if len(visits) > 1 else ""
    shown = without_padding(visit.first.arrival_text) if visit.first else ""
    text = "\n\n".join(filter(None, (prologue_of(shown, name), description_in(shown, name))))
    if text:
        return [[Line(f"\nOn arrival{at} the story showed: ", text, key=_arrival_key(here))]]
    last = visit.outcomes[-1].record.turn
    earlier = (turn for turn in reversed(state.turns[:last]) if turn.moved and turn.after.location == here)
    came = next(earlier, None)
    known = [each.text for each in visit.memories if each.is_arrival and each.status == MemoryStatus.ACTIVE]
    if came is None or came.turn >= shown_from or _arrival_text(came.after.text, here) in {"", *map(one_line, known)}:
        return []
    text = without_padding(description_in(came.after.text, here.name) or came.after.text)
    return [[Line(f"\nOn arrival{at}, in turn {came.turn}, the story showed: ", text)]]


def _arrival_key(location: Location) -> str:
    return f"arrival {location.num}"


def _as_before(record: TurnRecord, state: GameState, shown_from: int) -> str:
    """Return a note instead of the text of another place that a turn before those shown had printed, too; or ""."""
    text, there = record.after.text, record.after.location
    is_known = any(turn.after.text == text for turn in state.turns[: shown_from - 1])
    return f"{_short(there.label)}, described as before" if there and is_known else ""


def _short(text: str) -> str:
    return cut_at(one_line(text), LONGEST_ACTION)


def _head(memory: Memory, *marks: str) -> str:
    """Return the marks of the memory, with these, and its title, which an answer can copy."""
    active = (memory.status,) if memory.status == MemoryStatus.ACTIVE else ()
    return f"- {memory.headline(memory.category, memory.persistence.upper(), *marks, *active)}"


def _effects(outcome: ActionOutcome, state: GameState, attribute_names: Mapping[str, int]) -> Iterator[str]:
    record = outcome.record
    went_to = outcome.destination.label if outcome.destination else ""
    if record.after.died:
        yield f"DIED{f' and was at {went_to} then' if went_to else ''}"
    else:
        yield f"went to {place(outcome.destination)}" if went_to else "stayed"
    if record.score_change:
        yield f"score {record.score_change:+d}"
    if record.after.ending is not None:
        yield ENDINGS[record.after.ending]
    exchanged = {name for old, new in outcome.replaced for name in (old.name, new)}
    yield from (f"now carries {name}" for name in outcome.taken if name not in exchanged)
    yield from (f"no longer carries {name}" for name in outcome.laid_down if name not in exchanged)
    if outcome.inventory_changed and not (outcome.taken or outcome.laid_down):
        yield "inventory changed"
    yield from (f"{name} came to light" for name in outcome.revealed if name not in outcome.taken)
    for old, new in outcome.replaced:
        yield f"{_known_name(old, state) or 'something'} is gone, {new} is in its place"
    is_named = record.moved or outcome.inventory_changed or record.is_decisive or outcome.revealed or outcome.replaced
    if record.is_key:
        yield "a key, no command"
    elif record.after.awaits_key:
        yield "the story waits for a key"
    elif record.took_no_turn:
        yield "it took no turn of the story"
    elif state.has_effect(record) and not is_named:
        states = [*_changed_states(record, attribute_names), *_gone(record, state)]
        yield from states or [f"something {'in sight changed' if record.rearranged else 'changed, perhaps unseen'}"]


def _known_name(thing: GameObject, state: GameState) -> str:
    """Return the name of a thing as far as the player knows it; "" if it does not."""
    printed = " ".join([state.opening, *(turn.after.text for turn in state.turns)])
    return thing.name if thing.num in state.held else as_printed(thing.name, printed)


def _gone(record: TurnRecord, state: GameState) -> Iterator[str]:
    """Yield each thing with a known name that is no longer in sight."""
    here = record.after.in_reach
    names = (_known_name(thing, state) for num, thing in record.before.in_reach.items() if num not in here)
    yield from (f"{name} no longer in sight" for name in names if name)


def _changed_states(record: TurnRecord, attribute_names: Mapping[str, int]) -> Iterator[str]:
    """Yield what the player is in or on now, and each thing in reach whose state has changed: ``lamp now lit``."""
    was, now = ((each.inside.num, each.inside.label) if each.inside else None for each in (record.before, record.after))
    if was != now:
        yield f"now in or on {one_line(now[1])}" if now else "no longer in or on anything"
    before, names = record.before.in_reach, [each for each in STATES if each in attribute_names]
    for num, thing in record.after.in_reach.items():
        changed = thing.attributes ^ before.get(num, thing).attributes
        states = [
            f"{'now' if attribute_names[name] in thing.attributes else 'no longer'} {name}"
            for name in names
            if attribute_names[name] in changed
        ]
        if states:
            yield f"{one_line(thing.label)} {', '.join(states)}"


def _signals(visits: Sequence[VisitNews], outcomes: Sequence[ActionOutcome], state: GameState) -> Iterator[str]:
    """Yield each signal once, with the turns that give it; ``outcomes``: of all visits, oldest first."""
    turns: dict[str, list[int]] = {}
    new_places = {visit.here.num for visit in visits if visit.is_new_place}
    for visit in visits:
        is_kept = any(memory.is_arrival and not memory.is_given_up for memory in visit.memories)
        if visit.is_new_place and visit.first and visit.first.describes_arrival and not is_kept:
            yield f"• On arrival{f' at {place(visit.here)}' if len(visits) > 1 else ''}: {ARRIVAL} (likely CORE)"
    for outcome in outcomes:
        is_only_noted = outcome.record.did_something and not state.has_effect(outcome.record)
        for words, tier in signals_of(outcome, is_only_noted=is_only_noted):
            if tier == "core" and (outcome.describes_arrival or outcome.location.num not in new_places):
                continue  # what is there from the start is known
            signal = f"{words} (likely {tier.upper()})"
            turns.setdefault(signal, []).append(outcome.record.turn)
    for signal, numbers in turns.items():
        yield f"• Turn{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}: {signal}"

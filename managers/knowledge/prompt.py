"""The questions about what the latest turns show of the game as a whole."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from managers.knowledge.view import by_usefulness, most_useful, numbered_list, size, within
from managers.memory.prompt import last_turn
from managers.objectives.answer import evidence_of
from managers.prompting import (
    LONGEST_ACTION,
    NONE,
    as_many_as_fit,
    first_that_fits,
    fits_budget,
    is_for_a_small_model,
    room_for_fields,
    share_out,
    turn_text,
)
from session.game_state import GameState, PlayedAction
from session.knowledge import INSIGHTS, KnowledgeEntry
from session.memory import LocationMemories, Memory, MemoryStatus
from session.text import TokenCounter, cut_at, cut_middle, one_line
from session.values import Location, TurnRecord
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt

FEWEST_TURNS = 5
LONGEST_NAME = 60  # characters


@dataclass(frozen=True, slots=True)
class LearntTurn:
    """The facts of a turn. Its command and response are in the game state.

    place: name and id of the location in which it began
    facts: points, belongings, a first visit, a death
    score_change: points, 0 where they are not known
    destination: name and id of the location to which it led, "" where the player stayed
    revealed: something came to light that was neither seen nor carried before
    """

    turn: int
    place: str
    facts: tuple[str, ...] = ()
    score_change: int = 0
    died: bool = False
    revealed: bool = False
    destination: str = ""

    @property
    def is_telling(self) -> bool:
        """Whether it changed the score or ended in death; what such a turn shows holds in every episode."""
        return bool(self.score_change) or self.died

    @property
    def is_evidence(self) -> bool:
        """Whether it shows more than what the player did in this episode: it is telling, or revealed something."""
        return self.is_telling or self.revealed


def learnt_turn(record: TurnRecord, visited: Collection[int]) -> LearntTurn:
    """Return the facts of a turn. ``visited``: ids of the locations in which turns of the episode were begun."""
    return LearntTurn(
        turn=record.turn,
        place=_place(record.before.location),
        facts=tuple(fact.text for fact in evidence_of(record, visited)),
        score_change=record.score_change or 0,
        died=record.after.died,
        revealed=bool(record.came_to_light),
        destination=_place(record.after.location) if record.moved else "",
    )


def _place(location: Location | None) -> str:
    return "an unknown place" if location is None else f"{cut_at(location.label, LONGEST_NAME)} ({location.num})"


@dataclass(frozen=True, slots=True)
class Played:
    """What was played and remembered in this episode, as far as a model is asked about it.

    turns: those played since the knowledge was last updated, oldest first
    history: every command of the episode with its response; the first is that of turn 1
    ephemeral, persistent: the memories made in this episode, each with the label of its location
    ephemeral_turns: the turns that showed nothing but what the player did in this episode
    """

    episode: int
    turns: Sequence[LearntTurn]
    history: Sequence[PlayedAction]
    ephemeral: Sequence[tuple[str, Memory]] = ()
    persistent: Sequence[tuple[str, Memory]] = ()
    ephemeral_turns: frozenset[int] = frozenset()


def is_trivial(turns: Sequence[LearntTurn]) -> bool:
    """Tell whether nothing is to be learnt from the turns.

    That is so where none has a fact, or where they are few and none changed the score or ended in death.
    """
    if any(turn.is_telling for turn in turns):
        return False
    return len(turns) < FEWEST_TURNS or not any(turn.facts for turn in turns)


def ephemeral_turns(memories: LocationMemories | None, episode: int, evidence: Collection[int]) -> frozenset[int]:
    """Return the turns of an episode that showed nothing but what the player did in it.

    An ephemeral memory is about them, superseded since or not, and no permanent one is; a core memory tells what was
    there before anything was done. None of them is among the turns that are ``evidence`` by their own facts. Without
    memories there are no such turns.
    """
    if memories is None:
        return frozenset()
    ephemeral = _turns_told(memories.ephemeral_cache, episode)
    lessons = {
        place: [each for each in kept if each.persistence == "permanent"]
        for place, kept in memories.memory_cache.items()
    }
    return frozenset(ephemeral - _turns_told(lessons, episode) - set(evidence))


def what_was_played(
    state: GameState,
    turns: Sequence[LearntTurn],
    memories: LocationMemories | None,
    names: Mapping[int, str],
    evidence: Collection[int],
) -> Played:
    """Return these turns of the episode with the memories made in it.

    names: of locations, by id
    evidence: see :func:`ephemeral_turns`
    """
    episode = state.episode
    return Played(
        episode=episode,
        turns=turns,
        history=[PlayedAction(*entry) for entry in state.action_history],
        ephemeral=_of_episode(episode, memories.ephemeral_cache, names) if memories else (),
        persistent=_of_episode(episode, memories.memory_cache, names) if memories else (),
        ephemeral_turns=ephemeral_turns(memories, episode, evidence),
    )


def _turns_told(memories: Mapping[int, Sequence[Memory]], episode: int) -> set[int]:
    """Return the turns of the episode that any of the memories is about."""
    kept = (memory for at_location in memories.values() for memory in at_location if memory.episode == episode)
    return {turn for memory in kept for turn in memory.span}


def _of_episode(
    episode: int, memories: Mapping[int, Sequence[Memory]], names: Mapping[int, str]
) -> list[tuple[str, Memory]]:
    """Return the memories of an episode that were not superseded, each with the name and id of its location.

    names: of locations, by id
    """
    return [
        (f"{cut_at(names.get(location_id, 'Location'), LONGEST_NAME)} ({location_id})", memory)
        for location_id, at_location in sorted(memories.items())
        for memory in at_location
        if memory.episode == episode and memory.status != MemoryStatus.SUPERSEDED
    ]


KNOWLEDGE_SHARE, EPHEMERAL_SHARE, MEMORIES_SHARE = 0.4, 0.15, 0.15
LEAST_TOLD = 160  # characters of a text that is cut, before others are left out instead
RESPONSE_INDENT = "\n  "
BRIEF_TURNS = 8
BRIEF_ACTION, BRIEF_RESPONSE = 80, 160  # characters


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt, and what an answer to it may refer to.

    known: the lines of knowledge that have a number in the prompt; the first has the number 1
    turns: the turns that the prompt tells, and that may be cited
    """

    prompt: Prompt
    known: tuple[KnowledgeEntry, ...] = ()
    turns: tuple[int, ...] = ()


def wants_brief_prompt(budget: int, tokens: TokenCounter) -> bool:
    """Tell whether a prompt of ``budget`` tokens has to be the brief one."""
    return is_for_a_small_model(budget, "knowledge", tokens)


def update_question(played: Played, entries: Sequence[KnowledgeEntry], budget: int, tokens: TokenCounter) -> Question:
    """Return the question what the turns taught, in at most ``budget`` tokens if that can be done.

    Known lines and memories have a share of the room each; turns have the rest. What never changes is in the system
    role, so that the server can cache it.
    """
    episode = str(played.episode)
    room = room_for_fields("knowledge", "knowledge_play", budget, tokens) - len(episode)
    known = most_useful(entries, int(KNOWLEDGE_SHARE * room))
    numbered = tuple(entry for entry in known if entry.is_ours and entry.section not in INSIGHTS)
    texts = {
        "knowledge": numbered_list(known, numbered),
        "memories": _remembered(played.persistent, int(MEMORIES_SHARE * room)),
        "ephemeral": _remembered(played.ephemeral, int(EPHEMERAL_SHARE * room)),
    }
    turns = _turns_as_text(played, room - sum(map(len, texts.values())))
    play = "\n".join(turns.values()) or NONE
    user = fill_prompt("knowledge_play", episode=episode, play=play, **texts)
    return Question(Prompt(fill_prompt("knowledge"), user), numbered, tuple(turns))


def brief_question(played: Played, budget: int, tokens: TokenCounter) -> Question:
    """Return the question which turn taught most, in at most ``budget`` tokens if that can be done.

    Asked about are the latest turns that scored or killed. There may be no such turn: then the question has no
    ``turns``.
    """
    telling = [turn for turn in played.turns if turn.is_telling]
    questions = (_brief(telling[-count:], played) for count in range(BRIEF_TURNS, 0, -1))
    return first_that_fits(questions, lambda question: fits_budget(question.prompt, budget, tokens))


def consolidation_question(
    entries: Sequence[KnowledgeEntry], excess: int, budget: int, tokens: TokenCounter
) -> Question:
    """Return the question which of the program's lines to merge or cut, in at most ``budget`` tokens.

    The least useful lines are asked about where there is not room for all. ``excess``: how many characters of the
    knowledge are too many.
    """
    figures = {"size": str(size(entries)), "excess": str(excess)}
    system, template = "knowledge_consolidation", "knowledge_consolidation_lines"
    room = room_for_fields(system, template, budget, tokens) - sum(map(len, figures.values()))
    ours = by_usefulness(entry for entry in entries if entry.is_ours)
    least_useful = set(within(reversed(ours), room))
    known = tuple(entry for entry in entries if entry in least_useful)
    user = fill_prompt(template, knowledge=numbered_list(known, known), **figures)
    return Question(Prompt(fill_prompt(system), user), known)


def told_in_brief(turn: LearntTurn, played: PlayedAction) -> str:
    """Return what a turn taught as command and result, with the story's words unless they are about another place."""
    results = [f"{turn.score_change:+d} {'point' if abs(turn.score_change) == 1 else 'points'}"] * bool(
        turn.score_change
    )
    results += ["the player died"] if turn.died else []
    results += [f"leads to {turn.destination}"] if turn.destination and not turn.died else []
    response = cut_middle(one_line(played.response), BRIEF_RESPONSE)
    quote = f': "{response}"' if turn.died or not turn.destination else ""
    return f"`{cut_at(one_line(played.action), BRIEF_ACTION)}` at {turn.place}: {', '.join(results)}{quote}"


def _brief(candidates: Sequence[LearntTurn], played: Played) -> Question:
    lines = (turn_text(turn.turn, told_in_brief(turn, played.history[turn.turn - 1])) for turn in candidates)
    numbers = tuple(turn.turn for turn in candidates)
    user = fill_prompt("knowledge_brief_play", play="\n".join(lines), turns=", ".join(map(str, numbers)))
    return Question(Prompt(fill_prompt("knowledge_brief"), user), turns=numbers)


def _remembered(memories: Sequence[tuple[str, Memory]], characters: int) -> str:
    """Return a line for each of the latest memories that there is room for."""
    latest_first = sorted(memories, key=lambda each: last_turn(each[1]), reverse=True)
    lines = [f"- T{memory.turns}, {place}: {memory.title}: {one_line(memory.text)}" for place, memory in latest_first]
    more = range(2, len(lines) + 1)
    most = 1 + bisect_left(more, True, key=lambda count: share_out(lines[:count], characters - count)[1] < LEAST_TOLD)
    told, _ = share_out(lines[:most], characters - most)
    return "\n".join(told) or NONE


def _turns_as_text(played: Played, characters: int) -> dict[int, str]:
    """Return the turns as text, by number, within so many characters; the oldest are left out for want of room."""
    step = max(1, len(played.turns) // 20)
    forms = (_told(played.turns[first:], played, characters) for first in range(0, len(played.turns) or 1, step))
    texts, _ = first_that_fits(forms, lambda form: form[1] >= LEAST_TOLD)
    latest = as_many_as_fit(reversed(texts), lambda kept: _length(texts[turn] for turn in kept) <= characters)
    return {turn: texts[turn] for turn in reversed(latest)}


def _told(turns: Sequence[LearntTurn], played: Played, characters: int) -> tuple[dict[int, str], float]:
    """Return the turns as text, by number, and how many characters the answers have that were cut in turns with facts.

    Those answers share the room; what they leave goes to the others, which are left out where it is little.
    """
    heads = {turn.turn: _headline(turn, played) for turn in turns}
    room = characters - sum(len(head) + len(RESPONSE_INDENT) + 1 for head in heads.values())
    with_facts, shortest = _answers([turn for turn in turns if turn.facts], played, room)
    left = room - sum(map(len, with_facts.values()))
    others, shortest_other = _answers([turn for turn in turns if not turn.facts], played, left)
    answers = {**with_facts, **(others if shortest_other >= LEAST_TOLD else {})}
    texts = {
        turn: head + (RESPONSE_INDENT + answers[turn] if answers.get(turn) else "") for turn, head in heads.items()
    }
    return texts, shortest


def _answers(turns: Sequence[LearntTurn], played: Played, characters: int) -> tuple[dict[int, str], float]:
    """Return the story's answers by turn, and how many characters those have that had to be cut."""
    responses = [one_line(played.history[turn.turn - 1].response) for turn in turns]
    texts, shortest = share_out(responses, characters)
    return dict(zip((turn.turn for turn in turns), texts, strict=True)), shortest


def _headline(turn: LearntTurn, played: Played) -> str:
    facts = f" [{', '.join(turn.facts)}]" if turn.facts else ""
    mark = " EPHEMERAL" if turn.turn in played.ephemeral_turns else ""
    action = cut_at(one_line(played.history[turn.turn - 1].action), LONGEST_ACTION)
    return turn_text(turn.turn, action, where=f" at {turn.place}{mark}{facts}")


def _length(lines: Iterable[str]) -> int:
    """Return how many characters the lines take, each with its line end."""
    return sum(len(line) + 1 for line in lines)

"""The questions about what the latest turns show of the game as a whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from managers.knowledge.view import by_usefulness, most_useful, numbered_list, size, within
from managers.memory.prompt import last_turn
from managers.objectives.answer import evidence_of
from managers.prompting import (
    LONGEST_ACTION,
    Line,
    Part,
    fit,
    is_for_a_small_model,
    room_beside,
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
    facts: points, possessions, a first visit, a death
    score_change: points, 0 if they are unknown
    destination: name and id of the location to which it led, "" if the player stayed
    revealed: an object appeared that was neither seen nor carried before
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
    """What was played and remembered in this episode, for questions to a model.

    turns: those played since the knowledge was last updated, oldest first
    history: every command of the episode with its response, starting with turn 1
    ephemeral, persistent: the memories made in this episode, each with the label of its location
    ephemeral_turns: the turns whose effects end with this episode
    """

    episode: int
    turns: Sequence[LearntTurn]
    history: Sequence[PlayedAction]
    ephemeral: Sequence[tuple[str, Memory]] = ()
    persistent: Sequence[tuple[str, Memory]] = ()
    ephemeral_turns: frozenset[int] = frozenset()


def is_trivial(turns: Sequence[LearntTurn]) -> bool:
    """Return whether nothing can be learnt from the turns.

    That is the case if none has a fact, or if they are few and none changed the score or ended in death.
    """
    if any(turn.is_telling for turn in turns):
        return False
    return len(turns) < FEWEST_TURNS or not any(turn.facts for turn in turns)


def ephemeral_turns(memories: LocationMemories | None, episode: int, evidence: Collection[int]) -> frozenset[int]:
    """Return the turns of an episode whose effects end with it.

    These are the turns of an ephemeral memory, superseded or not, that no permanent memory covers. A core memory does
    not count, because it describes the place before any action. Turns in ``evidence`` are excluded because of their
    own facts. Without memories there are no such turns.
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
BRIEF_TURNS = 8
BRIEF_ACTION, BRIEF_RESPONSE = 80, 160  # characters


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt and what its answer may refer to.

    known: the lines of knowledge that are numbered in the prompt, starting with 1
    turns: the turns in the prompt, which may be cited
    """

    prompt: Prompt
    known: tuple[KnowledgeEntry, ...] = ()
    turns: tuple[int, ...] = ()


def wants_brief_prompt(budget: int, tokens: TokenCounter) -> bool:
    """Return whether a prompt of ``budget`` tokens must be the brief one."""
    return is_for_a_small_model(budget, "knowledge", tokens)


def update_question(played: Played, entries: Sequence[KnowledgeEntry], budget: int, tokens: TokenCounter) -> Question:
    """Return the question what the turns taught, in at most ``budget`` tokens if possible.

    Known lines and memories have a share of the room each; turns have the rest. What never changes is in the system
    role, so that the server can cache it.
    """
    system, templates, fields = fill_prompt("knowledge"), ["knowledge_play"], {"episode": str(played.episode)}
    room = room_beside(system, templates, fields, budget=budget, tokens=tokens)
    known = most_useful(entries, int(KNOWLEDGE_SHARE * room))
    numbered = tuple(entry for entry in known if entry.is_ours and entry.section not in INSIGHTS)
    fields["knowledge"] = numbered_list(known, numbered)
    memories = [
        _remembered("memories", played.persistent, MEMORIES_SHARE),
        _remembered("ephemeral", played.ephemeral, EPHEMERAL_SHARE),
    ]
    fields.update(fit(memories, room))
    room = room_beside(system, templates, fields, budget=budget, tokens=tokens)
    play, count = Part("play", [_told(turn, played) for turn in played.turns]).fit(room)
    shown = tuple(turn.turn for turn in played.turns)[len(played.turns) - count :]
    user = fill_prompt("knowledge_play", **fields, play=play)
    return Question(Prompt(system, user), numbered, shown)


def brief_question(played: Played, budget: int, tokens: TokenCounter) -> Question:
    """Return the question about which turn taught most, in at most ``budget`` tokens if possible.

    It lists the latest turns that scored or killed. If there are none, the question has no ``turns``.
    """
    telling = [turn for turn in played.turns if turn.is_telling][-BRIEF_TURNS:]
    numbers = tuple(turn.turn for turn in telling)
    system, fields = fill_prompt("knowledge_brief"), {"turns": ", ".join(map(str, numbers))}
    room = room_beside(system, ["knowledge_brief_play"], fields, budget=budget, tokens=tokens)
    lines = [[Line(turn_text(turn.turn, told_in_brief(turn, played.history[turn.turn - 1])))] for turn in telling]
    play, count = Part("play", lines).fit(room)
    shown = numbers[len(numbers) - count :]
    user = fill_prompt("knowledge_brief_play", play=play, turns=", ".join(map(str, shown)))
    return Question(Prompt(system, user), turns=shown)


def consolidation_question(
    entries: Sequence[KnowledgeEntry], excess: int, budget: int, tokens: TokenCounter
) -> Question:
    """Return the question about which of the program's lines to merge or cut, in at most ``budget`` tokens.

    If there is no room for all lines, it lists the least useful ones. ``excess``: by how many characters the
    knowledge is too long.
    """
    figures = {"size": str(size(entries)), "excess": str(excess)}
    system, template = fill_prompt("knowledge_consolidation"), "knowledge_consolidation_lines"
    room = room_beside(system, [template], figures, budget=budget, tokens=tokens)
    ours = by_usefulness(entry for entry in entries if entry.is_ours)
    least_useful = set(within(reversed(ours), room))
    known = tuple(entry for entry in entries if entry in least_useful)
    user = fill_prompt(template, knowledge=numbered_list(known, known), **figures)
    return Question(Prompt(system, user), known)


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


def _remembered(name: str, memories: Sequence[tuple[str, Memory]], share: float) -> Part:
    """Return a line for each memory, the latest first."""
    latest_first = sorted(memories, key=lambda each: last_turn(each[1]), reverse=True)
    lines = [
        Line("- ", f"T{memory.turns}, {place}: {memory.title}: {one_line(memory.text)}")
        for place, memory in latest_first
    ]
    return Part(name, [[line] for line in lines], keeps="best", share=share)


def _told(turn: LearntTurn, played: Played) -> list[Line]:
    """Return a turn; the story's answers to turns with facts get room first."""
    facts = f" [{', '.join(turn.facts)}]" if turn.facts else ""
    mark = " EPHEMERAL" if turn.turn in played.ephemeral_turns else ""
    action, response = map(one_line, played.history[turn.turn - 1])
    head = turn_text(turn.turn, cut_at(action, LONGEST_ACTION), where=f" at {turn.place}{mark}{facts}")
    return [Line(head), Line("  ", response, matters=bool(turn.facts))]

"""Builds the contexts that the agent, the critic and the extractor are shown."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.prompting import (
    CHARACTERS_PER_TOKEN,
    LONGEST_ACTION,
    SHORTEST_REPEATED,
    as_many_as_fit,
    carried_labels,
    fit_sections,
    own_reasons,
    prologue,
    turn_text,
    without_repeats,
)
from managers.transcripts.game_text import GameText, played_turns, story_start
from session.context import AgentContext, Place, PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import counted, cut_at, cut_middle, one_line, out_of, with_numbers, without_padding
from session.values import Observation, Proposal, Rejection, TurnRecord, things_around

REASONED = 3
"""Turns, at least, that are shown with the reasoning behind them."""
LONGEST_LABEL = 200  # characters
LONGEST_LIST = 800  # characters: of belongings, or of things in sight
HISTORY_SHARE, STORY_SHARE, ROOM_SHARE, OPENING_SHARE = 0.5, 0.5, 0.25, 0.125
"""Of the room beside the instructions, the most that each may take."""
GAME = "This game so far"
PREVIOUS, SINCE = "Previous Reasoning and Actions", "Since the arrival here"
NO_REASONING = "(No reasoning recorded)"
NO_RESPONSE = "(No response recorded)"
LONGEST_REASONING = 480  # characters
STANDS_BELOW = "(See Present.)"
NOT_LISTED = ("not_described", "scenery", "concealed")
"""Attributes of objects that the story describes within the description of a room, if at all."""

_WORD = re.compile(r"\w+")
_SMALL_WORDS = frozenset({"a", "an", "and", "in", "of", "on", "some", "the", "to", "with"})


class HistoryTurn(NamedTuple):
    """A turn as text.

    answer: the complete response if the text omits only lines that an earlier turn contains, and none of the latest
        turn, otherwise ""
    """

    text: str
    answer: str


def history_turns(
    played: Sequence[TurnRecord],
    characters: int,
    most: int,
    *,
    reasoned: int | None = None,
    precedes_present: bool = False,
    is_transcript: bool = False,
) -> Iterator[HistoryTurn]:
    """Yield each turn as text, in the order of play: reasoning, command and response.

    The text of a turn depends only on earlier turns, so that the server can cache it (docs/records/specification.md,
    Turn history in prompts).

    characters: room for all responses together
    most: maximum number of turns before the window slides; some room is reserved for each of them
    reasoned: number of latest turns that include the reasoning, as :func:`own_reasons`; ``None`` means all
    precedes_present: the present follows and contains the whole latest response if the latest turn cannot
    is_transcript: include only commands and responses, in the story's own format
    """
    unreasoned = 0 if reasoned is None else max(0, len(played) - reasoned)
    reasons = own_reasons(played, unreasoned)
    left, reserve = characters, characters // (2 * most)
    turn_of_line: dict[str, int] = {}
    for place, record in enumerate(played):
        turn, answer = record.turn, without_padding(record.response)
        shown = without_repeats(answer.splitlines(), turn_of_line)
        room = max(left - reserve * (most - place - 1), reserve)
        is_whole = len(shown) <= room
        if not is_whole:
            stands_below = precedes_present and place == len(played) - 1
            shown = STANDS_BELOW if stands_below else cut_middle(shown, room)
        else:
            turn_of_line |= {
                line: turn for line in answer.splitlines() if len(line) >= SHORTEST_REPEATED
            } | turn_of_line
        left -= len(shown)
        action = cut_at(record.command_text, LONGEST_ACTION)
        reason = reasons.get(turn, "") if place >= unreasoned else ""
        if is_transcript:
            text = f"> {action}\n{shown}"
        elif place < unreasoned or (record.is_of_course and not reason):
            text = turn_text(turn, action, shown)
        else:
            reasoning = cut_middle(reason or NO_REASONING, LONGEST_REASONING)
            text = f"Turn {turn}:\nReasoning: {reasoning}\nAction: {action}\nResponse: {shown or NO_RESPONSE}"
        has_all = is_whole and (shown == answer or place < len(played) - 1)
        yield HistoryTurn(text, answer if has_all else "")


class _Past(NamedTuple):
    """The turns so far as prompt sections, and texts that they contain in full, the latest response last."""

    sections: tuple[PromptSection, ...] = ()
    answers: tuple[str, ...] = ()


class _PromptBudget(NamedTuple):
    """The maximum length of a prompt in tokens, the instructions at its beginning, and the tokens for whole games."""

    tokens: int
    system: str = ""
    games: int = 0

    def share(self, part: float) -> int:
        """Return the given part of the room beside the instructions and the games, in characters.

        The result does not depend on updated token counts, so that texts are cut alike in every turn.
        """
        return max(0, int(((self.tokens - self.games) * CHARACTERS_PER_TOKEN - len(self.system)) * part))


class ContextManager(BaseManager):
    """Orders the sections of a context and keeps it within its token budget.

    The order of sections and what is dropped first are in docs/records/specification.md, Prompt order, Prompt budgets.

    The game so far is shown whole (:class:`GameText`) or, with ``prompt_budgets.history = 0``, as a window of turns,
    which is also the form beyond the budget.
    The latest response and the room's description appear once each.
    """

    def __init__(
        self, logger: Log, config: GameConfiguration, game_state: GameState, **shared: Unpack[SharedParts]
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        numbers = self.attribute_names
        self._not_listed = frozenset(numbers[name] for name in NOT_LISTED if name in numbers)
        # A list of commands names what matters.
        self._shows_whole_room = config.prompt_budgets.game_so_far > 0 and not config.assist
        self._dropped = 0
        self.reset()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._game: GameText | None = None

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "context_manager",
            "state": {"tokens_per_character": round(self.tokens.tokens_per_character, 3)},
            "metrics": {"turns": len(self.game_state.turns), "sections_dropped": self._dropped},
        }

    def add_reasoning(self, turn: int, reasoning: str, action: str) -> None:
        """Record a turn of which only the command and the reasoning behind it are known, for other programs."""
        state, now = self.game_state, self.game_state.latest
        state.record(TurnRecord(state.episode, turn, now, (Proposal(action, reasoning),), (), replace(now, text="")))

    def get_agent_context(
        self,
        observation: Observation,
        learned: Sequence[PromptSection] = (),
        *,
        valid_actions: tuple[str, ...] | None = None,
        rejections: Sequence[Rejection] = (),
        system: str = "",
        turn_limit: int | None = None,
    ) -> AgentContext:
        """Return the agent's context for the next turn, within its token budget.

        valid_actions: the commands from which the agent must choose, or ``None`` if any command is allowed
        system: the instructions, which count towards the budget
        """
        window = self.config.agent.history_window
        slid = len(self.game_state.turns) // window * window
        budget = _PromptBudget(self.config.prompt_budgets.agent, system, self.config.prompt_budgets.game_so_far)
        turn, played = "", self.game_state.turn_count
        if turn_limit is not None:
            left = f", {turn_limit - played} left" if self.config.agent.reasoning_length is None else ""
            turn = f"{played + 1} of {turn_limit}{left}"
        notes = "\n".join(f"{number}. {note}" for number, note in enumerate(self.game_state.notes, start=1))
        opening, reason = "", ""
        pasts: Iterable[_Past] = self._pasts(budget, max(0, slid - window), slid, most=2 * window)
        if budget.games:
            pasts, reason = chain([self._whole_past(budget)], pasts), self._latest_reason()
        elif self.game_state.turn_count:
            opening = cut_middle(prologue(self.game_state), budget.share(OPENING_SHARE))
        rejected = (f"`{cut_at(action, LONGEST_ACTION)}`: {reason}" for action, reason in rejections)
        others = (
            PromptSection("Your notes", notes, 3),
            PromptSection("Your latest reason", reason, 5, Place.HERE),
            PromptSection("Turn", turn, place=Place.PRESENT),
            PromptSection("How the story began", opening, 9, Place.OPENING),
            PromptSection("Not played this turn", _bullets(rejected), place=Place.CHOICE),
            PromptSection("Commands that would do something now", _bullets(valid_actions or ()), place=Place.CHOICE),
            *learned,
        )
        return AgentContext(tuple(self._fitted(budget, observation, pasts, others)))

    def get_critic_context(
        self,
        observation: Observation,
        action: str,
        learned: Sequence[PromptSection] = (),
        *,
        reason: str = "",
        system: str = "",
    ) -> AgentContext:
        """Return the context in which the critic judges a proposed ``action``, within its token budget.

        learned: the sections of the managers; the critic gets those that belong after the history
        reason: why the player proposes the command
        """
        first = max(0, len(self.game_state.turns) - REASONED)
        budget = _PromptBudget(self.config.prompt_budgets.critic, system)
        others = (
            PromptSection("Proposed command", cut_at(action, LONGEST_ACTION), place=Place.CHOICE),
            PromptSection("The player's reason", one_line(reason), 7, Place.CHOICE),
            *(section for section in learned if section.place > Place.HISTORY and not section.is_of_plan),
        )
        pasts = self._pasts(budget, first, first, most=REASONED, priority=3)
        return AgentContext(tuple(self._fitted(budget, observation, pasts, others)))

    def get_extractor_text(self, observation: Observation, *, system: str = "") -> str:
        """Return the story's text for the extractor, cut to its token budget."""
        room = self.config.prompt_budgets.info_ext - self.tokens.estimate(system)
        return self.tokens.cut(without_padding(observation.text), max(room, 1))

    def get_recent_reasoning_formatted(self, num_turns: int = 3) -> str:
        """Return the last ``num_turns`` turns with reasoning, command and response, or "" before the first turn."""
        turns = self.game_state.turns
        latest = turns[max(0, len(turns) - max(0, num_turns)) :]
        room = _PromptBudget(self.config.prompt_budgets.agent).share(HISTORY_SHARE)
        texts = history_turns(latest, room, most=max(1, len(latest)))
        return "\n\n".join(turn.text for turn in texts)

    def _whole_past(self, budget: _PromptBudget) -> _Past:
        """Return the game so far. The turns since the player came to this room follow the map, as in a window."""
        state = self.game_state
        if self._game is None:
            self._game = GameText(story_start(state), budget.games * CHARACTERS_PER_TOKEN)
        for turn in played_turns(state, len(self._game.turns)):
            self._game.add(turn)
        arrival = state.arrival_turn
        sections = (
            PromptSection(GAME, self._game.text(arrival), 1, Place.HISTORY),
            PromptSection(SINCE, self._game.text_since(arrival), 1, Place.SINCE),
        )
        latest = without_padding(state.turns[-1].after.text) if state.turns else ""
        answers = (self._game.text(), latest)[: 1 + self._game.contains_whole(latest)]
        return _Past(tuple(section for section in sections if section.text), answers)

    def _latest_reason(self) -> str:
        """Return the latest reason that the agent wrote, with its turn, which is an earlier one in a course."""
        for turn in reversed(self.game_state.turns if self.config.agent.show_reasoning else ()):
            if not turn.is_of_course:
                return f"Turn {turn.turn}: {one_line(turn.reasoning)}" if turn.reasoning else ""
        return ""

    def _pasts(
        self, budget: _PromptBudget, first: int, middle: int, *, most: int, priority: int = 1
    ) -> Iterator[_Past]:
        """Yield the turns from index ``first`` on, then only those from ``middle`` on, then none."""
        played, is_transcript = self.game_state.turns, not self.config.agent.show_reasoning
        separator = "\n" if is_transcript else "\n\n"
        halves = played[first:middle], played[middle:]
        blocks = list(filter(None, halves))
        for dropped in range(len(blocks) + 1):
            shown = [turn for block in blocks[dropped:] for turn in block]
            turns = history_turns(
                shown,
                budget.share(HISTORY_SHARE),
                most,
                reasoned=len(halves[1]) + REASONED,
                precedes_present=True,
                is_transcript=is_transcript,
            )
            texts: dict[Place, list[str]] = {Place.HISTORY: [], Place.SINCE: []}
            answers = []
            for turn, text in zip(shown, turns, strict=True):
                is_earlier = turn.turn <= self.game_state.arrival_turn
                texts[Place.HISTORY if is_earlier else Place.SINCE].append(text.text)
                answers.append(text.answer)
            last = priority if len(blocks) - dropped == 1 else 8
            sections = [
                PromptSection(title, separator.join(texts[place]), last, place)
                for title, place in ((PREVIOUS, Place.HISTORY), (SINCE, Place.SINCE))
                if texts[place]
            ]
            left_out = shown[0].turn - 1 if shown else 0
            if left_out:
                since = max(0, left_out - self.game_state.arrival_turn)
                is_small = self.config.agent.reasoning_length is not None
                is_mixed = not is_small and sections[0].title == SINCE and since < left_out
                which = f", {since or 'none'} of them since the arrival" if is_mixed else ""
                note = f"({counted(left_out, 'earlier turn')} left out{which})"
                sections[0] = replace(sections[0], text=f"{note}{separator}{sections[0].text}")
            yield _Past(tuple(sections), tuple(answers))

    def _fitted(
        self, budget: _PromptBudget, observation: Observation, pasts: Iterable[_Past], others: Iterable[PromptSection]
    ) -> list[PromptSection]:
        """Return the sections that have a text and fit, sorted by place. Sections of one title are merged."""
        room = self.tokens.characters(budget.tokens) - len(budget.system)
        others = list(others)
        lost: set[str] = set()
        kept: list[PromptSection] = []
        for past in pasts:
            by_title: dict[str, PromptSection] = {}
            learned = (each for each in (*self._now(budget, observation, past), *others) if each.title not in lost)
            for section in (*past.sections, *learned):
                first = by_title.get(section.title)
                if section.text:
                    text = f"{first.text}\n\n{section.text}" if first else section.text
                    shows = (*first.shows, *section.shows) if first else section.shows
                    by_title[section.title] = replace(first or section, text=text, shows=shows)
            wanted = sorted(by_title.values(), key=lambda section: section.place)
            kept = fit_sections(wanted, room)
            lost |= {section.title for section in wanted} - {section.title for section in kept}
            if all(section in kept for section in past.sections):
                break
        self._dropped += len(lost - {section.title for section in kept})
        return kept

    def _now(self, budget: _PromptBudget, observation: Observation, past: _Past) -> Iterator[PromptSection]:
        """Yield the present and the room, without the texts that the past contains."""
        text = without_padding(observation.text)
        is_shown = observation.refusal is None and past.answers[-1:] == (text,)
        facts = []
        if observation.location is not None:
            label = cut_at(observation.location.label, LONGEST_LABEL)
            facts.append(f"Location: {label} (ID: {observation.location.num})")
        if observation.inside is not None:
            facts.append(f"You are in or on: {cut_at(observation.inside.label, LONGEST_LABEL)}")
        here, scenery, within = self._things_here(observation)
        if here:
            facts.append(f"Here: {_listed(here)}")
        if scenery and self._shows_whole_room:
            facts.append(f"Scenery: {_listed(scenery)}")
        if observation.inventory is not None:
            known = {num: thing.label for num, thing in self.game_state.held.items()} | within
            labels = carried_labels(observation, self.attribute_names, known if self._shows_whole_room else None)
            facts.append(f"Inventory: {_listed(labels) or 'nothing'}")
        if observation.score is not None:
            facts.append(f"Score: {out_of(observation.score, observation.max_score)}")
        if observation.awaits_key:
            facts.append(
                "The story waits for one key as the action: a character, `return`, `space`, `escape`, `delete`, "
                "an arrow (`up`, `down`, `left`, `right`), or a function key (`f1`)."
            )
        if not (is_shown and facts):
            speaker = "The story says" if observation.refusal is None else "The command did not reach the story"
            facts.append(f"{speaker}:\n{cut_middle(text, budget.share(STORY_SHARE))}")
        yield PromptSection("Present", "\n".join(facts), place=Place.PRESENT)
        described = observation.location and self.game_state.room_descriptions.get(observation.location.num)
        if not described:
            return
        age = self.game_state.turn_count - described.turn
        is_old = age > self.config.room_description_age_window
        when = f"turn {described.turn}" if described.turn else "at the start"
        when = f" ({when}, some of it may have changed)" if is_old else f" ({when})"
        described_text = without_padding(described.text)
        lines = described_text.splitlines()
        is_shown = any(all(line in each for line in lines) for each in (*past.answers, text))
        shown = "" if is_shown else cut_middle(described_text, budget.share(ROOM_SHARE))
        yield PromptSection(f"ROOM DESCRIPTION{when}:", shown, 4, Place.ROOM)

    def _things_here(self, observation: Observation) -> tuple[list[str], list[str], dict[int, str]]:
        """Return the names of the visible objects, of the scenery, and of what is in carried things, by number.

        Each is named once, and none if they are not known.

        A name that the story has not printed since the player came here, nor in the room's description, would be a hint
        and is left out, unless the player has had the thing. If the story has printed only the last word of a name,
        such as "man", its plural, or one name of a person, that word is listed. A direction names no thing. What
        another thing or a person has is listed after its name. Things of one name are counted if the story has printed
        its plural, or the player has had them.
        """
        state, here = self.game_state, observation.location
        described = state.room_descriptions.get(here.num) if here else None
        played = (turn.after for turn in state.turns[max(state.arrival_turn - 1, 0) :])
        texts = ["" if state.arrival_turn else state.opening, described.text if described else ""]
        story = ".".join(map(_words, (*texts, *(after.text for after in played if not after.awaits_key))))

        def is_printed(name: str) -> bool:
            return bool(name) and _words(name) in story

        known_as, countable = dict[int, str](), set[int]()
        names = Counter[str](), Counter[str]()
        for thing in observation.visible or ():
            words, is_animate = thing.name.split(), thing.num in self.vocabulary.animate
            wanted = [thing.name, *words[-1:], *(word for word in words if is_animate and word.istitle())]
            if "/" in thing.name:
                words = [word for word in thing.words if is_printed(word)]
                wanted = [" ".join(words), "/".join(words)]
            wanted = [name for name in wanted if name and not self.movements.is_direction(name.lower())]
            is_held = thing.num in state.held
            printed = wanted if is_held else [each for each in wanted if "/" in each or is_printed(each)]
            printed = printed or [name for name in wanted if is_printed(f"{name}s")]
            for name in printed[:1]:
                known_as[thing.num] = name
                kind = name.split()[-1]
                if is_held or any(is_printed(kind + end) for end in ("s", "es")):
                    countable.add(thing.num)
        things = {thing.num: thing for thing in observation.visible or () if thing.num in known_as}
        carried = observation.carried
        within = {num: known_as[num] for num in things if not carried.isdisjoint(things_around(num, observation))}
        held: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for thing in [things[num] for num in reversed(things) if num not in within]:  # what a thing has comes after it
            name = known_as.pop(thing.num)
            if thing.num in held:
                name = f"{name} (with {_listed(with_numbers(held[thing.num])[::-1], LONGEST_LIST // 2)})"
            is_scenery = bool(thing.attributes & self._not_listed)
            has_holder = self._shows_whole_room and thing.parent in known_as
            listed = held[thing.parent] if has_holder else names[is_scenery]
            # The first one of a name determines the place.
            listed[name] = max(1, listed.pop(name, 0) + (thing.num in countable))
        scenery = [each for each in reversed(names[True]) if each not in names[False]]
        return with_numbers(names[False])[::-1], scenery, within


def _listed(names: Sequence[str], longest: int = LONGEST_LIST) -> str:
    """Return the first names, within the limit of a list, and the number of the others."""
    names = [cut_at(name, longest) for name in names]
    kept = as_many_as_fit(names, lambda names: len(", ".join(names)) <= longest)
    return ", ".join([*kept, *([f"and {len(names) - len(kept)} more"] if len(kept) < len(names) else [])])


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


@lru_cache(maxsize=1024)  # the texts since the arrival are looked at each turn
def _words(text: str) -> str:
    """Return the words of a text, surrounded by single spaces, so that only whole words match."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "

"""Who plays: a player receives what may be known before a turn, and proposes what to do.

These are the players without a model; ``zorkgpt/players/agent.py`` has the one that calls a model.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from random import Random
from typing import Literal, Protocol

from session.commands import COMMON_COMMANDS, Vocabulary, commands_of
from session.context import AgentContext, OfferedRoute
from session.events import MemoryGiven, Proposed
from session.files.recording import Diverged, Recording
from session.game_configuration import PlayerKind
from session.text import SURROGATE
from session.values import AgentNote, Observation, Proposal


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What a player may know when it proposes a command.

    turn, turns_left: the number of this turn from 1, and how many can follow it at most
    prompt: returns what a language model is shown beside its instructions, which it takes, since they count towards
        the budget; it is built only when it is called
    valid_actions: the commands to choose from; ``None`` if any command is allowed
    routes: the routes that can be followed from here
    offers_ways: the player may follow a route or walk to a location instead
    """

    observation: Observation
    turn: int
    turns_left: int
    prompt: Callable[[str], AgentContext] = field(repr=False)
    valid_actions: tuple[str, ...] | None = None
    routes: tuple[OfferedRoute, ...] = ()
    offers_ways: bool = True

    @property
    def route_choices(self) -> tuple[OfferedRoute, ...]:
        """The routes that belong to the list of commands."""
        return tuple(route for route in self.routes if route.is_listed) if self.valid_actions else ()


@dataclass(frozen=True, slots=True)
class Remember:
    """The player has a memory to store before it proposes a command."""

    memory: MemoryGiven


@dataclass(frozen=True, slots=True)
class Leave:
    """The player ends the episode."""


JudgedBy = Literal["critic", "person", "none"]

JUDGED_BY: Mapping[PlayerKind, JudgedBy] = {
    "model": "critic",
    "random": "critic",
    "person": "person",
    "person-alone": "person",
    "function": "none",
    "client": "none",
}
"""What decides on the proposals of each kind of player; those of a person or a program are played as they are."""


class Player(Protocol):
    """Proposes commands. ``name``: as it is shown to the user."""

    name: str

    def propose(self, context: TurnContext) -> Proposal | Remember | Leave:
        """Return what the player wants to do. Raises ``LanguageModelError``, or what a function raises."""


class Person:
    """Plays what a person types. Each command of a line is a proposal of its own.

    read_command: waits until the person has typed a line, and returns it; ``None`` ends the episode. Raises
        ``WaitInterrupted``
    """

    name = "a person"

    def __init__(self, read_command: Callable[[], str | None], vocabulary: Vocabulary) -> None:
        self._read_command = read_command
        self._vocabulary = vocabulary
        self._typed: list[str] = []

    def propose(self, _context: TurnContext) -> Proposal | Leave:
        """Return the next command."""
        if not self._typed:
            line = self._read_command()
            if line is None:
                return Leave()
            self._typed.extend(commands_of(line, self._vocabulary))
        return Proposal(self._typed.pop(0))


class RandomPlayer:
    """Draws from the commands that it has chosen least often at the location, in all episodes.

    If a route belongs to the list of commands, it follows that. If any command is allowed, it moves at random.
    """

    name = "random"

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311  not used for secrets
        self._tried: Counter[tuple[int | None, str]] = Counter()

    def propose(self, context: TurnContext) -> Proposal:
        """Return a random command."""
        for route in context.route_choices:
            return Proposal(route.choice, follow=route.number)
        place = context.observation.location_id
        choices = context.valid_actions or COMMON_COMMANDS
        least = min(self._tried[place, choice] for choice in choices)
        drawn = self._random.choice([choice for choice in choices if self._tried[place, choice] == least])
        self._tried[place, drawn] += 1
        return Proposal(drawn)


@dataclass(frozen=True, slots=True)
class Action:
    """What a function decides to do, with more than a command.

    command: for the story's parser; only the first of several in a line is played
    reasoning: kept in the record, and shown to the models that learn beside the function
    follow: the number of a route to follow instead of the command; ``until`` is the number, from 1, of its last command
        to play
    go_to: the id of a location to walk to instead of the command
    note: a line that stays in the prompts of the episode
    """

    command: str = "wait"
    reasoning: str = ""
    follow: int | None = None
    until: int | None = None
    go_to: int | None = None
    note: str = ""

    @property
    def wants_way(self) -> bool:
        """Whether it is a route or a walk, so that the command does not count."""
        return self.follow is not None or self.go_to is not None


class FunctionPlayer:
    """Plays what a function returns.

    name: of the function, for messages
    choose: returns a command, an ``Action``, or a memory to store first
    """

    def __init__(self, name: str, choose: Callable[[TurnContext], str | Action | Remember]) -> None:
        self.name = name
        self._choose = choose

    def propose(self, context: TurnContext) -> Proposal | Remember:
        """Return what the function chooses. Its exceptions propagate.

        Raises ``TypeError`` if it returns neither a string nor an ``Action``, or one with a field of another type, and
        ``ValueError`` if the command is empty, cannot be encoded as UTF-8, or is not one of the commands to choose
        from, and for a way that is not offered.
        """
        chosen = self._choose(context)
        if isinstance(chosen, Remember):
            return chosen
        if not isinstance(chosen, str | Action):
            raise TypeError(f"{self.name} returned {chosen!r}; expected a string or an Action")
        action = chosen if isinstance(chosen, Action) else Action(chosen)
        for each in fields(action):
            value = getattr(action, each.name)
            if not isinstance(value, str if isinstance(each.default, str) else int | None):
                problem = f"its {each.name} is {type(value).__name__}; expected {each.type}"
                raise TypeError(f"{self.name} returned an Action: {problem}")
        command = action.command.strip()
        if SURROGATE.search(f"{command}{action.reasoning}{action.note}"):
            raise ValueError(f"{self.name} returned {command!r}, which contains half a surrogate pair")
        if not command:
            raise ValueError(f"{self.name} returned an empty command")
        if not (action.wants_way or not context.valid_actions or command in context.valid_actions):
            raise ValueError(f"{self.name} returned {command!r}, which is not one of the commands to choose from")
        if action.wants_way and not context.offers_ways:
            raise ValueError(f"{self.name} chose a route or a location, which is not possible now")
        return Proposal(
            action=command,
            reasoning=action.reasoning.strip(),
            follow=action.follow,
            go_to=action.go_to,
            until=action.until,
            note=AgentNote(action.note.strip()) if action.note.strip() else None,
        )


class RecordedPlayer:
    """Repeats the recorded proposals, then calls ``player`` and records what it proposes (ADR 31).

    player: ``None`` if the run is only repeated
    require_budget: called before each call; raises ``BudgetSpent``
    """

    plans_ahead = False

    def __init__(self, player: Player | None, recording: Recording, require_budget: Callable[[], None]) -> None:
        self.name = player.name if player else ""
        self._player = player
        self._recording = recording
        self._require_budget = require_budget

    def unasked(self, _context: TurnContext, _step: Proposal | None) -> Proposal | None:
        """Return no proposal: each one is the player's own, also of the only command that it may choose."""
        return None

    def propose(self, context: TurnContext) -> Proposal | Remember | Leave:
        """Return the recorded proposal, else the player's. Raises ``Diverged`` and ``RecordingEnded``."""
        if isinstance(given := self._recording.next_event, MemoryGiven):
            return Remember(given)
        memory: Remember | None = None

        def live() -> Proposed | None:
            nonlocal memory
            if self._player is None:
                raise Diverged(self._recording.difference("a player that is not here proposes a command"))
            self._require_budget()
            start = time.monotonic()
            answer = self._player.propose(context)
            if isinstance(answer, Remember):
                memory = answer
                return None
            seconds = round(time.monotonic() - start, 3)
            return Proposed(None if isinstance(answer, Leave) else answer, seconds)

        proposed = self._recording.get(Proposed, live)
        if memory is not None:
            return memory
        if proposed is None:
            raise Diverged(self._recording.difference("the player proposes a command"))
        return proposed.proposal or Leave()

"""A player that is a program: a Python function, or a client that calls tools."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from session.values import AgentNote, Proposal
from zorkgpt.players.player import Remember, TurnContext

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Action:
    """What a function decides to do, with more than a command.

    reasoning: kept in the record, and shown to the models that learn beside the function
    follow: the number of a route to follow instead of typing the command; ``until`` is its last command to play
    go_to: the id of a location to walk to instead of typing the command
    note: a line that stays in the prompts of the episode
    """

    command: str = "wait"
    reasoning: str = ""
    follow: int | None = None
    until: int | None = None
    go_to: int | None = None
    note: str = ""


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

        Raises ``TypeError`` if it returns neither a string nor an ``Action``, and ``ValueError`` if the command is
        empty, cannot be encoded as UTF-8, or is not one of the commands to choose from, and for a way that is not
        offered.
        """
        chosen = self._choose(context)
        if isinstance(chosen, Remember):
            return chosen
        if not isinstance(chosen, str | Action):
            raise TypeError(f"{self.name} returned {chosen!r}; expected a string or an Action")
        action = chosen if isinstance(chosen, Action) else Action(chosen)
        command = action.command.strip()
        wants_way = action.follow is not None or action.go_to is not None
        if _SURROGATE.search(f"{command}{action.reasoning}{action.note}"):
            raise ValueError(f"{self.name} returned {command!r}, which contains half a surrogate pair")
        if not command or not (wants_way or not context.valid_actions or command in context.valid_actions):
            raise ValueError(f"{self.name} returned {command!r}, which is not one of the commands to choose from")
        if wants_way and not context.offers_ways:
            raise ValueError(f"{self.name} chose a route or a location, which is not possible now")
        return Proposal(
            action=command,
            reasoning=action.reasoning.strip(),
            follow=action.follow,
            go_to=action.go_to,
            until=action.until,
            note=AgentNote(action.note.strip()) if action.note.strip() else None,
        )

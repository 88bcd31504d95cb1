"""The sections of a prompt, and what the agent is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class Place(IntEnum):
    """Where in a prompt a section stands.

    What changes least comes first, so that a server finds the beginning of a prompt in its cache
    (docs/specification.md, Prompt order). What stands after ``HISTORY`` bears on the present moment; the critic is
    shown it, too.
    """

    PLAN = 0
    OPENING = 1
    KNOWLEDGE = 2
    SYNTAX = 3
    OBJECTIVES = 4
    HISTORY = 5
    MAP = 6
    ROOM = 7
    MEMORY = 8
    HERE = 9
    PRESENT = 10
    WARNING = 11
    CHOICE = 12


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A part of a prompt with its Markdown heading.

    priority: the section with the greatest number is dropped first when there is no room; one with 0 is never dropped
        (docs/specification.md, Prompt budgets)
    """

    title: str
    text: str
    priority: int = 0
    place: Place = Place.HERE

    def render(self) -> str:
        """Return the section as Markdown."""
        return f"## {self.title}\n{self.text}"


@dataclass(frozen=True, slots=True)
class OfferedRoute:
    """A route that can be followed at this moment.

    choice: how it stands among commands to choose from
    is_best: no other one can be expected to win more points, as far as it is trusted
    """

    number: int
    choice: str
    is_best: bool = False


@dataclass(frozen=True, slots=True)
class AgentContext:
    """All that the agent may know when it chooses a command.

    sections: those that change rarely come first (docs/specification.md, Prompt order)
    valid_actions: the commands that the agent may choose from; ``None`` where it may choose any
    routes: those that the agent may follow instead of typing a command
    may_travel: whether the agent may name a location to walk to instead
    """

    sections: tuple[PromptSection, ...]
    valid_actions: tuple[str, ...] | None = None
    routes: tuple[OfferedRoute, ...] = ()
    may_travel: bool = False

    def render(self) -> str:
        """Return the sections as one Markdown text."""
        return render_sections(self.sections)


def render_sections(sections: Sequence[PromptSection]) -> str:
    """Return the sections as one Markdown text, in their order."""
    return "\n\n".join(section.render() for section in sections)

"""The sections of a prompt, and the context of the agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from session.text import one_line, quoted


class Place(IntEnum):
    """The position of a section in a prompt.

    Sections that change least come first, so that a server has the beginning of a prompt in its cache
    (docs/records/specification.md, Prompt order). Those after ``HISTORY`` are about the present moment, and are also
    part of the critic's prompt, except sections that refer to the plan.
    """

    GAMES = 0
    PLAN = 1
    OPENING = 2
    KNOWLEDGE = 3
    OBJECTIVES = 4
    HISTORY = 5
    ROOM = 6
    MEMORY = 7
    MAP = 8
    SINCE = 9
    HERE = 10
    PRESENT = 11
    WARNING = 12
    CHOICE = 13


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A part of a prompt with its Markdown heading.

    priority: if the prompt is too long, the section with the highest number is dropped first; 0 is never dropped
        (docs/records/specification.md, Prompt budgets)
    shows: the keys of the known items that the text shows (``managers/known.py``)
    is_of_plan: it addresses the player, or refers to the plan, objectives or notes; the critic is not shown it
    refers_to: the titles of the sections to which the text refers
    instead: replaces the section in a prompt that lacks one of these; without references
    """

    title: str
    text: str
    priority: int = 0
    place: Place = Place.HERE
    shows: tuple[str, ...] = ()
    is_of_plan: bool = False
    refers_to: tuple[str, ...] = ()
    instead: PromptSection | None = None

    def render(self) -> str:
        """Return the section as Markdown."""
        return f"## {one_line(self.title)}\n{quoted(self.text)}"


@dataclass(frozen=True, slots=True)
class OfferedRoute:
    """A route that can be followed at this moment.

    choice: its text in a list of commands
    is_listed: it belongs to a list of commands: it has the highest expected gain, and none was followed in this game
    """

    number: int
    choice: str
    is_listed: bool = False


@dataclass(frozen=True, slots=True)
class AgentContext:
    """Everything that the agent may know when it chooses a command, or the critic when it judges one."""

    sections: tuple[PromptSection, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The sections as Markdown."""
        return tuple(section.render() for section in self.sections)

    @property
    def shows(self) -> tuple[str, ...]:
        """The keys of the known items that the sections show."""
        return tuple(dict.fromkeys(key for section in self.sections for key in section.shows))

    def render(self) -> str:
        """Return the sections as one Markdown text."""
        return "\n\n".join(self.parts)


def render_sections(sections: Sequence[PromptSection]) -> str:
    """Return the sections as one Markdown text, in their order."""
    return "\n\n".join(section.render() for section in sections)

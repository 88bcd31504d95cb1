"""The sections of a prompt, and what the agent is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A part of a prompt with its Markdown heading.

    priority: the section with the greatest number is dropped first when there is no room; one with 0 is never dropped
        (docs/specification.md, Prompt budgets)
    """

    title: str
    text: str
    priority: int = 0

    def render(self) -> str:
        """Return the section as Markdown."""
        return f"## {self.title}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Notes:
    """What the managers have to say about the present moment, as text for a prompt; "" where there is nothing."""

    knowledge: str = ""
    syntax: str = ""
    objectives: str = ""
    map: str = ""
    memory: str = ""
    circling: str = ""


@dataclass(frozen=True, slots=True)
class AgentContext:
    """All that the agent may know when it chooses a command.

    sections: those that change rarely come first (docs/specification.md, Prompt order)
    valid_actions: the commands that the agent may choose from; ``None`` where it may choose any
    """

    sections: tuple[PromptSection, ...]
    valid_actions: tuple[str, ...] | None = None

    def render(self) -> str:
        """Return the sections as one Markdown text."""
        return render_sections(self.sections)


def render_sections(sections: Sequence[PromptSection]) -> str:
    """Return the sections as one Markdown text, in their order."""
    return "\n\n".join(section.render() for section in sections)

"""What a model is shown: named sections in a fixed order, from what changes rarely to the present moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A part of a prompt. ``title`` is its Markdown heading, ``text`` its body, never empty.

    priority: of two sections the one with the greater number is dropped first; 0 is never dropped (decision 26)
    """

    title: str
    text: str
    priority: int = 0

    def render(self) -> str:
        """The section as Markdown."""
        return f"## {self.title}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Notes:
    """What the program has learnt that bears on this moment, as text for a prompt; "" where there is nothing."""

    knowledge: str = ""
    syntax: str = ""
    objectives: str = ""
    map: str = ""
    memory: str = ""
    circling: str = ""


@dataclass(frozen=True, slots=True)
class AgentContext:
    """All that the agent may know when it chooses a command.

    sections: in prompt order (decision 25)
    valid_actions: commands it is held to; ``None`` without that assistance
    """

    sections: tuple[PromptSection, ...]
    valid_actions: tuple[str, ...] | None = None

    def render(self) -> str:
        """The sections as one Markdown text."""
        return render_sections(self.sections)


def render_sections(sections: Sequence[PromptSection]) -> str:
    """The sections as one Markdown text, in their order."""
    return "\n\n".join(section.render() for section in sections)

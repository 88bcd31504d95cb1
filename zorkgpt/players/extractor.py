"""The extractor: reads facts from the story's prose that the machine's memory does not contain.

Source: docs/specification.md, Reading the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from session.values import Reading
from zorkgpt.llm.language_model import LanguageModel, Prompt
from zorkgpt.prompts.loader import fill_prompt


class ReadingAnswer(BaseModel):
    """What a model reads out of the story's latest text."""

    is_room_description: bool = Field(default=False, description="The latest text describes the place as a whole")
    exits: list[str] = Field(default_factory=list, description="Ways out that the latest text names, one word each")
    in_combat: bool = Field(default=False, description="Somebody is fighting the player right now")

    def reading(self) -> Reading:
        """Return the answer as a value."""
        return Reading(self.is_room_description, tuple(self.exits), self.in_combat)


@dataclass(frozen=True, slots=True)
class Extractor:
    """Reads a text of the story with the model for the role ``info_ext``."""

    model: LanguageModel

    @property
    def system_prompt(self) -> str:
        """The fixed instructions."""
        return fill_prompt("extractor")

    def read(self, text: str) -> Reading:
        """Return the model's reading of the story's ``text``. Raises ``LanguageModelError``."""
        prompt = Prompt(system=self.system_prompt, user=text)
        return self.model.complete("info_ext", prompt, ReadingAnswer).value.reading()

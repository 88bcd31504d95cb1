"""A story, known to Jericho or not, played through one door: a command in, one whole ``Observation`` out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from typing_extensions import override

from game_interface.core.affordances import Affordances
from game_interface.core.commands import ENDED, keypress, line_of, refusal
from game_interface.core.endings import judge_ending
from game_interface.core.game import Game, require_command, require_seed
from game_interface.core.machine.dictionary import Dictionary
from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.saved_state import SavedState
from game_interface.core.observer import Observer
from session.errors import GameError
from session.values import StoryFacts

if TYPE_CHECKING:
    from game_interface.core.machine.story import Story
    from session.values import Observation

_SHORT_LINE = 20
"""Letters that every story's text buffer has room for."""
_MOST_TITLE_PAGES = 10
_STATUS_ABOVE = re.compile(r"\A>? ?[^\n]* {3,}(?:Score|Moves|Time): [^\n]*\n")
_STATUS_BELOW = re.compile(r" {60,}[^\n]*\Z")
_LAST_VERSION_WITH_STATUS_LINE = 3


class JerichoGame(Game):
    """A story that is played in this process, which has to be one that may die of a bad story file.

    seed: of the story's random numbers, 1 or more
    use_profile: whether Jericho's own knowledge of the story may be used, where it has any

    After its end the story takes no more commands: ``step`` refuses them until ``reset`` or ``restore``.
    """

    def __init__(self, story: Story, *, seed: int = 1, use_profile: bool = True) -> None:
        require_seed(seed)
        self._story = story
        self._interpreter = Interpreter(story, use_profile=use_profile)
        self._table = ObjectTable(story)
        self._dictionary = Dictionary.of(story)
        self._opening = self._read_opening(seed)
        self._observer = Observer(story, self._table, self._interpreter, self._opening)
        self._affordances = Affordances(
            story, self._dictionary, self._interpreter, self._table, self._observer.attribute_names
        )
        self._facts = StoryFacts(
            path=str(story.path),
            name=story.path.stem,
            sha256=story.sha256,
            version=story.version,
            release=story.release,
            serial=story.serial,
            known=self._interpreter.known,
            max_score=self._interpreter.max_score,
            directions=self._dictionary.directions,
            attribute_names=dict(self._observer.attribute_names),
        )
        self._prompt_address = 0
        self._observation: Observation
        self._begin(self._opening)

    @property
    @override
    def facts(self) -> StoryFacts:
        return self._facts

    @property
    @override
    def observation(self) -> Observation:
        return self._observation

    @override
    def reset(self, seed: int) -> Observation:
        require_seed(seed)
        self._opening = self._read_opening(seed)
        return self._begin(self._opening)

    @override
    def step(self, command: str) -> Observation:
        self._interpreter.require_open()
        require_command(command)
        if self._observation.awaits_key and not self._observation.ending:
            line = keypress(command)
        else:
            reason = self._refusal(command)
            if reason:
                self._observation = replace(self._observation, text=reason, died=False, refusal=reason)
                return self._observation
            line = line_of(command)
        return self._observe(_without_status_line(self._interpreter.send(line), self._story.version))

    @override
    def valid_actions(self) -> tuple[str, ...]:
        self._interpreter.require_open()
        if self._observation.ending or self._interpreter.prompt_address != self._prompt_address:
            return ()
        return self._affordances.valid_actions(self._observation)

    @override
    def save(self) -> SavedState:
        return SavedState(self._story.sha256, self._interpreter.snapshot(), self._observation, self._prompt_address)

    @override
    def restore(self, state: SavedState) -> Observation:
        if state.story != self._story.sha256:
            raise GameError("The saved state belongs to another story file.")
        self._interpreter.restore(state.snapshot)
        self._prompt_address = state.prompt_address
        self._observation = state.observation
        return self._observation

    @override
    def close(self) -> None:
        self._interpreter.close()

    def _read_opening(self, seed: int) -> str:
        """Begin anew and return what the story prints before it asks for a line, page after page."""
        pages = [self._interpreter.reset(seed)]
        while self._interpreter.prompt == "key" and len(pages) < _MOST_TITLE_PAGES:
            pages.append(self._interpreter.send(b""))
        return "\n\n".join(_without_status_line(page, self._story.version) for page in pages)

    def _begin(self, opening: str) -> Observation:
        self._prompt_address = 0
        return self._observe(opening)

    def _refusal(self, command: str) -> str | None:
        if self._observation.ending:
            return ENDED
        longest = self._interpreter.line_room() if len(command) > _SHORT_LINE else _SHORT_LINE
        return refusal(command, self._dictionary.letters, longest)

    def _observe(self, text: str) -> Observation:
        interpreter = self._interpreter
        result = judge_ending(
            text,
            stopped=interpreter.stop is not None,
            victory=interpreter.known and interpreter.victory() > 0,
            defeat=interpreter.known and interpreter.defeat() > 0,
        )
        if not self._prompt_address and interpreter.prompt == "line" and not text.endswith("?"):
            self._prompt_address = interpreter.prompt_address
        self._observation = self._observer.observe(text, result)
        return self._observation


def _without_status_line(text: str, version: int) -> str:
    """Return what the story told, without its status line and prompt.

    Interpreters draw the status line elsewhere on the screen. Here it is in the text: in front of it up to
    version 3 (as it was before the command), behind the prompt from version 4 on, padded to a screen's width.
    """
    if "    " in text:
        status = _STATUS_ABOVE if version <= _LAST_VERSION_WITH_STATUS_LINE else _STATUS_BELOW
        text = status.sub("", text)
    return text.strip().removesuffix(">").rstrip()

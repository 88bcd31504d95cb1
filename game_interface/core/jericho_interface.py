"""A story, known to Jericho or not, played through one door: a command in, one whole Observation out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from game_interface.core.affordances import Affordances
from game_interface.core.arguments import require_command, require_seed
from game_interface.core.commands import ENDED, keypress, normalised, refusal
from game_interface.core.endings import judge_ending
from game_interface.core.machine.attribute_tables import affordances
from game_interface.core.machine.dictionary import Dictionary
from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.saved_state import SavedState
from game_interface.core.machine.story import Story
from game_interface.core.observer import Observer
from game_interface.core.process import trial
from session.closing import Closing
from session.errors import GameError
from session.values import GameObject, Location, Observation, StoryFacts

_SHORT_LINE = 20
"""Letters that every story's text buffer has room for."""
_MOST_TITLE_PAGES = 10
_STATUS_ABOVE = re.compile(r"\A>? ?[^\n]* {3,}(?:Score|Moves|Time): [^\n]*\n")
_STATUS_BELOW = re.compile(r" {60,}[^\n]*\Z")
_LAST_VERSION_WITH_STATUS_LINE = 3


class JerichoInterface(Closing):
    """One story being played in this process; see ``game.Game`` for what each method promises.

    rom_path: the story file; a bad one raises ``StoryError``
    seed: of the story's random numbers, 1 or more
    use_profile: whether Jericho's own knowledge of the story may be used, where it has any
    expendable: this process may die of a bad story file, so none other has to try it first

    After its end the story takes no more commands: ``step`` refuses them until ``reset`` or ``restore``.
    After ``close`` every method raises ``GameError``; the facts and the latest observation can still be read.
    """

    def __init__(
        self, rom_path: str | Path, *, seed: int = 1, use_profile: bool = True, expendable: bool = False
    ) -> None:
        require_seed(seed)
        self._story = story = Story.load(Path(rom_path))
        if not expendable:
            trial.require_loadable(story)
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
    def facts(self) -> StoryFacts:
        """What is fixed for the story file."""
        return self._facts

    @property
    def observation(self) -> Observation:
        """The latest observation."""
        return self._observation

    def reset(self, seed: int) -> Observation:
        """The story is at its opening, its random numbers drawn from ``seed``."""
        require_seed(seed)
        self._opening = self._read_opening(seed)
        return self._begin(self._opening)

    def step(self, command: str) -> Observation:
        """The story has answered ``command``; or its parser must not see it, and the observation says why."""
        self._interpreter.require_open()
        require_command(command)
        if self._observation.awaits_key and not self._observation.ending:
            line = keypress(command)
        else:
            reason = self._refusal(command)
            if reason:
                self._observation = replace(self._observation, text=reason, died=False, refusal=reason)
                return self._observation
            line = normalised(command).encode("ascii")
        return self._observe(_without_status_line(self._interpreter.send(line), self._story.version))

    def valid_actions(self) -> tuple[str, ...]:
        """Commands that would change the world now, one for each outcome."""
        if self._present().ending or self._interpreter.prompt_address != self._prompt_address:
            return ()
        return self._affordances.valid_actions(self._observation)

    def save(self) -> SavedState:
        """The whole state."""
        return SavedState(self._story.sha256, self._interpreter.snapshot(), self._observation, self._prompt_address)

    def restore(self, state: SavedState) -> Observation:
        """The story is where ``state`` was saved."""
        if state.story != self._story.sha256:
            raise GameError("The saved state belongs to another story file.")
        self._interpreter.restore(state.snapshot)
        self._prompt_address = state.prompt_address
        self._observation = state.observation
        return self._observation

    def close(self) -> None:
        """The interpreter is gone."""
        self._interpreter.close()

    def start(self) -> str:
        """The opening text; the story is not touched, since it is ready from the beginning (decision 4)."""
        self._interpreter.require_open()
        return self._opening

    def send_command(self, command: str) -> str:
        """The text of ``step(command)``."""
        return self.step(command).text

    def get_location_structured(self) -> Location | None:
        """Where the player is."""
        return self._present().location

    def get_inventory_structured(self) -> list[GameObject]:
        """What the player carries; empty also where the story does not let us know."""
        return list(self._present().inventory or ())

    def get_visible_objects_in_location(self) -> list[GameObject]:
        """What can be seen besides; empty also where the story does not let us know."""
        return list(self._present().visible or ())

    def get_object_attributes(self, obj: GameObject | Location) -> dict[str, bool] | None:
        """What ``obj`` is and allows now (``takeable``, ``open`` ...); ``None`` where attributes have no names."""
        self._interpreter.require_open()
        names = self._observer.attribute_names
        return affordances(names, self._table.attributes(self._interpreter.memory, obj.num)) if names else None

    def get_valid_verbs(self) -> list[str]:
        """The verbs of the story's own dictionary, cut as the dictionary cuts them."""
        self._interpreter.require_open()
        return list(self._dictionary.verbs)

    def get_score(self) -> tuple[int | None, int | None]:
        """Score and moves (decision 4)."""
        present = self._present()
        return present.score, present.moves

    def get_valid_actions(self) -> list[str]:
        """The same as ``valid_actions``."""
        return list(self.valid_actions())

    def _read_opening(self, seed: int) -> str:
        """What the story prints before it asks for a line; pages that wait for a key are turned."""
        pages = [self._interpreter.reset(seed)]
        while self._interpreter.prompt == "key" and len(pages) < _MOST_TITLE_PAGES:
            pages.append(self._interpreter.send(b""))
        return "\n\n".join(_without_status_line(page, self._story.version) for page in pages)

    def _begin(self, opening: str) -> Observation:
        self._prompt_address = 0
        return self._observe(opening)

    def _present(self) -> Observation:
        """The latest observation of a story that can be asked."""
        self._interpreter.require_open()
        return self._observation

    def _refusal(self, command: str) -> str | None:
        if self._observation.ending:
            return ENDED
        longest = self._interpreter.line_room() if len(command) > _SHORT_LINE else _SHORT_LINE
        return refusal(command, letters=self._dictionary.letters, longest=longest)

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
    """What the story told, without its status line and prompt.

    Interpreters draw the status line elsewhere on the screen. Here it is in the text: in front of it up to
    version 3 (as it was before the command), behind the prompt from version 4 on, padded to a screen's width.
    """
    if "    " in text:
        status = _STATUS_ABOVE if version <= _LAST_VERSION_WITH_STATUS_LINE else _STATUS_BELOW
        text = status.sub("", text)
    return text.strip().removesuffix(">").rstrip()

"""The game for Python programs: opens any story file safely and plays it in this process."""

from __future__ import annotations

from pathlib import Path

from jericho.defines import BINDINGS_DICT

from game_interface.core.isolated import IsolatedGame
from game_interface.core.jericho_game import JerichoGame
from game_interface.core.machine.attribute_tables import named_attributes
from game_interface.core.machine.story import Story
from session.values import GameObject, Location, Observation, Seed

_loadable: set[str] = set()
"""SHA-256 of the files that opened in a child process; a bad one could crash this process."""


class JerichoInterface(JerichoGame):
    """A ``JerichoGame`` with getters for single values. An unknown story is first tried in another process.

    rom_path: the story file; a bad one raises ``StoryError``

    After ``close`` every method raises ``GameError``; the facts and the latest observation remain readable.
    """

    def __init__(self, rom_path: str | Path, *, seed: Seed = 1, use_profile: bool = True) -> None:
        story = Story.load(Path(rom_path))
        if story.md5 not in BINDINGS_DICT and story.sha256 not in _loadable:
            IsolatedGame(rom_path).close()
            _loadable.add(story.sha256)
        super().__init__(story, seed=seed, use_profile=use_profile)

    def start(self) -> str:
        """Return the opening text without changing the story, which is ready from construction."""
        self._interpreter.require_open()
        return self._opening

    def send_command(self, command: str) -> str:
        """Play ``command`` and return the text of the observation."""
        return self.step(command).text

    def get_location_structured(self) -> Location | None:
        """Return the player's location; ``None`` if it is unknown."""
        return self._present().location

    def get_inventory_structured(self) -> list[GameObject]:
        """Return the objects that the player carries; also empty if they are unknown."""
        return list(self._present().inventory or ())

    def get_visible_objects_in_location(self) -> list[GameObject]:
        """Return the visible objects that are not carried; also empty if they are unknown."""
        return list(self._present().visible or ())

    def get_object_attributes(self, obj: GameObject | Location | None) -> dict[str, bool]:
        """Return the current attributes of ``obj`` by name (``takeable``, ``open``).

        Empty if the names of the story's attributes are unknown, and for ``None`` (an unknown location).
        """
        self._interpreter.require_open()
        names = self._observer.attribute_names
        if obj is None or not names:
            return {}
        return named_attributes(names, self._table.entry(self._interpreter.memory, obj.num).attributes)

    def get_valid_verbs(self) -> list[str]:
        """Return the verbs as the story's dictionary truncates them, without those for testing the story."""
        self._interpreter.require_open()
        return [verb for verb in self._dictionary.verbs if verb.isalpha()]

    def is_dead(self) -> bool:
        """Return whether the player died in the latest step."""
        return self._present().died

    def get_score(self) -> tuple[int | None, int | None]:
        """Return score and moves, each ``None`` if unknown."""
        present = self._present()
        return present.score, present.moves

    def get_valid_actions(self) -> list[str]:
        """Return ``valid_actions()`` as a list."""
        return list(self.valid_actions())

    def _present(self) -> Observation:
        self._interpreter.require_open()
        return self.observation

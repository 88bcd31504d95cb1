"""The game for Python programs: any story file, opened safely and played in this process."""

from __future__ import annotations

from pathlib import Path

from game_interface.core.jericho_game import JerichoGame
from game_interface.core.machine.attribute_tables import named_attributes
from game_interface.core.machine.dictionary import whole_verb
from game_interface.core.machine.story import Story
from game_interface.core.process.trial import require_loadable
from session.values import GameObject, Location, Observation, Seed


class JerichoInterface(JerichoGame):
    """A ``JerichoGame`` whose story file was tried in another process first, with a method for each thing to look up.

    rom_path: the story file; a bad one raises ``StoryError``
    seed: of the story's random numbers
    use_profile: whether Jericho's own knowledge of the story may be used, where it has any

    After ``close`` every method raises ``GameError``; the facts and the latest observation can still be read.
    """

    def __init__(self, rom_path: str | Path, *, seed: Seed = 1, use_profile: bool = True) -> None:
        story = Story.load(Path(rom_path))
        require_loadable(story)
        super().__init__(story, seed=seed, use_profile=use_profile)

    def start(self) -> str:
        """Return the opening text. The story is not touched: it is ready from the beginning."""
        self._interpreter.require_open()
        return self._opening

    def send_command(self, command: str) -> str:
        """Play ``command`` and return the text of the observation."""
        return self.step(command).text

    def get_location_structured(self) -> Location | None:
        """Return where the player is; ``None`` where the story does not let us know."""
        return self._present().location

    def get_inventory_structured(self) -> list[GameObject]:
        """Return what the player carries; empty also where the story does not let us know."""
        return list(self._present().inventory or ())

    def get_visible_objects_in_location(self) -> list[GameObject]:
        """Return what can be seen and is not carried; empty also where the story does not let us know."""
        return list(self._present().visible or ())

    def get_object_attributes(self, obj: GameObject | Location | None) -> dict[str, bool]:
        """Return what ``obj`` is and allows now (``takeable``, ``open``).

        Empty where the story's attributes have no names that are known, and for ``None``, as where the player is in no
        known location.
        """
        self._interpreter.require_open()
        names = self._observer.attribute_names
        if obj is None or not names:
            return {}
        return named_attributes(names, self._table.attributes(self._interpreter.memory, obj.num))

    def get_valid_verbs(self) -> list[str]:
        """Return the verbs of the story's own dictionary that players type, without those that only test the story.

        A verb that the dictionary cuts off is completed where a word is known for it.
        """
        self._interpreter.require_open()
        return [whole_verb(verb, self._dictionary.letters) for verb in self._dictionary.verbs if verb.isalpha()]

    def is_dead(self) -> bool:
        """Return whether the player died of the latest command."""
        return self._present().died

    def get_score(self) -> tuple[int | None, int | None]:
        """Return score and moves; ``None`` for what the story does not let us know."""
        present = self._present()
        return present.score, present.moves

    def get_valid_actions(self) -> list[str]:
        """Return what ``valid_actions`` finds, as a list."""
        return list(self.valid_actions())

    def _present(self) -> Observation:
        self._interpreter.require_open()
        return self.observation

"""Learns which forms of commands the story's parser accepts, from the turns of all runs."""

from __future__ import annotations

from functools import partial

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.lexicon.document import FormTrial, Lexicon, form_trial_of, parse_lexicon, working_forms
from managers.prompting import CHARACTERS_PER_TOKEN
from session.context import Place, PromptSection
from session.events import EpisodeEnd
from session.files.document_store import DocumentStore
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Observation, TurnRecord

LEXICON_FILE = "lexicon.json"
REFRESH_INTERVAL = 25  # turns
SYNTAX_TOKENS = 60  # of the forms that models are shown


class LexiconManager(BaseManager):
    """Owns ``lexicon.json`` in the work folder, which counts the results of each form of command at each location.

    Each turn is counted at once. The file and the prompt section change only in these cases, so that the server can
    cache the beginning of the prompt:

    - when the first form has worked
    - every ``REFRESH_INTERVAL`` turns
    - when an episode begins or ends

    Runs that share the folder add to each other's counts.

    Raises ``StoreError`` if the file cannot be read.
    """

    files = (SharedFile(LEXICON_FILE),)

    def __init__(
        self, logger: Log, config: GameConfiguration, game_state: GameState, **shared: Unpack[SharedParts]
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        path = config.zork_game_workdir / LEXICON_FILE
        self._store: DocumentStore[Lexicon, FormTrial] = DocumentStore(path, partial(parse_lexicon, path=path))
        self.stores = (self._store,)
        self._shown = working_forms(self._store.document)

    @property
    def lexicon(self) -> Lexicon:
        """The counts of all forms, including the latest turn."""
        return self._store.document

    @override
    def learn(self, record: TurnRecord) -> None:
        trial = form_trial_of(record, self.vocabulary, self.movements)
        if trial is not None:
            self._store.defer(trial)
        if record.turn % REFRESH_INTERVAL == 0:
            self.show_all()
        elif not self._shown.examples:
            self._shown = working_forms(self.lexicon)

    @override
    def end(self, end: EpisodeEnd) -> None:
        self._write_soon()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._store.refresh()
        self.show_all()

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        return PromptSection("COMMAND SYNTAX", self.text(SYNTAX_TOKENS), 5, Place.SYNTAX)

    def text(self, tokens: int) -> str:
        """Return a command for each form that worked, in at most ``tokens`` tokens; "" if none has worked."""
        return self._shown.text(tokens * CHARACTERS_PER_TOKEN)

    def latest_text(self) -> str:
        """Return the text of the section, including the latest turn."""
        return working_forms(self.lexicon).text(SYNTAX_TOKENS * CHARACTERS_PER_TOKEN)

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "lexicon",
            "state": {"file": str(self._store.path)},
            "metrics": {
                "forms": len(self.lexicon.forms),
                "working": len(self._shown.examples),
                "unsaved": self._store.unsaved,
            },
        }

    def show_all(self) -> None:
        """Update the prompt section, and write all counts with the next commit."""
        self._shown = working_forms(self.lexicon)
        self._write_soon()

    def _write_soon(self) -> None:
        self._store.demand()
        if not self._store.holds:
            self.commit()

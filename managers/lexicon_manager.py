"""Learns which forms of commands this story's parser takes, from the turns of all runs."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial

from structlog.typing import FilteringBoundLogger
from typing_extensions import Self, override

from managers.base_manager import BaseManager, ManagerParts, ManagerStatus
from managers.lexicon.document import FormTrial, Lexicon, form_trial_of, parse_lexicon, working_forms
from managers.prompting import CHARACTERS_PER_TOKEN
from session.commands import Vocabulary
from session.context import Place, PromptSection
from session.events import EpisodeEnd
from session.files.document_store import DocumentStore
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Observation, TurnRecord
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

LEXICON_FILE = "lexicon.json"
REFRESH_INTERVAL = 25  # turns
SYNTAX_TOKENS = 60  # of the forms that models are shown


class LexiconManager(BaseManager):
    """Keeps ``lexicon.json`` in the work folder, which counts how each form of command fared at each location.

    Each turn is counted at once. The file and what is shown change only when the first form has worked, every
    ``REFRESH_INTERVAL`` turns, and when an episode begins or ends, so that the beginning of a prompt stays in the
    server's cache. Runs that share the folder add to each other's counts.

    vocabulary, directions: the story's own words, and those of them that move the player

    Raises ``StoreError`` where the file cannot be read.
    """

    def __init__(
        self,
        logger: logging.Logger | FilteringBoundLogger,
        config: GameConfiguration,
        game_state: GameState,
        vocabulary: Vocabulary,
        *,
        directions: Iterable[str] = (),
    ) -> None:
        super().__init__(logger, config, game_state)
        self.path = config.zork_game_workdir / LEXICON_FILE
        self._vocabulary = vocabulary
        self._movements = MovementAnalyzer(directions)
        self._store: DocumentStore[Lexicon, FormTrial] = DocumentStore(
            self.path, partial(parse_lexicon, path=self.path)
        )
        self._shown = working_forms(self._store.document)

    @property
    def lexicon(self) -> Lexicon:
        """All that is known of the forms, up to the latest turn."""
        return self._store.document

    @classmethod
    def build(cls, parts: ManagerParts) -> Self:
        """Make the manager with the words of the story."""
        directions = parts.story.directions
        return cls(parts.logger, parts.config, parts.game_state, parts.vocabulary, directions=directions)

    @classmethod
    @override
    def shared_files(cls, config: GameConfiguration) -> tuple[SharedFile, ...]:
        del config
        return (SharedFile(LEXICON_FILE),)

    @override
    def stores(self) -> tuple[DocumentStore[Lexicon, FormTrial], ...]:
        return (self._store,)

    def learn(self, record: TurnRecord) -> None:
        """Count a turn. Raises ``StoreError`` where it is time to write the file, and that cannot be written."""
        trial = form_trial_of(record, self._vocabulary, self._movements)
        if trial is not None:
            self._store.defer(trial)
        if record.turn % REFRESH_INTERVAL == 0:
            self.show_all()
        elif not self._shown.examples:
            self._shown = working_forms(self._store.document)

    def end(self, end: EpisodeEnd) -> None:
        """Let nothing wait longer than for the next commit. Raises ``StoreError``."""
        del end
        self._write_soon()

    def reset(self, game_state: GameState | None = None) -> None:
        """Read what other runs have added to the file, and show all that is known. Raises ``StoreError``."""
        super().reset(game_state)
        self._store.refresh()
        self.show_all()

    def section(self, observation: Observation) -> PromptSection | None:
        """Return a command for each form that worked."""
        del observation
        return PromptSection("COMMAND SYNTAX", self.text(SYNTAX_TOKENS), 5, Place.SYNTAX)

    def text(self, tokens: int) -> str:
        """Return a command for each form that worked, in at most so many tokens; "" where nothing is known.

        The text changes with the first form and then every ``REFRESH_INTERVAL`` turns.
        """
        return self._shown.text(tokens * CHARACTERS_PER_TOKEN)

    def latest_text(self, tokens: int) -> str:
        """Return the same up to the latest turn."""
        return working_forms(self._store.document).text(tokens * CHARACTERS_PER_TOKEN)

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "lexicon",
            "state": {"file": str(self.path)},
            "metrics": {
                "forms": len(self.lexicon.forms),
                "working": len(self._shown.examples),
                "unsaved": self._store.unsaved,
            },
        }

    def show_all(self) -> None:
        """Show all that is known, and write it soon."""
        self._shown = working_forms(self._store.document)
        self._write_soon()

    def _write_soon(self) -> None:
        """Let nothing wait longer than for the next commit."""
        self._store.demand()
        if not self._store.holds:
            self.commit()

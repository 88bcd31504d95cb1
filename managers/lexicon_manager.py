"""Learns which forms of commands this story's parser takes, from the turns of all runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from managers.base_manager import BaseManager, ManagerStatus
from managers.lexicon.document import FormTrial, Lexicon, parse_lexicon
from managers.lexicon.forms import form_trial_of
from managers.lexicon.view import FormsByOutcome, forms_anywhere, forms_at
from managers.prompting import CHARACTERS_PER_TOKEN
from session.files.document_store import DocumentStore, StoreState
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable

    from structlog.typing import FilteringBoundLogger

    from session.files.document_store import Watch
    from session.game_configuration import GameConfiguration
    from session.game_state import GameState
    from session.values import TurnRecord
    from session.vocabulary import Vocabulary

LEXICON_FILE = "lexicon.json"
REFRESH_INTERVAL = 25  # turns
SYNTAX_TOKENS = 150  # of the forms that the agent is shown
LOCAL_TOKENS = 60


@dataclass(frozen=True, slots=True)
class LexiconState:
    """What a snapshot has to hold of the lexicon: the turns that are not yet in the file, and what is shown."""

    file: StoreState[FormTrial] = field(default_factory=StoreState)
    shown: FormsByOutcome = field(default_factory=FormsByOutcome)

    def committed(self) -> LexiconState:
        """Return the state after a commit, when everything that was due is in the file."""
        return replace(self, file=self.file.committed())


class LexiconManager(BaseManager):
    """Keeps ``lexicon.json`` in the work folder, which counts how each form of command fared at each location.

    Each turn is counted at once, but the file and what is shown change only every ``REFRESH_INTERVAL`` turns and when
    an episode begins or ends, so that the beginning of a prompt stays in the server's cache. Runs that share the folder
    add to each other's counts.

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
        self._shown = forms_anywhere(self._store.document)

    @property
    def lexicon(self) -> Lexicon:
        """All that is known of the forms, up to the latest turn."""
        return self._store.document

    @property
    def digest(self) -> str:
        """Of the file as it stands or is about to, 64 hex digits."""
        return self._store.digest

    def learn(self, record: TurnRecord) -> None:
        """Count a turn. Raises ``StoreError`` where it is time to write the file, and that cannot be written."""
        trial = form_trial_of(record, self._vocabulary, self._movements)
        if trial is not None:
            self._store.defer(trial)
        if record.turn % REFRESH_INTERVAL == 0:
            self.conclude()

    def conclude(self) -> None:
        """What is shown is what is known, and nothing waits longer than for the next commit. Raises ``StoreError``."""
        self._shown = forms_anywhere(self._store.document)
        self._store.demand()
        if not self._store.holds:
            self.commit()

    def reset(self, game_state: GameState | None = None) -> None:
        """Read what other runs have added to the file, and show all that is known. Raises ``StoreError``."""
        super().reset(game_state)
        self._store.refresh()
        self.conclude()

    def hold(self, watch: Watch) -> None:
        """The file changes in :meth:`commit` alone, and looks at it are told to ``watch``."""
        self._store.hold(watch)

    def commit(self) -> None:
        """What is due is in the file, and what others wrote is known. Raises ``StoreError``; it stays due then."""
        self._store.commit()
        self._store.refresh()

    def state(self) -> LexiconState:
        """What a snapshot has to hold."""
        return LexiconState(self._store.state(), self._shown)

    def restore(self, state: LexiconState) -> None:
        """The lexicon stands as it did when ``state`` was taken. Raises ``StoreError``."""
        self._store.restore(state.file)
        self._shown = state.shown

    def text(self, tokens: int) -> str:
        """Return how the forms fared anywhere, in at most so many tokens; "" where nothing is known.

        The text changes every ``REFRESH_INTERVAL`` turns only.
        """
        return self._shown.text(tokens * CHARACTERS_PER_TOKEN)

    def local_text(self, location_id: int) -> str:
        """Return how the forms fared at a location, up to the latest turn, in at most ``LOCAL_TOKENS`` tokens."""
        return forms_at(self._store.document, location_id).text(LOCAL_TOKENS * CHARACTERS_PER_TOKEN)

    def known_at(self, location_id: int) -> str:
        """Return how the forms fared anywhere, and then how they fared at a location."""
        return "\n".join(filter(None, (self.text(SYNTAX_TOKENS), self.local_text(location_id))))

    def get_status(self) -> ManagerStatus:
        """Return where the file is, and how many forms are known and shown."""
        shown = self._shown
        return {
            "type": "lexicon",
            "state": {"file": str(self.path)},
            "metrics": {
                "forms": len(self.lexicon.forms),
                "working": len(shown.working),
                "understood": len(shown.understood),
                "refused": len(shown.refused),
                "unsaved": self._store.unsaved,
            },
        }

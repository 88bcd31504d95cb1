"""What worked here: the forms of commands that this story's parser took, from what runs have seen of it alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from managers.base_manager import BaseManager, ManagerStatus
from managers.lexicon.document import Lexicon, Sighting, parse_lexicon
from managers.lexicon.forms import sighting_of
from managers.lexicon.view import Summary, local_summary, summary
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
CHARACTERS_PER_TOKEN = 4  # fixed: the measured ratio drifts, and a text that is cut elsewhere undoes a cache
SYNTAX_TOKENS = 150  # of the forms that the agent is shown
LOCAL_TOKENS = 60


@dataclass(frozen=True, slots=True)
class LexiconState:
    """What a snapshot has to hold of the lexicon: turns not yet in the file, and what is shown at present."""

    file: StoreState[Sighting] = field(default_factory=StoreState)
    shown: Summary = field(default_factory=Summary)

    def committed(self) -> LexiconState:
        """The same once what is due has reached the file."""
        return replace(self, file=self.file.committed())


class LexiconManager(BaseManager):
    """Owns ``lexicon.json`` in the work folder.

    Each turn is counted at once. It goes to the file, and what is shown changes, every ``REFRESH_INTERVAL`` turns and
    when an episode begins or ends, so that a prompt's prefix stays cached (decision 25). Runs that share the folder
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
        self._store: DocumentStore[Lexicon, Sighting] = DocumentStore(self.path, partial(parse_lexicon, path=self.path))
        self._shown = summary(self._store.document)

    @property
    def lexicon(self) -> Lexicon:
        """All that is known of the forms, up to the latest turn."""
        return self._store.document

    @property
    def digest(self) -> str:
        """Of the file as it stands or is about to, 64 hex digits."""
        return self._store.digest

    def learn(self, record: TurnRecord) -> None:
        """The turn is counted. Raises ``StoreError`` where it was due for the file, which cannot be written."""
        sighting = sighting_of(record, self._vocabulary, self._movements)
        if sighting is not None:
            self._store.defer(sighting)
        if record.turn % REFRESH_INTERVAL == 0:
            self.conclude()

    def conclude(self) -> None:
        """What is shown is what is known, and nothing waits longer than for the next commit. Raises ``StoreError``."""
        self._shown = summary(self._store.document)
        self._store.demand()
        if not self._store.holds:
            self.commit()

    def reset(self, game_state: GameState | None = None) -> None:
        """A new episode begins with all that is known, other runs' turns too. Raises ``StoreError``."""
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
        """The forms by what came of them anywhere, in at most so many tokens; "" where nothing is known.

        Changes at refreshes only.
        """
        return self._shown.text(tokens * CHARACTERS_PER_TOKEN)

    def local_text(self, location_id: int) -> str:
        """The forms by what came of them at this location, up to the latest turn, in at most ``LOCAL_TOKENS``."""
        return local_summary(self._store.document, location_id).text(LOCAL_TOKENS * CHARACTERS_PER_TOKEN)

    def known_at(self, location_id: int) -> str:
        """Both, for whoever asks about one location."""
        return "\n".join(filter(None, (self.text(SYNTAX_TOKENS), self.local_text(location_id))))

    def get_status(self) -> ManagerStatus:
        """Where the lexicon is kept, and how much of it is shown."""
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

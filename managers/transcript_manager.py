"""Keeps the best and the latest game as raw transcripts (``transcripts.md``), and shows them in the next games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.prompting import CHARACTERS_PER_TOKEN
from managers.transcripts.document import GamesText, Transcripts, game_of, games_text, parse_transcripts
from managers.transcripts.game_text import story_start
from session.commands import plain_command
from session.context import Place, PromptSection
from session.events import EpisodeEnd
from session.files.document_store import DocumentStore
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import one_line
from session.values import Observation

TRANSCRIPTS_FILE = "transcripts.md"
EARLIER_GAMES = "Earlier games"
SHARE_AT_END = 0.25  # of the budget of all questions at an episode's end


class _Shown(NamedTuple):
    """What prompts have of earlier games: the text, also on one line, and the plain commands of each by its name."""

    text: str
    line: str
    commands: Mapping[str, Sequence[str]]


class TranscriptManager(BaseManager):
    """Owns ``transcripts.md``, with the best and the latest game of all runs in the work folder.

    What is shown does not change during an episode, so that a server can cache the beginning of the prompt.

    Raises ``StoreError`` if the file cannot be read.
    """

    files = (SharedFile(TRANSCRIPTS_FILE),)

    def __init__(
        self, logger: Log, config: GameConfiguration, game_state: GameState, **shared: Unpack[SharedParts]
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        path = config.zork_game_workdir / TRANSCRIPTS_FILE
        self._store: DocumentStore[Transcripts] = DocumentStore(path, parse_transcripts)
        self.stores = (self._store,)
        self.reset()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self.games = self._store.document.shown_before(self.game_state.episode)
        self._shown: _Shown | None = None

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        return PromptSection(EARLIER_GAMES, self._in_prompts().text, 8, Place.GAMES)

    def shows(self, text: str) -> bool:
        """Return whether the prompt's section of earlier games contains this text whole."""
        return one_line(text) in self._in_prompts().line

    def commands(self) -> Mapping[str, Sequence[str]]:
        """Return the plain commands of each game in the prompt, by its name there; none if some are left out."""
        return self._in_prompts().commands

    def _in_prompts(self) -> _Shown:
        if self._shown is None:
            budgets = self.config.prompt_budgets
            opening = story_start(self.game_state) if budgets.game_so_far else ""
            text, has_all_commands = self._text(budgets.games_before, opening)
            commands = {
                f"episode {each.episode}": [plain_command(turn.action) for turn in each.turns]
                for each in self.games
                if text and has_all_commands
            }
            self._shown = _Shown(text, one_line(text), commands)
        return self._shown

    def _text(self, tokens: int, opening: str = "") -> GamesText:
        """Return the games before this episode in at most ``tokens`` tokens; "" if there are none, or for 0.

        opening: of this game, if the same prompt shows it
        """
        characters = tokens * CHARACTERS_PER_TOKEN
        return games_text(self.games, characters, opening) if tokens and self.games else GamesText("")

    @override
    def material(self) -> str:
        budgets = self.config.prompt_budgets
        text, _ = self._text(min(budgets.games_before, int(SHARE_AT_END * budgets.analysis)))
        return f"\n\n=== EARLIER GAMES, WITH EVERY COMMAND ===\n{text}" if text else ""

    @override
    def finish(self, end: EpisodeEnd) -> None:
        """Keep the game if it has a turn. Raises ``StoreError``."""
        game = game_of(self.game_state)
        if game.turns:
            self._store.apply(lambda transcripts: transcripts.with_game(game))

    @override
    def get_status(self) -> ManagerStatus:
        shown = [game.episode for game in self.games]
        return {
            "type": "transcripts",
            "state": {"file": str(self._store.path), "shown": ", ".join(map(str, shown))},
            "metrics": {"games": len(self._store.document.games)},
        }

"""What other systems remember of earlier games, for arms of ablations: one lesson, or similar turns (ADR 16)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated

from pydantic import BaseModel, StringConstraints
from typing_extensions import Self, Unpack, override

from managers.base_manager import BaseManager, Log, ManagerParts, ManagerStatus, SharedParts
from managers.prompting import CHARACTERS_PER_TOKEN, NONE
from managers.questions import Question
from managers.transcripts.document import Transcripts, game_of, games_text, parse_transcripts
from managers.transcripts.game_text import PlayedTurn, played_turns, story_start
from session.context import Place, PromptSection
from session.errors import ConfigurationError, LanguageModelError
from session.events import EpisodeEnd
from session.files.document_store import DocumentStore, PlainText
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.processes import install_extra
from session.text import cut_middle
from session.values import ENDINGS, Observation
from zorkgpt.llm.language_model import LanguageModel, Prompt
from zorkgpt.prompts.loader import fill_prompt

LESSON_FILE = "lesson.md"
GAMES_FILE = "all_transcripts.md"
LONGEST_SHOWN = 300  # characters of a situation or a response; a short prompt gives a quarter to all of them


class LessonAnswer(BaseModel):
    """The lesson in place of the one before, about 500 tokens at most."""

    lesson: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2500)]


class Reflection(BaseManager):
    """Owns ``lesson.md``: one lesson, which a model rewrites after each game, and which the next games show."""

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        model: LanguageModel,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self._model = model
        self._store = DocumentStore[PlainText](config.zork_game_workdir / LESSON_FILE, PlainText)
        self.stores = (self._store,)
        self.reset()

    @override
    @classmethod
    def build(cls, parts: ManagerParts) -> Self | None:
        if not parts.config.controls.reflection:
            return None
        return cls(parts.logger, parts.config, parts.game_state, parts.model, **parts.shared)

    @override
    @classmethod
    def shared_files(cls, config: GameConfiguration) -> Sequence[SharedFile]:
        return (SharedFile(LESSON_FILE),) if config.controls.reflection else ()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._shown = self._store.document.text.strip()

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        return PromptSection("Lesson of earlier games", self._shown, 6, Place.PLAN)

    @override
    def questions(self, outlooks: Sequence[str]) -> Sequence[Question]:
        game = game_of(self.game_state)
        if not game.turns:
            return ()
        system, lesson = fill_prompt("reflection"), self._store.document.text.strip() or NONE
        room = self.tokens.characters(self.config.prompt_budgets.analysis) - len(system) - len(lesson)
        ending = self.game_state.latest.ending
        text = f"{games_text([game], room).text}{f' [{ENDINGS[ending]}]' if ending else ''}"
        prompt = Prompt(system, fill_prompt("reflection_play", lesson=lesson, game=text))
        return (Question(self._model, "analysis", prompt, LessonAnswer, self._take),)

    def _take(self, answer: LessonAnswer | LanguageModelError) -> None:
        if isinstance(answer, LanguageModelError):
            self.log_warning("the lesson stays as it is: the model gave no answer", error=str(answer))
            return
        text = f"{answer.lesson}\n".encode(errors="replace").decode()  # half a character of a broken answer
        self._store.apply(lambda lesson: lesson if lesson.text == text else PlainText(text))

    @override
    def get_status(self) -> ManagerStatus:
        return {"type": "reflection", "state": {}, "metrics": {"characters": len(self._store.document.text)}}


class SimilarTurns(BaseManager):
    """Owns ``all_transcripts.md``, and shows the earlier turns whose situations are most similar by BM25.

    A situation is the text of the arrival and the latest response. Raises ``ConfigurationError`` without bm25s.
    """

    def __init__(
        self, logger: Log, config: GameConfiguration, game_state: GameState, **shared: Unpack[SharedParts]
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self._store = DocumentStore[Transcripts](config.zork_game_workdir / GAMES_FILE, parse_transcripts)
        self.stores = (self._store,)
        self.reset()

    @override
    @classmethod
    def build(cls, parts: ManagerParts) -> Self | None:
        return super().build(parts) if parts.config.controls.similar_turns else None

    @override
    @classmethod
    def shared_files(cls, config: GameConfiguration) -> Sequence[SharedFile]:
        return (SharedFile(GAMES_FILE),) if config.controls.similar_turns else ()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        count = self.config.controls.similar_turns
        self._longest = min(LONGEST_SHOWN, CHARACTERS_PER_TOKEN * self.config.prompt_budgets.agent // (8 * count))
        games = (game for game in self._store.document.games if game.episode < self.game_state.episode)
        known = [
            (words, turn, f"Episode {game.episode}, turn {turn.number}, {place}: {cut_middle(text, self._longest)}")
            for game in games
            for turn, (place, text) in zip(game.turns, _situations(game.opening, game.turns), strict=False)
            if (words := _words(text))
        ]
        self._earlier = [(turn, text) for _, turn, text in known]
        self._scores = _scorer([words for words, _, _ in known])

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        *_, (_, here) = _situations(story_start(self.game_state), played_turns(self.game_state))
        scores = enumerate(self._scores(_words(here)))
        shown: dict[tuple[str, str], str] = {}  # by command and response
        for _, number in sorted((-round(score, 3), -number) for number, score in scores if score > 0):
            turn, text = self._earlier[-number]
            similar = f"{text}\n> {turn.command}\n{cut_middle(turn.response, self._longest)}"
            shown.setdefault((turn.command, turn.response), similar)
            if len(shown) == self.config.controls.similar_turns:
                break
        return PromptSection("Similar turns of earlier games", "\n\n".join(shown.values()), 6, Place.MEMORY)

    @override
    def finish(self, end: EpisodeEnd) -> None:
        if (game := game_of(self.game_state)).turns:
            self._store.apply(lambda transcripts: transcripts.with_game(game, is_pruned=False))

    @override
    def get_status(self) -> ManagerStatus:
        return {"type": "similar turns", "state": {}, "metrics": {"turns": len(self._earlier)}}


def _scorer(texts: Sequence[Sequence[str]]) -> Callable[[Sequence[str]], Sequence[float]]:
    """Return a function that scores each text by BM25 for a query, both as words. Raises ``ConfigurationError``."""
    try:
        from bm25s import BM25  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise ConfigurationError(f"bm25s is not installed: `{install_extra('bm25')}` installs it") from error
    if not texts:
        return lambda _words: ()
    index = BM25()
    index.index(texts, show_progress=False)
    return lambda words: index.get_scores(words).tolist() if words else ()


def _situations(opening: str, turns: Iterable[PlayedTurn]) -> Iterator[tuple[str, str]]:
    """Yield the location, in words, and the text of the situation before the first turn, and after each."""
    place, arrival = "at the start", opening
    yield place, arrival
    for turn in turns:
        if turn.to_id is not None:
            place, arrival = f"L{turn.to_id}", turn.response
        yield place, arrival if turn.to_id is not None else f"{arrival}\n{turn.response}"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())

"""Plays any story in this process: each command gives one complete ``Observation``."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from typing_extensions import override

from game_interface.core.affordances import Affordances
from game_interface.core.commands import ENDED, KEYS, leaving, normalised, refusal
from game_interface.core.game import Game, SavedState, require_command, require_saved_state, require_seed
from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import Dictionary
from game_interface.core.observer import Observer, lasting_memory
from game_interface.core.story_text import (
    StoryQuestion,
    asks_to_leave,
    asks_what_next,
    judge_ending,
    last_line,
    names_the_outcome,
    offers_a_new_game,
    plain_text,
    sounds_like_an_end,
)
from session.errors import ConfigurationError, GameError
from session.values import Ending, Observation, Seed, StoryFacts

_SHORT_LINE = 20
"""Characters that fit into the text buffer of every story."""
_MOST_TITLE_PAGES = 10
_CRASHED = "[The story crashed here; the game cannot continue.]"

_COMMANDS = ("look", "inventory")
"""Two commands that every story answers differently during play."""
_ANSWERS = ("yes", "no", "y", "n", "1", "2", "3", "")
_EVERY_KEY = (*KEYS, *map(chr, range(ord("!"), ord("~") + 1)))
_ECHO = re.compile(r"\b(?:look|inventory|wait|yes|no|y|n)\b", re.IGNORECASE)
"""Words of the tried answers that a story may echo."""
_PATIENCE = 12
"""Turns for which a scene may ignore commands before it ends by itself."""


class JerichoGame(Game):
    """A story that runs in this process. A bad story file can crash the process.

    use_profile: whether to use Jericho's profile of the story, if it has one
    """

    def __init__(self, story: Story, *, seed: Seed = 1, use_profile: bool = True) -> None:
        require_seed(seed)
        self._story = story
        self._interpreter = Interpreter(story, use_profile=use_profile)
        self._table = ObjectTable(story)
        self._dictionary = Dictionary.of(story)
        self._read_opening(1)  # the same for every seed, so that states of different processes can be compared
        lasting = lasting_memory(self._interpreter, self._table)
        try:
            self._opening = self._read_opening(seed)
        except ConfigurationError:
            self.close()
            raise
        self._observer = Observer(story, self._table, self._interpreter, self._opening, lasting)
        names = self._observer.attribute_names
        self._affordances = Affordances(self._dictionary, self._interpreter, self._table, names, self._result)
        self.facts = StoryFacts(
            path=str(story.path),
            name=story.path.stem,
            sha256=story.sha256,
            version=story.version,
            release=story.release,
            serial=story.serial,
            known=self._interpreter.known,
            max_score=self._observer.max_score,
            directions=self._dictionary.directions,
            attribute_names=dict(names),
        )
        self._command_places: tuple[int, ...]
        self._question: StoryQuestion
        self._begin()

    @override
    def reset(self, seed: Seed) -> Observation:
        require_seed(seed)
        self._opening = self._read_opening(seed)
        return self._begin()

    @override
    def step(self, command: str) -> Observation:
        self._interpreter.require_open()
        require_command(command)
        if self.observation.ending:
            return self._refuse(ENDED)
        if not self.observation.awaits_key:
            longest = self._interpreter.line_room() if len(command) > _SHORT_LINE else _SHORT_LINE
            reason = refusal(command, self._dictionary.letters, longest)
            if reason:
                return self._refuse(reason)
        before = self._interpreter.snapshot() if self._question.times and asks_to_leave(self._question.text) else None
        at, depth = self._interpreter.instruction, self._interpreter.frames
        printed = self._interpreter.send(
            command if self.observation.awaits_key else normalised(command, self._dictionary.accented)
        )
        if before and self._interpreter.stop:
            self._interpreter.restore(before)
            return self._refuse(leaving(command))
        text = plain_text(printed, self._story.version)
        keeps_screen = self.observation.awaits_key and self._interpreter.prompt == "key" and not self._interpreter.stop
        if not text and keeps_screen:
            text = self.observation.text
        is_next_question = self.observation.awaits_answer and "?" in last_line(text)
        is_deeper = self._interpreter.frames > depth - is_next_question
        return self._observe(text, is_nested=is_deeper and self._interpreter.instruction == at)

    @override
    def valid_actions(self) -> tuple[str, ...]:
        self._interpreter.require_open()
        if self.observation.ending or self._interpreter.prompt_place not in self._command_places:
            return ()
        return self._affordances.valid_actions(self.observation)

    @override
    def save(self) -> SavedState:
        return SavedState(
            self._story.sha256,
            self._interpreter.snapshot(),
            self.observation,
            self._command_places,
            self._question,
            self._observer.reader.learned,
            self._observer.printed,
        )

    @override
    def restore(self, state: SavedState) -> Observation:
        require_saved_state(state)
        if state.story != self._story.sha256:
            raise GameError("The saved state belongs to another story file.")
        self._interpreter.restore(state.snapshot)
        self._command_places = state.command_places
        self._question = state.question
        self._observer.return_to(state.learned, state.observation.location, state.printed)
        self.observation = state.observation
        return state.observation

    @override
    def close(self) -> None:
        self._interpreter.close()

    def _read_opening(self, seed: Seed) -> str:
        """Restart and return everything that the story prints before its first line prompt, page by page."""
        if seed == "jericho":
            if self._interpreter.walkthrough_seed is None:
                raise ConfigurationError(
                    f"Jericho has no walkthrough of {self._story.path}; choose a seed of 1 or more."
                )
            seed = self._interpreter.walkthrough_seed
        pages = [self._interpreter.reset(seed)]
        while self._interpreter.prompt == "key" and len(pages) < _MOST_TITLE_PAGES:
            pages.append(self._interpreter.send(""))
        return "\n\n".join(plain_text(page, self._story.version) for page in pages)

    def _begin(self) -> Observation:
        self._command_places = ()
        self._question = StoryQuestion()
        self._observer.begin()
        return self._observe(self._opening)

    def _refuse(self, reason: str) -> Observation:
        self.observation = replace(self.observation, text=reason, died=False, refusal=reason)
        return self.observation

    def _observe(self, text: str, *, is_nested: bool = False) -> Observation:
        """Read the observation after a step that printed ``text``, and judge whether the story ended in it.

        is_nested: the story waits in a routine that it called while it carried out the command, or the one before
        """
        interpreter = self._interpreter
        place, stop = interpreter.prompt_place, interpreter.stop
        if place not in self._command_places and interpreter.listens and reads_commands(interpreter):
            self._command_places += (place,)
        is_usual = place in self._command_places
        if "?" in text or self._question.times or not is_usual:
            self._question = self._question.after(text)
        observation = self._observer.observe(text)
        victory = interpreter.known and interpreter.victory() > 0
        defeat = interpreter.known and interpreter.defeat() > 0
        if stop == "crash":
            observation = replace(observation, text=f"{text}\n\n{_CRASHED}".strip(), ending="crashed")
        elif victory or defeat or self._question.times or not is_usual or "***" in text or "RESTART" in text or stop:
            in_doubt = stop is None and not asks_what_next(text) and sounds_like_an_end(text)
            locked_in = in_doubt and is_locked_in(interpreter, self._command_places, text, self._dictionary.words)
            died, ending = self._judged(text, observation.score, observation.max_score, locked_in=locked_in)
            observation = replace(observation, died=died, ending=ending)
        elsewhere = bool(self._command_places) and place not in self._command_places
        if (elsewhere or is_nested) and observation.ending is None and interpreter.listens:
            observation = replace(observation, awaits_answer=True)
        self.observation = observation
        return observation

    def _result(self, printed: str) -> tuple[int | None, Ending | None]:
        """Return the score after a tried command, and how the story ended, unless the player died."""
        reader, text = self._observer.reader, plain_text(printed, self._story.version)
        score = reader.score(self._interpreter.memory)
        if not ("***" in text or "RESTART" in text or self._interpreter.stop):
            return score, None
        died, ending = self._judged(text, score, self._observer.max_score)
        return score, None if died else ending

    def _judged(
        self, text: str, score: int | None, most: int | None, *, locked_in: bool = False
    ) -> tuple[bool, Ending | None]:
        interpreter = self._interpreter
        return judge_ending(
            text,
            stopped=interpreter.stop is not None,
            victory=interpreter.known and interpreter.victory() > 0,
            defeat=interpreter.known and interpreter.defeat() > 0,
            locked_in=locked_in,
            all_points=bool(most) and score == most,
        )


def reads_commands(interpreter: Interpreter) -> bool:
    """Return whether the story, which waits for a line, gives different answers to different commands."""
    answers = set()
    for command in _COMMANDS:
        with interpreter.trying():
            answers.add(_answer(interpreter, command))
            if interpreter.stop:
                return False
    return len(answers) > 1 and not all(map(offers_a_new_game, answers))


def is_locked_in(
    interpreter: Interpreter, command_places: Collection[int], printed: str, words: Collection[str]
) -> bool:
    """Return whether no possible answer leads back into the story. The interpreter is restored afterwards.

    An answer that wins or loses the game shows that it had not ended.

    command_places: the known values of ``Interpreter.prompt_place`` at which the story reads commands. Reaching one of
        them from a question counts as back in the story, even if the next turn is deadly.
    printed: the text before the prompt
    words: of the story's dictionary; each may be the answer that the question wants
    """
    asked, is_decided = interpreter.prompt_place not in command_places, names_the_outcome(printed)

    def goes_on(text: str) -> bool:
        if not is_decided and names_the_outcome(text):
            return True
        if interpreter.stop:
            return False
        if interpreter.prompt == "key":  # another page; a rejected key prints nothing
            return text != "" and not offers_a_new_game(text)
        return (interpreter.prompt_place in command_places) is asked or reads_commands(interpreter)

    if interpreter.prompt == "line" and reads_commands(interpreter):
        return False
    answers = (*_COMMANDS, *_ANSWERS, *sorted(word for word in words if not refusal(word)))
    if interpreter.prompt == "key":
        answers = _EVERY_KEY
    with interpreter.trying() as start:
        for reply in answers:
            interpreter.restore(start)
            if goes_on(_answer(interpreter, reply)):
                return False
        interpreter.restore(start)
        for _ in range(_PATIENCE):
            text = _answer(interpreter, "wait")
        return not goes_on(text)


def _answer(interpreter: Interpreter, reply: str) -> str:
    """Return what the story prints after ``reply``, without echoes of the tried answers."""
    return _ECHO.sub("", plain_text(interpreter.send(reply), interpreter.version))

"""Plays any story in this process: each command gives one complete ``Observation``."""

from __future__ import annotations

from dataclasses import replace

from typing_extensions import override

from game_interface.core.affordances import Affordances
from game_interface.core.commands import ENDED, keypress, leaving, normalised, refusal
from game_interface.core.endings import NO_QUESTION, PLAYS_ON, asks_to_leave, judge_ending, sounds_like_an_end
from game_interface.core.game import Game, require_command, require_saved_state, require_seed
from game_interface.core.locked_in import is_locked_in, reads_commands
from game_interface.core.machine.dictionary import Dictionary
from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.saved_state import SavedState
from game_interface.core.machine.story import Story
from game_interface.core.observer import Observer
from game_interface.core.story_text import told_text
from session.errors import ConfigurationError, GameError
from session.values import Observation, Seed, StoryFacts

_SHORT_LINE = 20
"""Characters that fit into the text buffer of every story."""
_MOST_TITLE_PAGES = 10
_ASKED_IN_VAIN = 3
"""Repetitions of the same question after which the game checks whether any answer is accepted."""
_CRASHED = "[The interpreter stopped here at a fault of the story's own: the game cannot go on.]"


class JerichoGame(Game):
    """A story that runs in this process. A bad story file can crash the process.

    seed: the seed of the story's random numbers
    use_profile: whether to use Jericho's profile of the story, if it has one
    """

    def __init__(self, story: Story, *, seed: Seed = 1, use_profile: bool = True) -> None:
        require_seed(seed)
        self._story = story
        self._interpreter = Interpreter(story, use_profile=use_profile)
        self._table = ObjectTable(story)
        self._dictionary = Dictionary.of(story)
        try:
            self._opening = self._read_opening(seed)
        except ConfigurationError:
            self.close()
            raise
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
            max_score=self._observer.max_score,
            directions=self._dictionary.directions,
            attribute_names=dict(self._observer.attribute_names),
        )
        self._command_places: tuple[int, ...] = ()
        self._question = NO_QUESTION
        self._observation: Observation
        self._begin(self._opening)

    @property
    @override
    def facts(self) -> StoryFacts:
        return self._facts

    @property
    @override
    def observation(self) -> Observation:
        return self._observation

    @override
    def reset(self, seed: Seed) -> Observation:
        require_seed(seed)
        self._opening = self._read_opening(seed)
        return self._begin(self._opening)

    @override
    def step(self, command: str) -> Observation:
        self._interpreter.require_open()
        require_command(command)
        if self._observation.ending:
            return self._refuse(ENDED)
        if self._observation.awaits_key:
            line = keypress(command)
        else:
            longest = self._interpreter.line_room() if len(command) > _SHORT_LINE else _SHORT_LINE
            reason = refusal(command, self._dictionary.letters, longest)
            if reason:
                return self._refuse(reason)
            line = normalised(command).encode("ascii")
        before = self._interpreter.snapshot() if self._question.times and asks_to_leave(self._question.text) else None
        text = self._interpreter.send(line)
        if before and self._interpreter.stop:
            self._interpreter.restore(before)
            return self._refuse(leaving(command))
        return self._observe(told_text(text, self._story.version))

    @override
    def valid_actions(self) -> tuple[str, ...]:
        self._interpreter.require_open()
        if self._observation.ending or self._interpreter.prompt_place not in self._command_places:
            return ()
        return self._affordances.valid_actions(self._observation)

    @override
    def save(self) -> SavedState:
        return SavedState(
            self._story.sha256,
            self._interpreter.snapshot(),
            self._observation,
            self._command_places,
            self._question,
            self._observer.reader.learned,
        )

    @override
    def restore(self, state: SavedState) -> Observation:
        require_saved_state(state)
        if state.story != self._story.sha256:
            raise GameError("The saved state belongs to another story file.")
        self._interpreter.restore(state.snapshot)
        self._command_places = state.command_places
        self._question = state.question
        self._observer.reader.learned = state.learned
        self._observer.location = state.observation.location
        self._observation = state.observation
        return self._observation

    @override
    def close(self) -> None:
        self._interpreter.close()

    def _read_opening(self, seed: Seed) -> str:
        """Restart and return everything that the story prints before its first line prompt, page by page."""
        if seed == "jericho":
            if self._interpreter.walkthrough_seed is None:
                raise ConfigurationError(
                    f"Jericho knows no walkthrough of {self._story.path}: name a seed of 1 or more."
                )
            seed = self._interpreter.walkthrough_seed
        pages = [self._interpreter.reset(seed)]
        while self._interpreter.prompt == "key" and len(pages) < _MOST_TITLE_PAGES:
            pages.append(self._interpreter.send(b""))
        return "\n\n".join(told_text(page, self._story.version) for page in pages)

    def _begin(self, opening: str) -> Observation:
        self._command_places = ()
        self._question = NO_QUESTION
        self._observer.reader.begin()
        self._observer.location = None
        return self._observe(opening)

    def _refuse(self, reason: str) -> Observation:
        self._observation = replace(self._observation, text=reason, died=False, refusal=reason)
        return self._observation

    def _observe(self, text: str) -> Observation:
        interpreter = self._interpreter
        place = interpreter.prompt_place
        is_usual = place in self._command_places
        if not is_usual and interpreter.prompt == "line" and not interpreter.stop and reads_commands(interpreter):
            self._command_places += (place,)
            is_usual = True
        question = self._question
        if "?" in text or question.times or not is_usual:
            self._question = question = question.after(text)
        observation = self._observer.observe(text)
        victory = interpreter.known and interpreter.victory() > 0
        defeat = interpreter.known and interpreter.defeat() > 0
        in_vain = question.times >= _ASKED_IN_VAIN
        if victory or defeat or in_vain or not is_usual or "***" in text or "RESTART" in text or interpreter.stop:
            observation = self._with_ending(observation, victory=victory, defeat=defeat)
        self._observation = observation
        return observation

    def _with_ending(self, observation: Observation, *, victory: bool, defeat: bool) -> Observation:
        """Return ``observation`` with ``died`` and ``ending`` set for the latest step."""
        stop, text = self._interpreter.stop, observation.text
        in_doubt = self._question.times >= _ASKED_IN_VAIN or sounds_like_an_end(text)
        if stop == "crash":
            return replace(observation, text=f"{text}\n\n{_CRASHED}".strip(), ending="crashed")
        result = judge_ending(
            text,
            stopped=stop is not None,
            victory=victory,
            defeat=defeat,
            locked_in=stop is None and in_doubt and is_locked_in(self._interpreter, self._command_places),
            all_points=bool(observation.max_score) and observation.score == observation.max_score,
        )
        return replace(observation, died=result.died, ending=result.ending) if result != PLAYS_ON else observation

"""Learns which forms of commands the story's parser accepts, from the turns of all runs (``lexicon.json``)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Literal

from pydantic import NonNegativeInt, TypeAdapter
from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.memory.outcome import SUBSTANTIAL
from managers.prompting import CHARACTERS_PER_TOKEN, as_many_as_fit
from session.commands import Command, Vocabulary, is_speech, passes_time, read_command, words_of
from session.context import Place, PromptSection
from session.events import EpisodeEnd
from session.files.document_store import DocumentStore, read_json
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import cut_at, one_line
from session.values import Observation, TurnRecord
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer, repeated

LEXICON_FILE = "lexicon.json"
REFRESH_INTERVAL = 25  # turns
SYNTAX_TOKENS = 60  # of the forms that models are shown
OBJECT, DIRECTION, WORDS = "OBJECT", "DIRECTION", "WORDS"
"""What stands in a form for words that name a thing, for a direction, and for words that the story does not know."""
SLOTS = (OBJECT, DIRECTION, WORDS)
LIST = "LIST"
"""The last part of a form whose command names several things at once, such as "wear hat and boots"."""

LONGEST_FORM = 50  # characters
LONGEST_ANSWER = 60  # characters

MOST_FORMS = 300
MOST_ANSWERS = 8  # of a form at a location
MOST_ASKED = 500
WORKING_SHARE = 0.2
"""A form works if it changed something in so large a share of the turns in which it was not refused.

In fewer of them, it was somebody else in the story who changed something.
"""

_TITLE = "Worked in this story: "
_WORD = re.compile(r"[\w'-]+")
_AND = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")
_BLANK = "…"


def form_trial_of(turn: TurnRecord, vocabulary: Vocabulary, movements: MovementAnalyzer) -> FormTrial | None:
    """Return the form of the turn's command and its result, or ``None`` if the turn is not evidence for the form.

    These turns are not evidence:

    - a move, because the map records it, and waiting or looking, because another character causes the changes; unless
      the turn won points
    - a plain direction, or more than one plain clause
    - the answer to a question, or a turn that asks for a single key
    - a death, a turn after the end, or one that sets the clock back (undo, restore, restart)
    """
    before, after, wins = turn.before, turn.after, (turn.score_change or 0) > 0
    is_rewound = before.moves is not None and after.moves is not None and after.moves < before.moves
    if (
        before.awaits_key
        or before.ending
        or after.died
        or after.ending == "lost"
        or is_rewound
        or (turn.moved and not wins)
    ):
        return None
    action = repeated(turn.action, "")
    exit_ = movements.exit_of(action)
    is_left_out = movements.is_direction(exit_) or (passes_time(exit_) and not wins)
    first, *more = _AND.split(action.lower())
    verbs = [
        part
        for part in (first, *more)
        if (verb := vocabulary.cut(part.split(" ", 1)[0])) in vocabulary.verbs and verb not in vocabulary.objects
    ]
    is_list = bool(more) and verbs == [first] and not is_speech(first)
    command = None if is_left_out else read_command(" ".join((first, *more)) if is_list else action, vocabulary)
    if command is None:
        return None
    verb = vocabulary.cut(command.words[0])
    if before.text.rstrip(' )"').endswith("?") and verb in vocabulary.words and verb not in vocabulary.verbs:
        return None
    form = form_of(command, before, vocabulary) + f" {LIST}" * is_list
    if len(form) > LONGEST_FORM:
        return None
    return FormTrial(
        form=form,
        location_id=before.location.num if before.location else 0,
        changed=after.refusal is None and turn.did_something,
        words=_answer(after, command),
        command="" if form == form.lower() else action.lower() if is_list else " ".join(command.words),
        took_turn=after.refusal is None
        and (before.moves is None or after.moves is None or after.moves != before.moves),
        wins=wins,
    )


def form_of(command: Command, observation: Observation, vocabulary: Vocabulary) -> str:
    """Return the form of a command: verb and prepositions as typed, and a word in capitals for each thing or direction.

    A single word that the parser knows and that names nothing, such as "all", stays as it is.
    """
    at_hand = (*(observation.inventory or ()), *(observation.visible or ()))
    named = words_of(" ".join(each.name for each in at_hand), vocabulary)
    slots = (" ".join(_slots(phrase, vocabulary, named)) for phrase in command.phrases)
    return " ".join(part or next(slots) for part in command.frame)


def _slots(phrase: tuple[str, ...], vocabulary: Vocabulary, named: frozenset[str]) -> Iterator[str]:
    ways = vocabulary.directions - vocabulary.objects.keys()
    for are_directions, run in groupby(phrase, ways.__contains__):
        words = list(run)
        if are_directions:
            yield DIRECTION
        elif not vocabulary.objects or any(
            word in named or word in vocabulary.objects or word in vocabulary.mentions for word in words
        ):
            yield OBJECT
        else:
            yield words[0] if len(words) == 1 and words[0] in vocabulary.words else WORDS


def _answer(after: Observation, command: Command) -> str:
    """Return the beginning of a short answer with a blank for each word of the command; "" for a long answer."""
    text = after.text if after.refusal is None else after.refusal
    if len(text) > SUBSTANTIAL:
        return ""
    typed = set(command.words).difference(part for part in command.frame[1:] if part)
    line = next((line for line in text.splitlines() if line.strip()), "")
    masked = _WORD.sub(lambda found: _BLANK if found[0].lower() in typed else found[0], one_line(line))
    return cut_at(masked, LONGEST_ANSWER)


@dataclass(frozen=True, slots=True)
class Answered:
    """How often an answer came in turns that changed nothing, and in turns that changed something.

    example: the first command that changed something
    """

    silent: NonNegativeInt = 0
    changed: NonNegativeInt = 0
    example: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """The results of one form at one location.

    changed, told: how many turns changed something, and how many did not, counting only answers that are not kept
        word by word because they were long or there were already ``MOST_ANSWERS``
    answers: the short answers, as in ``FormTrial.words``
    example: the first command that changed something, of those whose answer is not kept
    """

    changed: NonNegativeInt = 0
    told: NonNegativeInt = 0
    answers: Mapping[str, Answered] = field(default_factory=dict)
    example: str = ""

    def with_one(self, words: str, command: str, *, changed: bool) -> Tally:
        """Return the tally with one turn more."""
        example = command if changed else ""
        if words and (words in self.answers or len(self.answers) < MOST_ANSWERS):
            kept = self.answers.get(words, Answered())
            kept = Answered(kept.silent + (not changed), kept.changed + changed, kept.example or example)
            return replace(self, answers={**self.answers, words: kept})
        kept_example = self.example or example
        return replace(self, changed=self.changed + changed, told=self.told + (not changed), example=kept_example)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The results of all forms.

    forms: the tallies by form and location id; the id is 0 if it is unknown
    asked: for each short answer without a change, the command that had it; "" if several commands had it or it took no
        turn of the story; only the latest ``MOST_ASKED`` are kept
    won: the first command of each form that won points, by the form
    """

    version: Literal[1] = 1
    forms: Mapping[str, Mapping[NonNegativeInt, Tally]] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    won: Mapping[str, str] = field(default_factory=dict)

    def render(self) -> str:
        """Return the text of the file."""
        return _FILE.dump_json(self, indent=1).decode() + "\n"


@dataclass(frozen=True, slots=True)
class FormTrial:
    """A change to the lexicon that adds the result of a form in one turn.

    words: the beginning of a short answer with a blank for each word of the command; "" for a long answer
    command: the command as typed; "" if the form has nothing to fill in
    took_turn: false if the parser did not understand the command
    wins: the turn won points
    """

    form: str
    location_id: int
    changed: bool
    words: str
    command: str
    took_turn: bool
    wins: bool = False

    def apply_to(self, document: Lexicon) -> Lexicon:
        """Return the lexicon with the turn added, or the same lexicon if it has no room for another form."""
        places = document.forms.get(self.form)
        if places is None and len(document.forms) >= MOST_FORMS:
            return document
        tally = (places or {}).get(self.location_id, Tally()).with_one(self.words, self.command, changed=self.changed)
        forms = {**document.forms, self.form: {**(places or {}), self.location_id: tally}}
        asked, known = document.asked, document.asked.get(self.words)
        if self.words and not self.changed and (self.command or not self.took_turn) and known != "":
            one = self.command if self.took_turn and known in {None, self.command} else ""
            asked = dict([*({**asked, self.words: one}).items()][-MOST_ASKED:])
        won = {self.form: self.command or self.form, **document.won} if self.wins else document.won
        return replace(document, forms=forms, asked=asked, won=won)


_FILE = TypeAdapter(Lexicon)


@dataclass(frozen=True, slots=True)
class WorkingForms:
    """A command for each form that worked; what a player would hardly guess comes first.

    That is what has most objects and prepositions; of forms alike in this, the one that worked most often.

    learned: the same in the order in which the forms were tried first
    single: the verbs that the story refused to apply to several things at once
    """

    examples: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    single: tuple[str, ...] = ()

    def text(self, characters: int) -> str:
        """Return the examples on a line, and the verbs that take no list; "" if there are none or no room for any.

        The text has at most ``characters`` characters. Of the examples that fit, the one learned last comes last, so
        that a line begins as it did before.
        """
        refused = f"One thing at a time: {', '.join(self.single)}" if self.single else ""
        room = characters - len(refused) - 1
        kept = as_many_as_fit(self.examples, lambda examples: len(_TITLE + "; ".join(examples)) <= room)
        worked = _TITLE + "; ".join(each for each in self.learned if each in kept) if kept else ""
        return "\n".join(line for line in (worked, refused) if line and len(line) <= characters)


def working_forms(lexicon: Lexicon) -> WorkingForms:
    """Return what the lexicon knows of forms that worked, at all locations together.

    An answer that took no turn, or that several commands got, mostly without any change, is a refusal and does not
    count. A form that won points worked, however often it changed nothing.
    """
    surplus: Counter[str] = Counter()  # of the turns without a change, for each answer
    for tally in (tally for places in lexicon.forms.values() for tally in places.values()):
        for words, answered in tally.answers.items():
            surplus[words] += answered.silent - answered.changed
    changes, examples = {}, {}
    for form, places in lexicon.forms.items():
        changed, told, example = 0, 0, ""
        for tally in places.values():
            taken = [
                answered
                for words, answered in tally.answers.items()
                if lexicon.asked.get(words) != "" or surplus[words] <= 0
            ]
            changed += tally.changed + sum(answered.changed for answered in taken)
            told += tally.told + sum(answered.silent for answered in taken)
            example = next(filter(None, (example, tally.example, *(answered.example for answered in taken))), "")
        if form in lexicon.won or (changed and changed >= WORKING_SHARE * (changed + told)):
            changes[form], examples[form] = changed, example or lexicon.won.get(form, form)
    hardest_first = sorted(examples, key=lambda form: (-_difficulty(form), -changes[form], form))
    return WorkingForms(tuple(map(examples.__getitem__, hardest_first)), tuple(examples.values()), _single(lexicon))


def _single(lexicon: Lexicon) -> tuple[str, ...]:
    """Return the verbs whose lists never took a turn and were refused with an answer that no single object got."""
    lists = {form: places for form, places in lexicon.forms.items() if form.endswith(LIST)}
    others = (places for form, places in lexicon.forms.items() if form not in lists)
    usual = {words for places in others for tally in places.values() for words in tally.answers}
    return tuple(
        form.split(" ", 1)[0]
        for form, places in lists.items()
        if not any(tally.changed or tally.told for tally in places.values())
        and all(
            lexicon.asked.get(words) == "" and not answered.changed and words not in usual
            for tally in places.values()
            for words, answered in tally.answers.items()
        )
    )


def _difficulty(form: str) -> int:
    """Return the number of parts of a form without its verb. An object counts twice."""
    _, *parts = form.split()
    return sum(2 if part in SLOTS else 1 for part in parts if part != LIST)


class LexiconManager(BaseManager):
    """Owns ``lexicon.json`` in the work folder, which counts the results of each form of command at each location.

    Each turn is counted at once. The file and the prompt section change only in these cases, so that the server can
    cache the beginning of the prompt:

    - when the first form has worked
    - every ``agent.history_window`` turns, when the history changes as well; the file every ``REFRESH_INTERVAL`` turns
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
        parse = partial(read_json, _FILE, path=path, otherwise="is not a lexicon")
        self._store: DocumentStore[Lexicon] = DocumentStore(path, parse)
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
            self._store.defer(trial.apply_to)
        if record.turn % REFRESH_INTERVAL == 0:
            self.show_all()
        elif not self._shown.examples or record.turn % self.config.agent.history_window == 0:
            self._shown = working_forms(self.lexicon)

    @override
    def finish(self, end: EpisodeEnd) -> None:
        self.show_all()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
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
        self._store.demand()
        if not self._store.holds:
            self.commit()

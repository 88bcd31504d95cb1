"""Finds the form of a turn's command, and how it fared."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from managers.lexicon.document import FormTrial
from managers.memory.outcome import SUBSTANTIAL
from session.commands import passes_time, read_command, words_of
from session.text import cut_at, one_line
from zorkgpt.mapping.movement_analyzer import repeated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.commands import Command, Vocabulary
    from session.values import GameObject, Observation, TurnRecord
    from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

OBJECT, DIRECTION, WORDS = "OBJECT", "DIRECTION", "WORDS"
"""What stands in a form for words that name a thing, for a direction, and for words that the story does not know."""
SLOTS = (OBJECT, DIRECTION, WORDS)

LONGEST_FORM = 50  # characters
LONGEST_ANSWER = 60  # characters

_WORD = re.compile(r"[\w'-]+")
_BLANK = "…"


def form_trial_of(turn: TurnRecord, vocabulary: Vocabulary, movements: MovementAnalyzer) -> FormTrial | None:
    """Return the form of the turn's command and how it fared; ``None`` where the turn says nothing of that.

    That is so for whatever led elsewhere (the map knows ways) and for waiting and looking (what changes then is
    somebody else's doing), unless it won points; for a plain direction, for more than a plain clause, for the answer to
    a question, for a death, after the end, where the clock ran back (undo, restore, restart), and where a single key
    was wanted.
    """
    before, after, wins = turn.before, turn.after, (turn.score_change or 0) > 0
    if before.awaits_key or before.ending or after.died or after.lost or _rewound(before, after):
        return None
    if turn.moved and not wins:
        return None
    action = repeated(turn.action, "")
    exit_ = movements.exit_of(action)
    is_left_out = movements.is_direction(exit_) or (passes_time(exit_) and not wins)
    command = None if is_left_out else read_command(action, vocabulary)
    if command is None or _is_answer(command, before, vocabulary):
        return None
    form = form_of(command, before, vocabulary)
    if len(form) > LONGEST_FORM:
        return None
    return FormTrial(
        form=form,
        location_id=before.location.num if before.location else 0,
        changed=after.refusal is None and turn.did_something,
        words=_answer(after, command),
        command="" if form == form.lower() else " ".join(command.words),
        took_turn=after.refusal is None and _took_turn(before, after),
    )


def form_of(command: Command, observation: Observation, vocabulary: Vocabulary) -> str:
    """Return the form of a command: verb and prepositions as typed, and a word in capitals for each thing or direction.

    A single word that the parser knows and that names nothing, such as "all", stays as it is.
    """
    named = words_of(" ".join(each.name for each in _at_hand(observation)), vocabulary)
    slots = (" ".join(_slots(phrase, vocabulary, named)) for phrase in command.phrases)
    return " ".join(part or next(slots) for part in command.frame)


def _slots(phrase: tuple[str, ...], vocabulary: Vocabulary, named: frozenset[str]) -> Iterator[str]:
    def is_direction(word: str) -> bool:
        return word in vocabulary.directions and word not in vocabulary.objects

    for are_directions, run in groupby(phrase, is_direction):
        words = list(run)
        if are_directions:
            yield DIRECTION
        elif not vocabulary.objects or any(word in named or _names(word, vocabulary) for word in words):
            yield OBJECT
        else:
            yield words[0] if len(words) == 1 and words[0] in vocabulary.words else WORDS


def _names(word: str, vocabulary: Vocabulary) -> bool:
    return word in vocabulary.objects or word in vocabulary.mentions


def _is_answer(command: Command, before: Observation, vocabulary: Vocabulary) -> bool:
    """Tell whether the story asked something, and what was typed is no verb."""
    verb = vocabulary.cut(command.words[0])
    return before.text.rstrip(' )"').endswith("?") and verb in vocabulary.words and verb not in vocabulary.verbs


def _answer(after: Observation, command: Command) -> str:
    """Return the beginning of a short answer with a blank for each word of the command; "" for a long answer."""
    text = after.text if after.refusal is None else after.refusal
    if len(text) > SUBSTANTIAL:
        return ""
    typed = set(command.words).difference(part for part in command.frame[1:] if part)
    line = next((line for line in text.splitlines() if line.strip()), "")
    masked = _WORD.sub(lambda found: _BLANK if found[0].lower() in typed else found[0], one_line(line))
    return cut_at(masked, LONGEST_ANSWER)


def _took_turn(before: Observation, after: Observation) -> bool:
    """Tell whether the story's clock went on, which it does not where the parser could not read the command.

    True where the story has no clock.
    """
    return before.moves is None or after.moves is None or after.moves != before.moves


def _rewound(before: Observation, after: Observation) -> bool:
    return before.moves is not None and after.moves is not None and after.moves < before.moves


def _at_hand(observation: Observation) -> tuple[GameObject, ...]:
    return (*(observation.inventory or ()), *(observation.visible or ()))

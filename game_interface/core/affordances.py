"""Finds commands that would change the world, by trying them and restoring the machine after each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain, islice, permutations, product

from jericho.util import verb_usage_count

from game_interface.core.commands import refusal
from game_interface.core.machine.attribute_tables import numbers_of
from game_interface.core.machine.interpreter import Interpreter, Snapshot
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.vocabulary_reader import Dictionary
from session.values import GameObject, Observation

_MOST_TRIES = {True: 500, False: 320}
"""Commands tried in one turn: up to version 3, and in later versions, whose parsers take ten times as long. The limit
is a count, not a time, so that the same turn always has the same valid actions."""
_LAST_QUICK_VERSION = 3
_IMPLICIT = ("(Taken)", "(first taking ")
"""What stories print when they first perform another action, which is a command of its own."""
_MOST_NOUNS = 16
_HOLE = "OBJ"
_IDLE = ("wait", "look", "inventory", "drop me", "give me to me")
"""Commands without an effect of their own; any change after them is caused by the world itself."""
_AROUND = (
    *("take OBJ", "open OBJ", "close OBJ", "enter OBJ", "push OBJ", "pull OBJ", "turn OBJ", "turn on OBJ"),
    *("turn off OBJ", "light OBJ", "move OBJ", "climb OBJ", "read OBJ", "search OBJ", "attack OBJ", "talk to OBJ"),
)
_CARRIED = (
    *("drop OBJ", "wear OBJ", "take off OBJ", "open OBJ", "close OBJ", "turn on OBJ", "turn off OBJ", "light OBJ"),
    *("extinguish OBJ", "eat OBJ", "drink OBJ", "fill OBJ", "empty OBJ", "read OBJ", "rub OBJ", "wave OBJ"),
)
_PAIRS = (
    *("put OBJ in OBJ", "put OBJ on OBJ", "give OBJ to OBJ", "show OBJ to OBJ", "throw OBJ at OBJ"),
    *("tie OBJ to OBJ", "unlock OBJ with OBJ", "attack OBJ with OBJ", "cut OBJ with OBJ", "light OBJ with OBJ"),
)
_RECEIVERS = {
    "put OBJ in OBJ": ("container",),
    "put OBJ on OBJ": ("surface",),
    "give OBJ to OBJ": ("animate", "actor"),
    "show OBJ to OBJ": ("animate", "actor"),
    "throw OBJ at OBJ": ("animate", "actor"),
}
"""Attributes of the likely second objects of a template; where their names are known, other objects are tried later."""
_SCENERY = ("scenery", "static", "not_described")
"""Attributes of fixed parts of a room; portable objects are tried before them, and concealed ones after them."""
_GRAMMAR_WORDS = frozenset(
    (
        *("a", "all", "an", "and", "both", "but", "each", "every", "everything", "except", "her", "him", "it", "me"),
        *("of", "or", "the", "them", "this", "those", "to", "you"),
    )
)
"""Words that parsers mark as nouns although they name no object or replace other words."""


Result = Callable[[str], Hashable]
"""Returns a key for the score and the end, except a death, after a step that printed a text; "" for no step."""


class Affordances:
    """Tries the commands of a story on its interpreter.

    Commands are built from Jericho's templates if it knows the story, otherwise from the story's dictionary.

    result: what a tried command did to the score and the story's end
    """

    def __init__(
        self,
        dictionary: Dictionary,
        interpreter: Interpreter,
        table: ObjectTable,
        attribute_names: Mapping[str, int],
        result: Result,
    ) -> None:
        self._result = result
        self._scenery = numbers_of(attribute_names, _SCENERY)
        self._concealed = numbers_of(attribute_names, ("concealed",))
        self._receivers = {template: numbers_of(attribute_names, names) for template, names in _RECEIVERS.items()}
        self._most_tries = _MOST_TRIES[interpreter.version <= _LAST_QUICK_VERSION]
        self._dictionary = dictionary
        self._interpreter = interpreter
        self._table = table
        known = {_HOLE, *dictionary.words}
        self._around, self._carried, self._pairs = (
            [each for each in templates if known.issuperset(word[: dictionary.letters] for word in each.split())]
            for templates in (_AROUND, _CARRIED, _PAIRS)
        )
        own = interpreter.templates or tuple(f"{verb} {_HOLE}" for verb in dictionary.verbs) + dictionary.verbs
        usage = {template: int(verb_usage_count(template, dictionary.letters)) for template in own}
        self._templates = sorted(usage, key=lambda template: -usage[template])

    def valid_actions(self, observation: Observation) -> tuple[str, ...]:
        """Return one command for each distinct effect: moves, then usual commands, then by frequency of the verb."""
        with self._interpreter.trying() as start:
            trial = _Trial(self._interpreter, self._table, start, self._result)
            effects: dict[Hashable, str] = {}
            nouns = self._nouns(trial, observation)
            for command in islice(dict.fromkeys(self._candidates(nouns, observation)), self._most_tries):
                effect = trial.effect(command)
                if effect:
                    effects.setdefault(effect, command)
            return tuple(effects.values())

    def _nouns(self, trial: _Trial, observation: Observation) -> list[str]:
        """Return one noun for each object that the story describes when it is examined."""
        dictionary = self._dictionary
        visible = sorted(
            observation.visible or (),
            key=lambda each: (bool(each.attributes & self._concealed), bool(each.attributes & self._scenery)),
        )
        objects = chain(observation.inventory or (), visible)
        names = [" ".join(reversed(each.words)) for each in objects]
        texts = (*names, observation.text, trial.answer("look"), trial.answer("inventory"))
        here = dictionary.known_words(texts)
        elsewhere = (noun for noun in sorted(dictionary.nouns) if noun not in here and noun.isalpha())
        answers = [trial.answer(f"examine {noun}").replace(noun, "") for noun in islice(elsewhere, 8, 24)]
        absent = {answer for answer in answers if answers.count(answer) > 1}
        absent.update(trial.answer(f"examine {way}") for way in ("north", "up", "down"))
        things: dict[str, str] = {}
        for cut, full in here.items():
            if cut not in dictionary.nouns or full in dictionary.directions or full in _GRAMMAR_WORDS:
                continue
            answer = trial.idle_answer(f"examine {full}")
            if answer not in absent and answer.replace(full, "") not in absent:
                things.setdefault(answer, full)
        return list(islice(things.values(), _MOST_NOUNS))

    def _candidates(self, nouns: list[str], observation: Observation) -> Iterator[str]:
        """Yield the commands worth trying, likeliest first: moves, usual commands, then all that the story knows."""
        yield from self._dictionary.moves
        held, seen = self._attributes(observation.inventory), self._attributes(observation.visible)
        cut = self._dictionary.letters
        carried = [noun for noun in nouns if noun[:cut] in held]
        around = [noun for noun in nouns if noun[:cut] not in held]
        for templates, things in ((self._around, around), (self._carried, carried)):
            yield from (template.replace(_HOLE, thing) for template, thing in product(templates, things))
        pairs = product(self._pairs, around, carried)
        for template, other, thing in sorted(
            pairs, key=lambda pair: self._rank(pair[0], seen.get(pair[1][:cut], frozenset()))
        ):
            yield _filled(template, *((other, thing) if "with" in template else (thing, other)))
        for template in self._templates:
            yield from (_filled(template, *things) for things in permutations(nouns, template.count(_HOLE)))

    def _attributes(self, objects: Iterable[GameObject] | None) -> dict[str, frozenset[int]]:
        """Return the attributes of each object, keyed by every word of its name, cut as in the dictionary."""
        return {word: each.attributes for each in objects or () for word in self._dictionary.known_words([each.name])}

    def _rank(self, template: str, attributes: frozenset[int]) -> int:
        """Return in which order a template for two objects is tried, by the attributes of the second, from 0."""
        if template not in self._receivers:
            return 2
        needed = self._receivers[template]
        return int(bool(needed) and needed.isdisjoint(attributes))


class _Trial:
    """Tries commands, each from the same state of the story."""

    def __init__(self, interpreter: Interpreter, table: ObjectTable, start: Snapshot, result: Result) -> None:
        self._interpreter = interpreter
        self._table = table
        self._start = start
        self._before = int.from_bytes(table.world(start.memory), "little")
        self._result = result
        self._usual = result("")
        self._noise = 0
        for command in _IDLE:
            self.idle_answer(command)

    def answer(self, command: str) -> str:
        """Return the story's answer to ``command``."""
        self._interpreter.restore(self._start)
        return self._interpreter.send(command)

    def idle_answer(self, command: str) -> str:
        """Return the answer to a command without an effect of its own. Any change after it counts as noise."""
        answer = self.answer(command)
        self._noise |= self._changed_bits()
        return answer

    def effect(self, command: str) -> Hashable:
        """Return a key for the effect of ``command``; ``None`` if it has none.

        It consists of the changed bits of the object tree, the new score, and how the story ended if not by the
        player's death: a command that only kills the player is not listed.
        """
        if refusal(command):
            return None
        answer = self.answer(command)
        if any(words in answer for words in _IMPLICIT):
            return None
        bits, result = self._changed_bits() & ~self._noise, self._result(answer)
        return (bits, result) if bits or result != self._usual else None

    def _changed_bits(self) -> int:
        return int.from_bytes(self._table.world(self._interpreter.memory), "little") ^ self._before


def _filled(template: str, *things: str) -> str:
    for thing in things:
        template = template.replace(_HOLE, thing, 1)
    return template

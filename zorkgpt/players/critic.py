"""The critic: accepts or rejects a proposal before it is played (docs/records/specification.md, Critic).

Two sources are certain and come before the model: the story's own tables and the map.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, Field

from session.commands import TAKING, Command, Vocabulary, plain_command, read_command, words_of
from session.context import AgentContext, PromptSection
from session.errors import LanguageModelError
from session.game_state import Tries
from session.text import asks, cut_at, one_line
from session.values import GameObject, Observation, Proposal, TurnRecord, Verdict, holders_of
from zorkgpt.llm.language_model import LanguageModel, Prompt
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.prompts.loader import fill_prompt

_ANSWERS = frozenset({"yes", "no", "y"})  # `n` is also a direction
_REPEATED = "With everything you can see as it is now, you have typed here, and each time this was the answer:"

CriticMode = Literal["object_tree", "hybrid", "llm"]


class CriticAnswer(BaseModel):
    """The reason, and the judgement that follows from it."""

    reason: str = Field(description="Why, in one sentence to the player")
    accepted: bool = Field(description="Whether the command should be played")
    confidence: float = Field(ge=0, le=1, description="How sure you are of that")


class Critic:
    """Judges proposals by the story's own tables first, then by a model, depending on ``mode``.

    - object_tree: never calls a model
    - hybrid: calls it if the tables have no opinion, if the same command had one and the same outcome before in this
      state of the world, or if play goes round in circles
    - llm: calls it for every proposal that the tables do not refuse

    failures: the number of failed model calls; their proposals were played
    """

    def __init__(self, model: LanguageModel, check: ObjectCheck, mode: CriticMode = "hybrid") -> None:
        self._model = model
        self._check = check
        self._mode = mode
        self.tries = check.tries
        self.failures = 0

    @property
    def system_prompt(self) -> str:
        """The fixed instructions."""
        return fill_prompt("critic")

    def reset(self, tries: Tries) -> None:
        """Begin a new episode; ``tries`` will contain its turns."""
        self.tries = tries
        self._check.reset(tries)

    def learn(self, turn: TurnRecord) -> None:
        """Take the turn into account in later judgements."""
        self._check.learn(turn)

    def objection(self, observation: Observation, action: str) -> Verdict | None:
        """Return the refusal of a command that certainly fails by the story's tables; ``None`` if there is none."""
        opinion = self._check.opinion(observation, action)
        return opinion if opinion and not opinion.accepted else None

    def judge(
        self, observation: Observation, proposal: Proposal, context: Callable[[], AgentContext], circle: str = ""
    ) -> Verdict:
        """Return whether the proposal should be played.

        context: returns what the critic may know, the proposal included
        circle: the warning that play goes round in circles; "" if it does not

        The answer to a question of the story is accepted without a call if it is yes or no, or if the text that ends
        with the question has its words.
        Accepts the proposal if the model call fails, so that ``LanguageModelError`` never stops play.
        """
        asked = observation.awaits_answer or asks(observation.text)
        answer = plain_command(proposal.action)
        if asked and (answer in _ANSWERS or re.search(rf"\b{re.escape(answer)}\b", observation.text.lower())):
            return Verdict(accepted=True)
        opinion = self._check.opinion(observation, proposal.action)
        if opinion and not opinion.accepted:
            return opinion
        outcomes, repetition = self.tries.outcomes(observation, proposal.action), circle
        if len(set(outcomes)) == 1:  # different outcomes are a sign of chance, and trying again may help
            times = "once" if len(outcomes) == 1 else f"{len(outcomes)} times"
            result = f"`{plain_command(proposal.action)}` ({times}): {cut_at(outcomes[0], LONGEST_OUTCOME)}"
            repetition = f"{_REPEATED} {result}"
        is_doubtful = opinion is None or bool(repetition)
        if self._mode == "llm" or (self._mode == "hybrid" and is_doubtful):
            tried = [PromptSection("Tried before", repetition).render()] if repetition else []
            prompt = Prompt.of(self.system_prompt, [*context().parts, *tried])
            try:
                judged = self._model.complete("critic", prompt, CriticAnswer).value
            except LanguageModelError as error:
                self.failures += 1
                return Verdict(accepted=True, reason=f"The critic could not be asked: {error}")
            return Verdict(accepted=judged.accepted, reason=judged.reason, source="llm", confidence=judged.confidence)
        return replace(opinion or Verdict(accepted=True), reason=repetition)


_NEVER_ABSENT = frozenset({"all", "everything", "it", "them", "him", "her", "me", "myself"})
_LISTED = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_FIXED = ("static", "scenery", "animate", "door")
_TOPICS_FOLLOW = frozenset({"about", "for"})
LONGEST_OUTCOME = 400
"""The number of characters of an outcome that are shown."""
TRIES_UNTIL_CERTAIN = 3
"""After this many failures in one state of the world it is certain that an exit leads nowhere in that state."""
EXITS_REFUSED_ALIKE = 2
"""An answer to this many exits reports no progress of a vehicle or a clock."""


ACCEPTED = Verdict(accepted=True, source="object_tree")
"""Everything that the command names is at hand."""


class ObjectCheck:
    """Judges commands of one story by its ``vocabulary``, the current object tree and the map's ``graph``.

    It learns from each turn which words appeared in which room, and in which state an exit failed (ADR 12).

    attribute_names: the numbers of the story's attributes by name; empty if they are not known
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        graph: MapGraph,
        movements: MovementAnalyzer,
        attribute_names: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._attribute_names = attribute_names
        self._vocabulary = vocabulary
        self._graph = graph
        self._movements = movements
        self.reset(Tries())

    def reset(self, tries: Tries) -> None:
        """Begin a new episode; ``tries`` will contain its turns."""
        self.tries = tries
        self._printed: defaultdict[int, set[str]] = defaultdict(set)
        self._echoed: frozenset[str] = frozenset()
        self._led_back: set[int] = set()
        self._refused_exits: defaultdict[str, set[tuple[int, str]]] = defaultdict(set)
        self._read: Observation | None = None

    def learn(self, turn: TurnRecord) -> None:
        """Record the words of the turn's texts by room, and the room if an exit led back to it.

        Words that only echo the command ("You see no loom here") are not recorded.
        """
        self._note_words(turn.before)
        self._echoed = words_of(turn.action, self._vocabulary)
        self._note_words(turn.after)
        here = turn.before.location
        is_exit = self._movements.is_direction(self._movements.exit_of(turn.action))
        has_stayed = here == turn.after.location and turn.after.refusal is None and not turn.is_key
        if here and is_exit and has_stayed:
            self._refused_exits[one_line(turn.after.text)].add((here.num, self._movements.exit_of(turn.action)))
            if turn.leads_back:
                self._led_back.add(here.num)

    def opinion(self, observation: Observation, action: str) -> Verdict | None:
        """Return what is certain of ``action`` as the next command after ``observation``, ``None`` if nothing is.

        A refused command is one that the story would not carry out. After a question of the story none is certain to
        be refused: it may be the answer.
        """
        if observation.awaits_key:
            return ACCEPTED
        exit_ = self._movements.exit_of(action)
        if self._movements.is_direction(exit_):
            return self._exit_opinion(observation, exit_)
        if observation.location is None:
            return None
        # The parser may know only the parts of a hyphenated word.
        parts = ([word] if self._is_known(word) else word.split("-") for word in action.split())
        action = " ".join(" ".join(each) if all(map(self._is_known, each)) else "-".join(each) for each in parts)
        commands = [read_command(each, self._vocabulary) for each in self._each_of_list(action)]
        self._note_words(observation)
        scene = self._scene(observation, observation.location.num)
        opinions = {self._command_opinion(each, scene) if each else None for each in commands}
        opinion = opinions.pop() if len(opinions) == 1 else None
        is_refusal = opinion is not None and not opinion.accepted
        return None if is_refusal and (observation.awaits_answer or asks(observation.text)) else opinion

    def _exit_opinion(self, observation: Observation, exit_: str) -> Verdict | None:
        """Return what is certain of a direction.

        It fails for certain if it was just tried, and all its failures in this state of the world had one text, which
        refused another exit as well. A text of its own, such as that of a moving vehicle, may be progress.
        """
        here = observation.location
        if here is None or not self._graph.is_pruned(here.num, exit_):
            return ACCEPTED
        failures = [
            turn.after
            for command, turns in self.tries.latest_first(here.num)
            if self._movements.exit_of(command) == exit_
            for turn in turns
            if turn.before.world_hash == turn.after.world_hash == observation.world_hash != ""
        ]
        answer = one_line(observation.text)
        is_just_tried = observation in failures and all(one_line(each.text) == answer for each in failures)
        is_plain = here.num not in self._led_back and len(self._refused_exits[answer]) >= EXITS_REFUSED_ALIKE
        if len(failures) < TRIES_UNTIL_CERTAIN or not is_just_tried or not is_plain or asks(answer):
            return None
        reason = f"{exit_!r} was tried here with everything as it is now, again and again: "
        return Verdict(accepted=False, reason=reason + answer, source="map")

    def _each_of_list(self, action: str) -> list[str]:
        """Return a command for each thing of a list, as in "take hat and shoes"; any other command as it is."""
        first, *others = _LISTED.split(action.strip(" .!"))
        verb, _, thing = first.partition(" ")
        starts_anew = any(self._vocabulary.cut(each.partition(" ")[0]) in self._vocabulary.verbs for each in others)
        return (
            [action] if starts_anew or not (thing and all(others)) else [first, *(f"{verb} {each}" for each in others)]
        )

    def _note_words(self, observation: Observation) -> None:
        """Record the words of an observation for the player's room; the first one of a turn is recorded already."""
        if observation is not self._read and observation.location is not None:
            self._printed[observation.location.num] |= words_of(observation.text, self._vocabulary) - self._echoed
        self._read = observation

    def _command_opinion(self, command: Command, scene: _Scene) -> Verdict | None:
        family = self._vocabulary.family
        checked = {"infocom": command.words, "inform": command.words[:1], "unknown": ()}[family]
        unknown = next((word for word in checked if word.isalpha() and not self._is_known(word)), "")
        if unknown:
            reason = f"The story's parser does not know the word {unknown!r}."
            return Verdict(accepted=False, reason=reason, source="object_tree")
        verb = self._vocabulary.cut(command.words[0])
        if verb not in self._vocabulary.verbs:
            return None
        is_free = verb in self._vocabulary.free_verbs
        is_near = verb in self._vocabulary.near_verbs and not is_free and _TOPICS_FOLLOW.isdisjoint(command.words)
        absent = scene.absent_thing(command) if is_near else ""
        if absent:
            reason = f"There is no {absent!r} here: everything that the story calls so is in another room."
            return Verdict(accepted=False, reason=reason, source="object_tree")
        at_hand = command.phrases[:1] if is_free else command.phrases
        if not (all(map(self._is_known, command.words)) and scene.holds_all_of(at_hand)):
            return None
        return None if verb in TAKING and scene.names_fixed_thing(command) else ACCEPTED

    def _is_known(self, word: str) -> bool:
        return self._vocabulary.cut(word) in self._vocabulary.words

    def _scene(self, observation: Observation, here: int) -> _Scene:
        objects = (*(observation.inventory or ()), *(observation.visible or ()))
        names = " ".join(each.name for each in objects)
        return _Scene(
            vocabulary=self._vocabulary,
            here=here,
            parents=observation.parents,
            rooms=self._graph.rooms,
            carried=observation.carried,
            at_hand=frozenset((here, *(each.num for each in objects))),
            printed=words_of(names, self._vocabulary) | self._printed[here],
            fixed=frozenset(each.num for each in observation.visible or () if self._is_fixed(each)),
        )

    def _is_fixed(self, thing: GameObject) -> bool:
        """Return whether a thing cannot be taken by the story's attribute table; false without a table."""
        names = self._attribute_names
        if "takeable" in names:
            return names["takeable"] not in thing.attributes
        return any(names.get(name) in thing.attributes for name in _FIXED)


@dataclass(frozen=True, slots=True)
class _Scene:
    """The player's location at one moment, the things at hand, and the location of everything else."""

    vocabulary: Vocabulary
    here: int
    parents: tuple[int, ...]
    rooms: Container[int]
    carried: frozenset[int]
    at_hand: frozenset[int]
    printed: frozenset[str]
    fixed: frozenset[int]

    def names_fixed_thing(self, command: Command) -> bool:
        """Return whether a noun of the command's first phrase names only things here that cannot be taken."""
        for phrase in command.phrases[:1]:
            for noun in self._nouns(phrase):
                here = self.at_hand.intersection(self.vocabulary.mentions.get(noun, ())) - {self.here}
                if here and here <= self.fixed:
                    return True
        return False

    def absent_thing(self, command: Command) -> str:
        """Return a phrase that can only name things in other rooms; "" if there is no certain one."""
        needs = any if self.vocabulary.family == "inform" else all
        for phrase in command.phrases:
            nouns = self._nouns(phrase)
            absent = (
                noun not in self.printed and noun not in _NEVER_ABSENT and self._all_elsewhere(noun) for noun in nouns
            )
            if nouns and needs(absent):
                return " ".join(phrase)
        return ""

    def holds_all_of(self, phrases: Iterable[tuple[str, ...]]) -> bool:
        """Return whether every noun of the phrases names something that is at hand or was mentioned here."""
        return all(self._is_here(noun) for phrase in phrases for noun in self._nouns(phrase))

    def _nouns(self, phrase: tuple[str, ...]) -> list[str]:
        """Return the words of the phrase that can only name things; in some stories "with" names a thing as well."""
        words = [word for word in phrase if word not in self.vocabulary.prepositions]
        return [word for word in words if word in self.vocabulary.nouns or word in self.vocabulary.objects]

    def _is_here(self, noun: str) -> bool:
        if noun in _NEVER_ABSENT:
            return True
        for num in self.vocabulary.mentions.get(noun, ()):
            if num in self.at_hand or not self.carried.isdisjoint(holders_of(num, self.parents)):
                return True
        return noun in self.printed and not self._all_elsewhere(noun)

    def _all_elsewhere(self, noun: str) -> bool:
        """Return whether the noun names objects and all objects that mention it are in other rooms.

        An object that is not in a room by the tree may be anywhere. A living thing may be addressed, followed or
        enchanted from afar.
        """
        if noun not in self.vocabulary.objects or not self.vocabulary.animate.isdisjoint(
            self.vocabulary.mentions[noun]
        ):
            return False
        rooms = {
            None if self._is_room(num) else next(filter(self._is_room, holders_of(num, self.parents)), None)
            for num in self.vocabulary.mentions[noun]
        }
        return rooms.isdisjoint({None, self.here})

    def _is_room(self, num: int) -> bool:
        """Return whether it is a visited location or, in an Infocom story, a sibling of the current room."""
        if num == self.here or num in self.rooms:
            return True
        beside = next(holders_of(self.here, self.parents), 0) if self.vocabulary.family == "infocom" else 0
        return beside != 0 and next(holders_of(num, self.parents), 0) == beside

"""The trail of an episode, from which routes are learned, and how they are shortened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import md5
from itertools import zip_longest
from typing import NamedTuple

from managers.routes.document import Effect, held_key
from session.commands import is_waiting, passes_time, perceives, plain_command, referred_to
from session.route import Goal, Route, RouteStep, Waypoint, loss_after, mark_of, standings, touched_in
from session.text import asks, one_line, sentences_of
from session.values import Observation, TurnRecord, died_in_vain

Commands = tuple[str, ...]
PAIR = 2
LEAST_OTHER_WORDS = 2  # of a sentence; fewer say nothing without the words of the command
_WORD = re.compile(r"[\w'-]+")
_NUMBER = re.compile(r"\d+")


def minimised(commands: Commands, still_works: Callable[[Commands], bool]) -> Commands:
    """Return the commands that are needed. Removes halves first, then ever smaller parts, while the rest still works.

    No single command and no two in a row, such as going somewhere and back, can be removed from the result.
    """
    size = len(commands) // 2
    while size:
        shorter = commands
        for start in range(len(commands) - size, -size, -(size // 2 or 1)):
            fewer = shorter[: max(start, 0)] + shorter[start + size :]
            if fewer and still_works(fewer):
                shorter = fewer
        size = min(PAIR, len(shorter) - 1) if size <= PAIR and shorter != commands else size // 2
        commands = shorter
    return commands


class Trail:
    """The turns of an episode, from its opening to its first death or its end, after which no route may lead.

    A victory with the highest possible score does not count as the end, nor does a death that wins points: a route may
    lead there, and beyond such a death.

    held, held_words: the things that the player has had in this episode, by number, and the words of their names
    tried, said, fatal, deaths, visits, effects: of this episode, as in ``RouteBook``; commands of routes are not tried
    has_changed: whether the latest command changed anything, without properties that change by themselves
    """

    def __init__(self) -> None:
        self._moments: list[Observation] = []
        self._touched: list[frozenset[int]] = [frozenset()]
        self._answers: set[tuple[str, str]] = set()  # commands with the texts that they printed
        self._steps: list[_PlayedStep] = []
        self._goals: list[tuple[int, Goal]] = []
        self._best: int | None = None
        self._met: set[tuple[str, int]] = set()
        self._is_over = self._ticks = self.has_changed = False
        self.held: dict[int, str] = {}
        self.held_words: set[str] = set()
        self.tried: dict[int, Counter[str]] = {}
        self.said: set[str] = set()
        self.fatal: dict[str, tuple[str, ...]] = {}
        self.deaths: dict[int, Counter[str]] = {}
        self.visits: dict[int, Counter[str]] = {}
        self.effects: dict[int, dict[str, Effect]] = {}

    def add(self, record: TurnRecord) -> frozenset[int]:
        """Add a turn, note what was reached in it, and return the things that were visibly moved or changed."""
        touched = touched_in([record.before, record.after], [record.action])
        self.has_changed = self._changes(record)
        if not self._moments:
            self._moments.append(record.before)
            self._reached(record.before)
            self.said.update(digests_of(record.before.text))
        if record.before.location is not None and not record.is_of_route:
            self.tried.setdefault(record.before.location.num, Counter())[record.action] += 1
        self.said.update(digests_of(record.after.text, record.action))
        after = record.after
        if after.location is not None and after.inventory is not None:
            held = held_key(after.carried)
            self.visits.setdefault(after.location.num, Counter())[held] += 1
            if record.before.location is not None and not after.died:
                gained, lost = (tuple(each.num for each in things) for things in (record.gained, record.lost))
                effect = Effect(after.location.num, gained, lost)
                self.effects.setdefault(record.before.location.num, {})[record.action] = effect
        is_best = after.ending == "won" and (
            after.max_score is None or after.score is None or after.score >= after.max_score
        )
        if after.died or (after.ending is not None and not is_best):
            mark = mark_of(record.before)
            self.fatal[mark] = (*self.fatal.get(mark, ()), record.action)
            if record.before.location is not None:
                self.deaths.setdefault(record.before.location.num, Counter())[record.action] += 1
            self._is_over |= after.ending is not None or died_in_vain(record.before, after)
        if self._is_over:
            return touched
        self._moments.append(after)
        self._touched.append(self._touched[-1] | touched)
        exchange = plain_command(record.action), one_line(after.text)
        took_a_turn = record.before.moves is None or record.before.moves != after.moves
        is_question = after.awaits_answer or (asks(after.text) and not after.awaits_key)
        is_new = exchange not in self._answers and (took_a_turn or is_question)
        may_be_idle = not (is_new or is_waiting(exchange[0]))
        only_text = after.noticed is not None and not self.has_changed
        self._steps.append(_PlayedStep(record.action, _was_not_carried_out(record), may_be_idle, only_text))
        self._answers.add(exchange)
        self._goals += [(len(self._steps), goal) for goal in self._reached(after)]
        return touched

    def _changes(self, record: TurnRecord) -> bool:
        """Return whether the command changed anything.

        Properties that changed when the player last only looked or waited, as of a lamp that burns down, change by
        themselves, so that a property alone says nothing then.
        """
        command = plain_command(record.action)
        only_looks = passes_time(command) or perceives(command)
        if only_looks:
            self._ticks = record.changed_unseen
        return record.did_something or (record.changed_unseen and not (only_looks or self._ticks))

    def has_reached(self, goal: Goal) -> bool:
        """Return whether the room or the thing was reached in this episode."""
        return (goal.kind, goal.number) in self._met

    def routes(self, episode: int) -> Iterator[Route]:
        """Yield a route to everything that was reached after the opening, in that order; they have no number yet."""
        sent = [number for number, step in enumerate(self._steps) if not step.was_refused]
        commands = [self._steps[number].command for number in sent]
        meant = [(number, referred_to(commands, at)) for at, number in enumerate(sent)]
        reaches = [frozenset(standings(moment)) for moment in self._moments]
        scores = [(step.command, after.score) for step, after in zip(self._steps, self._moments[1:], strict=True)]
        seen, known = list[Waypoint](), frozenset[int]()  # most waypoints are the same on the next route
        for length, goal in self._goals:
            played, moments, touched = self._steps[:length], self._moments[: length + 1], self._touched[length]
            new, known = touched - known, touched
            seen = [
                point if point and new.isdisjoint(reach) else Waypoint.of(moment, touched)
                for moment, point, reach in zip_longest(moments, seen, reaches[: length + 1])
            ]
            pairs = zip(played, seen[1:], strict=True)
            whole = tuple(RouteStep(step.command, point, step.only_text) for step, point in pairs)
            referred = {sent[at] for number, at in meant if at is not None and number < length}
            steps = tuple(whole[number] for number in _needed(moments, played, referred))
            spare, ordered = whole if whole != steps else (), tuple(sorted(touched))
            loss = loss_after(moments[-1].score, scores[length:])
            yield Route(0, goal, seen[0], steps, episode, spare=spare, touched=ordered, loss=loss)

    def _reached(self, observation: Observation) -> list[Goal]:
        """Return what is reached for the first time in this episode."""
        found = []
        score, location = observation.score, observation.location
        if score is not None and (self._best is None or score > self._best):
            self._best = score
            found.append(Goal("score", score))
        if location is not None:
            found.append(Goal("room", location.num, location.label))
        for thing in observation.inventory or ():
            found.append(Goal("thing", thing.num, thing.name))
            self.held[thing.num] = thing.name
            self.held_words.update(thing.words)
        new = [goal for goal in found if (goal.kind, goal.number) not in self._met]
        self._met.update((goal.kind, goal.number) for goal in new)
        return new


def digests_of(text: str, command: str = "") -> frozenset[str]:
    """Return 8 hex digits of each sentence without its numbers, and of those without the words of the command.

    An exclamation mark counts as a full stop.
    """
    sentences = [each.replace("!", ".") for each in sentences_of(text)]
    sentences += filter(None, (without_words(each, command) for each in sentences))
    return frozenset(md5(_NUMBER.sub("#", each).encode(), usedforsecurity=False).hexdigest()[:8] for each in sentences)


def without_words(sentence: str, command: str) -> str:
    """Return the sentence with a mark instead of the words of a command after its verb; "" without a sentence left."""
    own = "|".join(map(re.escape, _WORD.findall(command)[1:]))
    marked = re.sub(rf"\b(?:{own})\b(?:\s+(?:{own})\b)*", "*", sentence, flags=re.IGNORECASE) if own else sentence
    return marked if marked != sentence and len(_WORD.findall(marked)) >= LEAST_OTHER_WORDS else ""


class _PlayedStep(NamedTuple):
    """A command that was played.

    was_refused: it did not reach the story, or was not carried out
    may_be_idle: the story had printed the same text for it before, or counted no turn and asked nothing, as for a menu.
        Waiting is never idle: it is for a clock, and clocks do not count as a difference
    only_text: as in ``RouteStep``
    """

    command: str
    was_refused: bool
    may_be_idle: bool
    only_text: bool


def _was_not_carried_out(record: TurnRecord) -> bool:
    """Return whether the story refused the command, or counted no turn for it and its whole state is as before."""
    before, after = record.before, record.after
    is_question = before.awaits_answer or after.awaits_answer or record.is_key or asks(after.text)
    return after.refusal is not None or (record.took_no_turn and record.changed_nothing and not is_question)


def _needed(moments: Sequence[Observation], played: Sequence[_PlayedStep], referred: Collection[int]) -> list[int]:
    """Return the indexes of the steps that the story carried out and may have changed it.

    Steps are not needed if all of them may be idle and the story's whole state is then as before. A visit of a menu is
    one step: a command with the keys after it.

    moments: the opening, and the state after each step
    referred: the steps on which a later command depends for its meaning, such as "again" or "take it"
    """
    needed: list[int] = []
    states = [moments[0].state_hash]
    for number, (step, after) in enumerate(zip(played, moments[1:], strict=True)):
        if step.was_refused:
            continue
        needed.append(number)
        states.append(after.state_hash)
        for at in range(len(needed) - 1, -1, -1) if not after.awaits_key else ():
            if not played[needed[at]].may_be_idle or needed[at] in referred:
                break
            if states[at] == states[-1] != "":
                del needed[at:], states[at + 1 :]
                break
    return needed

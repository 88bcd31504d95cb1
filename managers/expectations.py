"""Compares each turn of a course with what earlier turns and games led to expect (ADR 34)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice, zip_longest
from typing import TypeAlias

from managers.map_manager import MapManager
from managers.route_manager import RouteManager
from managers.routes.document import Effect
from managers.routes.trail import digests_of, without_words
from managers.transcripts.document import Game
from managers.transcripts.game_text import PlayedTurn, played_turns
from session.commands import (
    TAKING,
    Vocabulary,
    is_move,
    is_waiting,
    only_confirms,
    only_informs,
    passes_time,
    perceives,
    plain_command,
)
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.route import Course
from session.text import (
    ASIDE,
    addresses_player,
    asks,
    counted,
    cut_at,
    description_in,
    is_dark,
    quotation,
    sentence_around,
    sentences_of,
)
from session.values import GameObject, Location, Observation, StopAt, TurnRecord, things_around
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

MOST_REFUSED = 3  # commands in a row that took no turn of the story, before any course ends
LONGEST_NEWS = 300  # characters
_ANYTHING = frozenset({"all", "both", "everything", "it", "them", "him", "her"})
_SMALL_WORDS = frozenset({"a", "an", "of", "the"})
_TRYING: Collection[StopAt] = ("place", "end")  # failures do not end such courses
_Turn: TypeAlias = tuple[int | None, int | None, PlayedTurn, PlayedTurn | None]
"""A turn after the ids of its locations before and after, and before the turn that followed."""


class Expectations:
    """Finds what was not expected in a turn of a course: a failure, a question, a new place or a new sentence.

    One is made for each episode, before its first turn.

    games: returns earlier games
    """

    def __init__(
        self,
        config: GameConfiguration,
        game_state: GameState,
        map_manager: MapManager,
        vocabulary: Vocabulary,
        movements: MovementAnalyzer,
        routes: RouteManager | None,
        games: Callable[[], Iterable[Game]],
    ) -> None:
        self._config = config
        self._state = game_state
        self._map = map_manager
        self._vocabulary = vocabulary
        self._movements = movements
        self._routes = routes
        self._games = games
        self._printed: set[str] = set(digests_of(game_state.opening))
        self._before: defaultdict[str, list[_Turn]] = defaultdict(list)  # of all games but the latest, by plain command
        self._known_rooms = frozenset(map_manager.game_map.rooms)  # at the opening

    def add(self, record: TurnRecord) -> None:
        """Expect from now on what that turn printed."""
        self._printed.update(digests_of(record.after.text, record.action))

    def remember(self) -> None:
        """Add the turn before the latest one to those by command, and first the turns of earlier games."""
        for game in () if self._before else self._games():
            there = self._state.opening_id
            for turn, later in zip_longest(game.turns, game.turns[1:]):
                here, there = there, turn.to_id or there
                self._before[plain_command(turn.action)].append((here, there, turn, later))
        for record in self._state.turns[-2:-1]:
            turn, later = played_turns(self._state, len(self._state.turns) - 2)
            places = record.before.location_id, record.after.location_id
            self._before[plain_command(turn.action)].append((*places, turn, later))

    def question(self, record: TurnRecord, course: Course) -> str:
        """Return how the story asks the player a question that the course does not expect; "" if it does not.

        If the story reads commands as usual, a question at the end of its text counts if two of three signs say so: the
        command took no turn, the text is not what the command made the player read or see, the question addresses the
        player.
        """
        after = record.after
        if after.awaits_key:
            return "the story waits for a key"
        if not (after.awaits_answer or asks(after.text)) or self._was_so(record, course):
            return ""
        if after.awaits_answer:
            return "the story waits for an answer, not for a command"
        scene = description_in(after.text, after.location.name) if after.location else None
        is_shown = perceives(plain_command(record.action)) or bool(scene and "\n\n" not in scene)
        is_asked = sum((record.took_no_turn, not is_shown, addresses_player(after.text))) > 1
        return "the text ends with a question" if is_asked else ""

    def failure(self, record: TurnRecord, course: Course) -> str:
        """Return why a command whose result was not known cannot be followed by the next one; "" if it can."""
        before, after, command = record.before, record.after, plain_command(record.action)
        goes = not record.is_key and self.goes(command)
        place = None if after.awaits_key else after.location
        unseen = self._undescribed(place, record, is_move=goes) if place else ""
        unseen = "; ".join(filter(None, [unseen, self._points_missed(record)])) if unseen else ""
        if unseen and not self._was_so(record, course, goes_on=False):
            return unseen
        problem = ""
        leads_back = goes and record.leads_back
        if goes and place is not None and not (record.moved or leads_back) and before.inside == after.inside:
            problem = "; ".join(filter(None, [f"you are still at {self.name_of(place)}", self._changes(record)]))
        elif missed := self._points_missed(record):
            problem = missed
        elif place is not None and record.moved and only_informs(command) and not is_waiting(command):
            problem = "; ".join(filter(None, [f"you came to {self.name_of(place)}", self._changes(record)]))
        elif course.stop_at in _TRYING:
            problem = self._tried_out(record, course)
        elif not (self._state.has_effect(record) or leads_back or passes_time(command)):
            problem = self._in_vain(record, command, is_planned=course.kind == "plan")
        if problem and not self._was_so(record, course, goes_on=after.awaits_answer or course.kind != "plan"):
            return problem
        further = [plain_command(step.command) for step in course.steps[course.done + 1 :]]
        changes = self._changes(record, further, only_sight=course.stop_at in _TRYING)
        if course.stop_at == "end" or not changes or self._was_so(record, course):
            return ""
        return f"you came to {self.name_of(place)}; {changes}" if place and record.moved and not goes else changes

    def news_in(self, record: TurnRecord, course: Course, *, is_known: bool) -> str:
        """Return what ends a course though its command did not fail: a new place, or a new sentence."""
        place, command = record.after.location, plain_command(record.action)
        visited = self._known_rooms | self._state.visited_locations
        if place is not None and record.moved and not is_known and place.num not in visited:
            return f"a new place: {self.name_of(place)}."
        what = "something new"
        if course.stop_at != "news" and (place is not None or record.is_key):
            is_answered = record.after.awaits_answer  # else the course would have stopped
            had_effect = self._state.has_effect(record) or record.leads_back or is_answered
            if course.stop_at in _TRYING or had_effect or only_informs(command):
                return ""
            what = "an answer that is new, while nothing visible changed"
        if self._config.assist or (is_known and not self._printed_before):
            return ""
        news = next(self._new_sentences(record), "")
        if not news:
            return ""
        if record.moved and place is not None and place.name == news:
            return f"a new place: {self.name_of(place)}."
        quoted = quotation(cut_at(news, LONGEST_NEWS))
        return f"{what}: {quoted}" + ("" if re.search(r"[.!?]['\"]+$", quoted) else ".")

    def known_effects(self, record: TurnRecord) -> list[Effect]:
        """Return what the command did here in earlier games, as far as it is kept."""
        here = record.before.location
        if self._routes is None or here is None:
            return []
        return list(self._routes.effects_of(plain_command(record.action), here.num))

    def goes(self, command: str) -> bool:
        """Return whether a command is a move."""
        return self._movements.is_direction(plain_command(command)) or is_move(command, self._vocabulary)

    def name_of(self, place: Location) -> str:
        """Return the name of a location, with its id if another room has this name."""
        names = self._map.game_map.room_names.items()
        is_shared = any(name == place.label and room != place.num for room, name in names)
        return f"L{place.num} {place.label}" if is_shared else place.label

    def _tried_out(self, record: TurnRecord, course: Course) -> str:
        """Return that a command won points, for ``place``, or that the latest took no turn of the story; else "".

        The points that it won here in an earlier game are expected.
        """
        gained = record.score_change or 0
        if course.stop_at == "place" and gained > 0 and gained not in self._won_before(record):
            return f"it won {counted(gained, 'point')}"
        latest = self._state.turns[-min(MOST_REFUSED, course.done + 1) :]
        if len(latest) < MOST_REFUSED or not all(turn.took_no_turn for turn in latest):
            return ""
        taken = f"{MOST_REFUSED} of the {counted(self._config.max_turns_per_episode, 'turn')} of the episode"
        return f"the last {MOST_REFUSED} commands took no turn of the story, but {taken}"

    def _was_so(self, record: TurnRecord, course: Course, *, goes_on: bool = True) -> bool:
        """Return whether the command had the same text and effect here before, in any game, and is not the last one."""
        following = "".join(plain_command(step.command) for step in course.steps[course.done + 1 : course.done + 2])
        ends = record.before.location_id, record.after.location_id
        gained, lost = ({thing.num for thing in things} for things in (record.gained, record.lost))
        effects = [(each.to_id, {*each.gained}, {*each.lost}) for each in self.known_effects(record)]
        if not following or (effects and (ends[1], gained, lost) not in effects):
            return False
        text = digests_of(record.after.text)
        return any(
            (here, there) == ends
            and later is not None
            and (not goes_on or plain_command(later.action) == following)
            and digests_of(turn.response) == text
            for here, there, turn, later in self._before.get(plain_command(record.action), ())
        )

    @property
    def _printed_before(self) -> frozenset[str]:
        """The digests of the sentences of earlier games."""
        return self._routes.book.said if self._routes else frozenset()

    def _new_sentences(self, record: TurnRecord) -> Iterator[str]:
        """Yield the sentences that no turn of any game has had, not even about another thing that a command named."""
        sentences = sentences_of(ASIDE.sub("", record.after.text))
        for at, sentence in enumerate(sentences):
            parts = (digests_of(each) for each in (sentence, without_words(sentence, record.action)) if each)
            if any(all(each in self._printed or each in self._printed_before for each in digests) for digests in parts):
                continue
            if not self._is_foreseen(sentence, record):
                whole = sentence_around(sentences, at)
                yield whole if len(whole) <= LONGEST_NEWS else sentence

    def _is_foreseen(self, sentence: str, record: TurnRecord) -> bool:
        """Return whether a sentence only confirms a command, or lists what was in sight there before."""
        command, place = plain_command(record.action), record.after.location_id
        if (record.score_change or 0) > 0 and sentence.startswith("[") and sentence.endswith("]"):
            return True
        if not (self._state.has_effect(record) or is_waiting(command)):
            return False
        reach = record.before.in_reach | record.after.in_reach
        things = {reach[num] for num in self._named(record) & reach.keys()}
        if not _ANYTHING.isdisjoint(command.split()):
            things.update(thing for thing in (*record.gained, *record.lost) if thing.num in record.before.in_reach)
        if record.moved:
            then = (turn.before for turn in reversed(self._state.turns) if turn.before.location_id == place)
            things.update(thing for moment in islice(then, 1) for thing in moment.in_reach.values())
        return only_confirms(sentence, command, {word for thing in things for word in thing.words})

    def _changes(self, record: TurnRecord, further: Iterable[str] = (), *, only_sight: bool = False) -> str:
        """Return what the command changed without naming it; "" if it did not.

        further: the commands of the course after it; they do not name the things that it brought into sight
        only_sight: only such things count
        """
        earlier = self.known_effects(record) if record.gained or record.lost else []
        gained = [num for each in earlier for num in each.gained]
        lost = [num for each in earlier for num in each.lost]
        changes = {"now in sight": self._come_to_light(record, further)}
        if not only_sight:
            changes = {
                "now you carry": self._unnamed(record, record.newly_held, gained, record.before),
                "you no longer carry": self._unnamed(record, record.no_longer_held, lost, record.after),
                **changes,
            }
        return "; ".join(f"{name}: {', '.join(each.label for each in got)}" for name, got in changes.items() if got)

    def _in_vain(self, record: TurnRecord, command: str, *, is_planned: bool) -> str:
        """Return how it is seen that a command without an effect failed; "" if it is not.

        is_planned: the command is to do what it did in an earlier game
        """
        if record.took_no_turn:
            most = counted(self._config.max_turns_per_episode, "turn")
            return f"it took no turn of the story, but one of the {most} of the episode"
        if record.changed_nothing and not (perceives(command) and next(self._new_sentences(record), None)):
            return "nothing changed"
        here, text = record.before.location_id, digests_of(record.after.text, record.action)
        before = self._before.get(command, ()) if is_planned else ()
        known = [digests_of(turn.response, command) for at, _, turn, _ in before if at == here]
        if known and not only_informs(command) and all(text.isdisjoint(each) for each in known):
            return "it was answered otherwise here before"
        for turn in () if only_informs(command) else reversed(self._state.turns):
            is_other = turn.before.location_id == here and plain_command(turn.action) != command
            if is_other and turn.after.text == record.after.text and not self._state.has_effect(turn):
                return f"it got the same answer as `{turn.action}` in turn {turn.turn}"
        return ""

    def _undescribed(self, place: Location, record: TurnRecord, *, is_move: bool) -> str:
        """Return that the story describes the place no more, or not when the player comes there; "" if it does."""
        text, known = record.after.text, self._state.room_descriptions.get(place.num)
        has_heading = known is not None and description_in(known.text, place.name) is not None
        is_seen = not is_dark(text, of_elsewhere=record.moved) and not (record.moved and has_heading)
        if is_seen or description_in(text, place.name) is not None:
            return ""
        if record.moved and not is_move:
            return f"you came to {self.name_of(place)}, which the story does not describe"
        dark = ", as in the dark" if is_dark(text, of_elsewhere=record.moved) else ""
        return f"the story does not describe {self.name_of(place)}{dark}"

    def _come_to_light(self, record: TurnRecord, further: Iterable[str]) -> list[GameObject]:
        """Return the things, never held, that came into sight uncarried and that the story names as in no earlier game.

        There are none if one of them is named by the command or by a further one of the course: then it was meant.
        """
        carried, held = record.after.carried, self._state.held
        new = [thing for thing in record.came_to_light if thing.num not in carried and thing.num not in held]
        meant = {word for command in (record.action, *further) for word in re.findall(r"[\w'-]+", command.lower())}
        named = {num for word in meant for num in self._vocabulary.objects.get(self._vocabulary.cut(word), ())}
        if not _ANYTHING.isdisjoint(meant) or any(
            thing.num in named or not meant.isdisjoint(thing.words) for thing in new
        ):
            return []
        sentences = sentences_of(ASIDE.sub("", record.after.text))
        known = self._printed_before  # by earlier games, whose player knew of the thing
        text = " ".join(each for each in sentences if not all(digest in known for digest in digests_of(each)))
        words = set(re.findall(r"[\w'-]+", text.lower()))
        return [thing for thing in new if not words.isdisjoint(thing.words)]

    def _won_before(self, record: TurnRecord) -> set[int]:
        """Return the points that the command won here in earlier games."""
        here, before = record.before.location_id, self._before.get(plain_command(record.action), ())
        return {turn.change for at, _, turn, _ in before if at == here and turn.change > 0}

    def _points_missed(self, record: TurnRecord) -> str:
        """Return that points were lost, or that none were won in this game as here in an earlier one; "" otherwise."""
        here, command = record.before.location_id, plain_command(record.action)
        if record.score_change is not None and record.score_change < 0:
            return f"your score fell by {-record.score_change}"
        if record.score_change is None or record.score_change > 0 or record.moved:
            return ""
        again = (turn for turn in self._state.scored if turn.before.location_id == here)
        is_missed = self._won_before(record) and command not in (plain_command(turn.action) for turn in again)
        return "it won no point, though it did here in an earlier game" if is_missed else ""

    def _named(self, record: TurnRecord) -> frozenset[int]:
        """Return the objects that a command names by the story's words, or else by those in its object's name."""
        command, cut, reach = plain_command(record.action), self._vocabulary.cut, record.before.in_reach
        words = {*map(cut, re.findall(r"[\w'-]+", command))} - _SMALL_WORDS
        named = {num for word in words for num in self._vocabulary.objects.get(word, ())}
        things = reach | record.after.in_reach
        named |= {num for num, each in things.items() if words & {*map(cut, each.words)}}
        if named.isdisjoint(reach):
            named |= {num for word in words for num in self._vocabulary.mentions.get(word, ())}
            if len(record.gained) == 1 and command.split(" ", 1)[0] in TAKING:
                named |= {thing.num for thing in record.gained} & reach.keys()
        return frozenset(named)

    def _unnamed(
        self, record: TurnRecord, things: Iterable[GameObject], expected: Collection[int], without: Observation
    ) -> list[GameObject]:
        """Return the things that a command gained or lost without naming them.

        It names what is in or on a thing that it names, if that was in sight or carried. A thing that the player has
        had and that only went into or out of something that is carried was neither gained nor lost.

        without: the moment at which the things are not carried by themselves
        """
        if not _ANYTHING.isdisjoint(record.action.lower().split()):
            return []
        before, named = record.before, self._named(record)
        reach, carried = before.in_reach, without.carried
        return [
            thing
            for thing in things
            if thing.num not in named
            and thing.num not in expected
            and not (thing.num in reach and named & things_around(thing.num, before))
            and not (thing.num in self._state.held and carried & things_around(thing.num, without))
        ]

"""Leads the player along a course: commands that are played without a question to a model (ADR 34)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise, zip_longest
from typing import TypeAlias

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.known import Known
from managers.map_manager import MapManager
from managers.plan import (
    PLAN,
    PlannedStep,
    Progress,
    Walked,
    next_of,
    numbered_commands,
    progress_in,
    steps_of,
)
from managers.route_manager import RouteManager
from managers.routes.document import Effect
from managers.routes.trail import digests_of, without_words
from managers.transcripts.document import Game
from managers.transcripts.game_text import PlayedTurn, played_turns
from session.commands import (
    TAKING,
    commands_of,
    is_move,
    is_waiting,
    only_confirms,
    only_informs,
    passes_time,
    perceives,
    plain_command,
)
from session.context import PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.route import Course, RouteStep, Waypoint
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
from session.values import GameObject, Location, Observation, Proposal, TurnRecord, in_reach, things_around
from zorkgpt.mapping.map_values import Edge
from zorkgpt.mapping.navigation import shortest_path

MOST_THEN = 12
"""Further commands of one answer."""
MOST_REFUSED = 3  # commands in a row that took no turn of the story, before any course ends
LONGEST_NEWS = 300  # characters
_ANYTHING = frozenset({"all", "both", "everything", "it", "them", "him", "her"})
_SMALL_WORDS = frozenset({"a", "an", "of", "the"})
_Turn: TypeAlias = tuple[int | None, int | None, PlayedTurn, PlayedTurn | None]
"""A turn after the ids of its locations before and after, and before the turn that followed."""


class CourseManager(BaseManager):
    """Follows the course that the player chose, and stops it at the first thing that was not expected.

    A course is made of a route (``follow``), of the way to a location (``go_to``), of the plan's commands, or of
    further commands of an answer (``then``); of several in this order. ``next_proposal`` replaces the question to a
    model. Each turn is compared with what is expected of its command.

    planned: returns the commands of the plan
    games: returns earlier games
    has_stopped: whether a command with a known result was not followed by the next one in the last turn
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        map_manager: MapManager,
        *,
        routes: RouteManager | None = None,
        planned: Callable[[], Sequence[str]] = tuple,
        games: Callable[[], Iterable[Game]] = tuple,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self._routes = routes
        self._map = map_manager
        self._planned = planned
        self._games = games
        self.reset()

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self._course: Course | None = None
        self._news = ""  # what the next prompt reports about the last course
        self._said: set[str] = set(digests_of(self.game_state.opening))
        self._plan_at: tuple[object, ...] = ()
        self._plan_then: tuple[Sequence[PlannedStep], Progress] = (), Progress()
        self._plan_turns = 0  # of this game, in ``_plan_then``
        self._before: defaultdict[str, list[_Turn]] = defaultdict(list)  # of all games but the latest, by plain command
        self._known_rooms = frozenset(self._map.game_map.rooms)  # at the opening
        self.has_stopped = False

    @property
    def next_proposal(self) -> Proposal | None:
        """The next command without a question to a model, or ``None`` if no course is followed."""
        course = self._course
        if course is None:
            return None
        aim = f", {course.aim}" if course.aim else ""
        name = course.name_at(course.done + 1)
        number, last = (course.skipped + each for each in (course.done + 1, len(course.steps)))
        reason = f"On {name[0].lower()}{name[1:]}{aim}: command {number} of {last}."
        return Proposal(course.steps[course.done].command, reason)

    @property
    def is_own(self) -> bool:
        """Whether the next command is one that the player wrote itself, so that its result is not known."""
        return self._course is not None and self._course.done >= self._course.known

    def set_out(self, proposal: Proposal, observation: Observation) -> str:
        """Follow a route or walk to a location, as the agent chose. Returns why that is impossible, or ""."""
        if proposal.follow is None:
            course = self._walk(observation, proposal.go_to)
        elif proposal.follow == PLAN:
            course = self._rest_of_plan(proposal.until)
        elif self._routes is not None:
            course = self._routes.course(proposal.follow, proposal.until, observation)
        else:
            course = "there are no routes"
        if isinstance(course, str):
            return course
        further, left = self._further(proposal), course.left
        if left and further:
            left += f" Not played either: {', '.join(step.command for step in further)}."
            further = ()
        steps, most = course.steps + further, len(course.steps) + MOST_THEN
        self._course = replace(
            course, steps=steps, most=most, left=left, stop_at=proposal.stop_at, further=len(further)
        )
        self._news = ""
        return ""

    def stop(self) -> None:
        """Stop the course before its next command, which is not played; the prompt has the reason."""
        if self._course is not None:
            at = self._course.done
            self._news = self._stopped(self._course, at, f"stopped before `{self._course.steps[at].command}`.")
            self._course = None

    @staticmethod
    def _stopped(course: Course, number: int, end: str) -> str:
        """Return how a course ended after so many commands, with those that were not played."""
        numbered = len(course.steps) - course.further if course.kind in {"route", "plan"} else 0
        left = ", ".join(
            f"{course.skipped + at}. {each.command}" if at <= numbered else f"`{each.command}`"
            for at, each in enumerate(course.steps[number:], number + 1)
        )
        return f"{course.name_at(number)} {end}{f' Not played: {left}.' if left else ''}"

    def _further(self, proposal: Proposal) -> tuple[RouteStep, ...]:
        commands = [command for line in proposal.then for command in commands_of(line, self.vocabulary)]
        return tuple(RouteStep(command, Waypoint()) for command in commands)

    def _rest_of_plan(self, until: int | None = None) -> Course | str:
        """Return the plan's commands from the next one on, or why they cannot be followed."""
        commands, here = self._planned(), self.game_state.latest.location_id
        steps, progress = self._plan
        left = [number for number in range(len(commands)) if number not in progress.done]
        if not left:
            return "all commands of the plan are played" if commands else "the plan has no commands"
        start = next_of(steps, progress, here, self._goes)
        if start is None:
            wanted = next((number for number in left if number >= progress.at), left[0])
            places = " or ".join(map(str, sorted(steps[wanted].places)))
            where = f"is for location {places}" if places else "does not follow what was done"
            return f"its command {wanted + 1}, `{commands[wanted]}`, {where}"
        if until is not None and until <= start:
            return f"`until` is the number of a command of the plan, from {start + 1}"
        again = (each for each in range(start, len(commands)) if each in progress.done)
        end = next((each for each in again if not self._goes(commands[each])), len(commands))
        last = min(end, until or end)
        is_done = last == end < len(commands) and until != end
        reason = f"Its command {end + 1}, `{commands[end]}`, was done before." if is_done else ""
        planned = tuple(RouteStep(command, Waypoint()) for command in commands[start:last])
        return Course("plan", "The plan", planned, skipped=start, is_part=last < len(commands), left=reason)

    def _goes(self, command: str) -> bool:
        """Return whether a command is a move."""
        return self.movements.is_direction(plain_command(command)) or is_move(command, self.vocabulary)

    def _does_same(self, turn: TurnRecord, step: PlannedStep) -> bool:
        """Return whether a turn played a command of the plan, or got all that it has got there in an earlier game."""
        if self.vocabulary.means_same(plain_command(turn.action), step.command):
            return True
        here, gained = turn.before.location_id, {thing.num for thing in turn.gained}
        if not gained or self._routes is None or here is None:
            return False
        effects = [*self._routes.effects_of(step.command, here)]
        return any(each.gained and each.to_id == here and gained.issuperset(each.gained) for each in effects)

    def _doubt_of_plan(self, number: int) -> str:
        """Return in brackets what is not known of a command of the plan, ``number``, that would be played now."""
        (steps, progress), now = self._plan, self.game_state.latest
        step = steps[number - 1]
        doubts = [] if step.is_played else ["never played here" if step.places else "place unknown"]
        doubts += ["the story waits for an answer"] if now.awaits_answer or now.awaits_key else []
        left = [each for each in range(1, number) if each - 1 not in progress.done]
        doubts += [f"{numbered_commands(left)} not played"] if left else []
        return f" ({'; '.join(doubts)})" if doubts else ""

    @property
    def _plan(self) -> tuple[Sequence[PlannedStep], Progress]:
        """The plan's commands with the places at which they are played, and what of them was done in this game."""
        commands, state = self._planned(), self.game_state
        now = commands, state.turn_count, self._routes and self._routes.book
        if self._plan_at != now:
            walked = self._routes.walked() if self._routes and commands else Walked()
            steps = steps_of(commands, state.opening_id, walked)
            is_same = self._plan_at[2:] == now[2:] and steps == self._plan_then[0]
            seen, progress = (self._plan_turns, self._plan_then[1]) if is_same else (0, Progress())
            self._plan_turns = len(state.turns)
            progress = progress_in(steps, state.turns[seen:], self._does_same, progress)
            self._plan_at, self._plan_then = now, (steps, progress)
        return self._plan_then

    @property
    def places_ahead(self) -> tuple[int, ...]:
        """The locations of the commands of the plan that were not played yet, and its end, in order, each once."""
        steps, progress = self._plan
        ahead = [step.places for number, step in enumerate(steps) if number not in progress.done]
        ahead += [step.leads_to for step in steps[-1:] if ahead]
        return tuple(dict.fromkeys(place for places in ahead for place in sorted(places)))

    def _walk(self, observation: Observation, to_id: int | None) -> Course | str:
        """Return the way to a location up to a doubtful step, which may only be its first one, or a problem."""
        here = observation.location
        if here is None or to_id is None:
            return "your location is not known"
        if here.num == to_id:
            return "you are there already"
        found = shortest_path(self._map.game_map, here.num, to_id)
        if found is None:
            return f"no way from here to location {to_id} is known"
        graph, names = self._map.game_map, self._map.game_map.room_names
        steps, left = list[RouteStep](), ""
        for command, (before, room) in zip(found.commands, pairwise(found.location_ids), strict=True):
            doubt, edge = "", Edge(before, command)
            if command not in {*graph.connections.get(before, {}), *graph.named_exits.get(before, ())}:
                doubt = "was never walked, only its opposite was"
            elif graph.is_refused(edge):
                words = graph.last_refusal(edge)
                doubt = f"led nowhere when it was last tried{f': {quotation(words)}' if words else ''}"
            elif edge in graph.rides and (observation.inside is None or observation.inside.label != graph.rides[edge]):
                doubt = f"was only walked in or on: {graph.rides[edge]}"
            if steps and doubt:
                left = (
                    f"`{command}` from L{before} to L{room} {doubt}. Not played: "
                    f"{', '.join(found.commands[len(steps) :])}. To try it, ask for go_to {to_id} again."
                )
                break
            name, known = names.get(room, ""), self.game_state.room_descriptions.get(room)
            is_described = known is not None and description_in(known.text, name) is not None
            steps.append(RouteStep(command, Waypoint(room, name, is_described=is_described)))
        name = f"The way to {self._name_of(Location(to_id, names.get(to_id, '')))}"
        return Course("way", name, tuple(steps), known=len(steps), left=left)

    @override
    def learn(self, record: TurnRecord) -> None:
        proposal, verdict = record.proposals[-1], record.verdicts[-1]
        course = self._course
        if course is not None and not (
            verdict.accepted
            and record.typed == course.steps[course.done].command
            and (record.is_unasked or len(record.proposals) == 1)
        ):
            course = None
        if proposal.then and not proposal.wants_way and verdict.accepted:
            first = RouteStep(record.action, Waypoint())
            steps = first, *self._further(proposal)
            course = Course("then", "Your course", steps, most=1 + MOST_THEN, stop_at=proposal.stop_at)
        self._course, self._news, self.has_stopped = None, "", False
        self._remember()
        if course is not None:
            self._go_on(course, record)
        self._said.update(digests_of(record.after.text, record.action))

    def _go_on(self, course: Course, record: TurnRecord) -> None:
        """Take the next step of a course, or end the course."""
        step, number = course.steps[course.done], course.done + 1
        is_known, is_last = number <= course.known, number == len(course.steps)
        known_gains = {num for each in self._known_effects(record) for num in each.gained} if record.gained else set()
        held = {*self.game_state.held, *course.in_sight}
        held |= known_gains.intersection(thing.num for thing in record.gained)
        held |= {num for num in in_reach(record.after) if record.before.carried & things_around(num, record.before)}
        problem = step.leads_to.deviation(record.before, record.after, course.touched, held)
        if not problem and (course.kind != "route" or not is_known):  # a route was played through its questions
            is_next_key = record.is_key and record.after.awaits_key and course.stop_at != "news"
            problem = "" if is_next_key else self._question(record, course)
        problem = problem or ("" if is_known else self._failure(record, course))
        if self._routes is not None and is_known and (problem or number == course.known):
            self._routes.note_followed(course, number, record, problem)
        news = "" if problem or is_last else self._news_in(record, course, is_known=is_known)
        if not problem and not news and number < min(course.most or number + 1, len(course.steps)):
            self._course = replace(course, done=number)
            return
        self.has_stopped = is_known and bool(problem or news)
        played = counted(number, "command")
        if is_last:
            if not is_known and course.kind == "then" and (not problem or record.did_something):
                return  # the player has seen what the last of its own commands brought
            extent = f"up to `{step.command}`" if course.is_part or course.left else "to its end"
            name = f"{course.name}, and then your commands," if course.further else course.name
            end = f"followed {extent}, in {played}."
            if problem:
                end = f"played {extent} ({played}); last: {problem}."
            self._news = f"{name} was {end} {course.left}".rstrip()
            return
        if problem:
            end = f"stopped at `{step.command}` ({played} played): {problem}."
        elif news:
            end = f"was interrupted after `{step.command}` by {news}"
        else:
            end = f"ended after `{step.command}`: at most {MOST_THEN} further commands are played."
        self._news = self._stopped(course, number, end)

    def _question(self, record: TurnRecord, course: Course) -> str:
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

    def _no_time_passes(self, course: Course) -> str:
        """Return why the course ends if its latest commands took no turn of the story; otherwise ""."""
        latest = self.game_state.turns[-min(MOST_REFUSED, course.done + 1) :]
        if len(latest) < MOST_REFUSED or not all(turn.took_no_turn for turn in latest):
            return ""
        taken = f"{MOST_REFUSED} of the {counted(self.config.max_turns_per_episode, 'turn')} of the episode"
        return f"the last {MOST_REFUSED} commands took no turn of the story, but {taken}"

    def _was_so(self, record: TurnRecord, course: Course, *, goes_on: bool = True) -> bool:
        """Return whether the command had the same text and effect here before, in any game, and is not the last one."""
        following = "".join(plain_command(step.command) for step in course.steps[course.done + 1 : course.done + 2])
        ends = record.before.location_id, record.after.location_id
        gained, lost = ({thing.num for thing in things} for things in (record.gained, record.lost))
        effects = [(each.to_id, {*each.gained}, {*each.lost}) for each in self._known_effects(record)]
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

    def _remember(self) -> None:
        """Add the turn before the latest one to those by command, and first the turns of earlier games."""
        for game in () if self._before else self._games():
            there = self.game_state.opening_id
            for turn, later in zip_longest(game.turns, game.turns[1:]):
                here, there = there, turn.to_id or there
                self._before[plain_command(turn.action)].append((here, there, turn, later))
        for record in self.game_state.turns[-2:-1]:
            turn, later = played_turns(self.game_state, len(self.game_state.turns) - 2)
            places = record.before.location_id, record.after.location_id
            self._before[plain_command(turn.action)].append((*places, turn, later))

    def _known_effects(self, record: TurnRecord) -> list[Effect]:
        """Return what the command did here in earlier games, as far as it is kept."""
        here = record.before.location
        if self._routes is None or here is None:
            return []
        return list(self._routes.effects_of(plain_command(record.action), here.num))

    def _news_in(self, record: TurnRecord, course: Course, *, is_known: bool) -> str:
        """Return what ends a course though its command did not fail: a new place, or a new sentence."""
        place, command = record.after.location, plain_command(record.action)
        visited = self._known_rooms | self.game_state.visited_locations
        if place is not None and record.moved and not is_known and place.num not in visited:
            return f"a new place: {self._name_of(place)}."
        what = "something new"
        if course.stop_at != "news" and (place is not None or record.is_key):
            is_answered = record.after.awaits_answer  # else the course would have stopped
            had_effect = self.game_state.has_effect(record) or record.leads_back or is_answered
            if course.stop_at == "place" or had_effect or only_informs(command):
                return ""
            what = "a new answer, and nothing visible changed"
        if self.config.assist or (is_known and not self._said_before):
            return ""
        news = next(self._new_sentences(record), "")
        if not news:
            return ""
        if record.moved and place is not None and place.name == news:
            return f"a new place: {self._name_of(place)}."
        quoted = quotation(cut_at(news, LONGEST_NEWS))
        return f"{what}: {quoted}" + ("" if re.search(r"[.!?]['\"]+$", quoted) else ".")

    def _name_of(self, place: Location) -> str:
        """Return the name of a location, with its id if another room has this name."""
        names = self._map.game_map.room_names.items()
        is_shared = any(name == place.label and room != place.num for room, name in names)
        return f"L{place.num} {place.label}" if is_shared else place.label

    @property
    def _said_before(self) -> frozenset[str]:
        """The digests of the sentences of earlier games."""
        return self._routes.book.said if self._routes else frozenset()

    def _new_sentences(self, record: TurnRecord) -> Iterator[str]:
        """Yield the sentences that no turn of any game has had, not even about another thing that a command named."""
        sentences = sentences_of(ASIDE.sub("", record.after.text))
        for at, sentence in enumerate(sentences):
            said = (digests_of(each) for each in (sentence, without_words(sentence, record.action)) if each)
            if any(all(each in self._said or each in self._said_before for each in digests) for digests in said):
                continue
            if not self._is_foreseen(sentence, record):
                whole = sentence_around(sentences, at)
                yield whole if len(whole) <= LONGEST_NEWS else sentence

    def _is_foreseen(self, sentence: str, record: TurnRecord) -> bool:
        """Return whether a sentence only confirms a command, or lists what was in sight there before."""
        command, place = plain_command(record.action), record.after.location_id
        if (record.score_change or 0) > 0 and sentence.startswith("[") and sentence.endswith("]"):
            return True
        if not (self.game_state.has_effect(record) or is_waiting(command)):
            return False
        reach = in_reach(record.before) | in_reach(record.after)
        things = {reach[num] for num in self._named(record) & reach.keys()}
        if not _ANYTHING.isdisjoint(command.split()):
            things.update(thing for thing in (*record.gained, *record.lost) if thing.num in in_reach(record.before))
        if record.moved:
            then = (turn.before for turn in reversed(self.game_state.turns) if turn.before.location_id == place)
            things.update(thing for moment in islice(then, 1) for thing in in_reach(moment).values())
        return only_confirms(sentence, command, {word for thing in things for word in thing.words})

    def _failure(self, record: TurnRecord, course: Course) -> str:
        """Return why a command whose result was not known cannot be followed by the next one; "" if it can."""
        before, after, command = record.before, record.after, plain_command(record.action)
        goes = not record.is_key and self._goes(command)
        place = None if after.awaits_key else after.location
        unseen = self._undescribed(place, record, is_move=goes) if place else ""
        if unseen and not self._was_so(record, course, goes_on=False):
            return unseen
        problem = ""
        leads_back = goes and record.leads_back
        if goes and place is not None and not (record.moved or leads_back) and before.inside == after.inside:
            problem = "; ".join(filter(None, [f"you are still at {self._name_of(place)}", self._changes(record)]))
        elif missed := self._points_missed(record):
            problem = missed
        elif course.stop_at == "place":
            problem = self._no_time_passes(course)
        elif not (self.game_state.has_effect(record) or leads_back or passes_time(command)):
            problem = self._in_vain(record, command)
        if problem and not self._was_so(record, course, goes_on=after.awaits_answer or course.kind != "plan"):
            return problem
        changes = "" if course.stop_at == "place" else self._changes(record)
        if not changes or self._was_so(record, course):
            return ""
        return f"you came to {self._name_of(place)}; {changes}" if place and record.moved and not goes else changes

    def _changes(self, record: TurnRecord) -> str:
        """Return what the command changed without naming it; "" if it did not."""
        earlier = self._known_effects(record) if record.gained or record.lost else []
        gained = [num for each in earlier for num in each.gained]
        lost = [num for each in earlier for num in each.lost]
        changes = {
            "now you carry": self._unnamed(record, record.newly_held, gained, record.before),
            "you no longer carry": self._unnamed(record, record.no_longer_held, lost, record.after),
            "now in sight": self._awaited(record),
        }
        return "; ".join(f"{name}: {', '.join(each.label for each in got)}" for name, got in changes.items() if got)

    def _in_vain(self, record: TurnRecord, command: str) -> str:
        """Return how it is seen that a command without an effect failed; "" if it is not."""
        if record.took_no_turn:
            most = counted(self.config.max_turns_per_episode, "turn")
            return f"it took no turn of the story, but one of the {most} of the episode"
        if record.changed_nothing and not (perceives(command) and next(self._new_sentences(record), None)):
            return "nothing changed"
        here = record.before.location_id
        for turn in () if only_informs(command) else reversed(self.game_state.turns):
            is_other = turn.before.location_id == here and plain_command(turn.action) != command
            if is_other and turn.after.text == record.after.text and not self.game_state.has_effect(turn):
                return f"it got the same answer as `{turn.action}` in turn {turn.turn}"
        return ""

    def _undescribed(self, place: Location, record: TurnRecord, *, is_move: bool) -> str:
        """Return that the story describes the place no more, or not when the player comes there; "" if it does."""
        text, known = record.after.text, self.game_state.room_descriptions.get(place.num)
        has_heading = known is not None and description_in(known.text, place.name) is not None
        is_seen = not is_dark(text, of_elsewhere=record.moved) and not (record.moved and has_heading)
        if is_seen or description_in(text, place.name) is not None:
            return ""
        if record.moved and not is_move:
            return f"you came to {self._name_of(place)}, which the story does not describe"
        return f"the story does not describe {self._name_of(place)}, as in the dark"

    @staticmethod
    def _awaited(record: TurnRecord) -> list[GameObject]:
        """Return the things that came into sight while the player waited, uncarried, and that the story names."""
        words = set(re.findall(r"[\w'-]+", record.after.text.lower()))
        seen = record.came_to_light if is_waiting(plain_command(record.action)) else ()
        carried = record.after.carried
        return [thing for thing in seen if thing.num not in carried and not words.isdisjoint(thing.words)]

    def _points_missed(self, record: TurnRecord) -> str:
        """Return that points were lost, or that none were won in this game as here in an earlier one; "" otherwise."""
        here, command = record.before.location_id, plain_command(record.action)
        if record.score_change is not None and record.score_change < 0:
            return f"your score fell by {-record.score_change}"
        if record.score_change is None or record.score_change > 0 or record.moved:
            return ""
        has_won = any(at == here and turn.change > 0 for at, _, turn, _ in self._before.get(command, ()))
        again = (turn for turn in self.game_state.scored if turn.before.location_id == here)
        is_missed = has_won and command not in (plain_command(turn.action) for turn in again)
        return "it won no point, though it did here in an earlier game" if is_missed else ""

    def _named(self, record: TurnRecord) -> frozenset[int]:
        """Return the objects that a command names by the story's words, or else by those in its object's name."""
        command, cut, reach = plain_command(record.action), self.vocabulary.cut, in_reach(record.before)
        words = {*map(cut, re.findall(r"[\w'-]+", command))} - _SMALL_WORDS
        named = {num for word in words for num in self.vocabulary.objects.get(word, ())}
        things = reach | in_reach(record.after)
        named |= {num for num, each in things.items() if words & {*map(cut, each.words)}}
        if named.isdisjoint(reach):
            named |= {num for word in words for num in self.vocabulary.mentions.get(word, ())}
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
        reach, carried = in_reach(before), without.carried
        return [
            thing
            for thing in things
            if thing.num not in named
            and thing.num not in expected
            and not (thing.num in reach and named & things_around(thing.num, before))
            and not (thing.num in self.game_state.held and carried & things_around(thing.num, without))
        ]

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        sentences = [self._news]
        is_of_player = self.config.agent.reasoning_length is None and not self.config.assist
        if self._routes is not None and is_of_player and self.game_state.turn_count:
            rest = self._rest_of_plan() if self._planned() else ""
            if isinstance(rest, Course) and rest.skipped:
                number, command = rest.skipped + 1, rest.steps[0].command
                doubt = self._doubt_of_plan(number)
                sentences.append(f"`follow` 0 goes on with the plan: its command {number}, `{command}`{doubt}.")
            steps, progress = self._plan
            sentences += ["All commands of the plan are played."] if steps and len(progress.done) == len(steps) else []
            vain = {(each.before.location_id, command): each.turn for command, each in self.game_state.tries.in_vain}
            failed = [
                f"{number}. `{step.command}`, turn {vain[played]}"
                for number, step in enumerate(steps, start=1)
                for played in step.played
                if played in vain and not only_informs(step.command)
            ]
            sentences += [f"Of the plan's commands, without effect in this game: {'; '.join(failed)}."] * bool(failed)
        return PromptSection("COURSE", "\n".join(filter(None, sentences)), is_of_plan=True)

    @override
    def get_status(self) -> ManagerStatus:
        course = self._course
        return {
            "type": "course",
            "state": {"following": course.name if course else ""},
            "metrics": {"left": len(course.steps) - course.done if course else 0},
        }

    @override
    def known(self) -> Known:
        return Known(under_way=self._course)


def is_on_course(courses: CourseManager | None, record: TurnRecord) -> bool:
    """Return whether commands of a course follow that turn, so that no model should be called in between."""
    return record.is_of_route if courses is None else courses.next_proposal is not None

"""Leads the player along a course: commands that are played without a question to a model (ADR 34)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.expectations import Expectations
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
from managers.transcripts.document import Game
from session.commands import (
    commands_of,
    only_informs,
    plain_command,
)
from session.context import PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.route import Course, RouteStep, Waypoint
from session.text import (
    counted,
    description_in,
    one_line,
    quotation,
)
from session.values import Location, Observation, Proposal, TurnRecord, things_around
from zorkgpt.mapping.map_values import Edge
from zorkgpt.mapping.navigation import shortest_path

MOST_THEN = 12
"""Further commands of one answer."""


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
        self._expectations = Expectations(
            self.config, self.game_state, self._map, self.vocabulary, self.movements, self._routes, self._games
        )
        self._plan_at: tuple[object, ...] = ()
        self._plan_then: tuple[Sequence[PlannedStep], Progress] = (), Progress()
        self._plan_turns = 0  # of this game, in ``_plan_then``
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
        start = next_of(steps, progress, here, self._expectations.goes)
        if start is None:
            wanted = next((number for number in left if number >= progress.at), left[0])
            places = " or ".join(map(str, sorted(steps[wanted].places)))
            where = f"is for location {places}" if places else "does not follow what was done"
            return f"its command {wanted + 1}, `{commands[wanted]}`, {where}"
        if until is not None and until <= start:
            return f"`until` is the number of a command of the plan, from {start + 1}"
        again = (each for each in range(start, len(commands)) if each in progress.done)
        end = next((each for each in again if not self._expectations.goes(commands[each])), len(commands))
        last = min(end, until or end)
        is_done = last == end < len(commands) and until != end
        reason = f"Its command {end + 1}, `{commands[end]}`, was done before." if is_done else ""
        planned = tuple(RouteStep(command, Waypoint()) for command in commands[start:last])
        return Course("plan", "The plan", planned, skipped=start, is_part=last < len(commands), left=reason)

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
        is_known = bool(step.places) and now.location is not None
        doubts = ["place unknown"] if not is_known else [] if step.is_played else ["never played here"]
        waits = "a key" if now.awaits_key else "an answer" if now.awaits_answer else ""
        doubts += [f"the story waits for {waits}"] if waits else []
        doubts += self._missing_for(step) if is_known else []
        left = [each for each in range(1, number) if each - 1 not in progress.done]
        played = {plain_command(turn.action) for turn in self.game_state.turns} if left else ()
        otherwise = [each for each in left if steps[each - 1].command in played]
        left = [each for each in left if each not in otherwise]
        doubts += [f"{numbered_commands(left)} not played"] if left else []
        doubts += [f"{numbered_commands(otherwise)} played, but not as planned"] if otherwise else []
        return f" ({'; '.join(doubts)})" if doubts else ""

    def _missing_for(self, step: PlannedStep) -> list[str]:
        """Return in words that each earlier game lost a thing by the command that the player does not carry now."""
        now = self.game_state.latest
        if self._routes is None or now.location is None or now.inventory is None:
            return []
        lost = [{*each.lost} for each in self._routes.effects_of(step.command, now.location.num)]
        missing = set[int]().union(*lost) - now.carried
        if not lost or not all(missing & each for each in lost):
            return []
        names = [self._routes.book.names.get(num, "a thing") for num in sorted(missing)]
        return [f"not carried now: {', '.join(map(one_line, names))}"]

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
        name = f"The way to {self._expectations.name_of(Location(to_id, names.get(to_id, '')))}"
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
        self._expectations.remember()
        if course is not None:
            self._go_on(course, record)
        self._expectations.add(record)

    def _go_on(self, course: Course, record: TurnRecord) -> None:
        """Take the next step of a course, or end the course."""
        step, number = course.steps[course.done], course.done + 1
        is_known, is_last = number <= course.known, number == len(course.steps)
        effects = self._expectations.known_effects(record) if record.gained else ()
        known_gains = {num for each in effects for num in each.gained}
        held = {*self.game_state.held, *course.in_sight}
        held |= known_gains.intersection(thing.num for thing in record.gained)
        held |= {num for num in record.after.in_reach if record.before.carried & things_around(num, record.before)}
        problem = step.leads_to.deviation(record.before, record.after, course.touched, held)
        if not problem and (course.kind != "route" or not is_known):  # a route was played through its questions
            is_next_key = record.is_key and record.after.awaits_key and course.stop_at != "news"
            problem = "" if is_next_key else self._expectations.question(record, course)
        problem = problem or ("" if is_known else self._expectations.failure(record, course))
        if self._routes is not None and is_known and (problem or number == course.known):
            self._routes.note_followed(course, number, record, problem)
        news = "" if problem or is_last else self._expectations.news_in(record, course, is_known=is_known)
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
            vain = self.game_state.tries.in_vain
            failed = [
                f"{number}. `{step.command}`, turn {vain[played].turn}"
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

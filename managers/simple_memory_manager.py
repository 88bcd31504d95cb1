"""Keeps memories of locations, for one episode or across episodes (docs/records/specification.md, Memory tiers)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, replace
from functools import partial

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.course_manager import CourseManager
from managers.done import all_done
from managers.known import Known, memory_keys
from managers.map_manager import MapManager
from managers.memory.document import MemoriesDocument, Revision, open_memories, stands
from managers.memory.outcome import ActionOutcome, NewsLedger, ZMachineContext, as_record
from managers.memory.prompt import (
    arrival_memory,
    brief_question,
    location_text,
    memory_of,
    shuffled_location,
    turns_of,
    visit_prompt,
    worth_keeping,
)
from managers.memory.synthesis import VisitMemory, VisitNews, VisitSynthesis, VisitTracker, visit_of
from managers.prompting import is_for_a_small_model
from managers.questions import Beside, ChosenTurn, Question, ask_each
from session.context import Place, PromptSection
from session.errors import LanguageModelError, StoreError
from session.events import EpisodeEnd
from session.files.markdown import MarkdownProblem
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import (
    INVALIDATION_MARKER,
    PERSISTENCES,
    Memory,
    MemoryStatus,
    MemoryStatusType,
    MemorySynthesisResponse,
)
from session.text import is_dark, text_key
from session.values import Location, Observation, Proposal, TurnRecord, require_location_id
from zorkgpt.llm.language_model import LanguageModel

__all__ = [
    "INVALIDATION_MARKER",
    "Memory",
    "MemoryStatus",
    "MemoryStatusType",
    "MemorySynthesisResponse",
    "SimpleMemoryManager",
    "ZMachineContext",
]

NEWS_FILE = "memory_news.txt"
MOST_MEMORIES = 8  # of one visit
COUNTED = ("refused", "synthesis_calls", "synthesis_failures", "memories_learned", "core_validation_downgrade")


class SimpleMemoryManager(BaseManager):
    """Owns ``Memories.md`` and the memories of the episode.

    memory_cache: core and permanent memories by location id, in the order of the file, including superseded ones
    ephemeral_cache: the episode's own memories by location id
    llm_client: the model that writes memories; without it nothing is learned from play
    courses: reports the turn in which a route was interrupted
    map_manager: counts visits, including those before a location had a memory

    If the file cannot be written, one error is logged, and the memories are written with the next write. Raises
    ``StoreError`` if the file cannot be read.
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        llm_client: LanguageModel | None = None,
        *,
        courses: CourseManager | None = None,
        map_manager: MapManager | None = None,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self.llm_client = llm_client
        self.memory_file = config.zork_game_workdir / config.simple_memory.memory_file
        self._courses = courses
        self._map = map_manager
        self.memory_cache: dict[int, list[Memory]] = {}
        self.ephemeral_cache: dict[int, list[Memory]] = {}
        self._store = open_memories(self.memory_file)
        self._document: MemoriesDocument | None = None  # whose memories are in the cache
        self._followed: dict[int, list[Memory]] = {}
        self._reported: list[MarkdownProblem] | None = None
        self._is_failing = False  # the last access to the file failed
        self._is_over = False  # the episode has ended
        self._ledger = NewsLedger(
            config.zork_game_workdir / NEWS_FILE,
            lambda error: self.log_warning(
                "what was considered may be considered again in the next run", error=str(error)
            ),
        )
        self.stores = (self._store, self._ledger)
        self._visit = VisitTracker()
        self._counts: Counter[str] = Counter()
        self.followed()

    @classmethod
    @override
    def shared_files(cls, config: GameConfiguration) -> tuple[SharedFile, ...]:
        return (SharedFile(config.simple_memory.memory_file, "Memories.md"), SharedFile(NEWS_FILE))

    def problems(self) -> list[MarkdownProblem]:
        """Return the parts of the memory file that cannot be parsed. They are kept in the file but not used."""
        return self._store.document.problems()

    def add_memory(self, location_id: int, location_name: str, memory: Memory) -> bool:
        """Add a memory to the location, and write it unless it is ephemeral.

        Returns false if the location already has a memory of that title, or if the file cannot be written. Raises
        ``ValueError`` for an invalid location id, like all methods that change memories.
        """
        return self._revise(Revision(location_id, location_name, memory))

    def supersede_memory(self, location_id: int, location_name: str, old_memory_title: str, new_memory: Memory) -> bool:
        """Supersede a memory with a new one, in one write.

        Returns false and changes nothing if the location has no such memory or the new one must not supersede it
        (docs/records/specification.md, Superseding and invalidating).
        """
        turn = new_memory.last_turn or self.game_state.turn_count
        revision = Revision(location_id, location_name, new_memory, superseded=(old_memory_title,), turn=turn)
        if not revision.concerns(self._at(location_id)):
            self.log_warning("there is no such memory", location_id=location_id, title=old_memory_title)
            return False
        return self._revise(revision)

    def invalidate_memory(self, location_id: int, memory_title: str, reason: str, turn: int | None = None) -> bool:
        """Invalidate a memory, and return whether it existed. ``turn``: the current turn by default."""
        return self.invalidate_memories(location_id, [memory_title], reason, turn)[memory_title]

    def invalidate_memories(
        self, location_id: int, memory_titles: Iterable[str], reason: str, turn: int | None = None
    ) -> dict[str, bool]:
        """Invalidate memories in one write. Returns by title whether the memory existed."""
        turn = self.game_state.turn_count if turn is None else turn
        revision = Revision(location_id, invalidated=tuple(memory_titles), reason=reason, turn=turn)
        memories = self._at(location_id)
        found = {title: stands(memories, title) for title in revision.invalidated}
        self._revise(revision)
        return found

    def remove_memory(self, title: str) -> bool:
        """Remove the memories of that title at all locations. Returns whether any existed. Raises ``StoreError``."""
        self._refresh()
        key = text_key(title)

        def kept(memory: Memory) -> Memory | None:
            return None if text_key(memory.title) == key else memory

        ephemeral = {place: [*filter(kept, memories)] for place, memories in self.ephemeral_cache.items()}
        is_removed = ephemeral != self.ephemeral_cache
        self.ephemeral_cache.update(ephemeral)
        is_removed = self._store.apply(lambda document: document.revise(None, kept)) or is_removed
        self._follow()
        return is_removed

    def get_location_memory(self, location_id: int | None) -> str:
        """Return the location's memories in the agent's format, persistent ones first; "" if there are none.

        They follow a line with the numbers of visits and of episodes, unless this is the first visit.
        """
        return self._shown_at(location_id).text

    def _shown_at(self, location_id: int | None, here: int | None = None) -> PromptSection:
        """Return the section of the prompt with the location's memories.

        The arrival memory is left out if the story has described the location ``here`` in this episode, as prompts have
        its latest description.
        """
        section = PromptSection("Location Memory", "", 2, Place.MEMORY)
        if location_id is None:
            return section
        is_described = here in self.game_state.room_descriptions
        self._refresh()
        persistent, ephemeral = self.memory_cache.get(location_id, ()), self.ephemeral_cache.get(location_id, ())
        keys = (*memory_keys(location_id, persistent), *memory_keys(location_id, ephemeral, "e"))
        believed = [
            (key, memory, all_done(memory, location_id, self.game_state))
            for key, memory in zip(keys, (*persistent, *ephemeral), strict=True)
            if not memory.is_given_up and not (memory.is_arrival and is_described)
        ]
        is_small = self.config.agent.reasoning_length is not None
        if is_small:  # it tends to repeat them
            believed = [(key, memory, done) for key, memory, done in believed if not done]
        text, shown = location_text(
            [memory for _, memory, _ in believed],
            [done for *_, done in believed],
            self.config.simple_memory,
            self.tokens,
            show_markers=self.config.show_persistence_markers,
            is_cut=is_small,
        )
        if not text:
            return section
        in_file = self._store.document.visits_at(location_id)
        figures = (0, 0) if self._map is None else self._map.visits(location_id)
        if in_file is not None:
            # The file does not count the visit that has just begun, nor visits before the location had a memory.
            has_come = location_id == self.game_state.current_room_id != self._visit.location_id
            episodes = {*in_file.episodes, self.game_state.episode} if has_come else {*in_file.episodes}
            figures = max(figures, (in_file.count + has_come, len(episodes)))
        count, episode_count = figures
        if count > 1:
            across = f", counted over {episode_count} episodes" if episode_count > 1 else ""
            text = f"This is visit {count}{across}.\n{text}"
        return replace(section, text=text, shows=tuple(believed[number][0] for number in shown))

    def shown_location(self, location_id: int) -> int | None:
        """Return the location whose memories are shown at this one: another one, or none, if an ablation shuffles."""
        if not self.config.simple_memory.shuffled:
            return location_id
        return shuffled_location(location_id, {*self.memory_cache, *self.ephemeral_cache}, self.config.game.seed)

    def get_ephemeral_count(self, location_id: int | None = None) -> int:
        """Count the ephemeral memories of the location, or of all locations."""
        locations = self.ephemeral_cache if location_id is None else [location_id]
        return sum(len(self.ephemeral_cache.get(location, ())) for location in locations)

    def get_persistent_count(self, location_id: int | None = None) -> int:
        """Count the core and permanent memories of the location, or of all locations."""
        locations = self.memory_cache if location_id is None else [location_id]
        return sum(len(self.memory_cache.get(location, ())) for location in locations)

    def get_memory_breakdown(self, location_id: int) -> dict[str, int]:
        """Count the memories of the location by persistence, without superseded ones."""
        believed = (memory for memory in self._at(location_id) if not memory.is_given_up)
        counts = Counter(memory.persistence for memory in believed)
        return {persistence: counts[persistence] for persistence in PERSISTENCES}

    def learn(self, record: TurnRecord) -> None:
        """Add the turn to its visit, that of the location at which it began, and learn from the visit once it ends.

        On a route only a death is news, and the step at which it stopped.
        """
        location, visit = record.before.location, self._visit
        if location is None or record.after.refusal is not None:
            return
        if location.num != visit.location_id:
            self._end_visit()
            self._count_visit(location)
        outcome = ActionOutcome(record, location, self.movements, first_visit=visit.enter(location.num))
        visit.laid_down[location.num].update(outcome.laid_down)
        if outcome.first_visit and is_dark(record.before.text):
            visit.unlit.add(location.num)
        if outcome.first_visit or location.num in visit.unlit:
            self._keep_arrival(record.before.text, location, record.turn)
        has_stopped = self._courses is not None and self._courses.has_stopped
        is_as_known = record.is_of_route and not (record.after.died or record.after.ending or has_stopped)
        if not is_as_known:
            visit.stays[location.num].append(outcome)
            if self._is_news(outcome) and not visit.is_pending(outcome):
                visit.news.append(outcome)
        visit.tried.add((outcome.command, outcome.had_effect))
        has_died = record.after.died and self.config.simple_memory.flush_on_death
        is_over = record.after.ending is not None or has_died
        if record.moved or record.after.location is None or is_over:
            self._end_visit()
        if is_over:
            self.consider()

    def record_action_outcome(
        self,
        location_id: int | None,
        location_name: str,
        action: str,
        response: str,
        z_machine_context: ZMachineContext,
    ) -> None:
        """Learn from a single command at ``location_id``, if its outcome is news; without a location from none."""
        if location_id is None:
            self.log_warning("an action without a location teaches nothing", location=location_name, action=action)
            return
        recorded = self.game_state.turns[-1:]
        is_recorded = [(each.action, each.after.text) for each in recorded] == [(action, response)]
        turn = self.game_state.turn_count + (0 if is_recorded else 1)
        require_location_id(location_id)
        location = Location(location_id, location_name)
        record = as_record(location, self.game_state.episode, turn, action, response, z_machine_context)
        first_visit = z_machine_context.get("first_visit", False)
        outcome = ActionOutcome(record, location, self.movements, first_visit=first_visit)
        if self._is_news(outcome):
            ask_each(self._questions_about([[outcome]]))

    def remember(self, answer: VisitMemory, now: Observation) -> None:
        """Learn from an answer of the player at the beginning of a turn, by the rules for a model's answer."""
        state, rooms = self.game_state, {} if self._map is None else self._map.game_map.room_names
        place = answer.location_id or 0
        here = now.location or Location(place, rooms.get(place, ""))
        record = TurnRecord(state.episode, max(state.turn_count, 1), now, (Proposal(""),), (), now)
        first_visit = here == now.location and here.num not in self._visit.visited
        outcome = ActionOutcome(record, here, self.movements, first_visit=first_visit)
        memories = {room: tuple(self._at(room)) for room in (here.num, place)}
        self._adopt(answer, VisitNews((outcome,), memories.pop(here.num), memories, rooms))

    def section(self, observation: Observation) -> PromptSection | None:
        """Return the section with the memories of the location."""
        here = observation.location
        if here is None:
            return self._shown_at(None)
        return self._shown_at(self.shown_location(here.num), here.num)

    def commit(self) -> None:
        """Write pending memories. A failure to write is logged."""
        self._refresh()
        if self._store.is_due:
            self._attempt(self._store.commit)
            self._follow()
        self._ledger.commit()

    def _end_visit(self) -> None:
        """Let the news of the visit wait until a question is due (specification, Memory prompts)."""
        visit = self._visit
        if visit.is_asked_about and not any(each.record.is_decisive for each in visit.news):
            visit.news.clear()  # they stay news for a later visit
        visit.wait()
        if visit.waiting and len(visit.waiting) >= self._visits_in_question:
            ask_each(self.questions())
        visit.is_asked_about = False

    @property
    def _visits_in_question(self) -> int:
        """How many visits a question is about: one if the agent's prompt may not show what was learned since."""
        is_whole = self.config.prompt_budgets.game_so_far and not self._is_small
        return self.config.simple_memory.visits_in_question if is_whole else 1

    @property
    def _is_small(self) -> bool:
        """Whether a small model writes the memories."""
        return is_for_a_small_model(self.config.prompt_budgets.memory, "memory", self.tokens)

    def consider(self) -> None:
        """Learn from all pending news."""
        self._visit.is_asked_about |= bool(self._visit.news)
        ask_each(self.questions())

    @override
    def finish(self, end: EpisodeEnd) -> None:
        """Count an arrival in the last turn, keep its text, and let the next commit write all memories."""
        for last in self.game_state.turns[-1:] if not self._is_over else ():
            here, is_over = last.after.location, last.after.died or last.after.ending is not None
            if last.moved and here is not None and not is_over:
                self._count_visit(here)
                if here.num not in self._visit.visited:
                    self._keep_arrival(last.after.text, here, last.turn)
        self._is_over = True
        self._store.demand()
        if not self._store.holds:
            self.commit()

    @override
    def questions(self, outlooks: Sequence[str] = ()) -> Sequence[Question]:
        """Return the question about all pending news."""
        self._visit.wait()
        waiting = [*self._visit.waiting.values()]
        self._visit.waiting.clear()
        return self._questions_about(waiting)

    def reset_episode(self) -> None:
        """Begin a new episode in the same ``game_state``: see :meth:`reset`."""
        self.reset()

    def reset(self, game_state: GameState | None = None) -> None:
        """Learn from the last visit, remove all ephemeral memories, and begin a new episode."""
        self.end("left")
        self.log_info("ephemeral memories are gone", count=self.get_ephemeral_count())
        self.ephemeral_cache.clear()
        self._visit, self._is_over = VisitTracker(), False
        super().reset(game_state)

    def followed(self) -> None:
        """Update the cache after the store has read the file, and report parts that cannot be parsed, once."""
        if self._store.document is self._document:
            return
        self._follow()
        problems = self.problems()
        # The command that begins a run prints the first ones; an error appears on the screen.
        log = self.log_warning if self._reported is None else self.log_error
        for problem in problems:
            if problem not in (self._reported or ()):
                where = f"{self.memory_file}:{problem.line}"
                log("not understood in the file of memories", error=f"{where}: {problem.message}")
        self._reported = problems

    @override
    def known(self) -> Known:
        ephemeral = {place: tuple(memories) for place, memories in self.ephemeral_cache.items()}
        return Known(self._store.document.memories(), ephemeral)

    @override
    def get_status(self) -> ManagerStatus:
        return {
            "type": "simple_memory",
            "state": {"file": str(self.memory_file), "writable": not self._is_failing},
            "metrics": {
                "locations": len(self.memory_cache),
                "persistent_memories": self.get_persistent_count(),
                "ephemeral_memories": self.get_ephemeral_count(),
                "pending_news": len(self._visit.news) + sum(map(len, self._visit.waiting.values())),
                "pending_edits": self._store.unsaved,
                **{name: self._counts[name] for name in COUNTED},
            },
        }

    def _count_visit(self, location: Location) -> None:
        self._follow()
        episode = self.game_state.episode
        self._store.defer(  # written with the next change
            lambda document: document.update_visits(location.num, episode).with_name(*astuple(location))
        )
        self._document = self._store.document  # a visit changes no memory

    def _keep_arrival(self, printed: str, location: Location, turn: int) -> None:
        """Add what the story printed on arrival, unless the location has or had such a memory, or has a core one."""
        cores = [each for each in self._at(location.num) if each.persistence == "core"]
        has_one = any(each.is_arrival or not each.is_given_up for each in cores)
        if self.llm_client is None or has_one or self._ledger.has_kept_arrival(location.num):
            return
        memory = arrival_memory(printed, location, self.game_state.episode, turn)
        if memory is not None and self.add_memory(location.num, location.name, memory):
            self._counts["memories_learned"] += 1
            self._ledger.note_arrival(location.num)

    def _is_news(self, outcome: ActionOutcome) -> bool:
        """Return whether the outcome is news, also as a change of what the command did earlier on this visit."""
        memories, is_news = self._at(outcome.location.num), self._ledger.is_news
        has_differed = (outcome.command, not outcome.had_effect) in self._visit.tried
        if has_differed and not (outcome.record.is_in_fight or outcome.is_idle):
            return outcome.had_effect or (outcome.is_substantial and is_news(outcome, memories))
        return is_news(outcome, memories)

    def _questions_about(self, news: Iterable[Sequence[ActionOutcome]]) -> Sequence[Question]:
        """Return the question what to remember of the news of each location (specification, Memory prompts)."""
        model = self.llm_client
        with_content = [each for each in news if len(each) > 1 or each[0].was_understood or each[0].is_substantial]
        if model is None or not with_content:
            return ()
        visits = [*map(self._visit_of, with_content)]
        if self._is_small:
            return [question for visit in visits for question in self._brief_questions(model, visit)]
        self._counts["synthesis_calls"] += 1
        room, window = (
            self.tokens.characters(self.config.prompt_budgets.memory),
            self.config.get_memory_history_window(),
        )
        played = turns_of(visits, self.game_state, window)
        ask = partial(visit_prompt, visits, self.game_state, room, played, self.attribute_names)
        turns = frozenset(record.turn for record in played)
        beside = Beside(ask(has_turns=False), turns) if self._is_over else None
        return (Question(model, "memory", ask(), VisitSynthesis, partial(self._take, visits), beside=beside),)

    def _visit_of(self, news: Sequence[ActionOutcome]) -> VisitNews:
        """Return the news of a location with what is known of it, and for a large model what was done beside them."""
        here, state = news[0].location.num, self.game_state
        stay, by_turn = self._visit.stays.pop(here, []), {each.record.turn: each for each in news}
        elsewhere = {
            room: tuple(memory for memory in self._known_at(room) if not (memory.is_given_up or memory.is_arrival))
            for room in sorted(state.visited_locations - {here})
        }
        rooms = {} if self._map is None else self._map.game_map.room_names
        aims = [
            *(self._map.named_places() if self._map else ()),
            *(self._courses.places_ahead if self._courses else ()),
        ]
        is_new = not self._was_visited_before(here)
        if not self._is_small:
            beside = {
                each.key: each
                for each in reversed(stay)
                if self._ledger.belongs_to_news(each) or (is_new and each.first_visit)
            }
            by_turn = {each.record.turn: each for each in beside.values()} | by_turn
        outcomes = tuple(by_turn[turn] for turn in sorted(by_turn))
        first = news[0].record.turn
        return VisitNews(outcomes, tuple(self._at(here)), elsewhere, rooms, is_new, state.turns, aims, first)

    def _brief_questions(self, model: LanguageModel, visit: VisitNews) -> Sequence[Question]:
        """Return the question to a small model which turn to remember, if there is a choice."""
        choice = worth_keeping(visit)
        decisive = [outcome for outcome in choice if outcome.record.is_decisive]
        if decisive or len(choice) <= 1:
            self._keep(visit, [memory_of(outcome) for outcome in decisive or choice])
            return ()
        self._counts["synthesis_calls"] += 1
        return (Question(model, "memory", *brief_question(choice), partial(self._take, [visit])),)

    def _was_visited_before(self, location_id: int) -> bool:
        """Return whether the player was at the location in an earlier episode."""
        episode, in_file = self.game_state.episode, self._store.document.visits_at(location_id)
        episodes = 0 if self._map is None else self._map.visits(location_id)[1]
        return episodes > 1 or (in_file is not None and any(each < episode for each in in_file.episodes))

    def _take(self, visits: Sequence[VisitNews], answer: VisitSynthesis | ChosenTurn | LanguageModelError) -> None:
        """Keep what the model remembers of each visit. If it does not answer, their outcomes remain news."""
        if isinstance(answer, VisitSynthesis):
            about = [visit_of(each, visits) for each in answer.memories]
            for visit in visits:
                self._keep(visit, [each for each, of in zip(answer.memories, about, strict=True) if of is visit])
        elif isinstance(answer, ChosenTurn):
            for visit in visits:
                self._keep(visit, [memory_of(each) for each in worth_keeping(visit) if each.record.turn == answer.turn])
        else:
            self._counts["synthesis_failures"] += 1
            here = [visit.here.num for visit in visits]
            self.log_warning("nothing learned from a visit", location_id=here, error=str(answer))

    def _keep(self, visit: VisitNews, answers: Sequence[VisitMemory]) -> None:
        made = filter(None, [self._adopt(answer, visit) for answer in answers[:MOST_MEMORIES]])
        persistent = [memory for memory in made if memory.persistence != "ephemeral"]
        self._ledger.note(visit.outcomes, persistent, visit.memories)
        if self._is_over:
            self._store.demand()
        if not self._store.holds:
            self.commit()

    def _adopt(self, answer: VisitMemory, visit: VisitNews) -> Memory | None:
        """Add the answer's memory, and return it unless it is refused; those that it invalidates go anyway."""
        tier = visit.tier(answer, self._visit.laid_down[visit.here.num])
        if tier is not None and tier != answer.persistence:
            reason = "not shown on arrival" if visit.first else "not first visit"
            self._counts["core_validation_downgrade"] += 1
            self.log_warning(
                f"CORE memory rejected: {reason}, downgrading to {tier.upper()}", title=answer.memory_title
            )
            answer = answer.model_copy(update={"persistence": tier})
        episode = self.game_state.episode
        main, *others = visit.revisions(answer, episode)
        new = main.new if main.new is not None and self._revise(main) else None
        self._counts["memories_learned"] += new is not None
        if new is None:
            refused = {"should_remember": False, "supersedes_memory_titles": set[str]()}
            others = [*visit.revisions(answer.model_copy(update=refused), episode)]
        for revision in others:
            if revision.invalidated:
                self._revise(revision)
        return new

    def _at(self, location_id: int) -> list[Memory]:
        """Return the memories of a location, persistent ones first, including superseded ones and changes by others."""
        self._refresh()
        return self._known_at(location_id)

    def _known_at(self, location_id: int) -> list[Memory]:
        return [*self.memory_cache.get(location_id, ()), *self.ephemeral_cache.get(location_id, ())]

    def _revise(self, revision: Revision) -> bool:
        """Apply the revision to both caches, and write the file.

        Returns false if it breaks a rule, changes nothing or cannot be written yet.
        """
        self._refresh()
        location_id, new = revision.location_id, revision.new
        persistent, ephemeral = self.memory_cache.get(location_id, []), self.ephemeral_cache.get(location_id, [])
        refusal = revision.refusal(persistent, ephemeral)
        if new is not None and refusal:
            self._counts["refused"] += 1
            self.log_warning("memory refused", location_id=location_id, title=new.title, text=new.text, reason=refusal)
            return False
        is_done = revision.new_ephemeral is not None or revision.concerns(ephemeral)
        if is_done:
            added = [] if revision.new_ephemeral is None else [revision.new_ephemeral]
            self.ephemeral_cache[location_id] = [*map(revision.revised, ephemeral), *added]
        if revision.new_persistent is not None or revision.concerns(persistent):
            is_done = self._attempt(lambda: self._store.apply(revision.apply_to))
            self._follow()
        if is_done:
            self._log_revision(revision, [*persistent, *ephemeral])
        return is_done

    def _follow(self) -> None:
        """Set ``memory_cache`` to the content of the store."""
        if self._store.document is not self._document:
            self._document = self._store.document
            self.memory_cache.clear()
            self.memory_cache.update(self._document.memories())
            self._followed = {location_id: list(memories) for location_id, memories in self.memory_cache.items()}

    def _refresh(self) -> None:
        """Write memories that were added to the cache without :meth:`_revise`, and read changes by others."""
        if self.memory_cache != self._followed:
            given = [
                Revision(location_id, new=memory)
                for location_id, memories in self.memory_cache.items()
                for memory in memories
                if memory not in self._followed.get(location_id, ())
            ]
            self._document = None
            self._follow()
            for revision in given:
                self._revise(revision)
        if not self._store.holds:
            self._attempt(self._store.look)
            self.followed()

    def _attempt(self, access: Callable[[], bool | None]) -> bool:
        """Read or write the file, and return whether that changed anything. A failure is logged."""
        try:
            is_done = bool(access())
        except StoreError as error:
            if not self._is_failing:
                self.log_error(
                    "memories are not in their file; they are kept, and tried again with the next", error=str(error)
                )
            self._is_failing = True
            return False
        self._is_failing = self._is_failing and self._store.is_due
        return is_done

    def _log_revision(self, revision: Revision, before: Sequence[Memory]) -> None:
        """Log the new memory and those given up. ``before``: the location's memories before the revision."""
        where, new = revision.location_id, revision.new
        if new is not None:
            about = {"persistence": new.persistence, "category": new.category, "title": new.title}
            if self.config.debug_ephemeral and new.persistence == "ephemeral":
                about["text"] = new.text
            self.log_info("memory added", location_id=where, **about)
        for old in before:
            now = revision.revised(old)
            if now is not old and now.is_invalidated:
                self.log_info("memory invalidated", location_id=where, title=old.title, reason=revision.reason)
            elif now is not old:
                by = now.superseded_by
                self.log_info("memory superseded", location_id=where, title=old.title, new_title=by)

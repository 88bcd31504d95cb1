"""The managers, which learn from the turns of an episode. To add one, add its class to :data:`MANAGERS`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag

from managers.ahead import Ahead, MemoriesAhead
from managers.base_manager import BaseManager, ManagerParts
from managers.circling import CirclingDetector, TriedCommands
from managers.context_manager import ContextManager
from managers.controls import Reflection, SimilarTurns
from managers.course_manager import CourseManager
from managers.episode_synthesizer import LAST_EPISODE_TITLE, EpisodeSynthesizer
from managers.knowledge_manager import KnowledgeManager
from managers.known import Known, merged
from managers.map_manager import MapManager
from managers.memory.synthesis import VisitMemory
from managers.objective_manager import ObjectiveManager
from managers.questions import ask_together
from managers.route_manager import RouteManager
from managers.simple_memory_manager import SimpleMemoryManager
from managers.state_manager import StateManager
from managers.transcript_manager import EARLIER_GAMES, TranscriptManager
from session.context import PromptSection
from session.errors import ConfigurationError, StoreError, WaitInterrupted
from session.events import EpisodeEnd, FileEdited, MemoryGiven
from session.files.document_store import SharedStore
from session.files.recording import Recording
from session.files.run_folders import SharedFiles
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Observation, TurnRecord

MANAGERS: list[type[BaseManager]] = [
    ContextManager,
    MapManager,
    TranscriptManager,
    Reflection,
    SimilarTurns,
    CourseManager,
    RouteManager,
    SimpleMemoryManager,
    TriedCommands,
    KnowledgeManager,
    ObjectiveManager,
    CirclingDetector,
    StateManager,
    EpisodeSynthesizer,
    Ahead,
    MemoriesAhead,
]
"""Every manager. Episodes and turns reach them in this order."""


def shared_files(config: GameConfiguration) -> SharedFiles:
    """Return the files of the work folder in which the managers store what they learn.

    Raises ``ConfigurationError`` if an option gives one of them the name of another.
    """
    files = [file for kind in MANAGERS for file in kind.shared_files(config)]
    names = Counter(file.name.casefold() for file in files)
    for file in files:
        if names[file.name.casefold()] > 1:
            raise ConfigurationError(
                f"two files of the work folder would have the name {file.name}: rename one of them"
            )
    return SharedFiles(config.zork_game_workdir, files)


def build_learning(parts: ManagerParts, kinds: Sequence[type[BaseManager]] = MANAGERS) -> Learning:
    """Build the managers of a run. Those that others use are built here, with the managers that they use themselves.

    kinds: in the order in which episodes and turns reach them
    """
    config, shared = parts.config, parts.shared
    run = (parts.logger, config, parts.game_state)
    context = ContextManager(*run, **shared)

    def aims() -> list[str]:
        open_ones = [each.text for each in objectives.active] if objectives else []
        return [*knowledge.plan(), *open_ones, *knowledge.game_state.notes]

    map_manager = MapManager(*run, aims=aims, **shared)
    shown_map = map_manager if config.map.shown else None

    def planned() -> tuple[str, ...]:
        return knowledge.planned_commands()

    def shown_commands() -> dict[str, Mapping[str, Sequence[str]]]:
        plan = {"the plan": episodes.commands} if episodes.commands else {}
        return {LAST_EPISODE_TITLE: plan, EARLIER_GAMES: transcripts.commands()}

    routes = None
    if config.routes.enabled:
        routes = RouteManager(
            *run, map_manager, games=lambda: transcripts.games, shown_commands=shown_commands, **shared
        )
    transcripts = TranscriptManager(*run, **shared)
    courses = CourseManager(
        *run, map_manager, routes=routes, planned=planned, games=lambda: transcripts.games, **shared
    )
    memories = memories_ahead = objectives = None
    if config.simple_memory.enabled:
        synthesis = parts.model if config.simple_memory.synthesis else None
        memories = SimpleMemoryManager(*run, synthesis, courses=courses, map_manager=map_manager, **shared)
        memories_ahead = MemoriesAhead(
            *run,
            map_manager,
            memories,
            planned=lambda: [*courses.places_ahead, *ahead.places],
            is_in_games=transcripts.shows,
            **shared,
        )
    knowledge = KnowledgeManager(
        *run, parts.model, memory_manager=memories, map_manager=shown_map, courses=courses, **shared
    )
    if config.objectives.enabled:
        objectives = ObjectiveManager(*run, knowledge, shown_map, memories, courses, **shared)
    circling = CirclingDetector(*run, objectives=objectives, **shared)
    state = StateManager(*run, run=parts.run, managers=lambda: managers, **shared)
    achieve = objectives.achieve_at_last if objectives else len
    episodes = EpisodeSynthesizer(*run, knowledge, state, routes=routes, achieve=achieve, **shared)
    ahead = Ahead(
        *run,
        episodes,
        planned=lambda: courses.places_ahead,
        map_manager=shown_map,
        things_of=routes.things_of if routes else None,
        **shared,
    )
    named: dict[type[BaseManager], BaseManager | None] = {
        ContextManager: context,
        MapManager: map_manager,
        TranscriptManager: transcripts,
        CourseManager: courses,
        RouteManager: routes,
        SimpleMemoryManager: memories,
        KnowledgeManager: knowledge,
        ObjectiveManager: objectives,
        CirclingDetector: circling,
        StateManager: state,
        EpisodeSynthesizer: episodes,
        Ahead: ahead if config.knowledge.enabled else None,
        MemoriesAhead: memories_ahead,
    }
    built = (named[kind] if kind in named else kind.build(parts) for kind in kinds)
    managers = tuple(manager for manager in built if manager is not None)
    return Learning(managers, context, map_manager, courses, knowledge, circling, state, routes, memories, objectives)


@dataclass(frozen=True, slots=True)
class Learning:
    """The managers of a run. They receive records and never call the orchestrator.

    managers: all of them, in the order in which episodes and turns reach them; the fields below name some of them
    routes, memories, objectives: ``None`` if the configuration leaves them out
    """

    managers: tuple[BaseManager, ...]
    context: ContextManager
    map: MapManager
    courses: CourseManager
    knowledge: KnowledgeManager
    circling: CirclingDetector
    state: StateManager
    routes: RouteManager | None
    memories: SimpleMemoryManager | None
    objectives: ObjectiveManager | None
    _unreadable: set[Path] = field(default_factory=set)

    def hold(self, recording: Recording, files: SharedFiles, copies: Path | None) -> None:
        """Read and write the shared files in step with ``recording``.

        copies: what the files contained at the moment from which the run goes on; ``None`` for a new run
        """
        bases = files.read(copies) if copies else {}
        for store in self.stores():
            store.hold(recording, bases.get(store.path.name), returns=copies is not None)

    def begin(self, state: GameState) -> None:
        """Begin a new episode in ``state``; everything that outlives an episode stays."""
        for manager in self.managers:
            manager.reset(state)

    def look(self, recording: Recording) -> None:
        """Read what other processes and people wrote to the shared files. An unreadable file is logged and not changed.

        In a repetition this is repeated while a recorded edit comes next: some were noticed when a file was written.
        """
        while True:
            expected = recording.next_event
            for manager in self.managers:
                for store in manager.stores:
                    try:
                        store.look()
                    except StoreError as error:
                        if store.path not in self._unreadable:
                            event = "a shared file cannot be read; play continues without it"
                            manager.log_error(event, error=str(error))
                        self._unreadable.add(store.path)
                    else:
                        self._unreadable.discard(store.path)
            if recording.next_event is expected or not isinstance(recording.next_event, FileEdited):
                break
        for manager in self.managers:
            manager.followed()

    def sections(self, observation: Observation, stop: Flag) -> list[PromptSection]:
        """Return the managers' sections of a prompt for this observation.

        Raises ``WaitInterrupted`` when ``stop`` is set, because the first sections of a large work folder take seconds.
        """
        sections: list[PromptSection] = []
        for manager in self.managers:
            if stop.is_set():
                raise WaitInterrupted("interrupted")
            if (section := manager.section(observation)) is not None:
                sections.append(section)
        return sections

    def learn(self, record: TurnRecord) -> None:
        """Let every manager learn from the turn, which ``GameState`` already contains."""
        for manager in self.managers:
            manager.learn(record)

    def end(self, end: EpisodeEnd) -> None:
        """Let every manager learn from the whole episode; the next commit writes the results."""
        for manager in self.managers:
            manager.finish(end)
        outlooks = [line for manager in self.managers for line in manager.outlook().splitlines()]
        questions = [question for manager in self.managers for question in manager.questions(outlooks)]
        material = "".join(manager.material() for manager in self.managers)
        questions = [question.with_material(material) for question in questions]
        ask_together(questions, self.context.config.prompt_budgets.analysis, self.context.tokens)

    def commit(self, recording: Recording) -> None:
        """Write what was learned since the last commit to the shared files.

        Before the first file changes, the journal has a record of each write and is on the disk. Raises ``StoreError``.
        """
        due = [store for store in self.stores() if store.is_due]
        with ExitStack() as locks:
            for store in due:
                store.prepare(locks)
            recording.sync()
            for store in due:
                store.write()
        if not recording.is_repeating:
            self.state.show_soon()

    def remove_memory(self, title: str) -> None:
        """Remove every memory with that title. Raises ``ConfigurationError`` if there is none."""
        if self.memories is None or not self.memories.remove_memory(title):
            raise ConfigurationError(f"there is no memory with this title at that turn: {title}")

    def remember(self, given: MemoryGiven, now: Observation) -> None:
        """Learn what the player remembers at the beginning of a turn."""
        if self.memories is not None:
            self.memories.remember(VisitMemory.model_validate(given.answer), now)

    def known(self) -> Known:
        """Return what the managers know now."""
        return merged(manager.known() for manager in self.managers)

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 (64 hex digits) of each shared file by its name, as this run last read or wrote it."""
        return {store.path.name: store.digest for store in self.stores() if store.digest is not None}

    def stores(self) -> list[SharedStore]:
        """Return the stores of the shared files, in the order in which they are written."""
        return [store for manager in self.managers for store in manager.stores]

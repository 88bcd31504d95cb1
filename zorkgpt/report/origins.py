"""Where what is known came from: the changes of memories, knowledge and routes in all runs of a story."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from managers.known import INVALIDATED, Item, Items, Known, memory_key, route_key
from managers.memory.document import (
    open_memories,
    parse_memories,
)
from managers.route_manager import ROUTES_FILE
from orchestration.learning import shared_files
from session.errors import StoreError, ZorkGPTError
from session.events import (
    EpisodeEnded,
    EpisodeStarted,
    Event,
    FileEdited,
    MemoryGiven,
    ModelAnswered,
    RunMoment,
    TurnPlayed,
    moment_of,
)
from session.files.journal import Manifest, read_journal, read_manifest
from session.files.run_folders import AT_END, AT_START, last_episode, run_folders
from session.game_configuration import GameConfiguration
from session.route import Route
from session.text import counted, text_key, without_period
from session.values import TurnRecord
from zorkgpt.llm.run_model import PLAYING_ROLES, RepeatedCall
from zorkgpt.report.pages import repeat
from zorkgpt.report.played_run import text_of
from zorkgpt.report.repetition import ItemChange, Repetition, changes_between, read_known
from zorkgpt.report.run_summary import summarise


@dataclass(frozen=True, slots=True)
class OriginChange:
    """A change of an item.

    id: RUN/NUMBER for what a run wrote, "" for what others wrote
    run: in which it was made or seen; "" for a change after the latest run
    moment: the turn after which it was made or seen; ``None`` if it was made outside of runs, or if it is unknown
    at: when it was made or seen, for a change between runs when the next one began (ISO 8601); "" if it is unknown
    is_own: whether the run wrote it, and not people or other runs; ``None`` if it is unknown
    writer: the recorded answer that contains its title or text; ``None`` for none
    is_one_of_several: other memories of its location have its title, so which of them was changed is unknown
    """

    id: str
    run: str
    moment: RunMoment | None
    at: str
    is_own: bool | None
    change: ItemChange
    writer: ModelAnswered | MemoryGiven | None = None
    is_one_of_several: bool = False

    @property
    def is_of_memory(self) -> bool:
        """Whether a memory was changed."""
        return self.change.item.kind == "memory"

    @property
    def verb(self) -> str:
        """What was done with the item."""
        if self.change.after is None:
            return "removed"
        if self.change.before is not None and self.change.before.key != self.change.after.key:
            return f"renamed from {self.change.before.title}"
        if self.gives_up:
            return INVALIDATED if INVALIDATED in self.change.after.tags else "superseded"
        return "added" if self.change.before is None else "changed"

    @property
    def gives_up(self) -> bool:
        """Whether a memory that was believed before, or is new, is not believed any more."""
        before, after = self.change.before, self.change.after
        return after is not None and after.status == "superseded" != (before and before.status)

    @property
    def source(self) -> str:
        """Who made the change and when, in words. The id names the run of what a run wrote."""
        seen = self.moment and f"after episode {self.moment.episode}, turn {self.moment.turn}"
        if self.is_own and seen:
            return seen
        who = "by hand" if self.is_own is False else "by hand or by a run, which is unknown"
        if self.is_one_of_several:
            who = f"{who} (which memory of this title is unknown)"
        if seen:
            return f"{who}, seen {seen} of run {self.run} on {self.at[:10]}"
        if self.run:
            return f"{who}, before run {self.run} of {self.at[:10]} began"
        written = f"was last written on {self.at[:10]}" if self.at else "is not there"
        return f"{who}, after the latest run; the file {written}"


class SeenTurn(NamedTuple):
    """A turn, its run, and when it was recorded."""

    at: str
    run: str
    record: TurnRecord


@dataclass(slots=True)
class Origins:
    """What the runs of a story folder show of everything that was ever known.

    changes: oldest first
    shown: the turns whose prompts contained an item, by its key
    unseen: the runs of which it is unknown what was shown: no model played them, or they are not whole or not repeated
    turns: all turns, oldest first
    spans: when the first and the last line of each run were written
    numbered: the last number that was taken for an episode
    problems: why something is unknown
    is_whole: whether all that runs wrote since the latest copy of the files is known, so that people wrote the rest
    items, at: what is known after the runs so far, and when the latest of them wrote its last line; at the end, now
    texts: versions of the memories that people may have written
    ends: what was known at the end of each episode; ``None`` for one that several runs have with different ends
    routes: those of today, by their keys
    """

    changes: list[OriginChange] = field(default_factory=list)
    shown: defaultdict[str, list[RunMoment]] = field(default_factory=lambda: defaultdict(list))
    unseen: list[str] = field(default_factory=list)
    turns: list[SeenTurn] = field(default_factory=list)
    spans: dict[str, tuple[str, str]] = field(default_factory=dict)
    numbered: int = 0
    problems: list[str] = field(default_factory=list)
    is_whole: bool = True
    items: Items = field(default_factory=dict)
    at: str = ""
    texts: list[str] = field(default_factory=list)
    ends: dict[int, Items | None] = field(default_factory=dict)
    routes: dict[str, Route] = field(default_factory=dict)

    def add(
        self,
        changes: Iterable[ItemChange],
        run: str,
        moment: RunMoment | None,
        at: str,
        answers: Sequence[ModelAnswered | MemoryGiven] = (),
    ) -> None:
        """Add changes that were made or seen at the same place, one of which may be in each of these answers."""
        for change in _with_renames(changes):
            if not change.item.is_lasting:
                continue
            if change.by_others:
                self.changes.append(OriginChange("", run, moment, at, False if self.is_whole else None, change))
            else:
                number = 1 + sum(one.run == run and bool(one.id) for one in self.changes)
                writer = _writer(answers, change.item)
                self.changes.append(OriginChange(f"{run}/{number}", run, moment, at, True, change, writer))

    def miss(self, problem: str) -> None:
        """Add why it is unknown who made the changes that no run shows, up to the next copy of the files."""
        self.problems.append(problem)
        self.is_whole = False

    def miss_episodes(self, last: int) -> None:
        """Add a problem if no run here has the episodes after the last one that is numbered, up to this one."""
        first = self.numbered + 1
        if first <= last:
            which = f"episode {last}" if first == last else f"episodes {first} to {last}"
            self.miss(f"No run that can be read here has {which}. What was changed and shown there is unknown.")

    def number(self, run: str, manifest: Manifest) -> None:
        """Take the numbers of a run's episodes; add a problem if some before are missing or another run has them."""
        self.miss_episodes(manifest.first_episode - 1)
        if manifest.first_episode <= self.numbered:
            why = "it has episode numbers of another run, so one of them comes from another folder"
            self.miss(f"Run {run}: {why}. Who made the changes between them is unknown.")
        self.numbered = max(self.numbered, manifest.first_episode + len(manifest.seeds) - 1)

    def end(self, episode: int, items: Items) -> None:
        """Add what was known at the end of an episode."""
        self.ends[episode] = items if self.ends.get(episode, items) == items else None

    def separate_runs(self) -> None:
        """Drop the changes by others that another run made while the run that saw them was played."""
        own = defaultdict[tuple[str, Item | None], set[str]](set)
        for each in self.changes:
            if each.is_own:
                own[each.change.key, each.change.after].add(each.run)

        def is_of_a_run(each: OriginChange) -> bool:
            begun, ended = self.spans.get(each.run, ("", ""))
            others = own[each.change.key, each.change.after] - {each.run}
            return any(first <= ended and begun <= last for first, last in map(self.spans.__getitem__, others))

        self.changes = [each for each in self.changes if each.is_own or not is_of_a_run(each)]

    def mark_equal_titles(self) -> None:
        """Mark what others changed of memories that are told apart by their order alone."""
        items = [each.change.item for each in self.changes]
        first_keys = [memory_key(item.place or 0, item.title) if item.kind == "memory" else item.key for item in items]
        several = {first for first, item in zip(first_keys, items, strict=True) if first != item.key}
        for number, (each, first) in enumerate(zip(self.changes, first_keys, strict=True)):
            self.changes[number] = replace(each, is_one_of_several=not each.is_own and first in several)

    def renamed(self) -> dict[str, str]:
        """Return the present keys of renamed memories by the earlier ones."""
        found: dict[str, str] = {}
        for before, after in ((each.change.before, each.change.after) for each in self.changes):
            if before and after and before.key != after.key:
                found = {old: after.key if new == before.key else new for old, new in found.items()}
                found[before.key] = after.key
            if after:
                found.pop(after.key, None)  # it is the present memory with this key
        return found

    def taught(self, item: Item) -> list[SeenTurn]:
        """Return the turns that an item cites; for a route, the turn that reached its goal."""
        route = self.routes.get(item.key)
        if route is not None:
            in_episode = (each for each in self.turns if each.record.episode == route.episode)
            return [each for each in in_episode if route.goal.is_reached(each.record.after)][:1]
        spans = [(each.episode, range(each.first_turn, each.last_turn + 1)) for each in item.sources]
        return [
            each for each in self.turns if any(each.record.episode == of and each.record.turn in at for of, at in spans)
        ]


def read_origins(folder: Path, now: GameConfiguration) -> Origins:
    """Repeat every run of a story folder, and compare what it wrote with its files and with those of today.

    Forks in it are left out, because they have files of their own. Raises ``StoreError``.
    """
    origins = Origins()
    for run in reversed(run_folders([folder])):
        if run.parent.parent == folder:
            _add_run(origins, run, now)
    try:
        origins.miss_episodes(last_episode(folder))
    except StoreError as error:
        origins.miss(f"{error}. Whether runs are missing here is unknown.")
    path_of = shared_files(now.model_copy(update={"zork_game_workdir": folder})).path_of
    memories = path_of("Memories.md")
    known = _known(path_of, origins.problems)
    items = known.items()
    try:
        if memories.exists() and not open_memories(memories).document.render():
            origins.is_whole = False  # a power cut may have emptied it
    except StoreError as error:
        origins.miss(f"{error}. What was changed after the latest run is unknown.")
        others = {key: each for key, each in items.items() if each.kind != "memory"}
        items = {key: each for key, each in origins.items.items() if each.kind == "memory"} | others
    changes = list(changes_between(origins.items, items, by_others=True))
    for kind, path in (
        ("memory", memories),
        ("knowledge", path_of("knowledgebase.md")),
        ("route", path_of(ROUTES_FILE)),
    ):
        at = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc).isoformat() if path.exists() else ""
        origins.add((each for each in changes if each.item.kind == kind), "", None, at)
    origins.items, origins.routes = items, {route_key(each.number): each for each in known.routes}
    origins.separate_runs()
    origins.mark_equal_titles()
    return origins


def _with_renames(changes: Iterable[ItemChange]) -> list[ItemChange]:
    """Return the changes; a memory that others removed, and added with its text and another title, was renamed.

    If several of one text were removed or added, it is unknown which was renamed.
    """
    found, alike = list(changes), defaultdict[Item, list[ItemChange]](list)
    for each in found:
        if each.item.kind == "memory" and each.by_others and None in (each.before, each.after):
            alike[replace(each.item, key="", title="")].append(each)
    for those in alike.values():
        gone, new = ([each for each in those if (each.after is None) is is_gone] for is_gone in (True, False))
        if len(gone) == len(new) == 1:
            found[found.index(new[0])] = replace(new[0], before=gone[0].before)
            found.remove(gone[0])
    return found


def _add_run(origins: Origins, run: Path, now: GameConfiguration) -> None:
    """Add what a run shows, given what the runs before it left, and what it left."""
    try:
        manifest = read_manifest(run)
    except StoreError as error:
        origins.miss(f"Run {run.name}: {without_period(error)}. What it changed and was shown is unknown.")
        return
    origins.number(run.name, manifest)
    has_copies = (run / AT_START).is_dir()
    start = _known(lambda name: run / AT_START / name, origins.problems).items() if has_copies else origins.items
    times, answers, ended = _read_turns(origins, run)
    begun, latest = (found(times.values(), default=manifest.created) for found in (min, max))
    origins.spans[run.name] = begun, latest
    origins.texts.append(text_of(run / AT_START / "Memories.md"))
    if begun > origins.at:
        origins.add(changes_between(origins.items, start, by_others=True), run.name, None, begun)
        origins.is_whole = origins.is_whole or has_copies
    else:  # the run before it was being played and saw what others changed
        origins.turns.sort(key=lambda each: each.at)
    repetition, is_whole = _repeated(origins, run, now, start)
    if not is_whole or manifest.player_kind not in ("model", "random"):
        origins.unseen.append(run.name)
    for moment, changes in repetition.changes.items():
        origins.add(changes, run.name, moment, times.get(moment, ""), answers[moment])
    for moment, keys in repetition.shown.items():
        for key in keys:
            origins.shown[key].append(moment)
    last, known = max(times, default=RunMoment(0, 0)), _with_start(start, repetition)
    if (run / AT_END).is_dir():
        end = _known(lambda name: run / AT_END / name, origins.problems).items()
        origins.add(changes_between(known, end, by_others=True), run.name, last, latest)
        known, origins.is_whole = end, origins.is_whole or latest > origins.at
    if last.episode in ended and is_whole:
        origins.end(last.episode, known)
    if latest > origins.at:
        origins.items, origins.at = known, latest


def _with_start(start: Items, repetition: Repetition) -> Items:
    """Return what is known; of the kinds that the run did not use, what its files contained at its start."""
    used = {each.kind for each in repetition.start.values()}
    return {key: each for key, each in start.items() if each.kind not in used} | repetition.known


def _repeated(origins: Origins, run: Path, now: GameConfiguration, start: Items) -> tuple[Repetition, bool]:
    """Repeat a run; return what it showed, and whether that is all of it.

    An older version may have built other prompts; the recorded answers lead through the run all the same.
    """
    repetition, problem, others = Repetition(), "", 0

    def see(event: Event) -> None:
        ended = repetition.moment.episode
        repetition.see(event)
        if isinstance(event, EpisodeStarted) and ended:
            origins.end(ended, _with_start(start, repetition))

    def hear(call: RepeatedCall) -> None:
        nonlocal others
        others += not call.is_as_recorded
        repetition.hear(call)

    try:
        replayed = repeat(
            run, now, show=see, asked=hear, meet=repetition.meet, until="damage", changed=lambda then: then
        )
        repetition.end(is_whole=replayed.difference is None)
        if replayed.difference is not None:
            episode, turn = repetition.moment
            problem = f"this version plays it differently after episode {episode}, turn {turn}"
    except ZorkGPTError as error:
        problem = f"it cannot be repeated: {without_period(error)}"
    summary = summarise(run)
    if not problem and summary.state in ("damaged", "killed", "playing"):
        problem = f"its journal is not whole: {without_period(summary.reason) or 'it is being played'}"
    if others:
        prompts = counted(others, "other prompt")
        origins.problems.append(f"Run {run.name}: this version builds {prompts}: what they showed is inferred.")
    if problem:
        origins.miss(f"Run {run.name}: {problem}. What it changed and was shown after that is unknown.")
    return repetition, not problem


def _read_turns(
    origins: Origins, run: Path
) -> tuple[Mapping[RunMoment, str], Mapping[RunMoment, list[ModelAnswered | MemoryGiven]], set[int]]:
    """Add the turns of a run; return its last time and its learning answers at each, and the whole episodes."""
    times, moment, ended = dict[RunMoment, str](), RunMoment(0, 0), set[int]()
    answers: defaultdict[RunMoment, list[ModelAnswered | MemoryGiven]] = defaultdict(list)
    with suppress(StoreError):  # a damaged journal shows what it can
        for line in read_journal(run):
            moment = moment_of(line.event) or moment
            match line.event:
                case EpisodeEnded(episode=episode):
                    ended.add(episode)
                case TurnPlayed(record=record):
                    origins.turns.append(SeenTurn(line.at, run.name, record))
                case MemoryGiven() as answer:
                    answers[moment].append(answer)
                case ModelAnswered(role=role) as answer if role not in PLAYING_ROLES:
                    answers[moment].append(answer)
                case FileEdited(text=text):
                    origins.texts.append(text)
                case _:
                    pass
            times[moment] = line.at
    return times, answers, ended


def _writer(answers: Iterable[ModelAnswered | MemoryGiven], item: Item) -> ModelAnswered | MemoryGiven | None:
    """Return the answer that has the title of a memory or the text of another item, alone or else within a text."""
    wanted = text_key(item.title if item.kind == "memory" else item.text)
    texts = [(answer, text_key(text)) for answer in answers for text in _texts(answer.answer)]
    alone = (answer for answer, text in texts if text == wanted)
    return next(alone, None) or next((answer for answer, text in texts if wanted in text), None)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _known(copy_of: Callable[[str], Path], problems: list[str]) -> Known:
    """Return what files contain, by the names that they have in copies."""
    memories = parse_memories(text_of(copy_of("Memories.md"))).memories()
    return read_known(copy_of, memories, problems.append, lambda error: problems.append(str(error)))[0]

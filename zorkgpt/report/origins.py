"""Where what is known came from: the changes of memories, knowledge and routes in all runs of a story."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from managers.known import Item, Items, Known, memory_key, memory_keys, route_key
from managers.memory.document import (
    MemoriesBlock,
    MemoriesDocument,
    open_memories,
    parse_memories,
    stands,
    write_memory,
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
from session.files.journal import read_journal, read_manifest
from session.files.run_folders import AT_END, AT_START, is_claimed, last_episode, run_folders
from session.game_configuration import GameConfiguration
from session.knowledge import Source, merged_sources
from session.memory import Memory, MemoryStatus, MemoryStatusType
from session.route import Route
from session.text import counted, one_line, text_key, without_period
from session.values import TurnRecord
from zorkgpt.llm.run_model import PLAYING_ROLES, RepeatedCall
from zorkgpt.report.pages import repeat
from zorkgpt.report.played_run import text_of
from zorkgpt.report.repetition import ItemChange, Repetition, changes_between, read_known
from zorkgpt.report.run_summary import summarise

_TURNS_SHOWN = 12


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
    is_own: bool | None = False
    change: ItemChange = field(default_factory=lambda: ItemChange("", None, None))
    writer: ModelAnswered | MemoryGiven | None = None
    is_one_of_several: bool = False

    @property
    def is_of_memory(self) -> bool:
        """Whether a memory was changed."""
        return self.change.item is not None and self.change.item.kind == "memory"

    @property
    def verb(self) -> str:
        """What was done with the item."""
        if self.change.after is None:
            return "removed"
        if self.change.before is not None and self.change.before.key != self.change.after.key:
            return f"renamed from {self.change.before.title}"
        if self.gives_up:
            return "superseded"
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


class Left(NamedTuple):
    """What the files contain after the runs so far.

    at: when the latest of them wrote its last line
    unsure: the keys of what it changed last, which a kill may have kept from the files; ``None`` for everything
    """

    items: Items
    at: str = ""
    unsure: frozenset[str] | None = frozenset()

    def changed(self, items: Items, where: OriginChange) -> Iterator[OriginChange]:
        """Yield what others changed since."""
        for change in changes_between(self.items, items, by_others=True):
            is_unsure = self.unsure is None or change.key in self.unsure
            yield replace(where, change=change, is_own=None if is_unsure else where.is_own)


@dataclass(slots=True)
class Origins:
    """What the runs of a story folder show of everything that was ever known.

    changes: oldest first
    shown: the turns whose prompts contained an item, by its key
    unseen: the runs of which it is unknown what was shown: no model played them, or they cannot be repeated
    turns: all turns, oldest first
    spans: when the first and the last line of each run were written
    numbered: the last number that was taken for an episode
    problems: why something is unknown
    items: what is known now
    texts: versions of the memories that people may have written
    ends: what was known at the end of each episode
    twice: episodes of several runs, after which different things were known
    routes: those of today, by their keys
    """

    changes: list[OriginChange] = field(default_factory=list)
    shown: defaultdict[str, list[RunMoment]] = field(default_factory=lambda: defaultdict(list))
    unseen: list[str] = field(default_factory=list)
    turns: list[SeenTurn] = field(default_factory=list)
    spans: dict[str, tuple[str, str]] = field(default_factory=dict)
    numbered: int = 0
    problems: list[str] = field(default_factory=list)
    items: Items = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    ends: dict[int, Items] = field(default_factory=dict)
    twice: set[int] = field(default_factory=set)
    routes: dict[str, Route] = field(default_factory=dict)

    def add(self, changes: Iterable[OriginChange], answers: Sequence[ModelAnswered | MemoryGiven] = ()) -> None:
        """Add changes that were made or seen at the same place, one of which may be in each of these answers."""
        for each in _with_renames(changes):
            if each.change.item is None or not each.change.item.is_lasting:
                continue
            if each.change.by_others:
                self.changes.append(each)
            else:
                number = 1 + sum(one.run == each.run and bool(one.id) for one in self.changes)
                writer = _writer(answers, each.change.item)
                self.changes.append(replace(each, id=f"{each.run}/{number}", is_own=True, writer=writer))

    def note_missing(self, last: int) -> bool:
        """Add a problem if no run here has the episodes after the last one that is numbered, up to this one.

        Returns whether any are missing.
        """
        first = self.numbered + 1
        if first > last:
            return False
        which = f"episode {last}" if first == last else f"episodes {first} to {last}"
        self.problems.append(f"No run that can be read here has {which}. What was changed and shown there is unknown.")
        return True

    def end(self, episode: int, items: Items) -> None:
        """Add what was known at the end of an episode; it is unknown if another run has another such episode."""
        if self.ends.setdefault(episode, items) != items:
            self.twice.add(episode)

    def separate_runs(self) -> None:
        """Drop the changes by others that another run made while the run that saw them was played.

        Who added what cites a turn that no run here has is unknown.
        """
        own = defaultdict[tuple[str, Item | None], list[str]](list)
        for each in self.changes:
            if each.is_own:
                own[each.change.key, each.change.after].append(each.run)

        def is_of_a_run(each: OriginChange) -> bool:
            begun, ended = self.spans.get(each.run, ("", ""))
            spans = (self.spans[run] for run in own[each.change.key, each.change.after] if run != each.run)
            return not each.is_own and any(first <= ended and begun <= last for first, last in spans)

        changes = [each for each in self.changes if not is_of_a_run(each)]
        cites = [each.change.before is None and each.change.after for each in changes]
        self.changes = [
            replace(each, is_own=None) if not each.is_own and item and item.sources and not self.taught(item) else each
            for each, item in zip(changes, cites, strict=True)
        ]

    def mark_equal_titles(self) -> None:
        """Mark what others changed of memories that are told apart by their order alone."""
        first_keys = [
            memory_key(item.place or 0, item.title) if (item := each.change.item) and each.is_of_memory else None
            for each in self.changes
        ]
        several = {first for first, each in zip(first_keys, self.changes, strict=True) if first != each.change.key}
        self.changes = [
            replace(each, is_one_of_several=not each.is_own and first is not None and first in several)
            for first, each in zip(first_keys, self.changes, strict=True)
        ]

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
    origins, left = Origins(), Left({})
    for run in reversed(run_folders([folder])):
        if run.parent.parent == folder:
            left = _add_run(origins, run, left, now)
    path_of = shared_files(now.model_copy(update={"zork_game_workdir": folder})).path_of
    current, memories = _known(path_of, origins.problems), path_of("Memories.md")
    origins.items, origins.routes = current.items(), {route_key(each.number): each for each in current.routes}
    try:
        is_lost = memories.exists() and not open_memories(memories).document.render()
    except StoreError as error:
        origins.problems.append(f"{error}. What was changed after the latest run is unknown.")
        others = {key: each for key, each in origins.items.items() if each.kind != "memory"}
        origins.items = {key: each for key, each in left.items.items() if each.kind == "memory"} | others
        is_lost = True
    found = list[OriginChange]()
    is_own = None if origins.note_missing(last_episode(folder)) or is_lost else False
    paths = {"knowledge": path_of("knowledgebase.md"), "route": path_of(ROUTES_FILE)}
    for each in left.changed(origins.items, OriginChange("", "", None, "", is_own)):
        path = paths.get(each.change.item.kind, memories) if each.change.item else memories
        at = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc).isoformat() if path.exists() else ""
        found.append(replace(each, at=at))
    origins.add(found)
    origins.separate_runs()
    origins.mark_equal_titles()
    return origins


def _with_renames(changes: Iterable[OriginChange]) -> list[OriginChange]:
    """Return the changes; a memory that others removed, and added with its text and another title, was renamed.

    If several of one text were removed or added, it is unknown which was renamed.
    """
    found, alike = list(changes), defaultdict[Item, list[OriginChange]](list)
    for each in found:
        item = each.change.item
        if item and each.is_of_memory and each.change.by_others and None in (each.change.before, each.change.after):
            alike[replace(item, key="", title="")].append(each)
    for those in alike.values():
        gone, new = ([each for each in those if (each.change.after is None) is is_gone] for is_gone in (True, False))
        if len(gone) == len(new) == 1:
            found[found.index(new[0])] = replace(new[0], change=replace(new[0].change, before=gone[0].change.before))
            found.remove(gone[0])
    return found


def _add_run(origins: Origins, run: Path, left: Left, now: GameConfiguration) -> Left:
    """Add what a run shows, given what the runs before it left; return what they left with it."""
    try:
        manifest = read_manifest(run)
    except StoreError as error:
        origins.problems.append(f"Run {run.name}: {without_period(error)}. What it changed and was shown is unknown.")
        return left
    has_copies = (run / AT_START).is_dir()
    start = _known(lambda name: run / AT_START / name, origins.problems).items() if has_copies else left.items
    repetition, problem = _repeated(origins, run, now, start)
    times, answers, ended = _read_turns(origins, run)
    begun, latest = (found(times.values(), default=manifest.created) for found in (min, max))
    origins.spans[run.name] = begun, latest
    origins.texts.append(text_of(run / AT_START / "Memories.md"))
    if problem or manifest.player_kind not in ("model", "random"):
        origins.unseen.append(run.name)
    where = OriginChange("", run.name, None, begun)
    is_missing = origins.note_missing(manifest.first_episode - 1)
    if begun > left.at:
        is_own = None if is_missing or manifest.first_episode <= origins.numbered else False
        origins.add(left.changed(start, replace(where, is_own=is_own)))
    else:  # the run before it was being played and saw what others changed
        origins.turns.sort(key=lambda each: each.at)
    if manifest.first_episode <= origins.numbered:
        why = "it has episode numbers of another run, so one of them comes from another folder"
        origins.problems.append(f"Run {run.name}: {why}. Who made the changes between them is unknown.")
    origins.numbered = max(origins.numbered, manifest.first_episode + len(manifest.seeds) - 1)
    for moment, changes in repetition.changes.items():
        seen = replace(where, moment=moment, at=times.get(moment, ""))
        origins.add((replace(seen, change=each) for each in changes), answers[moment])
    for moment, keys in repetition.shown.items():
        for key in keys:
            origins.shown[key].append(moment)
    last = max(times, default=RunMoment(0, 0))
    unsure = None if problem else frozenset(each.key for each in repetition.changes[repetition.moment])
    now_left = Left(_with_start(start, repetition), latest, None if is_claimed(run) else unsure)
    if (run / AT_END).is_dir():
        end = _known(lambda name: run / AT_END / name, origins.problems).items()
        at_end = replace(where, moment=last, at=latest)
        origins.add(now_left._replace(unsure=None if problem else frozenset()).changed(end, at_end))
        now_left = Left(end, latest)
    if last.episode in ended and now_left.unsure is not None:
        origins.end(last.episode, now_left.items)
    return now_left if latest > left.at else left


def _with_start(start: Items, repetition: Repetition) -> Items:
    """Return what is known; of the kinds that the run did not use, what its files contained at its start."""
    used = {each.kind for each in repetition.start.values()}
    return {key: each for key, each in start.items() if each.kind not in used} | repetition.known


def _repeated(origins: Origins, run: Path, now: GameConfiguration, start: Items) -> tuple[Repetition, str]:
    """Repeat a run; return what it showed, and why it could not be repeated to its end, "" if it could.

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
        once_more = partial(repeat, run, now, show=see, asked=hear, meet=repetition.meet)
        replayed = once_more(until="damage", changed=lambda then: then)
        repetition.end(is_whole=replayed.difference is None)
        if replayed.difference is not None:
            episode, turn = repetition.moment
            problem = f"this version plays it differently after episode {episode}, turn {turn}"
    except ZorkGPTError as error:
        problem = f"it cannot be repeated: {str(error).rstrip('.')}"
    summary = summarise(run)
    if not problem and summary.state == "damaged":
        problem = f"its journal is damaged: {summary.reason}"
    elif not problem and summary.state == "killed" and (run / AT_END).is_dir():
        problem = "its journal lacks its end"
    if others:
        prompts = counted(others, "other prompt")
        origins.problems.append(f"Run {run.name}: this version builds {prompts}: what they showed is inferred.")
    if problem:
        origins.problems.append(
            f"Run {run.name}: {without_period(problem)}. What it changed and was shown after that is unknown."
        )
    return repetition, problem


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


def origin_lines(origins: Origins, key: str) -> Iterator[str]:
    """Yield what is known of the origin of an item: its turns, writer, editors and prompts, and whether it held."""
    keys = {key, *(old for old, new in origins.renamed().items() if new == key)}
    changes = [each for each in origins.changes if each.change.key in keys]
    item = origins.items.get(key) or next(
        (each for change in reversed(changes) for each in (change.change.after, change.change.before) if each), None
    )
    if item is None:
        return
    place = "" if item.place is None else f" (location {item.place})"
    yield f"{item.title}{place}{'' if key in origins.items else ', removed since'}"
    yield from (f"  {line}" for line in (", ".join(item.tags), item.by, *item.text.splitlines()) if line)
    yield "Taught by:"
    turns = origins.taught(item)
    yield from (line for each in turns[:_TURNS_SHOWN] for line in _turn_lines(each.record, each.run, item))
    if len(turns) > _TURNS_SHOWN:
        yield f"  and {counted(len(turns) - _TURNS_SHOWN, 'more turn')}"
    if not turns:
        has_source = item.sources or item.kind == "route"
        yield f"  unknown: {'no run here has the turns that it cites' if has_source else 'it cites no turn'}"
    yield "Written and changed:"
    yield from (f"  {line}" for change in changes for line in _change_lines(change))
    if not changes:
        yield "  unknown: no run and no file shows when"
    shown = sorted(moment for each in keys for moment in origins.shown[each])
    readable = " in the runs that can be read" if origins.problems else ""
    yield f"Shown to the player {counted(len(shown), 'time')}{readable}{': ' if shown else ''}{_spans(shown)}"
    if origins.unseen:
        runs = ", ".join(origins.unseen)
        yield f"  and an unknown number of times in runs that no model played or that cannot be repeated: {runs}"
    yield f"Repeated since{readable}:"
    yield from _result_lines(origins, (each for each in turns if not _is_of_arrival(each.record, item)))
    yield from (f"Note: {problem}" for problem in origins.problems)


def _is_of_arrival(record: TurnRecord, item: Item) -> bool:
    """Return whether an item is about what was seen before the turn: a core memory cites the first one of a visit."""
    place = record.before.location
    return "core" in item.tags and place is not None and place.num == item.place


def _turn_lines(record: TurnRecord, run: str, item: Item) -> Iterator[str]:
    place = record.before.location
    if _is_of_arrival(record, item):
        yield f"  Episode {record.episode}, before turn {record.turn}, {record.before.location_label}, run {run}:"
        yield from (f"    {line}" for line in record.before.text.strip().splitlines())
        return
    change = f", score {record.score_change:+d}" if record.score_change else ""
    where = f"{f', {place.label}' if place else ''}{change}"
    yield f"  Episode {record.episode}, turn {record.turn}{where}, run {run}:"
    yield f"    > {record.action}"
    yield from (f"    {line}" for line in record.after.text.strip().splitlines())


def _change_lines(change: OriginChange) -> Iterator[str]:
    yield f"{f'{change.id} ' if change.id else ''}{change.verb} {change.source}"
    writer = change.writer
    if isinstance(writer, MemoryGiven):
        yield "  remembered by the player"
    elif writer is not None:
        yield f"  answer of {writer.model} as {writer.role}, prompt {writer.prompt_sha256}"
    elif change.is_own:
        yield "  by the program itself: no answer since the turn before contains it"


def _result_lines(origins: Origins, turns: Iterable[SeenTurn]) -> Iterator[str]:
    """Yield how often the commands of these turns were played again, and how often each result came of it."""
    first = dict[tuple[int, str], SeenTurn]()
    for turn in turns:
        if (deed := _deed(turn.record)) is not None:
            first.setdefault(deed, turn)
    for deed, turn in [*first.items()][:_TURNS_SHOWN]:
        later = (each.record for each in origins.turns[origins.turns.index(turn) + 1 :])
        results = Counter((each.after.text.strip(), each.score_change) for each in later if _deed(each) == deed)
        before, after = turn.record.before, turn.record.after
        place = before.location_label
        yield f"  {turn.record.action} at {place}: {counted(sum(results.values()), 'time')}"
        for (text, points), count in results.most_common():
            is_same = (text, points) == (after.text.strip(), turn.record.score_change)
            change = "" if points is None else f"score {points:+d}: "
            yield f"    {count} x {'the same result' if is_same else change + one_line(text)}"
    if len(first) > _TURNS_SHOWN:
        yield f"  and {counted(len(first) - _TURNS_SHOWN, 'more command')}"
    if not first:
        yield "  unknown: no command is known to compare with"


def _deed(turn: TurnRecord) -> tuple[int, str] | None:
    """Return where which command was played, ``None`` if the location is unknown."""
    return None if turn.before.location is None else (turn.before.location.num, text_key(turn.action))


def _spans(moments: Iterable[RunMoment]) -> str:
    """Return turns in words, consecutive ones as a range: ``episode 1, turn 3, 5-9``."""
    by_episode = merged_sources(Source(each.episode, each.turn, each.turn) for each in moments)
    episodes: defaultdict[int, list[str]] = defaultdict(list)
    for source in by_episode:
        episodes[source.episode].append(source.turns)
    return "; ".join(f"episode {episode}, turn {', '.join(turns)}" for episode, turns in episodes.items())


def undone(
    document: MemoriesDocument, changes: Sequence[OriginChange], origins: Origins
) -> tuple[MemoriesDocument, list[str]]:
    """Take back changes of a run, latest first, and return a line for each change: what becomes of it, and why.

    A memory that says something else since stays as it is. One that was superseded or invalidated is restored as
    people wrote it, if they did.
    """
    lines, items, ids, renamed = [], dict(origins.items), {each.id for each in changes}, origins.renamed()
    for change in reversed(changes):
        key, before = change.change.key, change.change.before
        current = Known(document.memories()).items().get(key)
        since = next(
            (
                each
                for each in origins.changes[origins.changes.index(change) + 1 :]
                if each.change.key == key
                and each.id not in ids
                # a memory that another run gave up goes with the run that added it
                and not (each.is_own and each.gives_up and before is None)
            ),
            None,
        )
        item = current or change.change.item
        place = None if item is None else item.place
        block, result = _block(document, key, place), "taken back"
        if key in renamed and current is None:
            title = items[renamed[key]].title if renamed[key] in items else "another title"
            result = f"kept, because it was renamed since: {title}"
        elif item is None or block is None or current is None:
            result = "not in the file any more"
        elif current == before:
            result = "already as it was before"
        elif since is not None and current != change.change.after:
            result = f"kept, because it was {since.verb} since: {' '.join(filter(None, (since.id, since.source)))}"
        elif current != items.get(key):
            result = "kept, because it was edited just now"
        elif before is None:
            document = _replaced(document, place, block, None)
        else:
            old = next(
                (
                    found
                    for text in origins.texts
                    if Known((then := parse_memories(text)).memories()).items().get(key) == before
                    and (found := _block(then, key, place))
                ),
                None,
            ) or _restored(block, before, document.line_end)
            others = [each for each in document.memories()[place or 0] if each is not block.content]
            if stands(others, before.title):
                result = "kept, because another memory of this title is there now"
            else:
                document, items[key] = _replaced(document, place, block, old), before
        lines.append(f"{change.id} {change.verb}: {item.title if item else key}: {result}")
    return document, lines


def _block(document: MemoriesDocument, key: str, place: int | None) -> MemoriesBlock | None:
    """Return the block of the memory with that key, which is at that location."""
    blocks = [
        block
        for section in document.sections
        if section.heading is not None and section.heading.num == place
        for block in section.blocks
        if isinstance(block.content, Memory)
    ]
    keys = memory_keys(place or 0, (block.content for block in blocks if isinstance(block.content, Memory)))
    return dict(zip(keys, blocks, strict=True)).get(key)


def _restored(block: MemoriesBlock, item: Item, line_end: str) -> MemoriesBlock:
    """Return a superseded memory as it was before, rewritten."""
    memory = cast("Memory", block.content)
    status: MemoryStatusType = MemoryStatus.TENTATIVE if item.status == "tentative" else MemoryStatus.ACTIVE
    then = replace(memory, status=status, superseded_by=None, superseded_at_turn=None, invalidation_reason=None)
    return replace(block, text=write_memory(then, line_end) + line_end, content=then)


def _replaced(
    document: MemoriesDocument, place: int | None, old: MemoriesBlock, new: MemoriesBlock | None
) -> MemoriesDocument:
    return document.with_each_block(
        lambda heading: heading is not None and heading.num == place, lambda block: new if block is old else block
    )

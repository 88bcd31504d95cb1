"""Where what is known came from: the changes of memories, knowledge and routes in all runs of a story."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
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
from session.files.journal import Manifest, read_journal, read_manifest
from session.files.run_folders import AT_END, AT_START, last_episode, run_folders
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
    origins.miss_episodes(last_episode(folder))
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


def origin_lines(origins: Origins, key: str) -> Iterator[str]:
    """Yield what is known of the origin of an item: its turns, writer, editors and prompts, and whether it held."""
    keys = {key, *(old for old, new in origins.renamed().items() if new == key)}
    changes = [each for each in origins.changes if each.change.key in keys]
    item = origins.items.get(key) or next((change.change.item for change in reversed(changes)), None)
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
    lines: list[str] = []
    restored = set[tuple[str, Item | None]]()
    given_up = {(each.change.before, each.change.after) for each in origins.changes if each.is_own and each.gives_up}
    for change in reversed(changes):
        key, before, item = change.change.key, change.change.before, change.change.item
        current, block = Known(document.memories()).items().get(key), _block(document, key, item.place)
        goes_with_it = before is None and (change.change.after, current) in given_up  # by another run
        result = "taken back"
        if block is None or current is None:
            result = "not in the file under this title any more"
        elif current == before:
            result = "already as it was before"
        elif not (current == change.change.after or goes_with_it or (key, change.change.after) in restored):
            result = "kept, because it was changed since"
        elif before is None:
            document = _replaced(document, item.place, block, None)
        elif stands([each for each in document.memories()[item.place or 0] if each is not block.content], before.title):
            result = "kept, because another memory of this title is there now"
        else:
            versions = (parse_memories(text) for text in origins.texts)
            written = (each for each in versions if Known(each.memories()).items().get(key) == before)
            old = next((_block(each, key, item.place) for each in written), None)
            document = _replaced(document, item.place, block, old or _restored(block, before, document.line_end))
            restored.add((key, before))
        lines.append(f"{change.id} {change.verb}: {item.title}: {result}")
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

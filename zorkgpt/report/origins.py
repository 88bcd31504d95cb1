"""Where what is known came from: the changes of memories, knowledge and routes in all runs of a story."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import cast

from managers.known import Item, Items, Known, memory_keys, route_key
from managers.memory.document import MemoriesBlock, MemoriesDocument, parse_memories, stands, write_memory
from session.errors import StoreError, ZorkGPTError
from session.events import EpisodeStarted, Event, FileEdited, MemoryGiven, ModelAnswered, TurnPlayed
from session.files.journal import read_journal, read_manifest
from session.files.run_folders import AT_END, AT_START, is_fork, run_folders
from session.game_configuration import GameConfiguration
from session.knowledge import Source, merged_sources
from session.memory import Memory, MemoryStatus, MemoryStatusType
from session.route import Route
from session.text import counted, one_line, text_key
from session.values import TurnRecord
from zorkgpt.llm.run_model import PLAYING_ROLES, RepeatedCall
from zorkgpt.report.pages import repeat
from zorkgpt.report.played_run import text_of
from zorkgpt.report.repetition import ItemChange, Repetition, RunMoment, changes_between, read_known

_TURNS_SHOWN = 12
"""The beginnings of the keys of memories, knowledge and routes that outlive an episode."""


@dataclass(frozen=True, slots=True)
class OriginChange:
    """A change of an item.

    id: RUN/NUMBER for what a run wrote, "" for what others wrote
    run: in which it was made or seen; "" for a change after the latest run
    moment: the turn after which it was made or seen; ``None`` if it was made outside of runs, or if it is unknown
    at: when it was made or seen (ISO 8601); "" if it is unknown
    is_own: whether the run wrote it, and not people or other runs; ``None`` if it is unknown
    writer: the recorded answer that contains its title or text; ``None`` for none
    """

    id: str
    run: str
    moment: RunMoment | None
    at: str
    is_own: bool | None = False
    change: ItemChange = field(default_factory=lambda: ItemChange("", None, None))
    writer: ModelAnswered | MemoryGiven | None = None

    @property
    def is_of_memory(self) -> bool:
        """Whether a memory was changed."""
        return self.change.item is not None and self.change.item.kind == "memory"

    @property
    def verb(self) -> str:
        """What was done with the item."""
        if self.change.after is None:
            return "removed"
        was_believed = self.change.before is None or self.change.before.status != "superseded"
        if self.change.after.status == "superseded" and was_believed:
            return "superseded"
        return "added" if self.change.before is None else "changed"

    @property
    def source(self) -> str:
        """Who made the change and when, in words. The id names the run of what a run wrote."""
        if self.moment is not None:
            seen = f"after episode {self.moment.episode}, turn {self.moment.turn}"
            return seen if self.is_own else f"by hand on {self.at[:10]}, seen {seen} of run {self.run}"
        if self.is_own is None:
            return f"in run {self.run}; by the run or by others, which is unknown"
        if self.run:
            return f"by hand, outside of runs, before the end of run {self.run} of {self.at[:10]}"
        return f"by hand, after the latest run; the file was last written on {self.at[:10]}"


@dataclass(slots=True)
class Origins:
    """What the runs of a story folder show of everything that was ever known.

    changes: oldest first
    shown: the turns whose prompts contained an item, by its key
    turns: all turns, oldest first; ``runs``: the run of each episode
    problems: why something is unknown
    items: what is known now
    texts: versions of the memories that people may have written
    ends: what was known at the end of each episode
    routes: those of today, by their keys
    """

    changes: list[OriginChange] = field(default_factory=list)
    shown: defaultdict[str, list[RunMoment]] = field(default_factory=lambda: defaultdict(list))
    turns: list[TurnRecord] = field(default_factory=list)
    runs: dict[int, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    items: Items = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    ends: dict[int, Items] = field(default_factory=dict)
    routes: dict[str, Route] = field(default_factory=dict)

    def add(
        self,
        changes: Iterable[ItemChange],
        where: OriginChange,
        answers: Sequence[ModelAnswered | MemoryGiven] = (),
    ) -> None:
        """Add changes that were made or seen at the same place, one of which may be in each of these answers."""
        number = sum(each.run == where.run and bool(each.id) for each in self.changes)
        for change in changes:
            if change.item is None or not change.item.is_lasting:
                continue
            found = replace(where, change=change)
            if not change.by_others:
                number += 1
                writer = next((each for each in answers if _mentions(each.answer, change)), None)
                found = replace(found, id=f"{where.run}/{number}", is_own=True, writer=writer)
            self.changes.append(found)

    def taught(self, item: Item) -> list[TurnRecord]:
        """Return the turns that an item cites; for a route, the turn that reached its goal."""
        route = self.routes.get(item.key)
        if route is not None:
            in_episode = (each for each in self.turns if each.episode == route.episode)
            return [each for each in in_episode if route.goal.is_reached(each.after)][:1]
        spans = [(each.episode, range(each.first_turn, each.last_turn + 1)) for each in item.sources]
        return [
            turn for turn in self.turns if any(turn.episode == episode and turn.turn in span for episode, span in spans)
        ]


def read_origins(folder: Path, now: GameConfiguration) -> Origins:
    """Repeat every run of a story folder, and compare what it wrote with its files and with those of today.

    Forks are left out, because they have files of their own. Raises ``StoreError``.
    """
    origins, state = Origins(), Items()
    for run in reversed(run_folders([folder])):
        if not is_fork(run):
            state = _add_run(origins, run, state, now)
    files = {"Memories.md": now.simple_memory.memory_file, "knowledgebase.md": now.knowledge_file}
    current = _known(lambda name: folder / files.get(name, name), origins.problems)
    memories = folder / now.simple_memory.memory_file
    changed = datetime.fromtimestamp(memories.stat().st_mtime, timezone.utc).isoformat() if memories.exists() else ""
    origins.items, origins.routes = current.items(), {route_key(each.number): each for each in current.routes}
    origins.add(changes_between(state, origins.items, by_others=True), OriginChange("", "", None, changed))
    own = {(each.change.key, each.change.after) for each in origins.changes if each.is_own}
    origins.changes = [
        each
        for each in origins.changes
        if each.is_own or each.change.after is None or (each.change.key, each.change.after) not in own
    ]
    return origins


def _add_run(origins: Origins, run: Path, state: Items, now: GameConfiguration) -> Items:
    """Add what a run shows, given what the files contained before it; return what they contained after it."""
    repetition, problem = _repeated(origins, run, now)
    times, answers = _read_turns(origins, run)
    start = _known(lambda name: run / AT_START / name, origins.problems).items()
    origins.texts.append(text_of(run / AT_START / "Memories.md"))
    outside = OriginChange("", run.name, None, read_manifest(run).created)
    origins.add(changes_between(state, start, by_others=True), outside)
    for moment, changes in repetition.changes.items():
        origins.add(changes, replace(outside, moment=moment, at=times.get(moment, "")), answers[moment])
    for moment, keys in repetition.shown.items():
        for key in keys:
            origins.shown[key].append(moment)
    state = repetition.known if repetition.moment.episode else start
    if (run / AT_END).is_dir():
        end = _known(lambda name: run / AT_END / name, origins.problems).items()
        origins.add(changes_between(state, end, by_others=True), replace(outside, is_own=None if problem else False))
        state = end
    origins.ends[max(times, default=RunMoment(0, 0)).episode] = state
    return state


def _repeated(origins: Origins, run: Path, now: GameConfiguration) -> tuple[Repetition, str]:
    """Repeat a run; return what it showed, and why it could not be repeated to its end, "" if it could.

    An older version may have built other prompts; the recorded answers lead through the run all the same.
    """
    repetition, problem, others = Repetition(), "", 0

    def see(event: Event) -> None:
        repetition.see(event)
        if isinstance(event, EpisodeStarted):
            origins.ends[event.episode - 1] = repetition.known

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
        problem = f"it cannot be repeated: {error}"
    if others:
        told = f"this version builds {counted(others, 'other prompt')}: what they showed is inferred"
        origins.problems.append(f"Run {run.name}: {told}.")
    if problem:
        origins.problems.append(f"Run {run.name}: {problem}. What it changed and was shown after that is unknown.")
    return repetition, problem


def _read_turns(
    origins: Origins, run: Path
) -> tuple[Mapping[RunMoment, str], Mapping[RunMoment, list[ModelAnswered | MemoryGiven]]]:
    """Add the turns of a run, and return when each was recorded and the answers that learned from it."""
    times, moment = dict[RunMoment, str](), RunMoment(0, 0)
    answers: defaultdict[RunMoment, list[ModelAnswered | MemoryGiven]] = defaultdict(list)
    with suppress(StoreError):  # a damaged journal shows what it can
        for line in read_journal(run):
            match line.event:
                case EpisodeStarted(episode=episode):
                    moment = RunMoment(episode, 0)
                case TurnPlayed(record=record):
                    moment = RunMoment(record.episode, record.turn)
                    origins.turns.append(record)
                    origins.runs[record.episode] = run.name
                case MemoryGiven() as answer:
                    answers[moment].append(answer)
                case ModelAnswered(role=role) as answer if role not in PLAYING_ROLES:
                    answers[moment].append(answer)
                case FileEdited(text=text):
                    origins.texts.append(text)
                case _:
                    continue
            times[moment] = line.at
    return times, answers


def _mentions(answer: Mapping[str, object], change: ItemChange) -> bool:
    item = change.item
    if item is None:
        return False
    text = json.dumps(item.title if item.kind == "memory" else item.text, ensure_ascii=False)[1:-1]
    return text_key(text) in text_key(json.dumps(answer, ensure_ascii=False))


def _known(copy_of: Callable[[str], Path], problems: list[str]) -> Known:
    """Return what files contain, by the names that they have in copies."""
    memories = parse_memories(text_of(copy_of("Memories.md"))).memories()
    return read_known(copy_of, memories, problems.append, lambda error: problems.append(str(error)))[0]


def origin_lines(origins: Origins, key: str) -> Iterator[str]:
    """Yield what is known of the origin of an item: its turns, writer, editors and prompts, and whether it held."""
    changes = [each for each in origins.changes if each.change.key == key]
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
    yield from (line for each in turns[:_TURNS_SHOWN] for line in _turn_lines(each, origins.runs[each.episode]))
    if len(turns) > _TURNS_SHOWN:
        yield f"  and {counted(len(turns) - _TURNS_SHOWN, 'more turn')}"
    if not turns:
        yield f"  unknown: {'no run here has the turns that it cites' if item.sources else 'it cites no turn'}"
    yield "Written and changed:"
    yield from (f"  {line}" for change in changes for line in _change_lines(change))
    if not changes:
        yield "  unknown: no run and no file shows when"
    shown = origins.shown[key]
    yield f"Shown to the player {counted(len(shown), 'time')}{': ' if shown else ''}{_spans(shown)}"
    yield "Repeated since:"
    yield from _result_lines(origins, turns[:_TURNS_SHOWN])
    yield from (f"Note: {problem}" for problem in origins.problems)


def _turn_lines(record: TurnRecord, run: str) -> Iterator[str]:
    place = record.before.location
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
        yield "  no model: none of the answers since the turn before contains it"


def _result_lines(origins: Origins, turns: Iterable[TurnRecord]) -> Iterator[str]:
    """Yield how often the commands of these turns were played again, and how often each result came of it."""
    seen: set[tuple[int, str]] = set()
    for turn in turns:
        deed = _deed(turn)
        if deed is None or deed in seen:
            continue
        seen.add(deed)
        later = origins.turns[origins.turns.index(turn) + 1 :]
        results = Counter((each.after.text.strip(), each.score_change) for each in later if _deed(each) == deed)
        place = turn.before.location.label if turn.before.location else ""
        yield f"  {turn.action} at {place}: {counted(sum(results.values()), 'time')}"
        for (text, points), count in results.most_common():
            is_same = (text, points) == (turn.after.text.strip(), turn.score_change)
            change = "" if points is None else f"score {points:+d}: "
            yield f"    {count} x {'the same result' if is_same else change + one_line(text)}"
    if not seen:
        yield "  unknown: no command is known to compare with"


def _deed(turn: TurnRecord) -> tuple[int, str] | None:
    """Return where which command was played, ``None`` if the location is unknown."""
    return None if turn.before.location is None else (turn.before.location.num, text_key(turn.action))


def _spans(moments: Iterable[RunMoment]) -> str:
    """Return turns in words, consecutive ones as a range: ``episode 1, turn 3, 5-9``."""
    by_episode = merged_sources(Source(each.episode, each.turn, each.turn) for each in moments)
    episodes: defaultdict[int, list[str]] = defaultdict(list)
    for source in by_episode:
        first, last = source.first_turn, source.last_turn
        episodes[source.episode].append(str(first) if first == last else f"{first}-{last}")
    return "; ".join(f"episode {episode}, turn {', '.join(turns)}" for episode, turns in episodes.items())


def undone(
    document: MemoriesDocument, changes: Sequence[OriginChange], origins: Origins
) -> tuple[MemoriesDocument, list[str]]:
    """Take back changes of a run, latest first, and return a line for each change: what becomes of it, and why.

    A memory that people changed after the change stays as it is. One that was superseded or invalidated is restored as
    people wrote it, if they did.
    """
    lines, items = [], dict(origins.items)
    for change in reversed(changes):
        key, before = change.change.key, change.change.before
        current = Known(document.memories()).items().get(key)
        later = origins.changes[origins.changes.index(change) + 1 :]
        is_edited = current != items.get(key) or any(each.change.key == key and not each.is_own for each in later)
        item = current or change.change.item
        place = None if item is None else item.place
        block, result = _block(document, key, place), "taken back"
        if item is None or block is None or current is None:
            result = "not in the file any more"
        elif is_edited:
            result = "kept, because it was edited by hand since"
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

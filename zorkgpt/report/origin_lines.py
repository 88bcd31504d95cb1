"""Where one memory, line of knowledge or route came from, as lines of text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from managers.known import Item
from session.events import MemoryGiven, RunMoment
from session.knowledge import Source, merged_sources
from session.text import counted, one_line, text_key
from session.values import TurnRecord
from zorkgpt.report.origins import OriginChange, Origins, SeenTurn

_TURNS_SHOWN = 12


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
        yield f"  and an unknown number of times in runs that are not whole, not repeatable or without a model: {runs}"
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

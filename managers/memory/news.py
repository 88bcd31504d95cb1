"""Decides which outcomes of commands are news. An outcome is submitted to a model only once.

See docs/specification.md, What is news.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from managers.memory.outcome import ActionOutcome, digest
from session.errors import StoreError, reported_as
from session.files.document_store import SharedStore
from session.files.inputs import Inputs
from session.files.shared_files import append_whole, locked, open_to_append, read_shared, write_atomically
from session.memory import INVALIDATION_MARKER, Memory, MemoryStatus
from session.text import one_line, text_key

_FIGURE = re.compile(r"[+-]\d+")
MOST_REMEMBERED = 50_000  # outcomes, of 17 or 34 bytes each


class NewsLedger(SharedStore):
    """Keeps the keys of all outcomes that were submitted to a model, in this and earlier runs, in the file ``path``.

    Each key is appended as a line, so that processes can share the file, with a digest of the title of the resulting
    memory, if any. The last line of a key applies. If the file is lost, outcomes are submitted again. A run does not
    read lines that others append while it is played, and writes without preparation, as lines of different processes do
    not depend on each other.

    warn: called with the first error if the file cannot be written; the run continues

    The constructor raises ``StoreError`` if the file cannot be read.
    """

    def __init__(self, path: Path, warn: Callable[[StoreError], None]) -> None:
        super().__init__(path)
        lines = _lines(read_shared(path))
        if len(lines) > 2 * MOST_REMEMBERED:
            with locked(path):
                lines = _lines(read_shared(path))
                write_atomically(path, _written(lines[-MOST_REMEMBERED:]), durable=False)
        self._warn = warn
        self._has_warned = False
        self._made = _titles_by_key(lines)
        self._unwritten: tuple[str, ...] = ()
        self._repeated: tuple[str, ...] = ()
        self._known: int | None = None  # lines that the file had before turns were repeated, until it is compared

    def is_news(self, outcome: ActionOutcome, memories: Sequence[Memory]) -> bool:
        """Return whether the outcome should be submitted to a model (docs/specification.md, What is news).

        memories: all memories of the location, including superseded ones
        """
        record = outcome.record
        known = {"", *(_digested(memory.title) for memory in memories)}
        standing = [memory for memory in memories if memory.status != MemoryStatus.SUPERSEDED]
        walked_through = outcome.is_direction and record.moved
        has_core = any(memory.persistence == "core" for memory in standing)
        if outcome.first_visit and not walked_through and not has_core:
            arrival = outcome.arrival_keys
            if not arrival or self._is_mostly_new(arrival, known):
                return True
        if record.score_change or record.after.died:
            believed = [memory for memory in memories if memory.superseded_by != INVALIDATION_MARKER]
            is_remembered = self._made.get(outcome.key) in {_digested(memory.title) for memory in believed}
            return not is_remembered and not any(tells(memory, outcome) for memory in standing)
        if record.is_in_fight and any(speaks_of(memory, outcome) for memory in standing):
            return False
        if any(key not in self._made for key in _contradictions(outcome, standing)):
            return True
        return outcome.is_significant and self._is_new(outcome, known)

    def note(
        self, outcomes: Collection[ActionOutcome], made: Sequence[Memory] = (), known: Sequence[Memory] = ()
    ) -> None:
        """Record that these outcomes were submitted to a model. The next :meth:`write` adds them to the file.

        Points and deaths without a new memory of their own are attributed to the other memories.

        made: the new persistent memories
        """
        new: dict[str, str] = {}
        standing = [memory for memory in known if memory.status != MemoryStatus.SUPERSEDED]
        cores = ["", *(_digested(memory.title) for memory in made if memory.persistence == "core")]
        for outcome in outcomes:
            record = outcome.record
            telling = [memory for memory in made if record.turn in memory.span]
            if record.score_change or record.after.died:
                telling = telling or [*made] or standing
            new[outcome.key] = _digested(telling[-1].title) if telling else ""
            if record.moved:
                new[outcome.passage_key] = ""
            new.update(dict.fromkeys(outcome.arrival_keys, cores[-1]))
            new.update(dict.fromkeys(outcome.aside_keys, ""))
            new.update(dict.fromkeys(_contradictions(outcome, known), ""))
        new = {key: title for key, title in new.items() if self._made.get(key) != title}
        self._unwritten += tuple(f"{key}:{title}" if title else key for key, title in sorted(new.items()))
        self._made |= new

    @property
    @override
    def is_due(self) -> bool:
        return bool(self._unwritten)

    @override
    def hold(self, inputs: Inputs, base: bytes | None = None) -> None:
        super().hold(inputs)
        if inputs.is_repeating:
            lines = _lines(base)
            self._known, self._made = len(lines), _titles_by_key(lines)

    @override
    def commit(self) -> None:
        if self._unwritten:
            self._append()

    @override
    def look(self) -> None:
        if self._known is not None and not self._is_repeating:
            self._append()

    @override
    def write(self) -> None:
        if self._is_repeating:
            self._repeated, self._unwritten = self._repeated + self._unwritten, ()
        else:
            self._append()

    def _append(self) -> None:
        """Append the new entries, without repeated entries that the file already contains in the same order."""
        try:
            with reported_as(f"{self.path} cannot be written"), locked(self.path):
                entries = [*self._repeated, *self._unwritten]
                for line in () if self._known is None else _lines(read_shared(self.path))[self._known :]:
                    if entries[:1] == [line]:
                        entries.pop(0)
                if entries:
                    with open_to_append(self.path) as file:
                        append_whole(file, _written(entries))
        except StoreError as error:
            if not self._has_warned:
                self._warn(error)
            self._has_warned = True
        else:
            self._repeated = self._unwritten = ()
            self._known = None

    def _is_new(self, outcome: ActionOutcome, known: Collection[str]) -> bool:
        """Return whether the outcome was not considered before. If the player waited, the response decides.

        known: digests of the titles of the location's memories, and "" for outcomes without a memory
        """
        tells_more = self._is_mostly_new(outcome.aside_keys, known)
        if outcome.is_idle and outcome.destination is not None:
            return self._made.get(outcome.passage_key) not in known
        if outcome.is_idle and outcome.aside_keys:
            return tells_more
        return tells_more or self._made.get(outcome.key) not in known

    def _is_mostly_new(self, sentences: Mapping[str, int], known: Collection[str]) -> bool:
        """Return whether most of a text was not considered before. ``sentences``: the length of each by key."""
        new = sum(length for key, length in sentences.items() if self._made.get(key) not in known)
        return new > sum(sentences.values()) / 2


def tells(memory: Memory, outcome: ActionOutcome) -> bool:
    """Return whether the memory contains the command of the outcome and its change of score."""
    change = outcome.record.score_change
    if not change or not speaks_of(memory, outcome):
        return False
    return memory.score_change == change or f"{change:+d}" in _FIGURE.findall(memory.text)


def speaks_of(memory: Memory, outcome: ActionOutcome) -> bool:
    """Return whether the memory contains the command: in quotation marks, or without them if it has several words."""
    text = one_line(f"{memory.title} {memory.text}").casefold()
    for command in {one_line(outcome.record.action).casefold(), outcome.command.casefold()}:
        words = rf"\b{re.escape(command)}\b" if " " in command else rf"[`'\"]{re.escape(command)}[`'\"]"
        if command and re.search(words, text):
            return True
    return False


def _contradictions(outcome: ActionOutcome, memories: Iterable[Memory]) -> list[str]:
    """Return a key for each memory of a failure that the outcome, a success, contradicts."""
    if not outcome.had_effect or outcome.record.after.died:
        return []
    failures = (memory for memory in memories if memory.category == "FAILURE" and speaks_of(memory, outcome))
    return [digest("against", memory.title, outcome.key) for memory in failures]


def _digested(title: str) -> str:
    return digest("title", text_key(title))


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("ascii", "replace").split()


def _titles_by_key(entries: Sequence[str]) -> dict[str, str]:
    """Return the digest of the memory's title for each key of the latest entries, or "" if there was no memory."""
    return {key: title for key, _, title in (entry.partition(":") for entry in entries[-MOST_REMEMBERED:])}


def _written(keys: Iterable[str]) -> bytes:
    return "".join(f"{key}\n" for key in keys).encode()

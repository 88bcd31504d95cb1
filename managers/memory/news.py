"""Tells which outcomes of commands are news: what a model was asked about once is not worth its time again.

See docs/specification.md, What is news.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter
from typing_extensions import override

from session.errors import StoreError
from session.files.atomic_write import write_atomically
from session.files.document_store import SharedStore

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from managers.memory.outcome import ActionOutcome

MOST_REMEMBERED = 50_000  # outcomes, of 17 bytes each


@dataclass(frozen=True, slots=True)
class UnwrittenNews:
    """The keys of outcomes that are not in the file yet, for a snapshot."""

    keys: tuple[str, ...] = ()

    def committed(self) -> UnwrittenNews:
        """Return what is left once they are in the file: nothing."""
        return UnwrittenNews()


class NewsLedger(SharedStore[UnwrittenNews]):
    """Keeps the keys of all outcomes that a model was asked about, in this run or an earlier one, in the file ``path``.

    Each is appended as a line, so that processes may share the file. Losing it costs nothing but asking again.
    """

    states = TypeAdapter(UnwrittenNews)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        lines = self._lines()
        self._seen = set(lines[-MOST_REMEMBERED:])
        self._unwritten: tuple[str, ...] = ()
        if len(lines) > 2 * MOST_REMEMBERED:
            write_atomically(path, _written(lines[-MOST_REMEMBERED:]), durable=False)

    def is_news(self, outcome: ActionOutcome, *, spawn_known: bool) -> bool:
        """Return whether no model was asked about such an outcome before. Points and deaths are always news.

        A first visit is, too, where the place was not seen like this before.
        spawn_known: a core memory tells what is at the location from the start, so a first visit alone is no news
        """
        if outcome.score_change or outcome.died:
            return True
        if outcome.first_visit and not spawn_known and outcome.arrival_key not in self._seen:
            return True
        return outcome.is_significant and outcome.key not in self._seen

    def note(self, outcomes: Collection[ActionOutcome]) -> None:
        """Note that a model was asked about these outcomes. They are in the file after the next :meth:`commit`."""
        keys = {outcome.key for outcome in outcomes}
        keys |= {outcome.arrival_key for outcome in outcomes if outcome.arrival_text}
        self._unwritten += tuple(sorted(keys - self._seen))
        self._seen |= keys

    @property
    @override
    def is_due(self) -> bool:
        return bool(self._unwritten)

    def commit(self) -> None:
        """Append to the file what was noted. Raises ``StoreError``, and then the next commit tries again."""
        if not self._unwritten:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(_written(self._unwritten))
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written: {error.strerror or error}") from error
        self._unwritten = ()

    def refresh(self) -> None:
        """Do nothing: a model may be asked once more about what another run notes at the same time."""

    def state(self) -> UnwrittenNews:
        """Return the keys that are not in the file yet."""
        return UnwrittenNews(self._unwritten)

    def restore(self, state: UnwrittenNews) -> None:
        """Take these keys for noted; those that the file has not got since go there with the next commit."""
        self._unwritten = tuple(key for key in state.keys if key not in self._seen)
        self._seen.update(state.keys)

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="ascii", errors="replace").split()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror or error}") from error


def _written(keys: Iterable[str]) -> bytes:
    return "".join(f"{key}\n" for key in keys).encode()

"""Whether an outcome is news (decision 15): what was considered once is not worth a model's time again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from session.errors import StoreError
from session.files.atomic_write import write_atomically
from session.files.document_store import SharedStore

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from managers.memory.outcome import ActionOutcome

MOST_REMEMBERED = 50_000  # outcomes, of 17 bytes each
_EPHEMERAL = "~"  # before the key of an outcome of which an ephemeral memory was made


@dataclass(frozen=True, slots=True)
class UnwrittenNews:
    """Keys of outcomes that the file does not know yet, for a snapshot."""

    keys: tuple[str, ...] = ()

    def committed(self) -> UnwrittenNews:
        """Return the same as it is once the file knows them."""
        return UnwrittenNews()


class NewsLedger(SharedStore[UnwrittenNews]):
    """The outcomes that were once considered, in this run or an earlier one, kept in ``path``.

    A line each is appended, so that processes may share the file; losing it costs nothing but asking again.
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
        """It was not considered before. Points, deaths and first visits always are news.

        spawn_known: what stands at the location from the start is remembered, so that a later episode's first
            visit is none any more
        """
        if outcome.score_change or outcome.died:
            return True
        if outcome.first_visit and not spawn_known and outcome.arrival_key not in self._seen:
            return True
        return outcome.is_significant and outcome.key not in self._seen

    def was_ephemeral(self, outcome: ActionOutcome) -> bool:
        """Its like was once found to be true of an episode alone."""
        return _EPHEMERAL + outcome.key in self._seen

    def note(self, outcomes: Collection[ActionOutcome], ephemeral: Collection[ActionOutcome] = ()) -> None:
        """They are no news from now on, and ``ephemeral`` are true of this episode alone.

        The file knows it after the next :meth:`commit`.
        """
        keys = {outcome.key for outcome in outcomes}
        keys |= {outcome.arrival_key for outcome in outcomes if outcome.arrival_text}
        keys |= {_EPHEMERAL + outcome.key for outcome in ephemeral}
        self._unwritten += tuple(sorted(keys - self._seen))
        self._seen |= keys

    def commit(self) -> None:
        """The file knows all that was noted. Raises ``StoreError``; the next commit tries again."""
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
        """Do nothing: what another run considers at the same time may be considered again."""

    def state(self) -> UnwrittenNews:
        """Return the outcomes that the file does not know yet."""
        return UnwrittenNews(self._unwritten)

    def restore(self, state: UnwrittenNews) -> None:
        """Take these outcomes for considered, too; the file gets those that it has not got since."""
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

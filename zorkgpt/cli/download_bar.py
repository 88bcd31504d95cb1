"""A bar for a model that is being fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from zorkgpt.llm.embedded.model_store import Stage

_DESCRIPTIONS: dict[Stage, str] = {
    "waiting": "Another pull is at it, waiting",
    "fetching": "Fetching the embedded model",
    "unpacking": "Unpacking and checking it",
}


class DownloadBar:
    """Shows on stderr how far the model store has come, from its first report to ``ready`` or the end of the context.

    quiet: shows nothing
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=quiet,
        )
        self._task = self._bar.add_task("")
        self._drawn = False

    def __call__(self, stage: Stage, done: int, total: int) -> None:
        """Show ``done`` of ``total`` bytes of ``stage``."""
        if stage == "ready":
            self._stop()
            return
        self._bar.start()
        self._drawn = True
        self._bar.update(self._task, description=_DESCRIPTIONS[stage], completed=done, total=total)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        """Take the bar away; one that was never drawn leaves no empty line either."""
        if self._drawn:
            self._bar.stop()
            self._drawn = False

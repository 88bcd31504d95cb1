"""What is written down of a run: its manifest, its first event, and where all others go."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from session.events import Event, FileEdited, RunPaused, RunStarted
from session.files.atomic_write import write_atomically
from session.files.journal import Journal, Manifest, new_run_id
from session.files.recording import Diverged, Recording, RecordingEnded
from session.files.run_folders import digests_at_start, take_episode_numbers

if TYPE_CHECKING:
    from pathlib import Path

    from orchestration.opening import Parts
    from session.game_configuration import GameConfiguration

_PACKAGES = ("zorkgpt", "jericho", "openai", "xllamacpp")

Show = Callable[[Event], None]


class Record(Protocol):
    """Gets every event of a run.

    recording: what the run repeats; empty for a new one
    repeats_edits: recorded edits of shared files are made again, for the files are a repetition's own
    """

    recording: Recording
    repeats_edits: bool

    def emit(self, event: Event) -> None:
        """The event is written down and shown, as this record does that."""
        ...


@dataclass(slots=True)
class ContinuedRecord:
    """Of a run that is played: its journal grows by what it does not hold yet.

    recording: the journal's own tail. A run that goes on differently has what it does not repeat cut off.
    may_lose: turns that may be cut so: the one in flight
    """

    journal: Journal
    show: Show
    recording: Recording = field(default_factory=Recording)
    repeats_edits: bool = False
    may_lose: int = 1

    def emit(self, event: Event) -> None:
        """The event is in the journal, then shown.

        A pause before all is repeated is only shown: the rest is there to be repeated the next time. Raises
        ``Diverged`` where too much would be cut.
        """
        line = self.recording.take(event)
        if line is not None:
            self.journal.skip(line)
        elif not (isinstance(event, RunPaused) and self.recording.turns):
            self._cut(event)
            self.journal.append(event)
        self.show(event)

    def _cut(self, found: Event) -> None:
        next_line = self.recording.next_line
        if next_line is None:
            return
        if self.recording.turns > self.may_lose:
            raise Diverged(self.recording.difference(found))
        self.journal.cut(next_line.start)
        self.recording.drop()


@dataclass(slots=True)
class CheckedRecord:
    """Of a run that is repeated to see whether it comes out the same; nothing is written."""

    recording: Recording
    show: Show
    repeats_edits: bool = True

    def emit(self, event: Event) -> None:
        """The event is the recorded one. Raises ``Diverged``, or ``RecordingEnded`` after an unfinished recording."""
        if self.recording.take(event) is None:
            if self.recording.is_over:
                raise RecordingEnded("the recording ends here")
            raise Diverged(self.recording.difference(event))
        self.show(event)


@dataclass(frozen=True, slots=True)
class FileWatch:
    """Writes down what others write into the shared files of a run."""

    record: Record

    def reading(self, path: Path, read: int) -> None:
        """A file is about to be looked at; if somebody had edited it just then, it is edited."""
        if not self.record.repeats_edits:
            return
        event = self.record.recording.next_event
        if isinstance(event, FileEdited) and (event.file, event.read) == (path.name, read):
            write_atomically(path, event.text.encode())

    def noticed(self, path: Path, read: int, text: str) -> None:
        """That somebody edited the file is written down."""
        self.record.emit(FileEdited(path.name, read, text))


def started(configuration: GameConfiguration, parts: Parts, manifest: Manifest, folder: Path) -> RunStarted:
    """Return the first event of the run in that folder."""
    return RunStarted(
        run_id=manifest.run_id,
        folder=str(folder),
        story=parts.game.facts,
        story_choice=parts.story.describe(),
        model=manifest.model,
        assistance=manifest.assistance,
        episodes=len(manifest.seeds),
        max_turns=configuration.max_turns_per_episode,
        files=digests_at_start(folder),
    )


def new_manifest(configuration: GameConfiguration, parts: Parts, episodes: int) -> Manifest:
    """Return the manifest of a run that begins now; its episode numbers are its own. Raises ``StoreError``."""
    facts = parts.game.facts
    seed = configuration.game.seed
    return Manifest(
        run_id=new_run_id(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=tuple(sys.argv),
        configuration=configuration.without_keys(),
        story=facts.name,
        story_path=str(parts.story.path.resolve()),
        story_sha256=facts.sha256,
        seeds=tuple(range(seed, seed + episodes)),
        first_episode=take_episode_numbers(configuration.zork_game_workdir, episodes),
        model=parts.model.description if parts.model else "none",
        versions={"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        assistance=tuple(sorted(configuration.assist)),
    )

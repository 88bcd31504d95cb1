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
    """Takes every event of a run.

    recording: the events that the run repeats; empty for a new run
    repeats_edits: whether recorded edits of shared files are made again, as a repetition does with files of its own
    """

    recording: Recording
    repeats_edits: bool

    def emit(self, event: Event) -> None:
        """Write the event down and show it."""
        ...


@dataclass(slots=True)
class ContinuedRecord:
    """Takes the events of a run that is played: the journal gets those that it does not hold yet.

    recording: the end of the journal, to be repeated first; where the run goes on differently, the rest is cut off
    may_lose: how many turns may be cut off so: the one that was being played
    """

    journal: Journal
    show: Show
    recording: Recording = field(default_factory=Recording)
    repeats_edits: bool = False
    may_lose: int = 1

    def emit(self, event: Event) -> None:
        """Write the event into the journal, then show it.

        A pause before everything is repeated is only shown, since the rest is repeated the next time. Raises
        ``Diverged`` where too much would be cut off.
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
    """Compares the events of a repetition with the recorded ones; writes nothing."""

    recording: Recording
    show: Show
    repeats_edits: bool = True

    def emit(self, event: Event) -> None:
        """Show the event if it is the recorded one. Raises ``Diverged`` or, after the last one, ``RecordingEnded``."""
        if self.recording.take(event) is None:
            if self.recording.is_over:
                raise RecordingEnded("the recording ends here")
            raise Diverged(self.recording.difference(event))
        self.show(event)


@dataclass(slots=True)
class FileWatch:
    """Writes down what others write into the shared files of a run.

    has_noticed: something was, since whoever asks for it last set it to false
    """

    record: Record
    has_noticed: bool = False

    def reading(self, path: Path, read: int) -> bool:
        """Make the edit that somebody made before this look when the run was played, if the recording has one.

        Return whether to look: false while turns are repeated, for what was written since must not be seen in them.
        """
        recording = self.record.recording
        event = recording.next_event
        if isinstance(event, FileEdited) and (event.file, event.read) == (path.name, read):
            if self.record.repeats_edits:
                write_atomically(path, event.text.encode())
            return True
        return not recording.turns

    def noticed(self, path: Path, read: int, text: str) -> None:
        """Write down that somebody edited the file."""
        self.has_noticed = True
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
        seeds=(seed,) * episodes if seed == "jericho" else tuple(range(seed, seed + episodes)),
        first_episode=take_episode_numbers(configuration.zork_game_workdir, episodes),
        model=parts.model.description if parts.model else "none",
        versions={"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        assistance=tuple(sorted(configuration.assist)),
    )

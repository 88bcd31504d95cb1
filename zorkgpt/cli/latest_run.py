"""Which run and which story's folder a command is about, where nobody names one: those that were played last."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError
from zorkgpt.cli.streams import print_error

if TYPE_CHECKING:
    from session.files.journal import Manifest
    from session.files.story_folders import StoryFolder

OfStory = Annotated[
    str | None, typer.Option("--game", help="Of that story alone: its file, or its name.", metavar="STORY")
]

StoryOfRun = Annotated[
    str | None,
    typer.Option("--game", help="Of that story, by its name, or where its file is now.", metavar="STORY"),
]

TURN = re.compile(r"(?:([0-9]{1,9}):)?([0-9]{1,9})")
"""A turn as people name it, after its episode where that is not clear."""


def read_turn(manifest: Manifest, place: str, named_by: str = "") -> tuple[int, int]:
    """Return the episode and the turn that ``place`` names in a run: 12, or 2:12 for turn 12 of episode 2.

    named_by: what stands before it on the command line
    Raises ``ConfigurationError`` for what names none.
    """
    found = TURN.fullmatch(place)
    if found is None:
        raise ConfigurationError(f"{named_by}{place}: a turn is like 12, or 2:12 for turn 12 of episode 2")
    if found[1] is None and len(manifest.seeds) > 1:
        first, last = manifest.first_episode, manifest.first_episode + len(manifest.seeds) - 1
        raise ConfigurationError(
            f"{named_by}{place}: the run has episodes {first} to {last}; write EPISODE:TURN, as in {last}:12"
        )
    return int(found[1] or manifest.first_episode), int(found[2])


def story_file(story: str | None) -> Path | None:
    """Return the file that ``--game`` names, ``None`` where it names a story."""
    is_file = story is not None and (Path(story).exists() or Path(story).name != story or Path(story).suffix)
    return Path(story) if story is not None and is_file else None


def folders_of(workdir: Path, story: str | None) -> list[StoryFolder]:
    """Return the story folders of a work folder, or those of one story, by its file or its name.

    A folder that does not say whose it is may be that of any story.
    Raises ``StoryError`` for a file that is no story, ``ConfigurationError`` for a story that was not played there.
    """
    from session.files.story_folders import story_folders

    folders = story_folders(workdir)
    if story is None:
        return folders
    sha256 = None
    if Path(story).is_file():
        from game_interface.core.machine.story import Story

        sha256 = Story.load(Path(story)).sha256
    found = [
        each
        for each in folders
        if each.story is None or each.story.sha256 == sha256 or each.story.name.casefold() == story.casefold()
    ]
    if not found:
        played = ", ".join(folder.story.name for folder in folders if folder.story)
        raise ConfigurationError(f"--game {story}: nothing was played of it in {workdir}; there is {played or 'none'}")
    return found


def chosen_run(workdir: Path, run: str | None, story: str | None = None) -> Path:
    """Return the folder of the run of that id or path, by default of the one that was played last.

    story: only its runs are looked at
    Raises ``StoreError``, and what :func:`folders_of` raises.
    """
    from session.files.run_folders import find_run, latest_runs

    if run is not None or story is None:
        return find_run(workdir, run)
    latest = latest_runs(folder.path for folder in folders_of(workdir, story))
    if not latest:
        raise StoreError(f"there is no run of {story} yet in {workdir}")
    return latest[0]


def resumable_run(workdir: Path, run: str | None, story: str | None) -> Path:
    """Return the folder of the run to go on with: the one named, else the latest that is neither done nor damaged.

    Where that is not the one that was played last, a line on stderr says so. Where none can go on, it is the latest.
    story: only its runs are looked at
    Raises what :func:`chosen_run` raises.
    """
    from session.files.run_folders import latest_runs
    from zorkgpt.report.run_summary import summarise

    latest = chosen_run(workdir, run, story)
    if run is not None:
        return latest
    left_out = ""
    for folder in latest_runs(each.path for each in folders_of(workdir, story)):
        summary = summarise(folder)
        if summary.state not in ("done", "damaged"):
            if left_out:
                print_error(f"{left_out}; this is the latest that can go on: {folder.name}")
            return folder
        left_out = left_out or f"Run {folder.name} of {summary.story or folder.parent.parent.name} is {summary.state}"
    return latest


def latest_folder(workdir: Path, story: str | None = None) -> Path:
    """Return the folder of the story that was played last; the work folder itself where nothing was.

    story: the folder of that story instead
    Raises what :func:`folders_of` raises.
    """
    from session.files.run_folders import latest_runs

    folders = [folder.path for folder in folders_of(workdir, story)]
    latest = latest_runs(folders)
    return latest[0].parent.parent if latest else folders[0]


def of_story(folder: Path) -> str:
    """Return " of " and the name of the story that the folder belongs to, "" where that is not known."""
    from session.files.story_folders import story_of

    story = story_of(folder)
    return f" of {story.name}" if story else ""


def heading(folder: Path) -> str:
    """Return a line that names the story of the story folder ``folder`` and its run that was played last."""
    from session.files.run_folders import latest_runs
    from session.files.story_folders import story_of

    story, runs = story_of(folder), latest_runs([folder])
    known = [*([story.name] if story else []), *([f"run {runs[0].name}"] if runs else [])]
    return ", ".join([*known, f"in {folder}"])

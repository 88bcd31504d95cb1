"""Options and arguments that several commands have, and which run and which story's folder a command is about."""

from __future__ import annotations

import os
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError
from session.processes import program
from session.text import one_line
from zorkgpt.cli.terminal import print_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from session.files.journal import Manifest
    from session.files.story_folders import StoryFolder
    from session.game_configuration import GameConfiguration
    from session.resolved_configuration import ResolvedConfiguration
    from zorkgpt.llm.budget import Spending
    from zorkgpt.report.run_summary import RunSummary


def folder(text: str) -> Path:
    """Return the folder of that name. Raises ``ConfigurationError`` for none, as an unset variable of a shell gives."""
    if not text.strip():
        raise ConfigurationError("--workdir names no folder: it is empty")
    return Path(text)


RunOrLatest = Annotated[str | None, typer.Argument(help="Id of a run, or its folder; by default the latest.")]
StoryToPlay = Annotated[Path | None, typer.Option("--game", help="Story file to play.", metavar="FILE")]
Workdir = Annotated[Path | None, typer.Option(help="Work folder of the run.", metavar="DIR", parser=folder)]
NewWorkdir = Annotated[Path | None, typer.Option(help="Folder for all that is written.", metavar="DIR", parser=folder)]
MaxTurns = Annotated[int | None, typer.Option(min=1, help="Turns after which an episode ends.")]
Model = Annotated[str | None, typer.Option(help="Model by name, or a .gguf file to run in-process.", metavar="M")]
BaseUrl = Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible server.")]
Assist = Annotated[str | None, typer.Option(help="Help: valid-actions, fresh-actions, proven-routes.", metavar="KINDS")]
MaxCost = Annotated[float | None, typer.Option(help="US dollars after which the run pauses.")]
MaxTokens = Annotated[int | None, typer.Option(help="Tokens after which the run pauses.")]
MaxTime = Annotated[str | None, typer.Option(help="Seconds after which the run pauses; also 90m, 2h.", metavar="TIME")]
Patience = Annotated[
    str | None, typer.Option(help="How long a model that is down is waited for: 90m, 8h.", metavar="TIME")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Any option: its name, =, its value.", metavar="OPTION=VALUE")
]
Step = Annotated[
    bool, typer.Option("--step", help="Show each command before it is played: play it, edit it or refuse it.")
]
EventsAsJson = Annotated[bool, typer.Option("--json", help="Every event as a line of JSON.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


REPORT_FILE = Path("report.html")

EXTRAS = {"scipy": "ablate", "matplotlib": "ablate", "distributed": "dask"}
"""The extra of this package that brings each package that only some commands need."""


def require_packages(*packages: str) -> None:
    """Raise ``ConfigurationError`` with the way to install it for a package that is not there."""
    for package in packages:
        if find_spec(package) is None:
            raise ConfigurationError(f"{package} is not installed: pip install 'zorkgpt[{EXTRAS[package]}]'")


def budgets(max_cost: float | None, max_tokens: int | None, max_time: str | None) -> Mapping[str, object]:
    """Return the budgets by the names of their options; ``None`` for one that was not given."""
    return {"budgets.max_cost": max_cost, "budgets.max_tokens": max_tokens, "budgets.max_time": max_time}


def settings(given: list[str] | None) -> dict[str, object]:
    """Return the options of ``--set`` by name. Raises ``ConfigurationError`` for a key, and one that has no value."""
    pairs = [each.partition("=") for each in given or ()]
    for name, sign, _ in pairs:
        if not sign or not name.strip():
            raise ConfigurationError(f"--set {name}: an option is set as in --set critic.mode=llm")
        if name.strip().endswith("api_key"):
            variable = f"ZORKGPT_{name.strip().upper().replace('.', '__')}"
            raise ConfigurationError(f"--set {name}: others can read a command line; set {variable} for a key")
    return {name.strip(): value.strip() for name, _, value in pairs}


def with_settings(options: Mapping[str, object], given: list[str] | None) -> dict[str, object]:
    """Return the options with those of ``--set``. Raises ``ConfigurationError`` for one that has a value already."""
    more = settings(given)
    for name in more:
        if options.get(name) is not None:
            raise ConfigurationError(f"--set {name}: the command line sets it a second time")
    return {**options, **more}


def resolve(options: Mapping[str, object]) -> ResolvedConfiguration:
    """Return the configuration in the current folder with the options of a command, ``None`` for one not given."""
    from session.resolved_configuration import load_configuration

    return load_configuration(options, os.environ, Path.cwd())


def configuration_in(workdir: Path | None) -> GameConfiguration:
    """Return the configuration in the current folder, with that work folder if one is given."""
    return resolve({"zork_game_workdir": workdir}).configuration


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


_GOES_ON = frozenset({"paused", "killed"})


def standing(run: RunSummary, now: GameConfiguration) -> str:
    """Return how a run stands, and what to type to go on with it where that is possible.

    now: the configuration of the current folder
    """
    reason = f": {one_line(run.reason)}" if run.reason else ""
    sentence = f"The run is {run.state}{reason}"
    if run.state not in _GOES_ON:
        return f"{sentence}."
    try:
        return f"{sentence}; {resume_command(run.folder, _spending(run.folder, now))} goes on."
    except StoreError as error:
        return f"{sentence}; it cannot go on: {one_line(str(error))}."


def resume_command(folder: Path, spending: Spending, options: Iterable[str] = ()) -> str:
    """Return what to type to go on with a run, with all budgets that it has used up raised.

    options: those that have to be given again, with their values
    """
    raised = [part for limit in spending.reached() for part in limit.raised()]
    return f"{program()} {shlex.join(['resume', str(folder), *options, *raised])}"


def _spending(folder: Path, now: GameConfiguration) -> Spending:
    """Return what the run of ``folder`` has spent. Raises ``StoreError`` for a run that cannot be read."""
    from orchestration.history import configuration_of
    from session.files.journal import read_journal, read_manifest
    from session.game_configuration import GameConfiguration
    from session.resolved_configuration import before_changes
    from zorkgpt.llm.budget import Spending

    manifest = read_manifest(folder)
    configuration = configuration_of(manifest, folder, now)
    begun_with = GameConfiguration.model_validate(manifest.configuration)
    spending = Spending(configuration, before_changes(configuration, begun_with))
    for line in read_journal(folder):
        if line.event is not None:
            spending.count(line.event)
    return spending

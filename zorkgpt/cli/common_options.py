"""Options and arguments that several commands share, and what they mean."""

from __future__ import annotations

import os
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError
from session.processes import install_extra, program
from session.text import one_line
from zorkgpt.cli import completion
from zorkgpt.cli.terminal import print_folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from session.events import RunMoment
    from session.files.journal import Manifest
    from session.game_configuration import GameConfiguration
    from session.resolved_configuration import ResolvedConfiguration
    from zorkgpt.llm.budget import Spending
    from zorkgpt.report.origins import Origins
    from zorkgpt.report.run_summary import RunSummary


def _folder(text: str) -> Path:
    if not text.strip():  # an unset variable of the shell
        raise ConfigurationError("--workdir is empty; expected a folder")
    return Path(text)


RunOrLatest = Annotated[
    str | None,
    typer.Argument(help="Id of a run, or its folder; by default the latest.", autocompletion=completion.run_ids),
]
StoryToPlay = Annotated[Path | None, typer.Option("--game", help="Story file to play.", metavar="FILE")]
OfStory = Annotated[
    str | None,
    typer.Option(
        "--game",
        help="Only this story: its name, or its file where it is now.",
        metavar="STORY",
        autocompletion=completion.stories,
    ),
]
Workdir = Annotated[
    Path | None, typer.Option(help="Work folder, with the runs and what they learned.", metavar="DIR", parser=_folder)
]
MaxTurns = Annotated[int | None, typer.Option(min=1, help="Turns after which an episode ends.")]
MaxStuck = Annotated[
    int | None,
    typer.Option(min=1, help="Turns without a point or an objective marked as achieved after which an episode ends."),
]
Delay = Annotated[float, typer.Option(min=0, max=3600, help="Seconds to wait before each turn, for spectators.")]
Model = Annotated[
    str | None,
    typer.Option(
        help="Model by name; or a .gguf file or hf:OWNER/REPO, in-process.",
        metavar="M",
        autocompletion=completion.models,
    ),
]
BaseUrl = Annotated[str | None, typer.Option(help="URL of an OpenAI-compatible server.")]
Assist = Annotated[
    str | None,
    typer.Option(
        help="Help: valid-actions, fresh-actions, proven-routes.",
        metavar="KINDS",
        autocompletion=completion.kinds_of_help,
    ),
]
MaxCost = Annotated[float | None, typer.Option(help="US dollars after which the run pauses.")]
MaxTokens = Annotated[int | None, typer.Option(help="Tokens after which the run pauses.")]
MaxTime = Annotated[str | None, typer.Option(help="Seconds after which the run pauses; also 90m, 2h.", metavar="TIME")]
Patience = Annotated[str | None, typer.Option(help="Time to wait for a model that is down: 90m, 8h.", metavar="TIME")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Any option: its name, =, its value.",
        metavar="OPTION=VALUE",
        autocompletion=completion.settings,
    ),
]
Step = Annotated[
    bool,
    typer.Option(
        "--step",
        help="Show each command first: Enter plays it; e, r, a and Enter edit, refuse, ask no more.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only how the run begins and ends.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Play nothing; print what it would cost.")]
CallSeconds = Annotated[
    float, typer.Option(min=0.0, help="Seconds that a model takes to answer, for the hours of --dry-run.")
]
EventsAsJson = Annotated[bool, typer.Option("--json", help="Every event as a line of JSON.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
ToFile = Annotated[Path | None, typer.Option("--to", help="File to write instead of printing.", metavar="FILE")]

REPORT_FILE = Path("report.html")
PERSONS_TURNS = 100_000  # more than anybody plays: an episode ends when the person wants it
EXTRAS = {
    "scipy": "ablate",
    "matplotlib": "ablate",
    "distributed": "dask",
    "bm25s": "bm25",
    "huggingface_hub": "hf",
    "mcp": "mcp",
}
"""The extra of this package that installs each package that only some commands need."""


def require_packages(*packages: str) -> None:
    """Raise ``ConfigurationError`` with the command that installs it if a package is missing."""
    for package in packages:
        if find_spec(package) is None:
            command = install_extra(EXTRAS[package])
            raise ConfigurationError(f"{package} is not installed: `{command}` installs it")


def budgets(max_cost: float | None, max_tokens: int | None, max_time: str | None) -> Mapping[str, object]:
    """Return the budgets by the names of their options; ``None`` for one that was not given."""
    return {"budgets.max_cost": max_cost, "budgets.max_tokens": max_tokens, "budgets.max_time": max_time}


def with_settings(options: Mapping[str, object], given: list[str] | None) -> dict[str, object]:
    """Return the options with those of ``--set``.

    Raises ``ConfigurationError`` for one that is given twice, that has no value, or that is a key.
    """
    found = dict(options)
    for each in given or ():
        name, sign, value = (part.strip() for part in each.partition("="))
        if not sign or not name:
            raise ConfigurationError(f"--set {name}: expected NAME=VALUE, such as --set critic.mode=llm")
        if name.endswith("api_key"):
            from session.options import variable_of

            variable = variable_of(name)
            raise ConfigurationError(f"--set {name}: other users can read a command line; set the key with {variable}")
        if options.get(name) is not None:
            raise ConfigurationError(f"--set {name}: it is set twice on the command line")
        found[name] = value
    return found


def resolve(options: Mapping[str, object]) -> ResolvedConfiguration:
    """Return the configuration in the current folder with a command's options, ``None`` for one that was not given."""
    from session.resolved_configuration import load_configuration

    return load_configuration(options, os.environ, Path.cwd())


def configuration_in(
    workdir: Path | None, story: str | None = None, more: Mapping[str, object] = MappingProxyType({})
) -> GameConfiguration:
    """Return the configuration in the current folder, with that work folder and story file if they are given."""
    return resolve({"zork_game_workdir": workdir, "game.file": story_file(story), **more}).configuration


def story_file(story: str | None) -> Path | None:
    """Return the file that ``--game`` names, ``None`` if it is the name of a story."""
    path = Path(story or "")
    return path if story and (path.exists() or path.name != story or path.suffix) else None


def folders_of(workdir: Path, story: str | None) -> list[Path]:
    """Return the story folders of a work folder, or those of the story of ``--game``, by its file or its name.

    Raises ``StoryError`` for a file that is not a story, ``ConfigurationError`` for a story that was not played there.
    """
    from session.files import run_folders

    sha256 = None
    if story is not None and Path(story).is_file():
        from game_interface.core.machine.story import Story

        sha256 = Story.load(Path(story)).sha256
    return run_folders.folders_of(workdir, story, sha256)


def chosen_run(workdir: Path, run: str | None, story: str | None) -> Path:
    """Return the folder of the run of that id or path, by default of the story's latest run.

    Raises ``StoreError``, and what :func:`folders_of` raises.
    """
    from session.files.run_folders import find_run

    return find_run(workdir, run, folders_of(workdir, story) if run is None else None)


def run_and_configuration(workdir: Path | None, run: str | None, story: str | None) -> tuple[Path, GameConfiguration]:
    """Return the folder of a run as :func:`chosen_run` does, and the configuration in the current folder."""
    now = configuration_in(workdir, story)
    return chosen_run(now.zork_game_workdir, run, story), now


def folder_and_configuration(workdir: Path | None, story: str | None) -> tuple[Path, GameConfiguration]:
    """Return the folder of the story, by default of the one that was played last, and the configuration."""
    from session.files.run_folders import latest_runs

    now = configuration_in(workdir, story)
    folders = folders_of(now.zork_game_workdir, story)
    latest = latest_runs(folders)
    return latest[0].parent.parent if latest else folders[0], now


TURN = re.compile(r"(?:([0-9]{1,9}):)?([0-9]{1,9})")
"""A turn as people write it, after its episode if the run has several."""


def read_turn(manifest: Manifest, place: str, option: str = "") -> RunMoment:
    """Return the episode and the turn that ``place`` names: 12, or 2:12 for turn 12 of episode 2.

    option: before it on the command line
    Raises ``ConfigurationError``.
    """
    from session.events import RunMoment

    found = TURN.fullmatch(place)
    if found is None:
        raise ConfigurationError(f"{option}{place}: expected a turn such as 12, or 2:12 for turn 12 of episode 2")
    first, last = manifest.first_episode, manifest.first_episode + len(manifest.seeds) - 1
    episodes = f"episodes {first} to {last}" if first < last else f"only episode {first}"
    if found[1] is None and first < last:
        raise ConfigurationError(f"{option}{place}: the run has {episodes}; write EPISODE:TURN, as in {first}:12")
    episode = int(found[1] or first)
    if not first <= episode <= last:
        raise ConfigurationError(f"{option}{place}: the run has {episodes}")
    return RunMoment(episode, int(found[2]))


def of_story(folder: Path) -> str:
    """Return " of " and the name of the story to which the folder belongs, "" if it is unknown."""
    from session.files.run_folders import story_of

    story = story_of(folder)
    return f" of {story.name}" if story else ""


def heading(folder: Path) -> str:
    """Return a line with the story of a story folder and its latest run."""
    from session.files.run_folders import latest_runs, story_of

    story, runs = story_of(folder), latest_runs([folder])
    return ", ".join(filter(None, (story.name if story else "", f"run {runs[0].name}" if runs else "", f"in {folder}")))


def standing(run: RunSummary, now: GameConfiguration) -> str:
    """Return the state of a run, and the command that resumes it if it can go on."""
    from orchestration.recorded_configuration import PROGRAMS, recorded
    from session.files.journal import read_journal, read_manifest
    from session.game_configuration import GameConfiguration
    from session.resolved_configuration import before_changes
    from zorkgpt.llm.budget import Spending

    sentence = f"The run is {run.state}{f': {one_line(run.reason)}' if run.reason else ''}"
    if run.state not in ("paused", "killed"):
        return f"{sentence}."
    try:
        configuration = recorded(run.folder, now)
        begun_with = GameConfiguration.model_validate(read_manifest(run.folder).configuration)
        spending = Spending(configuration, before_changes(configuration, begun_with))
        for line in read_journal(run.folder):
            if line.event is not None:
                spending.count(line.event)
    except StoreError as error:
        return f"{sentence}; it cannot continue: {one_line(str(error))}."
    command = resume_command(run.folder, spending)
    if played_by := PROGRAMS.get(configuration.agent.player):
        return f"{sentence}. It was played by {played_by}, or with {command} --model M."
    return f"{sentence}; {command} continues it."


def resume_command(folder: Path, spending: Spending, options: Iterable[str] = ()) -> str:
    """Return the command that resumes a run, with every budget raised that the run has used up.

    options: those that have to be given again, with their values
    """
    raised = [part for limit in spending.reached() for part in limit.raised()]
    return f"{program()} {shlex.join(['resume', str(folder), *options, *raised])}"


def origins(workdir: Path | None, story: str | None) -> Origins:
    """Return what the runs of a story show of where its memories, knowledge and routes came from."""
    from zorkgpt.report.origins import read_origins

    folder, now = folder_and_configuration(workdir, story)
    return read_origins(folder, now)


def print_origins(found: Origins, keys: Iterable[str]) -> None:
    """Print where the items with these keys came from, and whether they held."""
    from zorkgpt.report.origin_lines import origin_lines

    for key in keys:
        print_folded(*origin_lines(found, key))

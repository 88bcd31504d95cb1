"""``zorkgpt ablate``: what memory, knowledge or map are worth, measured."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from filelock import FileLock, Timeout
from rich.console import Console
from rich.table import Table
from rich.text import Text

from session.errors import ConfigurationError, StoreError
from session.resolved_configuration import load_configuration
from zorkgpt.cli.printable import printable
from zorkgpt.cli.streams import print_error
from zorkgpt.cli.watching import EXIT_STATUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from session.game_configuration import GameConfiguration
    from zorkgpt.ablation.ablation import Ablation
    from zorkgpt.ablation.arms import Arm
    from zorkgpt.ablation.plan import AblationPlan
    from zorkgpt.ablation.results import Results
    from zorkgpt.ablation.runners import Runner

PIPED_WIDTH = 140  # columns, where no terminal says how many there are
EXTRAS = {"scipy": "ablate", "matplotlib": "ablate", "distributed": "dask"}


def ablate(
    arms: Annotated[
        str, typer.Option(help="What is compared with the first: full, no-memory, option=value, joined by +.")
    ] = "full,no-memory,shuffled-memory",
    pairs: Annotated[int, typer.Option(min=1, help="Runs of each arm; those from the same seeds are a pair.")] = 8,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of a run; what is learnt is kept within it.")] = 3,
    max_turns: Annotated[int | None, typer.Option(min=1, help="Turns after which an episode ends.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for all that is written.", metavar="DIR")] = Path("ablation"),
    game: Annotated[Path | None, typer.Option(help="Story file to play.", metavar="FILE")] = None,
    seed: Annotated[int | None, typer.Option(min=1, help="Seed of the first pair's first episode.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Model by name, or a .gguf file to run in-process.", metavar="M")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible server.")] = None,
    assist: Annotated[
        str | None, typer.Option(help="Help for the agent: valid-actions, fresh-actions.", metavar="KINDS")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs played side by side; by default a core each.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler whose workers play instead.", metavar="ADDRESS")
    ] = None,
    detect: Annotated[float | None, typer.Option(min=0.1, help="Points: how many pairs would see so much?")] = None,
) -> None:
    """Compare what an agent scores with and without a part of its learning. Stopped, the same command goes on."""
    _require("scipy", "matplotlib", *(("distributed",) if scheduler else ()))
    from zorkgpt.ablation.ablation import Ablation
    from zorkgpt.ablation.plan import claim
    from zorkgpt.ablation.plot import write_plot
    from zorkgpt.ablation.results import results_of, write_results

    options = {
        "max_turns_per_episode": max_turns,
        "game.file": game,
        "game.seed": seed,
        "agent_model": model,
        "llm.base_url": base_url,
        "assist": assist,
    }
    plan = _plan(arms, options, pairs, episodes)
    with _sole_user(out):
        written = claim(out, plan)
        ablation = Ablation(plan, out)
        _play(ablation, _runner(plan, workers, scheduler))
        results = results_of(written, plan.assistance, ablation.runs(), detect)
        write_results(results, out)
        write_plot(results, out)
    _show(results, out)


def _require(*packages: str) -> None:
    for package in packages:
        if find_spec(package) is None:
            raise ConfigurationError(f"{package} is not installed: pip install 'zorkgpt[{EXTRAS[package]}]'")


def _plan(arms: str, options: Mapping[str, object], pairs: int, episodes: int) -> AblationPlan:
    """What to play; arms that are configured alike are told of."""
    from zorkgpt.ablation.arms import parse_arms
    from zorkgpt.ablation.plan import AblationPlan

    chosen = parse_arms(arms)
    plan = AblationPlan(
        arms={arm.name: _configuration(arm, options) for arm in chosen},
        folders={arm.name: arm.folder for arm in chosen},
        pairs=pairs,
        episodes=episodes,
    )
    for one, two in plan.same_arms():
        print_error(f"{one} and {two} are the same configuration: they cannot differ.")
    return plan


def _configuration(arm: Arm, options: Mapping[str, object]) -> GameConfiguration:
    from zorkgpt.ablation.plan import pinned

    resolved = load_configuration({**options, **arm.settings}, os.environ, Path.cwd())
    return pinned(resolved.configuration)


@contextmanager
def _sole_user(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock", timeout=0):
            yield
    except Timeout as error:
        raise ConfigurationError(f"{folder} is in use: another ablation is being played there") from error
    except OSError as error:
        raise StoreError(f"{folder} cannot be used: {error.strerror}") from error


def _runner(plan: AblationPlan, workers: int | None, scheduler: str | None) -> Runner:
    if scheduler:
        from zorkgpt.ablation.cluster import DaskRunner

        return DaskRunner(scheduler)
    from zorkgpt.ablation.runners import LocalRunner
    from zorkgpt.cli.download_bar import DownloadBar
    from zorkgpt.llm.embedded.cores import available_cores
    from zorkgpt.llm.embedded.model_store import ModelStore

    agents = [configuration.role("agent") for configuration in plan.arms.values()]
    if any(agent.engine == "embedded" and agent.model is None for agent in agents):
        with DownloadBar() as bar:
            ModelStore().pull(bar)
    return LocalRunner(workers or available_cores())


def _play(ablation: Ablation, runner: Runner) -> None:
    """Every run is played, each told of as it ends; a line, and status 130, where that is interrupted."""
    total = len(list(ablation.plan.tasks()))
    done = len(ablation.done())
    typer.echo(
        f"{total} runs of {ablation.plan.episodes} episodes, {done} done; assistance: {ablation.plan.assistance}"
    )
    try:
        with _interrupted_by_termination(), closing(ablation.play(runner)) as playing:
            for task in playing:
                done += 1
                typer.echo(f"{done} of {total}: {printable(task.label)}")
    except KeyboardInterrupt:
        typer.echo(f"Stopped with {done} of {total} runs done; the same command goes on from there.", err=True)
        raise typer.Exit(EXIT_STATUS["interrupted"]) from None


@contextmanager
def _interrupted_by_termination() -> Iterator[None]:
    """A request to terminate counts as Ctrl-C, so that nobody goes on playing."""
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _show(results: Results, out: Path) -> None:
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=PIPED_WIDTH)
    console.print(tables(results))
    for sentence in results.conclusions:
        console.print(Text(printable(sentence)))
    models = ", ".join(results.models)
    console.print(Text(printable(f"Story: {results.story}. Model: {models}. Assistance: {results.assistance}.")))
    console.print(Text(f"{results.unit.capitalize()}."))
    console.print(Text(printable(f"Files: {out}/results.csv, episodes.csv, results.json, plot.png, plot.svg")))


def tables(results: Results) -> Table:
    """Every measure of every arm against the first one."""
    from zorkgpt.ablation.conclusions import interval, number

    title = Text(printable(f"Differences, first arm minus other (assistance: {results.assistance})"))
    drawn = Table("Against", "Measure", box=None, pad_edge=False, title=title, title_justify="left")
    for column in ("pairs", "difference", "95 % interval", "p", "pairs to see it", "to see --detect"):
        drawn.add_column(column, justify="right")
    for each in results.comparisons:
        cells = (
            *(printable(each.other), each.measure, str(each.pairs), number(each.difference, sign=True), interval(each)),
            *(number(each.p), number(each.pairs_needed), number(each.pairs_to_detect)),
        )
        drawn.add_row(*(Text(cell) for cell in cells), style="bold" if each.is_shown else "")
    return drawn

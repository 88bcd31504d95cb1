"""``zorkgpt ablate``: measures what a part of the program is worth."""

from __future__ import annotations

import shlex
import signal
import sys
from contextlib import closing, contextmanager, nullcontext
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError
from session.processes import program
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import EXIT_STATUS, columns, print_error, print_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.table import Table
    from rich.text import Text

    from session.game_configuration import GameConfiguration
    from zorkgpt.ablation.ablation import Ablation
    from zorkgpt.ablation.plan import AblationPlan, Arm
    from zorkgpt.ablation.rehearsal import Estimate
    from zorkgpt.ablation.results import Results
    from zorkgpt.ablation.runners import Runner


class Player(str, Enum):
    """Who plays."""

    MODEL = "model"
    RANDOM = "random"


def ablate(
    arms: Annotated[
        str, typer.Option(help="What is compared with the first: full, no-memory, option=value, joined by +.")
    ] = "full,no-memory,shuffled-memory",
    pairs: Annotated[int, typer.Option(min=1, help="Runs of each arm; those from the same seeds are a pair.")] = 8,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of a run; what is learnt is kept within it.")] = 3,
    max_turns: common_options.MaxTurns = None,
    out: Annotated[Path, typer.Option(help="Folder for all that is written.", metavar="DIR")] = Path("ablation"),
    game: common_options.StoryToPlay = None,
    games: Annotated[
        list[Path] | None, typer.Option(help="Story files to play instead: every arm plays each.", metavar="FILE...")
    ] = None,
    more: Annotated[
        list[Path] | None, typer.Argument(help="More story files for --games.", metavar="[FILE]...", show_default=False)
    ] = None,
    seed: Annotated[int | None, typer.Option(min=1, help="Seed of the first pair's first episode.")] = None,
    model: common_options.Model = None,
    base_url: common_options.BaseUrl = None,
    assist: common_options.Assist = None,
    player: Annotated[
        Player, typer.Option(help="random: no model; draws from the valid actions least tried, follows the best route.")
    ] = Player.MODEL,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs played side by side; by default a core each.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler whose workers play instead.", metavar="ADDRESS")
    ] = None,
    max_scores: Annotated[
        str, typer.Option(help="Points that stories hold that do not say so themselves.", metavar="STORY=N,...")
    ] = "",
    detect: Annotated[float | None, typer.Option(min=0.1, help="Points: how many pairs would see so much?")] = None,
    so_far: Annotated[bool, typer.Option("--so-far", help="Play nothing; tell of the pairs that are done.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Play nothing; say what it would cost.")] = False,
    call_seconds: Annotated[
        float, typer.Option(min=0.0, help="Seconds that a model takes to answer, for the hours of --dry-run.")
    ] = 3.0,
) -> None:
    """Compare the scores with and without a part of the learning.

    Stopped, the same command goes on; with more --pairs it plays the new ones alone.
    """
    common_options.require_packages("scipy", "matplotlib", *(("distributed",) if scheduler else ()))
    from zorkgpt.ablation.ablation import Ablation
    from zorkgpt.ablation.plan import PLAN_FILE, claim
    from zorkgpt.ablation.plot import write_plot
    from zorkgpt.ablation.report import write_report
    from zorkgpt.ablation.results import results_of, write_results

    options = {
        "max_turns_per_episode": max_turns,
        "game.file": game,
        "game.seed": seed,
        "agent_model": model,
        "llm.base_url": base_url,
        "assist": assist,
    }
    most = _max_scores(max_scores)
    plan = _plan(arms, options, [*(games or ()), *(more or ())], pairs, episodes, player)
    if dry_run:
        _print_costs(plan, workers, call_seconds)
        return
    if so_far and not (out / PLAN_FILE).is_file():
        raise ConfigurationError(f"there is no ablation in {out} yet: --out DIR names another folder")
    with nullcontext() if so_far else _sole_user(out):
        written = claim(out, plan, grows=not so_far)
        ablation = Ablation(plan, out)
        if not so_far:
            _play(ablation, _runner(plan, workers, scheduler))
        results = results_of(written, ablation.runs(most), command=_typed(), assistance=plan.assistance, detect=detect)
        write_results(results, out)
        write_report(results, out)
        write_plot(results, out)
    print_results(results, out)


def _plan(
    arms: str, options: Mapping[str, object], games: Sequence[Path], pairs: int, episodes: int, player: Player
) -> AblationPlan:
    """Return what is played, and say which arms cannot differ because they are configured alike."""
    from orchestration.opening import open_parts
    from zorkgpt.ablation.plan import AblationPlan, parse_arms, stories_of
    from zorkgpt.ablation.random_player import RANDOM_PROFILE, open_random_player

    chosen = parse_arms(arms)
    if player is Player.RANDOM:
        options = {**RANDOM_PROFILE, **{name: value for name, value in options.items() if value is not None}}
    configurations = {arm.name: _configuration(arm, options) for arm in chosen}
    plan = AblationPlan(
        arms=configurations,
        folders={arm.name: arm.folder for arm in chosen},
        stories=stories_of(games, next(iter(configurations.values()))),
        pairs=pairs,
        episodes=episodes,
        open_parts=open_random_player if player is Player.RANDOM else open_parts,
    )
    for one, two in plan.same_arms():
        print_error(f"{one} and {two} are the same configuration: they cannot differ.")
    return plan


def _configuration(arm: Arm, options: Mapping[str, object]) -> GameConfiguration:
    from zorkgpt.ablation.plan import pinned

    return pinned(common_options.resolve({**options, **arm.settings}).configuration)


def _print_costs(plan: AblationPlan, workers: int | None, call_seconds: float) -> None:
    from zorkgpt.ablation.rehearsal import estimates
    from zorkgpt.llm.embedded.embedded_server import available_cores

    size = workers or available_cores()
    typer.echo("Rehearsing each arm with each story, without a model...", err=True)
    for line in cost_lines(list(estimates(plan)), call_seconds, size):
        print_line(line)


def _max_scores(text: str) -> Mapping[str, int]:
    scores = dict(each.strip().rpartition("=")[::2] for each in text.split(",") if each.strip())
    if not all(story and points.isdecimal() and int(points) for story, points in scores.items()):
        raise ConfigurationError(f"--max-scores {text}: points are told as in tidehouse=100,other=50")
    return {story: int(points) for story, points in scores.items()}


def _typed() -> str:
    """Return the command as it was typed, files by their names alone: reports are read on other machines."""
    words = (Path(word).name if Path(word).is_file() else word for word in sys.argv[1:])
    return " ".join(["zorkgpt", *map(shlex.quote, words)])


@contextmanager
def _sole_user(folder: Path) -> Iterator[None]:
    """Lock the folder, so that no other ablation is played there at the same time."""
    from filelock import FileLock, Timeout

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
    from orchestration.opening import open_parts
    from zorkgpt.ablation.runners import LocalRunner
    from zorkgpt.cli.screen import DownloadBar
    from zorkgpt.llm.embedded.embedded_server import available_cores
    from zorkgpt.llm.embedded.model_store import ModelStore

    asks_model = plan.open_parts is open_parts
    agents = [configuration.role("agent") for configuration in plan.arms.values() if asks_model]
    if any(agent.engine == "embedded" and agent.model is None for agent in agents):
        with DownloadBar() as bar:
            ModelStore().pull(bar)
    return LocalRunner(workers or available_cores())


def _play(ablation: Ablation, runner: Runner) -> None:
    """Play every run and say of each that it is done; an interruption ends in a line and status 130."""
    total = len(list(ablation.plan.tasks()))
    done = len(ablation.done())
    typer.echo(
        f"{counted(total, 'run')} of {counted(ablation.plan.episodes, 'episode')}, {done} done; "
        f"assistance: {ablation.plan.assistance}"
    )
    try:
        with _interrupted_by_termination(), closing(ablation.play(runner)) as playing:
            for task in playing:
                done += 1
                print_line(f"{done} of {total}: {task.label}")
    except KeyboardInterrupt:
        typer.echo(f"Stopped with {done} of {total} runs done; the same command goes on from there.", err=True)
        raise typer.Exit(EXIT_STATUS["interrupted"]) from None


@contextmanager
def _interrupted_by_termination() -> Iterator[None]:
    """Treat a request to terminate like Ctrl-C, so that no run goes on being played."""
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


PIPED_WIDTH = 140  # columns, where no terminal says how many there are
_COUNTS = ("turns", "calls", "prompt_tokens", "answer_tokens")
OTHER_FILES = ("results.csv", "episodes.csv", "results.json", "plot.png", "plot.svg")


def print_results(results: Results, out: Path) -> None:
    """Print what the arms scored, how they differ, what follows from it, and where the files are."""
    from rich.console import Console
    from rich.text import Text

    from zorkgpt.ablation.report import REPORT_FILE

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=PIPED_WIDTH)
    console.print(score_table(results))
    if results.comparisons:
        console.print("", comparison_table(results), sep="\n")
    for sentence in results.conclusions:
        console.print(Text(printable(sentence)))
    stories, models = ", ".join(results.plan.stories), ", ".join(results.models)
    console.print(Text(printable(f"Story: {stories}. Model: {models}. Assistance: {results.assistance}.")))
    console.print(Text(f"{results.unit.capitalize()}."))
    console.print(Text(printable(f"Files: {', '.join([f'{out}/{REPORT_FILE}', *OTHER_FILES])}")))


def score_table(results: Results) -> Table:
    """Draw what each arm scored."""
    from zorkgpt.ablation.measures import SCORES
    from zorkgpt.ablation.report import score_rows

    drawn = _table("Scores", "Story", "Arm", right=(*SCORES, "95 % interval of the score"))
    for row in score_rows(results.scores):
        drawn.add_row(*map(_cell, row))
    return drawn


def comparison_table(results: Results) -> Table:
    """Draw every measure of every arm against the first one."""
    from zorkgpt.ablation.results import interval, number

    title = f"Differences, first arm minus other (assistance: {results.assistance})"
    figures = ("pairs", "difference", "95 % interval", "p", "pairs to see it", "to see --detect")
    drawn = _table(title, "Story", "Against", "Measure", right=figures)
    for each in results.comparisons:
        cells = (
            *(each.story, each.other, f"{each.measure}, %" if each.is_share else each.measure, str(each.pairs)),
            *(number(each.difference, sign=True), interval(each), number(each.p)),
            *(number(each.pairs_needed), number(each.pairs_to_detect)),
        )
        drawn.add_row(*map(_cell, cells), style="bold" if each.is_shown else "")
    return drawn


def _table(title: str, *left: str, right: Sequence[str]) -> Table:
    from rich.table import Table

    drawn = Table(*left, box=None, pad_edge=False, title=_cell(title), title_justify="left")
    for column in right:
        drawn.add_column(column, justify="right")
    return drawn


def _cell(text: str) -> Text:
    from rich.text import Text

    return Text(printable(text))


def cost_lines(estimates: Sequence[Estimate], seconds_a_call: float, workers: int) -> Iterator[str]:
    """Yield a line for each arm and story, their sum, and what the figures rest on."""
    rows = [_cost_row(each.story, each.arm, [each], seconds_a_call, workers) for each in estimates]
    heading = ("STORY", "ARM", "TURNS", "CALLS", "PROMPT TOKENS", "ANSWER TOKENS", "DOLLARS", "HOURS")
    yield from columns([heading, *rows, _cost_row("all", "", estimates, seconds_a_call, workers)])
    yield ""
    yield f"Hours: {seconds_a_call:g} seconds a call (--call-seconds), {workers} runs side by side (--workers)."
    yield (
        "Tokens: as many as a rehearsal without a model takes, four characters each; what a model thinks before it "
        "answers comes on top, what the server has in its cache costs less."
    )
    if any(each.dollars is None for each in estimates):
        yield f"Dollars: a model without a known price; the option prices names it ({program()} config show)."


def _cost_row(
    story: str, arm: str, estimates: Sequence[Estimate], seconds_a_call: float, workers: int
) -> tuple[str, ...]:
    dollars = [each.dollars for each in estimates]
    known = [each for each in dollars if each is not None]
    return (
        story,
        arm,
        *(f"{sum(getattr(each, name) for each in estimates):,}" for name in _COUNTS),
        f"{sum(known):.2f}" if len(known) == len(dollars) else "-",
        f"{sum(each.hours(seconds_a_call, workers) for each in estimates):.1f}",
    )

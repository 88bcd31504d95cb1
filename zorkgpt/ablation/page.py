"""Prepares an ablation for the report page: its intervals, every pair and episode, and links to its runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from os.path import relpath
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import ValidationError

from session.errors import StoreError, first_problem
from session.files.shared_files import read_shared
from session.text import counted
from session.values import Seed
from zorkgpt.ablation.comparison import ArmScore, ComparedPair, Comparison, compared_pairs
from zorkgpt.ablation.measures import DECISIVE, MEASURES, RunMeasures, finished_run
from zorkgpt.ablation.plan import parse_arms
from zorkgpt.ablation.results import RESULTS_FILE, ReachedScore, Results
from zorkgpt.report.figures import EpisodeFigures
from zorkgpt.report.run_page import PAGE_FORMAT, Note


@dataclass(frozen=True, slots=True)
class ShownComparison(Comparison):
    """A comparison with the pairs that it was made of."""

    points: tuple[ComparedPair, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run of an ablation.

    folder: the run's folder relative to that of the ablation; "" if it no longer exists
    href: the URL of its own report, relative to the ablation's page
    """

    story: str
    arm: str
    pair: int
    seed: Seed
    model: str
    max_score: int | None
    folder: str
    href: str | None
    episodes: tuple[EpisodeFigures, ...]


@dataclass(frozen=True, slots=True)
class PageAblation:
    """An ablation as a page shows it; see ``Results`` for most of this."""

    title: str
    command: str
    assistance: str
    models: tuple[str, ...]
    versions: tuple[str, ...]
    unit: str
    arms: tuple[str, ...]
    stories: dict[str, str]
    pairs: int
    episodes: int
    notes: tuple[Note, ...]
    conclusions: tuple[str, ...]
    scores: tuple[ArmScore, ...]
    comparisons: tuple[ShownComparison, ...]
    runs: tuple[ShownRun, ...]
    milestones: tuple[ReachedScore, ...]
    decisive: str = DECISIVE
    measures: tuple[str, ...] = tuple(MEASURES)


@dataclass(frozen=True, slots=True)
class AblationData:
    """All that the page of an ablation is given."""

    program: str
    ablation: PageAblation
    kind: Literal["ablation"] = "ablation"
    runs: tuple[()] = ()
    follow: bool = False
    format: int = PAGE_FORMAT


def read_results(folder: Path) -> Results | None:
    """Read the results in the folder of an ablation, ``None`` if there are none. Raises ``StoreError``."""
    content = read_shared(folder / RESULTS_FILE)
    try:
        results = None if content is None else Results.model_validate_json(content)
    except ValidationError as error:
        problem = first_problem(error)
        raise StoreError(f"{folder / RESULTS_FILE} is of another version of the program: {problem}") from error
    if results is not None:
        planned = {(story, arm) for story in results.plan.stories for arm in results.plan.arms}
        if not results.runs or not planned.issuperset((run.story, run.arm) for run in results.runs):
            raise StoreError(f"{folder / RESULTS_FILE} is broken: its runs are not those of its plan")
    return results


def run_folders_of(results: Results, folder: Path) -> list[Path | None]:
    """Return the folder of each run of the results, ``None`` for one that is gone."""
    arms = {arm.name: arm.folder for arm in parse_arms(",".join(results.plan.arms))}
    has_several = len(results.plan.stories) > 1
    workdirs = (folder / (run.story if has_several else "") / arms[run.arm] / str(run.pair) for run in results.runs)
    return [finished_run(workdir) for workdir in workdirs]


def page_of_ablation(results: Results, folder: Path, page: Path, report: str) -> PageAblation:
    """Return the content of the ablation's page, which is written to ``page``.

    report: the file name of a run's own report in its folder
    Raises ``StoreError`` for results of another version.
    """
    plan, pairs, folders = results.plan, compared_pairs(results.runs), run_folders_of(results, folder)
    if len(pairs) != len(results.comparisons):
        raise StoreError(f"{folder / RESULTS_FILE} is of another version of the program: it has other measures")
    return PageAblation(
        title=f"{', '.join(plan.arms)}: {', '.join(plan.stories)}",
        command=results.command,
        assistance=results.assistance,
        models=results.models,
        versions=results.versions,
        unit=results.unit,
        arms=tuple(plan.arms),
        stories=plan.stories,
        pairs=plan.pairs,
        episodes=plan.episodes,
        notes=tuple(_notes(results, folders)),
        conclusions=results.conclusions,
        scores=results.scores,
        comparisons=tuple(
            ShownComparison(**asdict(comparison), points=tuple(points))
            for comparison, points in zip(results.comparisons, pairs, strict=True)
        ),
        runs=tuple(
            _run(run, where, folder, None if where is None else _address(where / report, page))
            for run, where in zip(results.runs, folders, strict=True)
        ),
        milestones=results.milestones,
    )


def _notes(results: Results, folders: Sequence[Path | None]) -> Iterator[Note]:
    plan, told = results.plan, len(results.runs)
    planned = plan.pairs * len(plan.stories) * len(plan.arms)
    if told < planned:
        yield Note(f"Of {planned} runs that are planned {told} are told of: those whose pairs are played to the end.")
    gone = sum(where is None for where in folders)
    if gone:
        yield Note(f"The folders of {counted(gone, 'run')} are gone: there is no link to these.")


def _run(run: RunMeasures, where: Path | None, folder: Path, href: str | None) -> ShownRun:
    return ShownRun(
        story=run.story,
        arm=run.arm,
        pair=run.pair,
        seed=run.seed,
        model=run.model,
        max_score=run.max_score,
        folder="" if where is None else Path(relpath(where, folder)).as_posix(),
        href=href,
        episodes=run.episodes,
    )


def _address(report: Path, page: Path) -> str | None:
    """Return the URL of a report relative to the page, or ``None`` if there is no report."""
    return quote(Path(relpath(report, page.parent)).as_posix()) if report.is_file() else None

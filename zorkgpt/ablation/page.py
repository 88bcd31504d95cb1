"""Prepares an ablation for the report page: its intervals, every pair and episode, and links to its runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import ValidationError

from session.errors import StoreError, first_problem
from session.files.shared_files import read_shared
from session.text import counted
from zorkgpt.ablation.comparison import ComparedPair, compared_pairs
from zorkgpt.ablation.measures import DECISIVE, MEASURES, finished_run
from zorkgpt.ablation.plan import arm_folder
from zorkgpt.ablation.results import RESULTS_FILE, Results
from zorkgpt.report.run_page import Note


@dataclass(frozen=True, slots=True)
class AblationData:
    """All that the page of an ablation is given.

    folders: of each run of the results relative to that of the ablation; "" if it no longer exists
    links: the URL of each run's own report, relative to the page
    points: the pairs that each comparison of the results was made of
    """

    program: str
    results: Results
    folders: tuple[str, ...]
    links: tuple[str | None, ...]
    points: tuple[tuple[ComparedPair, ...], ...]
    notes: tuple[Note, ...]
    decisive: str = DECISIVE
    measures: tuple[str, ...] = tuple(MEASURES)
    kind: Literal["ablation"] = "ablation"
    follow: bool = False


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
            raise StoreError(f"{folder / RESULTS_FILE} is damaged: its runs do not match its plan")
    return results


def run_folders_of(results: Results, folder: Path) -> list[Path | None]:
    """Return the folder of each run of the results, ``None`` for one that is gone."""
    has_several = len(results.plan.stories) > 1
    workdirs = (
        folder / (run.story if has_several else "") / arm_folder(run.arm) / str(run.pair) for run in results.runs
    )
    return [finished_run(workdir) for workdir in workdirs]


def page_of_ablation(results: Results, folder: Path, page: Path, report: str, program: str) -> AblationData:
    """Return the content of the ablation's page, which is written to ``page``.

    report: the file name of a run's own report in its folder
    Raises ``StoreError`` for results of another version.
    """
    pairs, folders = compared_pairs(results.runs), run_folders_of(results, folder)
    if len(pairs) != len(results.comparisons):
        raise StoreError(f"{folder / RESULTS_FILE} is of another version of the program: it has other measures")
    reports = (run / report if run else None for run in folders)
    return AblationData(
        program=program,
        results=results,
        folders=tuple(Path(relpath(run, folder)).as_posix() if run else "" for run in folders),
        links=tuple(
            quote(Path(relpath(file, page.parent)).as_posix()) if file and file.is_file() else None for file in reports
        ),
        points=tuple(map(tuple, pairs)),
        notes=tuple(_notes(results, folders)),
    )


def _notes(results: Results, folders: Sequence[Path | None]) -> Iterator[Note]:
    told = len(results.runs)
    if told < results.planned:
        text = f"{told} of {results.planned} planned runs are shown: those whose pairs are complete."
        yield Note(text)
    gone = sum(where is None for where in folders)
    if gone:
        yield Note(f"{counted(gone, 'run folder')} missing: there is no link to {'it' if gone == 1 else 'them'}.")

"""The results of an ablation, what follows from them, the files that they are written to, and their page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from os.path import relpath
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError

from session.errors import StoreError, first_problem
from session.files.shared_files import read_shared, write_atomically
from session.text import counted
from zorkgpt.ablation.comparison import (
    ALPHA,
    ArmScore,
    ComparedPair,
    Comparison,
    arm_scores,
    compare_all,
    compared_pairs,
)
from zorkgpt.ablation.measures import DECISIVE, MEASURES, SCORES, RunMeasures, finished_run
from zorkgpt.ablation.plan import WrittenPlan, arm_folder
from zorkgpt.report.exports import csv_of
from zorkgpt.report.figures import EpisodeFigures
from zorkgpt.report.run_page import Note

RESULTS_FILE = "results.json"
REPORT_FILE = "report.md"
UNIT = "a pair is two runs from the same seeds; the episodes of a run share what was learned, so they count once"


class Results(BaseModel):
    """The results of an ablation.

    command: that played it
    assistance: the help that the agents were given, in words
    unit: what counts as one pair, in words
    conclusions: one for each arm after the first; of each story, then of all together
    """

    model_config = ConfigDict(frozen=True)

    plan: WrittenPlan
    command: str
    assistance: str
    models: tuple[str, ...]
    versions: tuple[str, ...]
    unit: str
    runs: tuple[RunMeasures, ...]
    scores: tuple[ArmScore, ...]
    comparisons: tuple[Comparison, ...]
    conclusions: tuple[str, ...]

    @property
    def planned(self) -> int:
        """How many runs were planned."""
        return self.plan.pairs * len(self.plan.stories) * len(self.plan.arms)

    @property
    def points(self) -> list[str]:
        """Where the points come from that are not the story's."""
        return list(dict.fromkeys(run.points for run in self.runs if run.points))


def results_of(
    plan: WrittenPlan, runs: Sequence[RunMeasures], *, command: str, assistance: str, detect: float | None = None
) -> Results:
    """Return the results of these runs, which ``command`` played.

    detect: a difference in points of score, for the number of pairs that would detect it
    """
    comparisons = tuple(compare_all(runs, detect))
    return Results(
        plan=plan,
        command=command,
        assistance=assistance,
        models=tuple(dict.fromkeys(run.model for run in runs)),
        versions=tuple(dict.fromkeys(run.versions for run in runs)),
        unit=UNIT,
        runs=tuple(runs),
        scores=tuple(arm_scores(runs)),
        comparisons=comparisons,
        conclusions=tuple(conclusions(comparisons)),
    )


def conclusions(comparisons: Iterable[Comparison]) -> Iterator[str]:
    """Yield a conclusion for each arm but the first, drawn from the score alone; the other measures only describe."""
    for each in comparisons:
        if each.measure == DECISIVE:
            yield f"{each.story}, {each.first} against {each.other}: {_verdict(each)}."


def _verdict(found: Comparison) -> str:
    if found.difference is None:
        return f"nothing can be said: {found.why_not}"
    points = f"{number(found.difference, sign=True)} {'% of the maximum' if found.is_share else 'points'} in"
    if found.pairs == 1:
        return f"{points} the one pair; one pair shows nothing"
    if found.is_equal:
        return f"the same score in each of {found.pairs} pairs"
    verdict = (
        f"{points} {found.pairs} pairs ({'' if found.low is None else f'{interval(found)}, '}p {number(found.p)}): "
    )
    if found.is_shown:
        return f"{verdict}unlikely to be chance"
    verdict += "no difference is shown"
    if found.least_p is not None and found.least_p >= ALPHA:
        verdict += f"; with so few pairs that differ p is never below {number(found.least_p)}, so none could be"
    if found.pairs_needed is not None:
        verdict += f"; one of this size takes about {found.pairs_needed:,} pairs to see"
    return verdict


def number(value: float | None, *, sign: bool = False) -> str:
    """Return a figure as text, or a dash if there is none."""
    if value is None:
        return "-"
    digits = 0 if float(value).is_integer() else 1 if abs(value) >= 1 else 3
    return f"{value:{'+' if sign else ''},.{digits}f}"


def interval(found: Comparison | ArmScore) -> str:
    """Return the interval of a score or of a difference as it is shown; the latter's ends have signs."""
    if found.low is None:
        return "-"
    sign = isinstance(found, Comparison)
    return f"{number(found.low, sign=sign)} to {number(found.high, sign=sign)}"


def write_results(results: Results, folder: Path) -> None:
    """Write ``results.csv``, ``episodes.csv`` and ``results.json``. Raises ``StoreError``."""
    write_atomically(folder / "results.csv", _csv(_run_line(run, results) for run in results.runs))
    episodes = (_episode_line(run, number, results) for run in results.runs for number in range(len(run.episodes)))
    write_atomically(folder / "episodes.csv", _csv(episodes))
    write_atomically(folder / RESULTS_FILE, results.model_dump_json(indent=2).encode() + b"\n")


def _run_line(run: RunMeasures, results: Results) -> Mapping[str, object]:
    return {
        "story": run.story,
        "arm": run.arm,
        "pair": run.pair,
        "seed": run.seed,
        "model": run.model,
        "assistance": results.assistance,
        "max_score": run.max_score,
        **{name.replace(" ", "_"): value(run) for name, value in MEASURES.items()},
        "memory_tokens": run.memory_tokens,
        "memory_coverage": run.memory_coverage,
        "journal_sha256": run.journal_sha256,
        "points_from": run.points,
    }


def _episode_line(run: RunMeasures, number: int, results: Results) -> Mapping[str, object]:
    episode: EpisodeFigures = run.episodes[number]
    return {
        "story": run.story,
        "arm": run.arm,
        "pair": run.pair,
        "episode": number + 1,
        "seed": episode.seed,
        "assistance": results.assistance,
        "end": episode.end,
        "turns": episode.turns,
        "score": episode.score,
        "best_score": episode.best_score,
        "rooms": episode.rooms,
        "new_maxima": " ".join(f"{best.score}@{best.turn}" for best in episode.milestones),
        "repeated_failures": episode.repeated_actions,
        "memory_tokens": episode.memory_tokens,
        "seconds": episode.seconds,
        "points_from": run.points,
    }


def _csv(lines: Iterable[Mapping[str, object]]) -> bytes:
    table = list(lines)
    return csv_of(table[0], (line.values() for line in table)).encode("utf-8", "backslashreplace")


def write_report(results: Results, folder: Path) -> None:
    """Write ``report.md``. Raises ``StoreError``."""
    text = "\n\n".join(_paragraphs(results)) + "\n"
    write_atomically(folder / REPORT_FILE, text.encode("utf-8", "backslashreplace"))


def score_rows(scores: Iterable[ArmScore]) -> Iterator[Sequence[str]]:
    """Yield for each story and arm what it scored, in every measure of a score, and the interval of the first."""
    for (_, arm), group in groupby(scores, key=lambda each: ("" if each.is_share else each.story, each.arm)):
        by_measure = {each.measure: each for each in group}
        scored = by_measure[DECISIVE]
        yield (
            f"{scored.story}, % of the maximum" if scored.is_share else scored.story,
            arm,
            *(number(by_measure[measure].score) for measure in SCORES),
            interval(scored),
        )


def difference_row(found: Comparison) -> Sequence[str]:
    """Return story, other arm, measure, number of pairs, difference, interval and p of a comparison."""
    measure = f"{found.measure}, %" if found.is_share else found.measure
    difference = (number(found.difference, sign=True), interval(found), number(found.p))
    return (found.story, found.other, measure, str(found.pairs), *difference)


def _paragraphs(results: Results) -> Iterator[str]:
    plan, count = results.plan, len(results.runs)
    unfinished = "" if count == results.planned else f" ({count} of {results.planned} runs so far)"
    yield f"# {', '.join(plan.arms)}: {', '.join(plan.stories)}"
    yield f"    {results.command}"
    yield "\n".join(
        [
            f"- {counted(plan.pairs, 'pair')} of {counted(plan.episodes, 'episode')}{unfinished}; {results.unit}",
            f"- Model: {', '.join(results.models)}. Assistance: {results.assistance}",
            f"- {'; '.join(results.versions)}",
            *(f"- Points: {each}" for each in results.points),
            *(f"- {story}: SHA-256 of the story file {digest}" for story, digest in plan.stories.items()),
        ]
    )
    if results.conclusions:
        yield "\n".join(f"- {sentence}" for sentence in results.conclusions)
    yield "Scores, the means of the runs (of each story in points):"
    yield _markdown(("story", "arm", *SCORES, "95 % interval of the score"), score_rows(results.scores))
    if results.comparisons:
        yield "Differences, first arm minus other:"
        yield _markdown(
            ("story", "against", "measure", "pairs", "difference", "95 % interval", "p"),
            map(difference_row, results.comparisons),
        )
    yield "Runs:"
    heading = ("story", "arm", "pair", "first seed", "scores at the ends of the episodes", "SHA-256 of the journal")
    scores = (" ".join("-" if each.score is None else str(each.score) for each in run.episodes) for run in results.runs)
    yield _markdown(
        heading,
        (
            (run.story, run.arm, str(run.pair), str(run.seed), scored, run.journal_sha256)
            for run, scored in zip(results.runs, scores, strict=True)
        ),
    )


def _markdown(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; what a cell holds of its signs is written so that it does not end the cell."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


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
    yield from (Note(f"Points: {each}.") for each in results.points)
    count = len(results.runs)
    if count < results.planned:
        text = f"{count} of {results.planned} planned runs are shown: those whose pairs are complete."
        yield Note(text)
    gone = sum(where is None for where in folders)
    if gone:
        yield Note(f"{counted(gone, 'run folder')} missing: there is no link to {'it' if gone == 1 else 'them'}.")

"""Repeats runs to verify them and to rebuild their prompts, and makes pages of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from managers.base_manager import BaseManager
from orchestration.history import Replayed, verify
from orchestration.parts import open_story
from orchestration.recorded_configuration import recorded
from orchestration.run import other_versions
from session.errors import StoreError, ZorkGPTError, reported_as
from session.events import Event, RunMoment
from session.files.journal import JOURNAL_FILE, Manifest
from session.files.run_folders import is_claimed
from session.files.shared_files import make_folder, places_below, require_no_link, write_atomically
from session.game_configuration import GameConfiguration
from session.text import counted, without_period
from zorkgpt.llm.run_model import RepeatedCall
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.played_run import read_run
from zorkgpt.report.repetition import Repetition, read_end
from zorkgpt.report.run_page import IndexData, IndexedRun, Note, PageData, PageRun, page_of_run
from zorkgpt.report.run_summary import RunSummary, summarise
from zorkgpt.report.server import JSON_FILE, as_json, page_of, page_with

INDEX_FILE = "index.html"
MAKER = f"zorkgpt {version('zorkgpt')}"
PAUSE = 4
"""A run in progress is repeated again after this multiple of the duration of its latest repetition."""


_URL = re.compile(r"https?://\S*[^\s.,:;)'\"]")


class RunPage:
    """Makes the page of a run, again and again while the run is played.

    now: the configuration of the command
    for_player: as in ``read_run``; the page has neither the configuration nor the command
    """

    def __init__(self, folder: Path, now: GameConfiguration, *, for_player: bool = False) -> None:
        self.folder = folder
        self._for_player = for_player
        self._now = now
        self._size = -1  # of the journal in bytes, in the latest page
        self._repeated_size = -1  # of the journal in bytes, in the latest repetition
        self._due = 0.0  # when the run may be repeated again, on the monotonic clock
        self._repetition = Repetition()
        self._notes: list[Note] = []  # why the run could not be repeated to its end

    @property
    def has_news(self) -> bool:
        """Whether the journal has grown since the latest page, or the run is due to be repeated again."""
        size = _size(self.folder)
        return size != self._size or self._is_due(size)

    def read(self) -> PageRun:
        """Return the content of the page. Raises ``StoreError`` for a run without a manifest."""
        self._size = _size(self.folder)
        run = read_run(self.folder, for_player=self._for_player)
        is_played = run.summary.state == "playing"
        if not is_played or self._is_due(self._size):
            self._repeat(run.manifest)
        notes = [*self._notes]
        if run.summary.state == "damaged":
            notes.insert(0, Note(f"{run.summary.reason}. What was played up to there is shown."))
        elif is_played:
            text = "The run is being played: the prompts of its latest turns and what these taught come a little later."
            notes.insert(0, Note(text))
        known, graph = None, None
        if not self._repetition.is_whole:
            known, graph = read_end(self.folder, run, lambda text: notes.append(Note(text)))
        page = page_of_run(run, self._repetition, known, graph, notes)
        hidden = {"configuration": {}, "command": (), "story_path": ""} if self._for_player else {}
        manifest = page.figures.manifest.model_copy(update=hidden)
        return replace(page, figures=replace(page.figures, manifest=manifest))

    def _is_due(self, size: int) -> bool:
        return size != self._repeated_size and time.monotonic() >= self._due

    def _repeat(self, manifest: Manifest) -> None:
        start, repetition = time.monotonic(), Repetition()
        self._repeated_size, self._repetition, self._notes = _size(self.folder), repetition, []
        see, hear, meet = repetition.see, repetition.hear, repetition.meet
        try:
            replayed = repeat(self.folder, self._now, show=see, asked=hear, meet=meet, until="damage")
        except ZorkGPTError as error:
            text = "The run could not be repeated, so prompts and what each turn taught are missing"
            self._notes.append(Note(f"{text}: {without_period(error)}."))
        else:
            repetition.end(is_whole=replayed.difference is None)
            if replayed.difference is not None:
                text = (
                    "This version of the program plays the run differently from here on, so later prompts and what "
                    f"later turns taught are missing: line {replayed.difference.line} of the journal."
                )
                versions = other_versions(manifest)
                self._notes.append(Note(f"{text} It was {versions}." if versions else text, repetition.moment))
        now = time.monotonic()
        self._due = now + PAUSE * (now - start)


def page_data(pages: Iterable[RunPage]) -> PageData:
    """Return the data of a page of these runs as they are now. Raises ``StoreError`` for a run without a manifest."""
    runs = tuple(page.read() for page in pages)
    return PageData(MAKER, runs, follow=any(run.figures.run.state == "playing" for run in runs))


def _size(folder: Path) -> int:
    """Return the size of the journal, which only grows while its run is played. Raises ``StoreError``."""
    with reported_as(f"{folder / JOURNAL_FILE} cannot be read"):
        return (folder / JOURNAL_FILE).stat().st_size


def update_site(
    workdir: Path, folders: Sequence[Path], to: Path, now: GameConfiguration, played: dict[Path, RunPage] | None = None
) -> tuple[int, int]:
    """Write what is new in the runs of these folders, and return how many runs there are and how many pages are new.

    The folder ``to`` has a page for each run below ``workdir``, and an index of them, which any web server can publish.
    The index's own data, ``report.json``, name the runs whose pages need not be written again.

    played: the runs that are being played; with it, their pages and the index poll their server for newer data
    Raises ``StoreError``.
    """
    index = _index_in(to)
    before = {workdir / row.run.folder: row for row in index.index} if index else {}
    rows = {folder: before.get(folder) or _row(workdir, summarise(folder)) for folder in folders}
    follows, new = played is not None, 0

    def publish() -> None:
        _publish(IndexData(MAKER, tuple(rows.values()), follow=follows), to / INDEX_FILE, JSON_FILE)

    if rows != before or index is None or index.follow != follows:
        publish()
    for folder, row in rows.items():
        page, journal = to / folder.relative_to(workdir).with_name(f"{folder.name}.html"), folder / JOURNAL_FILE
        require_no_link(*places_below(to, page))
        if played is not None and folder in played:
            has_news = played[folder].has_news or not is_claimed(folder)
        elif row.link is None or row.run.state == "playing" or not page.exists() or not journal.exists():
            has_news = True
        else:
            has_news = page.stat().st_mtime <= journal.stat().st_mtime
        if has_news:
            rows[folder] = _write_row(workdir, folder, page, now, played)
            new += rows[folder].link is not None
            if rows[folder] != row:  # all pages may take minutes, and be stopped: the index has those that are done
                publish()
    return len(rows), new


def _row(workdir: Path, run: RunSummary) -> IndexedRun:
    """Return the row of a run, without paths of this computer and addresses of servers."""
    folder, reason = run.folder.relative_to(workdir), run.reason.replace(f"{workdir}/", "")
    for address in run.server:
        reason = reason.replace(f" at {address}", "")
    return IndexedRun(replace(run, folder=folder, server=(), reason=_URL.sub("[URL]", reason), changes=()))


def _write_row(
    workdir: Path, folder: Path, page: Path, now: GameConfiguration, played: dict[Path, RunPage] | None
) -> IndexedRun:
    """Write the page of a run unless it has no manifest or no journal, and return its row."""
    before = played.pop(folder, None) if played else None
    run_page = before or RunPage(folder, now)
    try:
        data = page_data([run_page])
    except StoreError:
        return _row(workdir, summarise(folder))
    follows = data.follow and played is not None
    _publish(replace(data, follow=follows), page, f"{folder.name}.json" if follows or before else "")
    if follows and played is not None:
        played[folder] = run_page
    figures, name = data.runs[0].figures, folder.relative_to(workdir)
    return replace(
        _row(workdir, replace(figures.run, folder=folder)),
        scores=tuple(episode.score for episode in figures.episodes),
        dollars=figures.dollars,
        unpriced=figures.unpriced,
        of_milestones=bool(figures.points) and figures.run.best_score is not None,
        link=quote(bytes(name.with_name(page.name))),
    )


def _publish(data: object, page: Path, follows: str) -> None:
    """Write a page of a site, and beside it the file with its data that it polls, if there is one."""
    content = as_json(data)
    make_folder(page.parent)
    write_atomically(page, page_of(content, follows=follows).encode(), durable=False)
    if follows:  # the latter: from it the next call sees what is written
        write_atomically(page.with_name(follows), content, durable=False)


def _index_in(folder: Path) -> IndexData | None:
    """Return what the index in that folder has, ``None`` if there is none, or if it is of another version."""
    try:
        index = TypeAdapter(IndexData).validate_json((folder / JSON_FILE).read_bytes())
    except (OSError, ValidationError):
        return None
    return index if index.program == MAKER and (folder / INDEX_FILE).exists() else None


def repeat(
    folder: Path,
    now: GameConfiguration,
    *,
    show: Callable[[Event], None] = lambda _event: None,
    asked: Callable[[RepeatedCall], None] = lambda _call: None,
    meet: Callable[[Sequence[BaseManager], MapGraph], None] = lambda _managers, _map: None,
    until: RunMoment | Literal["damage"] | None = None,
    changed: Callable[[GameConfiguration], GameConfiguration] | None = None,
) -> Replayed:
    """Repeat the run of that folder without a model, and compare.

    show, asked, meet, until: as in ``verify``
    changed: returns the configuration with which prompts are rebuilt; they get the recorded answers all the same
    Raises ``StoreError``, ``StoryError``, ``ConfigurationError``.
    """
    configuration = recorded(folder, now)
    if changed is not None:
        configuration = changed(configuration)
    with open_story(configuration) as opened:
        parts = replace(opened, answers_any=changed is not None)
        return verify(configuration, parts, folder, show, asked, meet, until)


def write_report(folders: Sequence[Path], to: Path, now: GameConfiguration) -> list[str]:
    """Write the page of these runs, and return the lines to print about it. Raises ``StoreError``."""
    data = page_data(RunPage(folder, now) for folder in folders)
    size = write_page(data, to)
    notes = [f"Run {run.figures.run.run_id}: {note.text}" for run in data.runs for note in run.notes]
    return [*notes, f"{counted(len(data.runs), 'run')} in {to}, {size / 1e6:.1f} MB: open it in a browser."]


def write_page(data: object, to: Path) -> int:
    """Write the page with these data, and return its size in bytes. Raises ``StoreError``."""
    page = page_with(data).encode()
    with reported_as(f"cannot write {to}"):
        to.write_bytes(page)
    return len(page)

"""The runs of a work folder: where they are, who plays them, their episodes, and copies of shared files."""

from __future__ import annotations

import json
import re
import shlex
import time
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from shutil import rmtree

from filelock import Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from session.errors import ConfigurationError, StoreError, reported_as
from session.files.journal import MANIFEST, has_turn, way_to
from session.files.shared_files import (
    EPISODES,
    FORKS,
    QUIET,
    RUNS,
    STORY_FILE,
    force_to_disk,
    is_lost,
    is_plain_name,
    locked,
    make_folder,
    permissions,
    read_shared,
    require_no_link,
    write_atomically,
)
from session.text import counted

_RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
LOCKED = "run"
"""The name that is locked while a process plays the run."""
RUN_LOG = "log.jsonl"
AT_START = "start"
AT_END = "end"
CHECKPOINTS = "checkpoints"
ORDER = "order.json"
_LINE = "line.json"
_CHECKPOINT = re.compile(r"\d{12}")
MEMORIES_AT_START = f"{AT_START}/Memories.md"
MEMORIES_AT_END = f"{AT_END}/Memories.md"


class BoundStory(BaseModel):
    """The story that a folder belongs to, as ``story.json`` has it. ``sha256`` is the story's checksum."""

    model_config = ConfigDict(frozen=True)

    name: str
    sha256: str


def story_folders(workdir: Path) -> dict[Path, BoundStory | None]:
    """Return the story of the work folder, then of each folder in it that belongs to a story of its own, by name.

    Raises ``StoreError`` if the work folder cannot be read.
    """
    within = sorted(path for path in _folders_in(workdir) if (path / STORY_FILE).is_file())
    return {path: story_of(path) for path in (workdir, *within)}


def story_of(folder: Path) -> BoundStory | None:
    """Return the story that the folder belongs to, ``None`` if no readable file names one."""
    try:
        return BoundStory.model_validate_json((read_shared(folder / STORY_FILE) or b"").removeprefix(BOM_UTF8))
    except (StoreError, ValidationError):
        return None


def folders_of(workdir: Path, story: str | None, sha256: str | None = None) -> list[Path]:
    """Return the story folders of a work folder, or those of one story, given by its name or its checksum.

    A folder without a ``story.json`` may belong to any story. Raises ``ConfigurationError`` if the story has no folder.
    """
    folders = story_folders(workdir)
    if story is None:
        return list(folders)
    found = [
        path
        for path, bound in folders.items()
        if bound is None or bound.sha256 == sha256 or bound.name.casefold() == story.casefold()
    ]
    if not found:
        played = ", ".join(bound.name for bound in folders.values() if bound)
        raise ConfigurationError(f"--game {story}: {workdir} has no run of this story; it has {played or 'none'}")
    return found


def find_run(workdir: Path, run: str | None = None, among: Sequence[Path] | None = None) -> Path:
    """Return the folder of the run or fork with that id or path, by default of the run that was played last.

    among: the story folders whose latest run is the default; ``None`` for all
    Raises ``StoreError`` with the closest ids.
    """
    folders = story_folders(workdir)
    if run is None:
        places = list(folders) if among is None else among
        latest = latest_runs(places)
        if not latest:
            if any(_RUN_ID.fullmatch(each.name) for each in run_folders(places)):
                raise StoreError(f"no run in {places[0] / RUNS} can be read: none has a {MANIFEST}")
            raise StoreError(
                f"no runs in {places[0] / RUNS}; start one with `zorkgpt run`, or select another folder with --workdir"
            )
        return latest[0]
    places = [place for each in folders for place in (each, fork_folder(each, run))] if is_plain_name(run) else []
    for folder in (*(place / RUNS / run for place in places), Path(run).absolute()):
        if (folder / MANIFEST).is_file():
            require_no_link(*way_to(folder))
            return folder
    if any(story is not None and story.name.casefold() == run.casefold() for story in folders.values()):
        raise StoreError(f"there is no run {run} in {workdir}; it is a story: name one of its runs (--game {run})")
    if (Path(run) / RUNS).is_dir():
        hint = f"name it with --workdir {shlex.quote(run)}, or a folder in {Path(run) / RUNS}"
        raise StoreError(f"{run} is a work folder, not a run: {hint}")
    if _RUN_ID.fullmatch(run) and any(each.name == run for each in run_folders(folders)):
        raise StoreError(f"run {run} cannot be read: it has no {MANIFEST}")
    ids = [each.name for each in latest_runs(folders)]
    if not ids:
        raise StoreError(f"there is no run {run}: {workdir / RUNS} has no runs yet")
    closest = get_close_matches(run, ids, n=3) or ids[:3]
    others = len(ids) - len(closest)
    more = f" and {counted(others, 'other')}" if others else ""
    raise StoreError(f"there is no run {run} in {workdir}; there is {', '.join(closest)}{more}")


class RunOrder(BaseModel):
    """The place of a run among those of a work folder, by counts and not by the clock, which may be wrong.

    begun, resumed: greater than those of all runs that were begun or resumed before; 0 if that is not recorded
    """

    model_config = ConfigDict(frozen=True)

    begun: int = Field(default=0, ge=0, lt=10**9)
    resumed: int = Field(default=0, ge=0, lt=10**9)


def order_of(run: Path) -> RunOrder:
    """Return the place of the run of that folder, zeros if it is not recorded."""
    try:
        return RunOrder.model_validate_json(read_shared(run / ORDER) or b"{}")
    except (StoreError, ValidationError):
        return RunOrder()


def put_last(run: Path) -> None:
    """Record that the run of that folder is the latest of its work folder now. Raises ``StoreError``."""
    own = run.absolute().parent.parent
    workdir = own.parent.parent if own.parent.name == FORKS else own
    places = {workdir, workdir.parent, *_stories_in(workdir), *_stories_in(workdir.parent)}
    orders = []
    for place in places:
        with suppress(StoreError):
            orders += [order_of(each) for each in run_folders([place]) if each != run.absolute()]
    last = 1 + max((max(each.begun, each.resumed) for each in orders), default=0)
    begun = order_of(run).begun or last
    write_atomically(run / ORDER, RunOrder(begun=begun, resumed=last).model_dump_json().encode() + b"\n")


def _stories_in(folder: Path) -> list[Path]:
    with suppress(StoreError):
        return [path for path in _folders_in(folder) if (path / STORY_FILE).is_file()]
    return []


def latest_runs(folders: Iterable[Path]) -> list[Path]:
    """Return the runs of these story folders, forks left out, the one that was begun or resumed last first.

    Runs that have no turn come last, unless a process is playing them; ids decide among runs of unknown order. Raises
    ``StoreError``.
    """
    runs = [run for folder in folders for run in _own_folders(folder / RUNS) if (run / MANIFEST).is_file()]

    def key(run: Path) -> tuple[bool, int, str]:
        return has_turn(run) or is_claimed(run), order_of(run).resumed, run.name

    return sorted(runs, key=key, reverse=True)


def fork_folder(workdir: Path, run_id: str) -> Path:
    """Return the work folder of a fork of a run in ``workdir``; a fork of a fork is beside that, not within."""
    forks = workdir.parent if is_fork(workdir / RUNS / workdir.name) else workdir / FORKS
    return forks / run_id


def is_fork(run: Path) -> bool:
    """Return whether the run of that folder is a fork, in a work folder of its own."""
    work_folder = run.absolute().parent.parent
    return work_folder.parent.name == FORKS and work_folder.name == run.name and bool(_RUN_ID.fullmatch(run.name))


def require_run_folder(folder: Path) -> None:
    """Make sure that a folder is a run's, in any state. Raises ``StoreError``."""
    if folder.parent.name != RUNS or not _RUN_ID.fullmatch(folder.name):
        raise StoreError(f"{folder} is not a run folder; expected WORKDIR/{RUNS}/<run-id>")


def run_folders(folders: Iterable[Path]) -> list[Path]:
    """Return all runs and forks of these story folders, the one that was begun last first, in any state.

    Ids decide among runs of unknown order. Raises ``StoreError``.
    """
    found: list[Path] = []
    for folder in folders:
        forks = [fork / RUNS for fork in _own_folders(folder / FORKS) if not fork.name.startswith(".")]
        found += [run for runs in (folder / RUNS, *forks) for run in _own_folders(runs)]
    found.sort(key=lambda run: (order_of(run).begun, run.name), reverse=True)
    return found


def _folders_in(folder: Path) -> list[Path]:
    with reported_as(f"{folder} cannot be read"), suppress(FileNotFoundError):
        return [each for each in folder.iterdir() if each.is_dir() and not each.is_symlink()]
    return []


def _own_folders(folder: Path) -> list[Path]:
    """Return the folders in a folder of the program's own. Raises ``StoreError``, also if it is a link."""
    require_no_link(folder)
    return _folders_in(folder)


def claimed(run: Path) -> AbstractContextManager[None]:
    """Claim the run of that folder for this process within the block.

    Raises ``StoreError`` if another process plays it.
    """
    return locked(run / LOCKED, 0, f"run {run.name} is being played by another process")


def is_claimed(run: Path) -> bool:
    """Return whether a process is known to be playing the run in that folder."""
    try:
        if (run / f"{LOCKED}.lock").exists():
            with claimed(run):
                pass
    except StoreError as error:
        return isinstance(error.__cause__, Timeout)
    return False


def take_episode_numbers(workdir: Path, count: int) -> int:
    """Take the next ``count`` numbers for episodes of a work folder (specification, Episode numbers).

    Returns the first of them. Raises ``StoreError``.
    """
    path = workdir / EPISODES
    with locked(path):
        last = last_episode(workdir)
        write_atomically(path, json.dumps({"last_episode": last + count}).encode() + b"\n")
    return last + 1


def give_back_episode_numbers(workdir: Path, first: int, count: int) -> None:
    """Give back numbers that were taken for a run that could not begin, unless others were taken since.

    If that cannot be written they are lost: the run already reports an error of its own.
    """
    path = workdir / EPISODES
    with suppress(StoreError), locked(path):
        if last_episode(workdir) == first + count - 1:
            write_atomically(path, json.dumps({"last_episode": first - 1}).encode() + b"\n")


def remove_unused(workdir: Path) -> None:
    """Remove a work folder that was made for a run that could not begin, unless there is another run in it."""
    if not any((workdir / RUNS).glob("*")):
        rmtree(workdir, ignore_errors=True)


def last_episode(workdir: Path) -> int:
    """Return the last number that was taken for an episode of a work folder, 0 for none. Raises ``StoreError``."""
    path = workdir / EPISODES
    content = read_shared(path)
    if content is None:
        return 0
    try:
        last = json.loads(content)["last_episode"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f'{path} contains no episode number; write {{"last_episode": N}} there') from error
    if not isinstance(last, int) or last < 0:
        raise StoreError(f"{path}: last_episode is {last!r}, not a count of episodes")
    return last


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A place in a run's journal from which it can be repeated.

    seq, sum: of the line after which the copies were made; 0 and "" for the run's start
    copies: the folder with copies of the shared files as they were then
    """

    seq: int
    sum: str
    copies: Path


def make_checkpoint(run: Path, seq: int, line_sum: str, files: SharedFiles) -> None:
    """Copy the shared files for the journal's line ``seq``, force all of it to the disk, and drop older checkpoints.

    Raises ``StoreError``.
    """
    older = _checkpoints(run)
    copies = run / CHECKPOINTS / f"{seq:012d}"
    require_no_link(copies)
    rmtree(copies, ignore_errors=True)
    with reported_as(f"cannot make the folder {copies.parent}"):
        copies.parent.mkdir(exist_ok=True)
    files.copy_to(copies, durable=True)
    write_atomically(copies / _LINE, json.dumps({"seq": seq, "sum": line_sum}).encode())  # last: now it counts
    force_to_disk(copies.parent)
    for each in older:
        if each != copies:
            rmtree(each, ignore_errors=True)


def _checkpoints(run: Path) -> list[Path]:
    """Return the folders of checkpoints; other folders beside them are no concern of the program."""
    return [each for each in _own_folders(run / CHECKPOINTS) if _CHECKPOINT.fullmatch(each.name)]


def latest_checkpoint(run: Path) -> Checkpoint:
    """Return the latest checkpoint of the run of that folder, its start if there is none yet. Raises ``StoreError``."""
    for copies in sorted(_checkpoints(run), reverse=True):
        content = read_shared(copies / _LINE)
        if content is not None:
            try:
                line = json.loads(content)
                return Checkpoint(line["seq"], line["sum"], copies)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise StoreError(f"{copies / _LINE} does not name a line of the journal") from error
    return Checkpoint(0, "", run / AT_START)


def digests_at_start(run: Path) -> dict[str, str]:
    """SHA-256 of the manifest and of the copies made at the start, by their names in the run folder.

    Raises ``StoreError``.
    """
    with reported_as(f"cannot read what {run} keeps of its start"):
        files = [run / MANIFEST, *sorted((run / AT_START).iterdir())]
        return {file.relative_to(run).as_posix(): sha256(file.read_bytes()).hexdigest() for file in files}


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file of the work folder that runs share, named by the manager that owns it.

    name: in the work folder
    copy_name: among the copies in a run folder, the same whatever the options call the file; "": as ``name``
    """

    name: str
    copy_name: str = ""


@dataclass(frozen=True, slots=True)
class SharedFiles:
    """The files that runs share in the work folder ``workdir``. Every method raises ``StoreError``."""

    workdir: Path
    files: Sequence[SharedFile]

    def copy_to(self, copies: Path, *, durable: bool = False) -> None:
        """Copy every file into the folder ``copies``; one that is not there becomes an empty one."""
        require_no_link(copies)
        with reported_as(f"cannot make the folder {copies}"):
            copies.mkdir(exist_ok=True)
        for file, copy in self._with_copies(copies):
            write_atomically(copy, read_shared(file) or b"", durable=durable, mode=permissions(file))

    @contextmanager
    def copied_at_end(self, copies: Path) -> Iterator[None]:
        """Delete the copies of an earlier end from ``copies``, and copy all files there after the block.

        An error of copying does not replace an error of the block.
        """
        require_no_link(copies)
        if copies.is_dir():
            with reported_as(f"{copies} cannot be emptied"):
                for _, copy in self._with_copies(copies):
                    copy.unlink(missing_ok=True)
            with suppress(OSError):  # of another version
                copies.rmdir()
        has_failed = True
        try:
            yield
            has_failed = False
        finally:
            with suppress(StoreError) if has_failed else nullcontext():
                new = copies if copies.exists() else copies.with_name(f"{copies.name}.new")
                self.copy_to(new)
                with reported_as(f"cannot make the folder {copies}"):
                    new.rename(copies)

    def restore_from(self, copies: Path) -> None:
        """Make the files of the work folder what the folder ``copies`` has of them, none for an empty one."""
        make_folder(self.workdir)
        for file, copy in self._with_copies(copies):
            content = read_shared(copy)
            if not content:
                with reported_as(f"{file} cannot be removed"):
                    file.unlink(missing_ok=True)
            else:
                write_atomically(file, content, durable=False, mode=permissions(copy))

    def mend_from(self, copies: Path) -> list[Path]:
        """Replace the files whose content a power cut has lost by their copies, and return those that had content.

        The write is noted like any other, so that the later versions are written again (ADR 31).
        """
        mended, deadline = [], time.monotonic() + 2 * QUIET  # a person may be writing an empty file
        for file, copy in self._with_copies(copies):
            with locked(file):
                content, latest = read_shared(file), permissions(file)
                while content == b"" and time.monotonic() < deadline:
                    time.sleep(QUIET / 10)
                    content = read_shared(file)
                if content is None or not is_lost(content):
                    continue
                kept = read_shared(copy) or b""
                write_atomically(file, kept, mode=latest, with_backup=True, with_history=True)
                if not kept:
                    file.unlink()
                if kept or content:
                    mended.append(file)
        return mended

    def path_of(self, copy_name: str) -> Path:
        """Return the path of the file with that name among the copies."""
        return self.workdir / next(each.name for each in self.files if (each.copy_name or each.name) == copy_name)

    def read(self, copies: Path) -> dict[str, bytes]:
        """Return the content of each copy in the folder ``copies``, by the name of its file; b"" for no file."""
        return {file.name: read_shared(copy) or b"" for file, copy in self._with_copies(copies)}

    def force_to_disk(self) -> None:
        """Wait until every file is on the disk."""
        for file in self.files:
            force_to_disk(self.workdir / file.name)

    def _with_copies(self, copies: Path) -> Iterator[tuple[Path, Path]]:
        require_no_link(copies)
        for file in self.files:
            yield self.workdir / file.name, copies / (file.copy_name or file.name)

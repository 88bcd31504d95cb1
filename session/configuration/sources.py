"""Reads the settings from the command line, the environment and files, each with its source.

A settings library is not used because every value keeps its origin, and because an unknown name is an error in the
environment too.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from dotenv import dotenv_values

from session.configuration.options import Setting
from session.errors import ConfigurationError
from session.file_names import writers_besides_user

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from collections.abc import Iterable, Iterator, Mapping

PREFIX = "ZORKGPT_"
WELL_KNOWN = {"OPENAI_API_KEY": "llm.api_key", "OPENAI_BASE_URL": "llm.base_url"}
OF_SERVERS = frozenset({"base_url", "api_key"})
NOT_OPTIONS = frozenset({"ZORKGPT_MODEL_DIR", "ZORKGPT_STORIES"})


@dataclass(frozen=True, slots=True)
class _File:
    """A configuration file. ``writers``: the other users who can write it, in words."""

    path: Path
    text: str
    writers: str


def settings_from(overrides: Mapping[str, object], environ: Mapping[str, str], cwd: Path) -> Iterator[Setting]:
    """Yield the settings of every source, those of the lowest precedence first.

    The sources are: the nearest ``zorkgpt.toml`` or ``pyproject.toml`` in the folder ``cwd`` or above (in one folder,
    the former), ``.env`` in ``cwd``, ``environ``, and ``overrides``: values from the command line by dotted name, where
    ``None`` means not given.
    Raises ``ConfigurationError`` for a file that cannot be read, and for one with the URL or the key of a server that
    another user can write: anyone who can write to a folder above could otherwise obtain the keys.
    """
    nearest = _nearest_file(cwd.absolute(), environ.get("HOME"))
    if nearest:
        file = _read(nearest)
        yield from _of_user(file, _from_toml(file))
    if (cwd / ".env").is_file():
        file = _read(cwd / ".env")
        values = dotenv_values(stream=StringIO(file.text), interpolate=False)
        yield from _of_user(file, _from_environment(values, f"in {file.path}", file.path))
    yield from _from_environment(environ, "in the environment")
    for name, value in overrides.items():
        if value is not None:
            yield Setting(name, value, name, "on the command line")


def from_toml_file(path: Path) -> Iterator[Setting]:
    """Yield the settings in ``[tool.zorkgpt]`` of that file, or in the whole file if it is not a ``pyproject.toml``.

    Raises ``ConfigurationError`` for a file that cannot be read, with the line if it is not valid TOML.
    """
    return _from_toml(_read(path))


def _nearest_file(cwd: Path, home: str | None) -> Path | None:
    """Return the nearest configuration file, up to the root of the repository or the home folder.

    Outside of both only ``cwd`` is searched.
    """
    folders = [cwd, *cwd.parents]
    ends = {Path(home).resolve()} if home else set()
    last = next((place for place, each in enumerate(folders) if each in ends or os.access(each / ".git", os.F_OK)), 0)
    names = (folder / name for folder in folders[: last + 1] for name in ("zorkgpt.toml", "pyproject.toml"))
    return next(filter(Path.is_file, names), None)


def _of_user(file: _File, settings: Iterable[Setting]) -> Iterator[Setting]:
    """Yield the settings of a file. Raises ``ConfigurationError`` if another user may have set a URL or a key."""
    for setting in settings:
        key = next(_server_keys(setting.key, setting.name, setting.value), None)
        if key and file.writers:
            raise ConfigurationError(
                f"{file.path} is not used because {file.writers}: it gives {key}, and URLs and keys are used only "
                "from files that no other user can write"
            )
        yield setting


def _server_keys(key: str, name: str, value: object) -> Iterator[str]:
    """Yield the names of all server URLs and keys in a setting, or in the tables in it."""
    if name.rpartition(".")[2] in OF_SERVERS:
        yield key
    if isinstance(value, dict):
        for inner, inner_value in value.items():
            yield from _server_keys(f"{key}.{inner}", inner, inner_value)


def _from_environment(environ: Mapping[str, str | None], source: str, file: Path | None = None) -> Iterator[Setting]:
    for key, name in WELL_KNOWN.items():
        if environ.get(key):
            yield Setting(name, environ[key], key, source, file)
    for key, value in environ.items():
        if value and key.startswith(PREFIX) and key not in NOT_OPTIONS:
            yield Setting(key.removeprefix(PREFIX).lower().replace("__", "."), value, key, source, file)


def _from_toml(file: _File) -> Iterator[Setting]:
    try:
        document: dict[str, object] = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as error:
        last_line = f"at line {file.text.count(chr(10)) + 1}, the last one"
        message = str(error).replace("at end of document", last_line)
        raise ConfigurationError(f"{file.path} is not TOML: {message}") from error
    tool = document.get("tool")
    if isinstance(tool, dict) and "zorkgpt" in tool:
        table, prefix = tool["zorkgpt"], "tool.zorkgpt."
    else:
        table, prefix = ({} if file.path.name == "pyproject.toml" else document), ""
    if not isinstance(table, dict):
        raise ConfigurationError(f"tool.zorkgpt in {file.path} must be a table")
    for key, value in table.items():
        yield Setting(key, value, prefix + key, f"in {file.path}", file.path)


def _read(path: Path) -> _File:
    try:
        with path.open(encoding="utf-8") as file:
            return _File(path, file.read(), writers_besides_user(os.fstat(file.fileno())))
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error

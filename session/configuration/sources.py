"""The settings that the command line, the environment and files give, each with where it stands.

The sources are read here rather than by a settings library because every value keeps its origin, and because
an unknown name is an error in the environment too.
"""

from __future__ import annotations

import sys
from io import StringIO
from typing import TYPE_CHECKING

from dotenv import dotenv_values

from session.configuration.options import Setting
from session.errors import ConfigurationError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PREFIX = "ZORKGPT_"
WELL_KNOWN = {"OPENAI_API_KEY": "llm.api_key", "OPENAI_BASE_URL": "llm.base_url"}
NOT_OPTIONS = frozenset({"ZORKGPT_MODEL_DIR", "ZORKGPT_STORIES"})


def settings_from(overrides: Mapping[str, object], environ: Mapping[str, str], cwd: Path) -> Iterator[Setting]:
    """Yield what every source gives, those that count least first.

    That is: the nearest ``zorkgpt.toml`` or ``pyproject.toml`` on the way up from the folder ``cwd`` (side by side: the
    first), ``.env`` in ``cwd``, ``environ``, and ``overrides``: values from the command line by dotted name, where
    ``None`` means that the option was not given.
    Raises ``ConfigurationError`` for a file that cannot be read.
    """
    yield from _from_nearest_file(cwd.absolute())
    yield from _from_environment(_read_dotenv(cwd / ".env"), f"in {cwd / '.env'}")
    yield from _from_environment(environ, "in the environment")
    for name, value in overrides.items():
        if value is not None:
            yield Setting(name, value, name, "on the command line")


def from_toml_file(path: Path) -> Iterator[Setting]:
    """Yield what ``[tool.zorkgpt]`` of that file gives, or else the whole file, unless it is a ``pyproject.toml``.

    Raises ``ConfigurationError`` for a file that cannot be read, with the line where it is not TOML.
    """
    document = _read_toml(path)
    tool = document.get("tool")
    if isinstance(tool, dict) and "zorkgpt" in tool:
        table, prefix = tool["zorkgpt"], "tool.zorkgpt."
    else:
        table, prefix = ({} if path.name == "pyproject.toml" else document), ""
    if not isinstance(table, dict):
        raise ConfigurationError(f"tool.zorkgpt in {path} must be a table")
    for key, value in table.items():
        yield Setting(key, value, prefix + key, f"in {path}")


def _from_nearest_file(cwd: Path) -> Iterator[Setting]:
    for folder in (cwd, *cwd.parents):
        for name in ("zorkgpt.toml", "pyproject.toml"):
            if (folder / name).is_file():
                return from_toml_file(folder / name)
    return iter(())


def _from_environment(environ: Mapping[str, str | None], source: str) -> Iterator[Setting]:
    for key, name in WELL_KNOWN.items():
        if environ.get(key):
            yield Setting(name, environ[key], key, source)
    for key, value in environ.items():
        if value and key.startswith(PREFIX) and key not in NOT_OPTIONS:
            yield Setting(key.removeprefix(PREFIX).lower().replace("__", "."), value, key, source)


def _read_dotenv(path: Path) -> dict[str, str | None]:
    if not path.is_file():
        return {}
    try:
        return dotenv_values(stream=StringIO(path.read_text(encoding="utf-8")), interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error


def _read_toml(path: Path) -> dict[str, object]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error
    try:
        document: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last_line = f"at line {text.count(chr(10)) + 1}, the last one"
        message = str(error).replace("at end of document", last_line)
        raise ConfigurationError(f"{path} is not TOML: {message}") from error
    return document

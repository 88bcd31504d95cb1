"""Settings from a TOML file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from session.configuration.options import Setting
from session.errors import ConfigurationError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def from_toml_file(path: Path) -> Iterator[Setting]:
    """What ``[tool.zorkgpt]`` of that file gives; without one the whole file, but of a pyproject nothing.

    Raises ``ConfigurationError`` for a file that cannot be read, with the line where it is not TOML.
    """
    document = _read(path)
    tool = document.get("tool")
    if isinstance(tool, dict) and "zorkgpt" in tool:
        table, prefix = tool["zorkgpt"], "tool.zorkgpt."
    else:
        table, prefix = ({} if path.name == "pyproject.toml" else document), ""
    if not isinstance(table, dict):
        raise ConfigurationError(f"tool.zorkgpt in {path} must be a table")
    for key, value in table.items():
        yield Setting(key, value, prefix + key, f"in {path}")


def _read(path: Path) -> dict[str, object]:
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

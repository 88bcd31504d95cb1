"""Options in nested groups, and their values from the command line, the environment and files.

A settings library is not used because every value keeps its origin, and because an unknown name is an error in the
environment too.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from io import StringIO
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from dotenv.parser import parse_stream
from pydantic import BaseModel, ConfigDict, ValidationError

from session.errors import ConfigurationError
from session.files.shared_files import writers_besides_user
from session.model_files import MODEL_DIR_VARIABLE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PREFIX = "ZORKGPT_"
WELL_KNOWN = {"OPENAI_API_KEY": "llm.api_key", "OPENAI_BASE_URL": "llm.base_url"}
OF_SERVERS = frozenset({"base_url", "api_key"})
TOML_FILES, ENV_FILE = ("zorkgpt.toml", "pyproject.toml"), ".env"
AMONG_ARGUMENTS = "among the arguments"
_ARGUMENTS = {"max_turns_per_episode": "max_turns", "game.seed": "seed"}
"""The source of options that a Python program gives, and its arguments with other names than their options."""
TABLES = frozenset({"prompts"})
"""Options whose entries can be set one by one."""
TOKEN_VARIABLE = "ZORKGPT_MCP_TOKEN"  # noqa: S105 - its name
NOT_OPTIONS = frozenset({TOKEN_VARIABLE, MODEL_DIR_VARIABLE, "ZORKGPT_STORIES"})
ALIKE = 0.5
"""The similarity from which an unknown name is taken for a misspelled option."""
_MOST_DOTS = 500
"""Between two equals signs of a line: the parser needs memory by the square of the parts of a dotted key."""
_OURS = re.compile(rf"^[ \t]*((?:export\s+)?(?:{PREFIX}\w+|{'|'.join(WELL_KNOWN)})\b)", re.MULTILINE)
_QUOTED = re.compile(r"=\s*['\"]")


class Options(BaseModel):
    """An immutable group of options that rejects unknown ones.

    aliases: alternative dotted names of options, each with the option's own name
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, str_strip_whitespace=True, allow_inf_nan=False
    )
    aliases: ClassVar[Mapping[str, str]] = {}


Group = TypeVar("Group", bound=Options)


@dataclass(frozen=True, slots=True)
class Option:
    """One option with its definition.

    name: with the names of its groups, as in ``llm.base_url``
    schema: the JSON schema of its values, with ``description`` and ``default``
    """

    name: str
    schema: Mapping[str, Any]

    @property
    def secret(self) -> bool:
        """Whether its value must not be shown."""
        return any(kind.get("writeOnly", False) for kind in (self.schema, *self.schema.get("anyOf", ())))

    @property
    def format(self) -> str:
        """What its text is the name of: path, file name, model or URL; "" for other values."""
        return next((kind["format"] for kind in (self.schema, *self.schema.get("anyOf", ())) if "format" in kind), "")

    @property
    def choices(self) -> tuple[str, ...]:
        """Its values if there are only a few."""
        kinds = (self.schema, *self.schema.get("anyOf", ()))
        if any(kind.get("type") == "boolean" for kind in kinds):
            return ("true", "false")
        return tuple(str(value) for kind in kinds for value in kind.get("enum", ()))

    def value_in(self, root: Options) -> object:
        """Return the option's value in a tree of groups."""
        value: object = attrgetter(self.name)(root)
        return value


@dataclass(frozen=True, slots=True)
class Setting:
    """The value that one source has for one option, or, as a mapping, for a whole group.

    name: dotted
    key, source: the name as spelled in the source, and the source, as in ``ZORKGPT_SEED``, ``in the environment``
    file: the source, if it is a file
    """

    name: str
    value: object = field(repr=False)
    key: str
    source: str
    file: Path | None = None

    @property
    def origin(self) -> str:
        """The source of the setting, in words."""
        return f"{self.key} {self.source}"


@cache
def options_of(group: type[Options], prefix: str = "") -> tuple[Option, ...]:
    """Return every option of the group and of the groups in it, in the order of definition."""
    schemas = group.model_json_schema()["properties"]
    options: list[Option] = []
    for name, definition in group.model_fields.items():
        inner = definition.annotation
        if isinstance(inner, type) and issubclass(inner, Options):
            options += options_of(inner, f"{prefix}{name}.")
        else:
            options.append(Option(prefix + name, schemas[name]))
    return tuple(options)


def resolve(root: type[Group], settings: Iterable[Setting]) -> tuple[Group, dict[str, Setting]]:
    """Return a ``root`` with the settings, where later ones override earlier ones, and the setting of each option.

    Raises ``ConfigurationError`` for an unknown option and for an invalid value.
    """
    chosen = _chosen(root, settings)
    try:
        return root.model_validate(_nested(chosen)), chosen
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        if not first["loc"]:
            raise ConfigurationError(message) from error
        place = ".".join(part for part in first["loc"] if isinstance(part, str))
        name = next(name for name in chosen if place == name or place.startswith(f"{name}."))
        setting = replace(chosen[name], key=chosen[name].key + place.removeprefix(name))
        raise ConfigurationError(f"{setting.origin}: {message}".replace(": Input should", " should")) from error


def values_given(root: type[Options], table: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a table for the options of ``root``, each in its group.

    Raises ``ConfigurationError`` for an unknown option.
    """
    return _nested(_chosen(root, (Setting(name, value, name, "in the dictionary") for name, value in table.items())))


def _chosen(root: type[Options], settings: Iterable[Setting]) -> dict[str, Setting]:
    """Return the last setting of each option by the option's own name; an entry of ``TABLES`` has its own."""
    names = [option.name for option in options_of(root)]
    known = {*names, *root.aliases} - TABLES
    chosen: dict[str, Setting] = {}
    for leaf in (leaf for setting in settings for leaf in _leaves(setting, known)):
        name = root.aliases.get(leaf.name, leaf.name)
        table, _, entry = name.partition(".")
        if table in TABLES and table in names:
            others = [table] if entry else [each for each in chosen if each.startswith(f"{table}.")]
            if any(each in chosen and (entry or chosen[each].source == leaf.source) for each in others):
                raise ConfigurationError(f"{leaf.origin}: {table} is set both as a whole and by single entries")
            chosen = {each: setting for each, setting in chosen.items() if entry or each not in others}
        elif name not in names:
            inner = next((name for name in names if name.startswith(f"{leaf.name}.")), None)
            if inner:
                raise ConfigurationError(f"{leaf.origin} is a group of options, such as {inner}")
            closest = get_close_matches(leaf.name.lower(), names, n=1, cutoff=ALIKE)
            advice = f"the closest one is {closest[0]}" if closest else "`zorkgpt config show` lists all"
            raise ConfigurationError(f"{leaf.origin} is not an option; {advice}")
        chosen[name] = leaf
    return chosen


def _leaves(setting: Setting, names: Iterable[str] = ()) -> Iterator[Setting]:
    """Yield the settings in a table, also in the tables in it, but not in the value of an option that is a table."""
    is_group = any(name.startswith(f"{setting.name}.") for name in names)
    table = setting.value
    if not isinstance(table, dict) or setting.name in names or not (table or is_group):
        yield setting
        return
    for key, value in table.items():
        inner = replace(setting, name=f"{setting.name}.{key}", value=value, key=f"{setting.key}.{key}")
        yield from _leaves(inner, names)


def _nested(chosen: Mapping[str, Setting]) -> dict[str, object]:
    tree: dict[str, Any] = {}
    for name, setting in chosen.items():
        *groups, last = name.split(".")
        group = tree
        for part in groups:
            group = group.setdefault(part, {})
        group[last] = setting.value
    return tree


def settings_from(
    overrides: Mapping[str, object], environ: Mapping[str, str], cwd: Path, given: str
) -> Iterator[Setting]:
    """Yield the settings of every source, those of the lowest precedence first.

    - the nearest ``zorkgpt.toml`` or ``pyproject.toml`` (in one folder, the former) from ``cwd`` up to the root of the
      repository or the home folder; outside of both only in ``cwd``
    - ``.env`` in ``cwd``
    - ``environ``
    - ``overrides``: values by dotted name, ``None`` means not given; their source in words is ``given``

    Raises ``ConfigurationError`` for a file that cannot be read, and for one with the URL or the key of a server that
    another user can write: anyone who can write to a folder above could otherwise obtain the keys.
    """
    folders, home = [cwd.absolute(), *cwd.absolute().parents], environ.get("HOME")
    ends = {Path(home).resolve()} if home else set()
    last = next((place for place, each in enumerate(folders) if each in ends or os.access(each / ".git", os.F_OK)), 0)
    names = (folder / name for folder in folders[: last + 1] for name in TOML_FILES)
    nearest = next(filter(Path.is_file, names), None)
    if nearest:
        text, writers = _read(nearest)
        yield from _checked(_from_toml(nearest, text), writers)
    env_file = cwd / ENV_FILE
    if env_file.is_file():
        text, writers = _read(env_file)
        yield from _checked(_from_env_file(env_file, text), writers)
    yield from _from_environment(environ, "in the environment")
    for name, value in overrides.items():
        if value is not None:
            key = _ARGUMENTS.get(name, name) if given == AMONG_ARGUMENTS else name
            yield Setting(name, value, key, given)


def from_file(path: Path) -> Iterator[Setting]:
    """Return the settings in a ``.env`` file, in ``[tool.zorkgpt]`` of a TOML file, or in all of the latter.

    Raises ``ConfigurationError`` for a file that cannot be read, with the line if it is not valid.
    """
    text, _ = _read(path)
    return (_from_env_file if path.name == ENV_FILE else _from_toml)(path, text)


def _checked(settings: Iterable[Setting], writers: str) -> Iterator[Setting]:
    """Yield the settings of a file. Raises ``ConfigurationError`` if another user may have set a URL or a key.

    writers: the other users who can write the file, in words; "" if there are none
    """
    for setting in settings:
        keys = (leaf.key for leaf in _leaves(setting) if leaf.name.rpartition(".")[2] in OF_SERVERS)
        key = next(keys, None) if writers else None
        if key:
            raise ConfigurationError(
                f"{setting.file} is not used because {writers}: it gives {key}, and URLs and keys are used only "
                "from files that no other user can write"
            )
        yield setting


def _env_values(path: Path, text: str) -> dict[str, str]:
    """Return the program's variables in a ``.env`` file. The lines of other programs are ignored.

    Raises ``ConfigurationError`` with the line of a variable without a value, and of a quote that is not closed: it may
    contain a variable of the program.
    """
    values: dict[str, str] = {}
    for binding in parse_stream(StringIO(text)):
        written, key, value = binding.original.string, binding.key, binding.value
        names = _OURS.findall(written)
        is_half = (value or " ")[-1] in "'\"" and not _QUOTED.search(written)
        is_whole = len(names) == 1 and written.lstrip().startswith(names[0]) and not is_half
        if is_whole and key and (value is not None or key in values):
            values[key] = values[key] if value is None else value
        elif names:
            line = binding.original.line + written[: -len(written.lstrip()) or None].count("\n")
            raise ConfigurationError(
                f"{path}, line {line}: expected NAME=VALUE, with a quote on both sides of the value or on none"
            )
    return values


def _from_env_file(path: Path, text: str) -> Iterator[Setting]:
    return _from_environment(_env_values(path, text), f"in {path}", path)


def variable_of(option: str) -> str:
    """Return the name of the environment variable that sets an option."""
    return f"{PREFIX}{option.upper().replace('.', '__')}"


def _from_environment(environ: Mapping[str, str | None], source: str, file: Path | None = None) -> Iterator[Setting]:
    for key, name in WELL_KNOWN.items():
        if environ.get(key):
            yield Setting(name, environ[key], key, source, file)
    for key, value in environ.items():
        if value and key.startswith(PREFIX) and key not in NOT_OPTIONS:
            yield Setting(key.removeprefix(PREFIX).lower().replace("__", "."), value, key, source, file)


def _from_toml(path: Path, text: str) -> Iterator[Setting]:
    if any(part.count(".") > _MOST_DOTS for line in text.splitlines() for part in line.split("=")):
        raise ConfigurationError(f"{path} is not TOML: a key has more than {_MOST_DOTS} parts")
    try:
        document: dict[str, object] = tomllib.loads(text)
        str(document)  # raises for a number that could not be written to a manifest and read again
    except (ValueError, RecursionError) as error:
        last_line = f"at line {text.count(chr(10)) + 1}, the last one"
        message = str(error).replace("at end of document", last_line)
        raise ConfigurationError(f"{path} is not TOML: {message}") from error
    tool = document.get("tool")
    if isinstance(tool, dict) and "zorkgpt" in tool:
        table, prefix = tool["zorkgpt"], "tool.zorkgpt."
    else:
        table, prefix = ({} if path.name == "pyproject.toml" else document), ""
    if not isinstance(table, dict):
        raise ConfigurationError(f"tool.zorkgpt in {path} must be a table")
    for key, value in table.items():
        yield Setting(key, value, prefix + key, f"in {path}", path)


def _read(path: Path) -> tuple[str, str]:
    """Return the text of a file, and the other users who can write it, in words."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            return file.read(), writers_besides_user(os.fstat(file.fileno()))
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error

"""Options in nested groups: listing them, and resolving them from their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, reduce
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from session.errors import ConfigurationError


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

    def value_in(self, root: Options) -> object:
        """Return the option's value in a tree of groups."""
        return reduce(getattr, self.name.split("."), root)


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


def options_of(group: type[Options], prefix: str = "") -> Iterator[Option]:
    """Yield every option of the group and of the groups in it, in the order of definition."""
    schemas = _schemas(group)
    for name, definition in group.model_fields.items():
        inner = definition.annotation
        if isinstance(inner, type) and issubclass(inner, Options):
            yield from options_of(inner, f"{prefix}{name}.")
        else:
            yield Option(prefix + name, schemas[name])


@cache
def _schemas(group: type[Options]) -> Mapping[str, Mapping[str, Any]]:
    """Return the JSON schema of every option of the group, which takes milliseconds to compute."""
    schemas: Mapping[str, Mapping[str, Any]] = group.model_json_schema()["properties"]
    return schemas


def resolve(root: type[Group], settings: Iterable[Setting]) -> tuple[Group, dict[str, str]]:
    """Return a ``root`` with the settings, where later ones override earlier ones, and the source of each option.

    Raises ``ConfigurationError`` for an unknown option and for an invalid value.
    """
    chosen = _chosen(root, settings)
    try:
        tree = root.model_validate(_nested({name: leaf.value for name, leaf in chosen.items()}))
    except ValidationError as error:
        raise _misfit(error, chosen) from error
    return tree, {name: leaf.origin for name, leaf in chosen.items()}


def files_of(root: type[Options], settings: Iterable[Setting]) -> dict[str, Path]:
    """Return the file of each option that comes from a file. Raises ``ConfigurationError``."""
    return {name: leaf.file for name, leaf in _chosen(root, settings).items() if leaf.file}


def values_given(root: type[Options], table: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a table for the options of ``root``, each in its group.

    Raises ``ConfigurationError`` for an unknown option.
    """
    chosen = _chosen(root, (Setting(name, value, name, "in the dictionary") for name, value in table.items()))
    return _nested({name: leaf.value for name, leaf in chosen.items()})


def _chosen(root: type[Options], settings: Iterable[Setting]) -> dict[str, Setting]:
    """Return the last setting of each option by the option's own name."""
    names = [option.name for option in options_of(root)]
    chosen: dict[str, Setting] = {}
    for setting in settings:
        for leaf in _leaves(setting, {*names, *root.aliases}):
            name = root.aliases.get(leaf.name, leaf.name)
            if name not in names:
                raise _unknown(leaf, names)
            chosen[name] = leaf
    return chosen


def _leaves(setting: Setting, names: set[str]) -> Iterator[Setting]:
    is_group = any(name.startswith(f"{setting.name}.") for name in names)
    table = setting.value
    if not isinstance(table, dict) or setting.name in names or not (table or is_group):
        yield setting
        return
    for key, value in table.items():
        inner = replace(setting, name=f"{setting.name}.{key}", value=value, key=f"{setting.key}.{key}")
        yield from _leaves(inner, names)


def _unknown(setting: Setting, names: list[str]) -> ConfigurationError:
    inner = next((name for name in names if name.startswith(f"{setting.name}.")), None)
    if inner:
        return ConfigurationError(f"{setting.origin} is a group of options, such as {inner}")
    (closest,) = get_close_matches(setting.name.lower(), names, n=1, cutoff=0)
    return ConfigurationError(f"{setting.origin} is not an option; the closest one is {closest}")


def _nested(values: Mapping[str, object]) -> dict[str, object]:
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        group = tree
        for part in groups:
            group = group.setdefault(part, {})
        group[last] = value
    return tree


def _misfit(error: ValidationError, chosen: Mapping[str, Setting]) -> ConfigurationError:
    first = error.errors(include_input=False, include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return ConfigurationError(message)
    place = ".".join(part for part in first["loc"] if isinstance(part, str))
    name = next(name for name in chosen if place == name or place.startswith(f"{name}."))
    setting = replace(chosen[name], key=chosen[name].key + place.removeprefix(name))
    return ConfigurationError(f"{setting.origin}: {message}".replace(": Input should", " should"))

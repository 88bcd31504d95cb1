"""Fills the prompts, which are files beside this module or a run's own, by ``string.Template``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from string import Template

from session.errors import ConfigurationError
from session.game_configuration import ChangedPrompt
from session.text import quoted

STRUCTURED = frozenset({"map", "memories"})
"""Fields with headings of their own, in which every text of others is part of a line."""

_CHANGED: ContextVar[Mapping[str, ChangedPrompt] | None] = ContextVar("changed_prompts", default=None)
"""The prompts of the run that this thread plays, in place of the files."""


@contextmanager
def using_prompts(prompts: Mapping[str, ChangedPrompt]) -> Iterator[None]:
    """Fill these prompts in place of the files within the block."""
    token = _CHANGED.set(prompts)
    try:
        yield
    finally:
        _CHANGED.reset(token)


def check_prompts(prompts: Mapping[str, ChangedPrompt]) -> None:
    """Raise ``ConfigurationError`` for a prompt that the program does not have, without text, or with other fields."""
    names = [each.name.removesuffix(".md") for each in files("zorkgpt.prompts").iterdir() if each.name.endswith(".md")]
    for name, prompt in prompts.items():
        if name not in names:
            closest = get_close_matches(name, names, n=1)
            advice = f"the closest one is {closest[0]}" if closest else f"there are {', '.join(sorted(names))}"
            raise ConfigurationError(f"prompts.{name} ({prompt.file}) is not a prompt; {advice}")
        if not prompt.text.strip():
            raise ConfigurationError(f"prompts.{name}: {prompt.file} is empty")
        given, own = _fields(Template(prompt.text)), prompt_fields(name)
        for problem, wrong in (("lacks the field", own - given), ("has an unknown field,", given - own)):
            if wrong:
                shown = ", ".join(f"${field}" for field in sorted(wrong))
                raise ConfigurationError(f"prompts.{name}: {prompt.file} {problem} {shown}; write $$ for a dollar sign")


@cache
def prompt_fields(name: str) -> frozenset[str]:
    """Return the names of the fields that the prompt ``name`` has."""
    return _fields(_template(name))


def fill_prompt(name: str, **fields: str) -> str:
    """Return the text of the prompt ``name`` with every field filled in.

    In a field, a line that looks like a heading of the prompt gets a bar before it, except in those of ``STRUCTURED``.

    Raises ``KeyError`` for a field that is missing and ``TypeError`` for one that the prompt has no place for.
    """
    changed = (_CHANGED.get() or {}).get(name)
    template = _template(name) if changed is None else Template(changed.text)
    unused = fields.keys() - prompt_fields(name)
    if unused:
        raise TypeError(f"prompt {name} has no place for {', '.join(sorted(unused))}")
    # Headings of the template: lines that begin with words in capitals.
    headings = "|".join(map(re.escape, re.findall(r"(?m)^[A-Z]{2}[A-Z' ]*", template.template if fields else "")))
    return template.substitute(
        {field: text if field in STRUCTURED else quoted(text, headings) for field, text in fields.items()}
    ).strip()


def _fields(template: Template) -> frozenset[str]:
    """Return the names of the fields; "" for a dollar sign that begins none."""
    found = template.pattern.finditer(template.template)
    return frozenset(match["named"] or match["braced"] or "" for match in found if match["escaped"] is None)


@cache
def _template(name: str) -> Template:
    return Template((files("zorkgpt.prompts") / f"{name}.md").read_text(encoding="utf-8"))

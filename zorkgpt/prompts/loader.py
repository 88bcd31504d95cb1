"""Fills the prompts, which are files beside this module, by ``string.Template``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


@cache
def prompt_fields(name: str) -> frozenset[str]:
    """Return the names of the fields that the prompt ``name`` has."""
    template = _template(name)
    found = (match["named"] or match["braced"] for match in template.pattern.finditer(template.template))
    return frozenset(field for field in found if field)


def fill_prompt(name: str, **fields: str) -> str:
    """Return the text of ``name``.md with every field filled in.

    Raises ``KeyError`` for a field that is missing and ``TypeError`` for one that the prompt has no place for.
    """
    template = _template(name)
    unused = fields.keys() - prompt_fields(name)
    if unused:
        raise TypeError(f"prompt {name} has no place for {', '.join(sorted(unused))}")
    return template.substitute(fields).strip()


@cache
def _template(name: str) -> Template:
    return Template((files("zorkgpt.prompts") / f"{name}.md").read_text(encoding="utf-8"))

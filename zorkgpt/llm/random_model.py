"""A model that answers at random in the form that it is asked for, at once: for measuring without a model."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from session.errors import ResponseInvalid
from session.token_counter import FIRST_GUESS
from zorkgpt.llm.language_model import Answer, Completion, Prompt, Role, TokenUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_WORDS = (
    "I go on from here to see what lies behind the next turn of the way, for nothing that was tried so far speaks "
    "against it and what was found there may be of use later on"
)
_FOLLOWING = "follow route "
_ANY_COMMANDS = (
    *("north", "south", "east", "west", "up", "down", "northeast", "northwest", "southeast", "southwest"),
    *("look", "inventory", "take all", "enter", "out"),
)
_PLACE = re.compile(r"^Location: .*\(ID: (\d+)\)", re.MULTILINE)
_TURN = re.compile(r"^\W*Turn (\d+)", re.MULTILINE)


class RandomModel:
    """Draws a command from those that the agent may choose from, and fills every other answer with words.

    It draws from those that it has chosen least at the place, in all episodes. A route is followed wherever one is the
    first choice. Where the agent may type what it likes, it moves at random. A token is reckoned at four characters.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311  nothing is kept secret by it
        self._numbers = count(1)
        self._tried: Counter[tuple[str, object]] = Counter()

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return an answer of that form. Raises ``ResponseInvalid`` where its form has rules that words do not keep."""
        form = schema.model_json_schema()
        turns = _TURN.findall(prompt.user)
        places = _PLACE.findall(prompt.user)
        draw = partial(self._draw, places[-1] if places else "")
        filler = _Filler(draw, form.get("$defs", {}), self._numbers, int(turns[-1]) if turns else 1)
        try:
            value = schema.model_validate(filler.fill(form))
        except ValidationError as error:
            raise ResponseInvalid(f"no random {schema.__name__} for {role}: {error}") from error
        text = value.model_dump_json()
        asked = len(prompt.system) + len(prompt.user)
        usage = TokenUsage(prompt=round(asked * FIRST_GUESS), completion=round(len(text) * FIRST_GUESS))
        return Completion(value, "", text, "random", usage, seconds=0.0, requests=1)

    def _draw(self, place: str, choices: Sequence[Any]) -> object:
        if str(choices[0]).startswith(_FOLLOWING):
            return choices[0]
        least = min(self._tried[place, choice] for choice in choices)
        drawn = self._random.choice([choice for choice in choices if self._tried[place, choice] == least])
        self._tried[place, drawn] += 1
        return drawn


class _Filler:
    """Makes an instance of a JSON schema.

    draw: chooses from several values
    numbers: of texts, so that no two say the same
    turn: the latest that the prompt tells of, which numbers in answers stand for
    """

    def __init__(
        self,
        draw: Callable[[Sequence[Any]], object],
        definitions: Mapping[str, Any],
        numbers: Iterator[int],
        turn: int,
    ) -> None:
        self._draw = draw
        self._definitions = definitions
        self._numbers = numbers
        self._turn = turn

    def fill(self, form: Mapping[str, Any], name: str = "") -> object:
        """Return a value of that form; ``name`` is that of its field. A number that may be missing is."""
        if "$ref" in form:
            return self.fill(self._definitions[form["$ref"].rpartition("/")[2]], name)
        if "anyOf" in form:
            first, *others = form["anyOf"]
            is_number_or_none = first.get("type") == "integer" and {"type": "null"} in others
            return None if is_number_or_none else self.fill(first, name)
        choices = form.get("enum") or ([form["const"]] if "const" in form else [])
        return self._draw(choices) if choices else self._free(form, name)

    def _free(self, form: Mapping[str, Any], name: str) -> object:
        match form["type"]:
            case "object":
                return {field: self.fill(each, field) for field, each in form.get("properties", {}).items()}
            case "array":
                return [self.fill(form["items"], name) for _ in range(form.get("minItems", 1))]
            case "string":
                return self._draw(_ANY_COMMANDS) if name == "action" else self._text(form)
            case "integer":
                return min(self._turn, form.get("maximum", self._turn))
            case kind:
                return {"boolean": True, "number": 0.5}[kind]

    def _text(self, form: Mapping[str, Any]) -> str:
        if "pattern" in form:
            return "I go on from here."
        return f"{next(self._numbers)}: {_WORDS}"[: form.get("maxLength")]

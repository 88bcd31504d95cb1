"""What a small model is asked about a visit: which of its turns is worth keeping.

What is kept of that turn is the machine's word: its title is the command and its result, and points, deaths, refusals
and what was handled decide on tier and category (docs/specification.md, Memory prompts).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, create_model

from managers.memory.synthesis import VisitMemory
from managers.prompting import turn_text
from session.memory import MemoryStatus
from session.text import counted, cut_at, cut_middle, one_line, text_key
from zorkgpt.llm.language_model import Prompt
from zorkgpt.prompts.loader import fill_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from managers.memory.outcome import ActionOutcome
    from managers.memory.synthesis import VisitNews
    from session.memory import Persistence

LONGEST_QUOTE = 200  # characters
LONGEST_ACTION = 60
LONGEST_RESULT = 50
LEADS_THERE = "It leads there."

_SENTENCE = re.compile(r".+?[.!?](?=\s|$)")


class BriefMemory(BaseModel):
    """The turn that is most worth remembering."""

    turn: int


def worth_keeping(visit: VisitNews) -> list[ActionOutcome]:
    """Return the outcomes of which something may be kept, each by another title, none that is remembered already.

    A text of arrival is not kept, nor a way that is barred: the room shows the one, the map the other.
    """
    known = {text_key(memory.title) for memory in visit.memories if memory.status != MemoryStatus.SUPERSEDED}
    by_title = {text_key(title_of(outcome)): outcome for outcome in visit.outcomes if _is_worth_keeping(outcome)}
    return [outcome for title, outcome in by_title.items() if title not in known]


def brief_prompt(outcomes: Sequence[ActionOutcome]) -> Prompt:
    """Return the question which of the outcomes, all of one location, is most worth keeping."""
    place = cut_at(one_line(outcomes[0].location_name), LONGEST_ACTION) or f"Location #{outcomes[0].location_id}"
    lines = (turn_text(outcome.turn, f"{title_of(outcome)} {_text(outcome)}") for outcome in outcomes)
    user = fill_prompt("memory_brief_visit", location=place, outcomes="\n".join(lines))
    return Prompt(fill_prompt("memory_brief"), user)


def brief_schema(outcomes: Sequence[ActionOutcome]) -> type[BriefMemory]:
    """Return a ``BriefMemory`` that allows only the turns of these outcomes."""
    turns: Any = Literal[tuple(outcome.turn for outcome in outcomes)]
    return create_model(BriefMemory.__name__, __base__=BriefMemory, __doc__=BriefMemory.__doc__, turn=(turns, ...))


def memory_of(outcome: ActionOutcome) -> VisitMemory:
    """Return the memory of an outcome."""
    return VisitMemory(
        turn=outcome.turn,
        category=_category(outcome),
        persistence=_tier(outcome),
        should_remember=True,
        memory_title=title_of(outcome),
        memory_text=_text(outcome),
    )


def title_of(outcome: ActionOutcome) -> str:
    """Return the command and its result: "`open drawer`: a can of oil"."""
    results = ", ".join(_results(outcome)) or _first_sentence(outcome)
    return f"`{cut_at(one_line(outcome.action), LONGEST_ACTION)}`: {cut_at(results, LONGEST_RESULT)}"


def _is_worth_keeping(outcome: ActionOutcome) -> bool:
    if outcome.had_effect:
        return bool(outcome.score_change) or outcome.died or not (outcome.moved and outcome.is_direction)
    if outcome.seems_failed:
        return not outcome.is_direction
    is_room = one_line(outcome.response).startswith(outcome.location_name)
    return outcome.is_substantial and not is_room


def _results(outcome: ActionOutcome) -> Iterator[str]:
    """Yield what came of the command, as far as the machine tells."""
    if outcome.died:
        yield "death"
    if outcome.score_change:
        yield f"{outcome.score_change:+d} {counted(abs(outcome.score_change), 'point').split()[1]}"
    if outcome.moved and outcome.destination:
        yield f"leads to {outcome.destination}"
    yield from outcome.revealed
    yield from (f"{name} taken" for name in outcome.taken if name not in outcome.revealed)
    yield from (f"{name} laid down" for name in outcome.laid_down)


def _text(outcome: ActionOutcome) -> str:
    """Return the story's words, as far as the title has not got them; those about another place do not count."""
    told = one_line(outcome.response)
    if outcome.moved and not outcome.died:
        told = told.partition(outcome.destination)[0] if outcome.destination else ""
    elif not any(_results(outcome)):
        told = told.removeprefix(_first_sentence(outcome))
    if not told.strip():
        told = "" if outcome.moved else one_line(outcome.response)
    return f'"{cut_middle(told.strip(), LONGEST_QUOTE)}"' if told.strip() else LEADS_THERE


def _first_sentence(outcome: ActionOutcome) -> str:
    told = one_line(outcome.response)
    found = _SENTENCE.match(told)
    return found[0] if found else told


def _tier(outcome: ActionOutcome) -> Persistence:
    """Return ephemeral for what the player moved, took or opened, unless that won or revealed something, or killed."""
    is_lesson = outcome.score_change or outcome.died or outcome.revealed or outcome.moved or not outcome.had_effect
    return "permanent" if is_lesson else "ephemeral"


def _category(outcome: ActionOutcome) -> str:
    if outcome.died or (outcome.score_change or 0) < 0:
        return "DANGER"
    if outcome.score_change:
        return "SUCCESS"
    if outcome.had_effect:
        return "DISCOVERY" if outcome.revealed or outcome.moved else "NOTE"
    return "FAILURE" if outcome.seems_failed else "DISCOVERY"

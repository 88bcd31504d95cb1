"""The agent: reads its context and proposes the next command."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)

from session.game_state import LONGEST_NOTE, LONGEST_OBJECTIVE
from session.values import AgentNote, ObjectiveNote, Proposal, Reading, StopAt
from zorkgpt.llm.language_model import AS_REPAIRED, AS_WRITTEN, TOO_LONG, LanguageModel, Prompt, at_most
from zorkgpt.players.player import TurnContext
from zorkgpt.prompts.loader import fill_prompt

_LABELS = re.compile(
    r"""(?:(?:-?>|\$|(?P<mark>\*\*|["'`]?)(?:next )?(?:command|action)(?:(?P=mark)\s*[:=]|[:=](?P=mark)))\s*)+(?=\S)""",
    re.IGNORECASE,
)
_FENCED = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_AROUND = ('""', "''", "``", "**", "<>", "[]", "\u201c\u201d", "\u2018\u2019", "\u00ab\u00bb", '\\"\\"', "````", "****")
"""The marks before and after a command, in one string."""
_MOST_NESTED = 5  # marks around marks


def without_marks(text: str) -> str:
    """Return a command without what models write around it: a prompt, a label, quotation marks, backticks, a fence.

    Quotation marks within a command stay, as in ``say "hello"``.
    """
    command = text.strip()
    for _ in range(_MOST_NESTED):
        if fenced := _FENCED.fullmatch(command):
            command = fenced[1].strip()
        if label := _LABELS.match(command):
            command = command[label.end() :]
        for marks in _AROUND:
            size = len(marks) // 2
            first, last, inner = marks[:size], marks[size:], command[size:-size].strip()
            is_whole = first not in inner and last not in inner
            is_nested = inner.endswith(last) and not inner.startswith(first) and inner.count(last) % 2 == 0
            if command.startswith(first) and command.endswith(last) and inner and (is_whole or is_nested):
                command = inner
    return command


def _as_command(value: object, info: ValidationInfo, choices: tuple[str, ...]) -> object:
    if info.context in {AS_WRITTEN, AS_REPAIRED} and isinstance(value, str) and value not in choices:
        return without_marks(value)
    return value


def _or_else(replacement: Callable[[], object]) -> WrapValidator:
    """Return a validator that replaces an invalid value, so that it costs no turn, but for one that is too long."""

    def replace_invalid(value: object, validate: ValidatorFunctionWrapHandler) -> object:
        try:
            return validate(value)
        except ValidationError as error:
            if any(each["type"] == TOO_LONG for each in error.errors()):
                raise
            return replacement()

    return WrapValidator(replace_invalid)


class ReadingAnswer(BaseModel):
    """What a model reads out of the story's latest text."""

    is_room_description: bool = Field(default=False, description="The latest text describes the place as a whole")
    exits: list[str] = Field(default_factory=list, description="Ways out that the latest text names, one word each")
    in_combat: bool = Field(default=False, description="Somebody is fighting the player right now")

    def reading(self) -> Reading:
        """Return the answer as a value."""
        return Reading(self.is_room_description, tuple(self.exits), self.in_combat)


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [] if value is None else [value]


class ObjectiveAnswer(BaseModel):
    """Objectives that are achieved, whole or in part, given up, or new."""

    done: Annotated[list[int], BeforeValidator(_as_list)] = Field(
        default_factory=list, description="numbers of the objectives that are achieved"
    )
    rest: Annotated[str, at_most(LONGEST_OBJECTIVE)] | None = Field(
        None,
        description="what is left to do of the objective in done, if only a part of it is achieved, "
        f"at most {LONGEST_OBJECTIVE} characters; else null",
    )
    drop: Annotated[list[int], BeforeValidator(_as_list)] = Field(
        default_factory=list, description="numbers of the objectives to give up, which are not achieved"
    )
    new: Annotated[list[Annotated[str, at_most(LONGEST_OBJECTIVE)]], BeforeValidator(_as_list)] = Field(
        default_factory=list,
        description=f"new objectives, each in one sentence of at most {LONGEST_OBJECTIVE} characters",
    )

    def note(self) -> ObjectiveNote | None:
        """Return the answer as a value, ``None`` if it is empty."""
        new = [text for text in map(str.strip, self.new) if text]
        note = ObjectiveNote(
            self.done[0] if self.done else None,
            new[0] if new else "",
            (self.rest or "").strip(),
            tuple(self.done[1:]),
            tuple(new[1:]),
            tuple(self.drop),
        )
        return None if note == ObjectiveNote() else note


class NoteAnswer(BaseModel):
    """A line to keep in view."""

    text: Annotated[str, at_most(LONGEST_NOTE)] = Field(
        "", description=f"the line, at most {LONGEST_NOTE} characters; empty to drop the note of that number"
    )
    number: int | None = Field(None, description="number of the note to replace, or null for a new one")

    def note(self) -> AgentNote | None:
        """Return the answer as a value, ``None`` if it changes nothing."""
        note = AgentNote(self.text.strip(), self.number)
        return None if note == AgentNote() else note


_Objective = Annotated[ObjectiveAnswer | None, _or_else(lambda: None)]
_Note = Annotated[NoteAnswer | None, _or_else(lambda: None)]
_Commands = Annotated[list[Annotated[str, BeforeValidator(partial(_as_command, choices=()))]], _or_else(list)]
_Number = Annotated[int | None, _or_else(lambda: None)]
_StopAt = Annotated[StopAt, _or_else(lambda: "news")]
_FURTHER = "Further commands, at most 12, to play after it until something new happens; empty if none is clear"
_UNTIL = (
    "What ends a course beside failed moves, lost points, new places, the dark and questions. "
    "news: what ends failure, and new sentences; "
    "failure: commands that fail or change nothing, things that you get, lose or first see and that no command names; "
    "place: points won, things first seen, and three commands in a row without a turn of the story; "
    "end: only three such commands"
)
_WAYS = {
    "follow": "Number of a route to follow instead of typing the command, else null",
    "until": "Number of the last command of that route to play, null for all of them",
    "go_to": "Number of a location on the map to walk to instead of typing the command, else null",
}


@dataclass(frozen=True, slots=True)
class ModelPlayer:
    """Requests the next command from a model.

    reads: the answer also contains a reading of the latest text
    notes_objectives: the answer may mark an objective as achieved, give one up or set a new one
    keeps_notes: the answer may contain a line to keep in view
    plans_ahead: the answer may contain further commands, unless the agent chooses from a list
    travels: the answer may contain a route to follow or a location to walk to
    reasoning_length: limits the reasoning to one plain sentence of at most this many characters, for models that would
        ramble; ``None``: no limit; 0: no reasoning
    """

    name: ClassVar[str] = "the model"

    model: LanguageModel
    reads: bool = False
    notes_objectives: bool = False
    keeps_notes: bool = False
    plans_ahead: bool = False
    travels: bool = False
    reasoning_length: int | None = None

    def system_prompt(self, *, assisted: bool, offers_ways: bool = True) -> str:
        """Return the fixed instructions, which describe the answer's fields in their order.

        assisted: the agent chooses from valid actions
        offers_ways: it may follow a route or walk to a location, if it ``travels``
        """
        parts = {
            "agent_valid_actions" if assisted else "agent": True,
            "agent_reading": self.reads,
            "agent_command" if self.reasoning_length == 0 else "agent_answer": True,
            "agent_then": self.plans_ahead and not assisted,
            "agent_objective": self.notes_objectives,
            "agent_note": self.keeps_notes,
            "agent_ways": self.travels and offers_ways and not assisted,
        }
        return "\n\n".join(fill_prompt(name) for name, is_part in parts.items() if is_part)

    def unasked(self, context: TurnContext, step: Proposal | None) -> Proposal | None:
        """Return ``step``, or else the only command that may be chosen, for which the model is not called."""
        choices = () if context.route_choices else context.valid_actions or ()
        only = Proposal(choices[0], "The only command on the list; no model was asked.") if len(choices) == 1 else None
        return step or only

    def propose(self, context: TurnContext) -> Proposal:
        """Return the model's next command.

        Raises ``LanguageModelError``; a command is never invented (docs/records/specification.md, No invented turns).
        """
        assisted = context.valid_actions is not None
        system = self.system_prompt(assisted=assisted, offers_ways=context.offers_ways)
        travels = self.travels and context.offers_ways and not assisted
        listed = (*(route.choice for route in context.route_choices), *(context.valid_actions or ()))
        schema = _answer_schema(self, listed if assisted else None, travels=travels)
        prompt = context.prompt(system)
        completion = self.model.complete("agent", Prompt.of(system, prompt.parts, prompt.shows), schema)
        answer: Any = completion.value
        chosen = next((route.number for route in context.route_choices if route.choice == answer.action), None)
        reading: ReadingAnswer | None = getattr(answer, "reading", None)
        objective: ObjectiveAnswer | None = getattr(answer, "objective", None)
        note: NoteAnswer | None = getattr(answer, "note", None)
        return Proposal(
            action=answer.action.strip(),
            reasoning=getattr(answer, "reasoning", "").strip() or completion.reasoning,
            reading=None if reading is None else reading.reading(),
            objective=None if objective is None else objective.note(),
            follow=getattr(answer, "follow", chosen),
            go_to=getattr(answer, "go_to", None),
            until=getattr(answer, "until", None),
            then=tuple(getattr(answer, "then", ())),
            stop_at=getattr(answer, "stop_at", "news"),
            note=None if note is None else note.note(),
        )


@lru_cache(maxsize=128)
def _answer_schema(agent: ModelPlayer, valid_actions: tuple[str, ...] | None, *, travels: bool) -> type[BaseModel]:
    """Return the schema of an answer, in whose order the model writes; equal arguments give the same class."""
    fields: dict[str, Any] = {}
    length = agent.reasoning_length
    if agent.reads:
        fields["reading"] = (Annotated[ReadingAnswer, _or_else(ReadingAnswer)], Field(default_factory=ReadingAnswer))
    if length is not None and length > 0:  # one plain sentence in the first person
        fields["reasoning"] = (str, Field(pattern=rf"^I [A-Za-z ,']{{8,{max(length, 12) - 3}}}\.$"))
    elif length is None and valid_actions:
        fields["reasoning"] = (str, Field())
    elif length is None:
        fields["reasoning"] = (str, Field("", description="Why this command now, in a sentence or two"))
    shortest = 1 if length is None and not valid_actions else None
    action: Any = Annotated[
        Literal[valid_actions] if valid_actions else str,
        Field(min_length=shortest),
        BeforeValidator(partial(_as_command, choices=valid_actions or ())),
    ]
    fields["action"] = (action, Field(description="The one command to type"))
    if agent.plans_ahead and valid_actions is None:
        fields["then"] = (_Commands, Field([], description=_FURTHER))
        fields["stop_at"] = (_StopAt, Field("news", description=_UNTIL))
    if agent.notes_objectives:
        fields["objective"] = (
            _Objective,
            Field(None, description="an objective achieved, given up or new, mostly null"),
        )
    if agent.keeps_notes:
        fields["note"] = (_Note, Field(None, description="a line to keep in view, mostly null"))
    if travels:
        fields |= {way: (_Number, Field(None, description=description)) for way, description in _WAYS.items()}
    return create_model("ReadingAgentAnswer" if agent.reads else "AgentAnswer", **fields)

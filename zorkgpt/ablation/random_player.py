"""A player that needs no model, and with it the estimate of an ablation's calls, tokens, dollars and hours.

For the estimate, each story is played in every arm for two short episodes with random answers instead of models. The
calls of the second episode stand for all others, so the figures depend on the configuration and the stories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event as Flag
from typing import Any

from pydantic import BaseModel, ValidationError

from orchestration.parts import Parts, open_story
from orchestration.run import open_run
from session.commands import COMMON_COMMANDS
from session.errors import ResponseInvalid
from session.events import EpisodeStarted, Event, ModelAnswered, ModelFailed, TurnPlayed
from session.game_configuration import BudgetOptions, GameConfiguration
from session.resolved_configuration import EMBEDDED_PROFILE
from session.text import FIRST_GUESS
from session.values import Role
from zorkgpt.ablation.plan import AblationPlan, Task, first_seed
from zorkgpt.llm.budget import cost_of
from zorkgpt.llm.language_model import Answer, Completion, Prompt, TokenUsage
from zorkgpt.llm.run_model import ChosenModel
from zorkgpt.players.player import RandomPlayer

_WORDS = (
    "I go on from here to see what lies behind the next turn of the way, for nothing that was tried so far speaks "
    "against it and what was found there may be of use later on"
)

RANDOM_PROFILE: Mapping[str, object] = {
    **EMBEDDED_PROFILE,
    "agent.player": "random",
    "assist": "fresh-actions,proven-routes",
    "knowledge.enabled": False,
    "simple_memory.enabled": False,
}
"""Options of the random player: all valid actions, routes that were tried out, nothing that only a reader could use."""


@lru_cache(maxsize=128)
def _form_of(schema: type[BaseModel]) -> Mapping[str, Any]:
    """Return the JSON schema, which takes as long as the rest of a random answer by far."""
    return schema.model_json_schema()


class RandomModel:
    """Chooses at random from listed values, and fills everything else with placeholder text.

    An estimate of costs uses it in place of models. A token is estimated at four characters.

    turn: the number for integers, so that answers cite the latest turn
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311  not used for secrets
        self._numbers = count(1)  # of the texts, so that no two are equal
        self._definitions: Mapping[str, Any] = {}
        self.turn = 1

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return an answer of that schema. Raises ``ResponseInvalid`` if placeholder text breaks a rule of it."""
        form = _form_of(schema)
        self._definitions = form.get("$defs", {})
        try:
            value = schema.model_validate(self._fill(form))
        except ValidationError as error:
            raise ResponseInvalid(f"no random {schema.__name__} for {role}: {error}") from error
        text = value.model_dump_json()
        usage = TokenUsage(prompt=round(prompt.length * FIRST_GUESS), completion=round(len(text) * FIRST_GUESS))
        return Completion(value, "", text, "random", usage, seconds=0.0, requests=1)

    def _fill(self, form: Mapping[str, Any], name: str = "") -> object:
        """Return a value of a JSON schema, the field ``name``'s. Optional integers and lists are left out."""
        if form.get("default") == []:
            return []
        if "$ref" in form:
            return self._fill(self._definitions[form["$ref"].rpartition("/")[2]])
        if "anyOf" in form:
            first, *others = form["anyOf"]
            is_number_or_none = first.get("type") == "integer" and {"type": "null"} in others
            return None if is_number_or_none else self._fill(first)
        choices = form.get("enum") or ([form["const"]] if "const" in form else [])
        if form.get("type") == "string" and name == "action":
            choices = choices or COMMON_COMMANDS
        return self._random.choice(choices) if choices else self._fill_freely(form)

    def _fill_freely(self, form: Mapping[str, Any]) -> object:
        match form["type"]:
            case "object":
                return {field: self._fill(each, field) for field, each in form.get("properties", {}).items()}
            case "array":
                return [self._fill(form["items"]) for _ in range(form.get("minItems", 1))]
            case "string" if "pattern" in form:
                return "I go on from here."
            case "string":
                return f"{next(self._numbers)}: {_WORDS}"[: form.get("maxLength")]
            case "integer":
                return min(self.turn, form.get("maximum", self.turn))
            case kind:
                return {"boolean": True, "number": 0.5}[kind]


@contextmanager
def open_random_player(configuration: GameConfiguration) -> Iterator[Parts]:
    """Open the story, and a player that draws at random from the seed of the agent's sampling."""
    seed = configuration.role("agent").sampling.seed or 1
    with open_story(configuration) as parts:
        yield replace(parts, model=ChosenModel(RandomModel(seed)), player=RandomPlayer(seed))


EPISODES = 2
MOST_TURNS = 100
"""Turns of a rehearsed episode, at most; for longer ones its turns are counted more often."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What all runs of an arm with a story will take.

    turns: at most; an episode that ends before its limit has fewer
    prompt_tokens, answer_tokens: four characters each; what a model thinks before it answers is not among them
    dollars: by the prices that are known, and as if no server had kept anything in its cache; ``None``: unknown
    seconds: of the program itself, without its models
    """

    story: str
    arm: str
    turns: int
    calls: int
    prompt_tokens: int
    answer_tokens: int
    dollars: float | None
    seconds: float

    def hours(self, seconds_a_call: float, workers: int) -> float:
        """Return the duration in hours with this many runs in parallel."""
        return (self.seconds + self.calls * seconds_a_call) / workers / 3600


def estimates(plan: AblationPlan) -> Iterator[Estimate]:
    """Yield what every arm will take with each story, in the plan's order. Raises ``ZorkGPTError``."""
    for task in plan.tasks():
        if task.pair == 1:
            yield _estimate(task, plan)


def _estimate(task: Task, plan: AblationPlan) -> Estimate:
    limit = task.configuration.max_turns_per_episode
    asked = _rehearse(task.configuration.model_copy(update={"max_turns_per_episode": min(limit, MOST_TURNS)}))
    played = [event for event in asked if isinstance(event, TurnPlayed)]
    calls = [event for event in asked if isinstance(event, ModelAnswered | ModelFailed)]
    turns = plan.pairs * plan.episodes * limit
    times = turns / len(played)
    costs = [
        cost_of(replace(call, model=task.configuration.role(call.role).model or ""), task.configuration)
        for call in calls
    ]
    known = [cost for cost in costs if cost is not None]
    return Estimate(
        story=task.story,
        arm=task.arm,
        turns=turns,
        calls=round(times * len(calls)),
        prompt_tokens=round(times * sum(call.prompt_tokens for call in calls)),
        answer_tokens=round(times * sum(call.completion_tokens for call in calls)),
        dollars=times * sum(known) if len(known) == len(costs) else None,
        seconds=times * sum(event.seconds for event in played),
    )


def _rehearse(configuration: GameConfiguration) -> list[Event]:
    """Return the events of the last rehearsed episode."""
    events: list[Event] = []
    seed = first_seed(configuration)
    answers = RandomModel(seed)

    def show(event: Event) -> None:
        if isinstance(event, EpisodeStarted):
            events.clear()
        elif isinstance(event, TurnPlayed):
            answers.turn = event.record.turn
        events.append(event)

    with TemporaryDirectory(prefix="zorkgpt-") as folder:
        update = {"zork_game_workdir": Path(folder, "work"), "budgets": BudgetOptions()}
        configuration = configuration.model_copy(update=update)
        model = ChosenModel(answers, ("random",))
        player = None if configuration.agent.player == "model" else RandomPlayer(seed)  # others propose without a call
        with (
            open_story(configuration) as parts,
            open_run(
                configuration, replace(parts, model=model, player=player), episodes=EPISODES, show=show, stop=Flag()
            ) as run,
        ):
            run.play()
    return events

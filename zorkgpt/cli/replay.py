"""``zorkgpt replay``: plays a run again from its journal, to prove it or to fork it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.latest_run import StoryOfRun, chosen_run, read_turn, story_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from managers.base_manager import BaseManager
    from orchestration.history import Branch, Replayed
    from session.events import Event
    from session.game_configuration import GameConfiguration
    from zorkgpt.llm.run_model import RepeatedCall


def replay(
    run: common_options.RunOrLatest = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare every prompt, observation and file; this is the default.")
    ] = False,
    from_actions: Annotated[
        bool,
        typer.Option(
            "--from-actions",
            help="Give the story the commands alone, and compare what it answers; or play a file of commands.",
        ),
    ] = False,
    fork_at: Annotated[
        str | None,
        typer.Option(help="Repeat the run up to that turn, then play on into a new run.", metavar="[EPISODE:]TURN"),
    ] = None,
    without_memory: Annotated[
        list[str] | None, typer.Option(help="Of the fork: a memory that is gone from there on.", metavar="TITLE")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Of the fork: the agent's model from there on.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Of the fork: where its models are served.")] = None,
    game: StoryOfRun = None,
    workdir: common_options.Workdir = None,
    max_cost: common_options.MaxCost = None,
    max_tokens: common_options.MaxTokens = None,
    max_time: common_options.MaxTime = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Of the fork: only how it began and ended.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Of the fork: every event as a line of JSON.")] = False,
) -> None:
    """Play a run again without a model, or fork it at a turn. A fork plays on differently from that turn."""
    if sum((verify, from_actions, fork_at is not None)) > 1:
        raise ConfigurationError("--verify, --from-actions and --fork-at are three ways: choose one")
    of_fork = {
        "agent_model": model,
        "llm.base_url": base_url,
        **common_options.budgets(max_cost, max_tokens, max_time),
    }
    if fork_at is None and (without_memory or any(value is not None for value in of_fork.values())):
        raise ConfigurationError(
            "--without-memory, --model, --base-url and --max-... say how a fork goes on: add --fork-at TURN"
        )
    options = {"zork_game_workdir": workdir, "game.file": story_file(game), **of_fork}
    now = common_options.resolve(options).configuration
    if from_actions and run is not None and Path(run).is_file():
        from zorkgpt.cli.command_script import play_script

        play_script(Path(run), now)
        return
    try:
        folder = chosen_run(now.zork_game_workdir, run, game)
    except StoreError as error:
        if from_actions and run is not None:
            raise StoreError(f"{error}; nor is there a file {run}") from error
        raise
    if fork_at is not None:
        branch = _branch(folder, fork_at, without_memory or [])
        _fork(folder, now, branch, model, quiet=quiet, as_json=as_json, repeated=[("--game", game)])
    else:
        _report(folder, repeat(folder, now, from_actions=from_actions))


def repeat(
    folder: Path,
    now: GameConfiguration,
    *,
    from_actions: bool = False,
    show: Callable[[Event], None] | None = None,
    asked: Callable[[RepeatedCall], None] | None = None,
    meet: Callable[[Sequence[BaseManager]], None] | None = None,
    salvages: bool = False,
) -> Replayed:
    """Play the run of that folder again without a model, and compare.

    show, asked, meet: told of every event and every prompt, and given the managers, as in ``verify``
    salvages: repeat a damaged run as far as it goes, as in ``verify``
    Raises ``StoreError``, ``StoryError``, ``ConfigurationError``.
    """
    from orchestration.history import configuration_of, verify, verify_actions
    from orchestration.opening import open_story
    from session.files.journal import read_manifest

    configuration = configuration_of(read_manifest(folder), folder, now)
    with open_story(configuration) as parts:
        if from_actions:
            return verify_actions(parts, folder, _nothing)
        return verify(configuration, parts, folder, show or _nothing, asked, meet, salvages=salvages)


def _report(folder: Path, replayed: Replayed) -> None:
    from session.files.journal import read_manifest

    turns = counted(replayed.turns, "turn")
    run = f"Run {folder.name} of {read_manifest(folder).story}"
    if replayed.difference is not None:
        from zorkgpt.cli.difference_view import print_side_by_side

        print_side_by_side(replayed.difference)
        typer.echo(f"{run} differs after {turns}: line {replayed.difference.line} of its journal")
        raise typer.Exit(1)
    end = "" if replayed.is_whole else ", as far as it was played"
    typer.echo(f"{run} is repeated exactly: {turns}{end}")


def _branch(folder: Path, place: str, without: list[str]) -> Branch:
    from orchestration.history import Branch
    from session.files.journal import read_manifest

    episode, turn = read_turn(read_manifest(folder), place, "--fork-at ")
    return Branch(episode, turn, tuple(without))


def _fork(
    folder: Path,
    now: GameConfiguration,
    branch: Branch,
    model: str | None,
    *,
    quiet: bool,
    as_json: bool,
    repeated: Iterable[tuple[str, object]],
) -> None:
    from orchestration.history import configuration_of, open_fork, require_player, with_keys, with_model
    from orchestration.opening import open_parts
    from session.files.journal import read_manifest
    from zorkgpt.cli.watching import watching

    manifest = read_manifest(folder)
    require_player(manifest, ["agent_model"] if now.agent_model else [])
    then = configuration_of(manifest, folder, now)
    if model is not None:
        then = with_model(then, now, folder, branch)
    then = with_keys(then, folder, now)
    update: dict[str, object] = {"budgets": now.budgets}
    if now.agent_model:
        update["agent_model"] = now.agent_model
    if now.llm.base_url is not None:
        update["llm"] = then.llm.model_copy(update={"base_url": now.llm.base_url, "api_key": now.llm.api_key})
    configuration = then.model_copy(update=update)
    with (
        watching(configuration, quiet=quiet, as_json=as_json, repeated=repeated) as watch,
        open_parts(configuration, watch.bar, watch.stop, *watch.person()) as parts,
        open_fork(
            configuration,
            parts,
            folder,
            branch,
            show=watch.show,
            stop=watch.stop,
            asked=watch.asked,
            repeated=watch.repeats,
        ) as forked,
    ):
        watch.play(forked)


def _nothing(_event: Event) -> None:
    """Verifying shows what differs, not what is the same."""

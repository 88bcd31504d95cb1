"""``zorkgpt replay``: repeats a run from its journal, to verify it or to fork it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError
from session.text import counted, cut_at, printable
from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import print_line, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.events import Event
    from session.files.recording import Difference
    from session.game_configuration import GameConfiguration

LONGEST_SHOWN = 400  # characters of a value
MOST_SHOWN = 12  # differing values


def replay(
    run: common_options.RunOrLatest = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare every prompt, observation and file; this is the default.")
    ] = False,
    from_actions: Annotated[
        bool,
        typer.Option(
            "--from-actions",
            help="Play only the commands and compare the story's answers; or play a file of commands.",
        ),
    ] = False,
    expect_score: Annotated[
        int | None, typer.Option(help="Exit with status 1 unless the score at the end is this one.", metavar="N")
    ] = None,
    fork_at: Annotated[
        str | None,
        typer.Option(help="Repeat the run up to that turn, then play on into a new run.", metavar="[EPISODE:]TURN"),
    ] = None,
    without_memory: Annotated[
        list[str] | None, typer.Option(help="Of the fork: a memory that is gone from there on.", metavar="TITLE")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Of the fork: the agent's model from there on.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Of the fork: URL of its models' server.")] = None,
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
    max_cost: common_options.MaxCost = None,
    max_tokens: common_options.MaxTokens = None,
    max_time: common_options.MaxTime = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Of the fork: only how it begins and ends.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Of the fork: every event as a line of JSON.")] = False,
) -> None:
    """Play a run again without a model, or fork it at a turn. A fork plays on differently from that turn."""
    if sum((verify, from_actions, fork_at is not None)) > 1:
        raise ConfigurationError("--verify, --from-actions and --fork-at exclude each other: choose one")
    of_fork = {
        "agent_model": model,
        "llm.base_url": base_url,
        **common_options.budgets(max_cost, max_tokens, max_time),
    }
    if fork_at is None and any((without_memory, *of_fork.values())):
        raise ConfigurationError(
            "--without-memory, --model, --base-url and --max-... apply to forks: add --fork-at TURN"
        )
    if fork_at is not None and expect_score is not None:
        raise ConfigurationError("--expect-score does not apply to forks")
    now = common_options.configuration_in(workdir, story, of_fork)
    script = Path("/dev/stdin" if run == "-" else run or "")
    if from_actions and script.exists() and not script.is_dir():  # a pipe as well
        _play_script(script, now, expect_score)
        return
    try:
        folder = common_options.chosen_run(now.zork_game_workdir, run, story)
    except StoreError as error:
        if from_actions and run is not None:
            raise StoreError(f"{error}; nor is there a file {run}") from error
        raise
    if fork_at is None:
        _verify(folder, now, expect_score, from_actions=from_actions)
        return
    from orchestration.history import Branch, open_fork
    from orchestration.recorded_configuration import continued
    from session.files.journal import read_manifest
    from session.game_configuration import BudgetOptions
    from zorkgpt.cli.playing import watching

    episode, turn = common_options.read_turn(read_manifest(folder), fork_at, "--fork-at ")
    branch = Branch(episode, turn, tuple(without_memory or ()))
    changes = [f"budgets.{name}" for name in BudgetOptions.model_fields]
    changes += ["agent_model"] if now.agent_model else []
    changes += ["llm.base_url"] if now.llm.base_url is not None else []
    configuration = continued(folder, now, changes, player=None if model is None else "model", turns=turn)
    with (
        watching(configuration, quiet=quiet, as_json=as_json, repeated=[("--game", story)]) as watch,
        open_fork(
            configuration,
            watch.parts,
            folder,
            branch,
            show=watch.show,
            stop=watch.screen.stop,
            repeated=watch.repeats,
        ) as forked,
    ):
        status = watch.play(forked)
    raise typer.Exit(status)


def _verify(folder: Path, now: GameConfiguration, expect_score: int | None, *, from_actions: bool) -> None:
    """Repeat a run and print the result. Exits with status 1 if it differs or does not end with the expected score."""
    from orchestration.history import verify_actions
    from orchestration.parts import open_story
    from orchestration.recorded_configuration import recorded
    from orchestration.run import other_versions
    from session.events import observation_in
    from session.files.journal import read_manifest
    from zorkgpt.report.pages import repeat

    manifest = read_manifest(folder)
    scores: list[int | None] = []

    def see(event: Event) -> None:
        if seen := observation_in(event):
            scores.append(seen.score)

    if from_actions:
        with open_story(recorded(folder, now)) as parts:
            replayed = verify_actions(parts, folder, see)
    else:
        replayed = repeat(folder, now, show=see)
    if versions := other_versions(manifest):
        typer.echo(printable(f"Note: {versions}"), err=True)
    turns, name = counted(replayed.turns, "turn"), f"Run {folder.name} of {manifest.story}"
    if replayed.difference is not None:
        _print_difference(replayed.difference)
        print_line(f"{name} differs after {turns}: line {replayed.difference.line} of its journal")
        raise typer.Exit(1)
    print_line(f"{name} is repeated exactly: {turns}{'' if replayed.is_whole else ', as far as it was played'}")
    _require_score(expect_score, scores[-1] if scores else None)


def _require_score(expected: int | None, score: int | None) -> None:
    """Exit with status 1 if a score is expected and the story's is another one or unknown."""
    if expected is not None and score != expected:
        typer.echo(f"The score is {'unknown' if score is None else score}; expected {expected}")
        raise typer.Exit(1)


def _print_difference(difference: Difference) -> None:
    """Print the values in which the two events differ, as they were recorded and as they are now."""
    expected, found = dict(_values(difference.expected)), dict(_values(difference.found))
    names = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    rows = [
        (name, *(cut_at(event.get(name, "-").replace("\n", "\\n"), LONGEST_SHOWN) for event in (expected, found)))
        for name in names[:MOST_SHOWN]
    ]
    print_line(f"Line {difference.line} of the journal:")
    print_table([("VALUE", "RECORDED", "NOW"), *rows])
    if len(names) > MOST_SHOWN:
        print_line(f"and {len(names) - MOST_SHOWN} more")


def _values(event: Event | str | None) -> Iterator[tuple[str, str]]:
    """Yield the values of an event with their paths; ``None`` stands for the end of a journal."""
    from session.events import EVENTS
    from session.files.recording import timeless

    if event is None or isinstance(event, str):
        yield "kind", event or "the journal ends"
        return
    fields = EVENTS.dump_python(timeless(event), mode="json")
    yield from _leaves("", {"kind": fields["kind"], **fields})


def _leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for place, inner in enumerate(value):
            yield from _leaves(f"{name}[{place}]", inner)
    else:
        yield name, value if isinstance(value, str) else json.dumps(value)


def _play_script(path: Path, configuration: GameConfiguration, expect_score: int | None) -> None:
    """Play the commands of a file and show what the story answers.

    Exits with status 1 if a command cannot reach the story, or the score at the end is not the expected one.
    """
    from orchestration.parts import open_story
    from session.commands import read_script
    from session.events import EpisodeStarted, TurnPlayed
    from session.values import Proposal, TurnRecord, Verdict
    from zorkgpt.cli.screen import plain_lines

    def show(event: Event) -> None:
        for line in plain_lines(event):
            print_line(line)

    seed = configuration.game.seed
    commands = read_script(path)
    with open_story(configuration) as parts:
        before, refused = parts.game.reset(seed), 0
        show(EpisodeStarted(1, seed, before))
        for turn, command in enumerate(commands, start=1):
            after = parts.game.step(command)
            record = TurnRecord(1, turn, before, (Proposal(command),), (Verdict(accepted=True),), after)
            show(TurnPlayed(record, 0.0))
            refused += after.refusal is not None
            before = after
    place = f": it ends at {before.location.label}" if before.location else ""
    score = "" if before.score is None else f", score {before.score}"
    print_line(f"{counted(len(commands), 'command')} played{place}{score}")
    if refused:
        typer.echo(f"{counted(refused, 'command')} did not reach the story")
        raise typer.Exit(1)
    _require_score(expect_score, before.score)

"""Goes on with a run after its latest turn, whatever had stopped it."""

from __future__ import annotations

import json
import logging
import shlex
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from orchestration.bootstrap import Run, assemble
from orchestration.committer import SessionState, journal_line_of
from orchestration.managers import shared_files
from orchestration.run_record import ContinuedRecord, started
from orchestration.zork_orchestrator import Episode, RunPosition
from session.changed_options import changed
from session.errors import ConfigurationError, StoreError, first_problem
from session.events import EVENTS, EpisodeStarted, OptionsChanged, RunEnded, RunStarted, TurnPlayed
from session.file_owner import writers_besides_user
from session.files.journal import JOURNAL_FILE, Journal, read_journal, read_lines, read_manifest
from session.files.recording import Diverged, Recording
from session.files.run_folders import (
    AT_END,
    AT_START,
    MANIFEST,
    RUNS,
    claimed,
    digests_at_start,
    keep_budgets,
    kept_budgets,
)
from session.files.snapshot import SNAPSHOT, boot_id, latest_checkpoint, read_mark, read_snapshot
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.invocation import program
from session.values import ROLES
from zorkgpt.llm.function_model import function_in
from zorkgpt.llm.journaled import Asked, unwatched

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from threading import Event as Flag

    from orchestration.opening import Parts
    from session.configuration.option_groups import ServerOptions
    from session.events import Event
    from session.files.journal import JournalLine, Manifest
    from session.files.run_folders import SharedFiles

BEFORE_RECOVERY = "before_recovery"
_LOG = logging.getLogger("zorkgpt")


def configuration_of(manifest: Manifest, folder: Path, now: GameConfiguration) -> GameConfiguration:
    """Return the configuration of the run of ``folder``: as it was begun, then changed, its latest budgets.

    Prices are those of ``now``. A run keeps no keys, and gets none here. Raises ``StoreError`` where the manifest is
    not what it was, or of another version.
    """
    _require_unchanged(folder)
    try:
        then = GameConfiguration.model_validate(manifest.configuration)
    except ValidationError as error:
        raise StoreError(f"{folder / MANIFEST} is of another version: {first_problem(error)}") from error
    for change in filter(None, read_lines(folder, _change)):
        then = changed(then, change.options)
    game = then.game.model_copy(update={"file": now.game.file or Path(manifest.story_path)})
    if folder.absolute().parent.name != RUNS:
        raise ConfigurationError(f"{folder} is in no work folder: a run folder lies in WORKDIR/{RUNS}")
    workdir = folder.absolute().parent.parent
    update = {
        "game": game,
        "zork_game_workdir": workdir,
        "budgets": kept_budgets(folder) or then.budgets,
        "prices": {**then.prices, **now.prices},
    }
    return then.model_copy(update=update)


def with_keys(then: GameConfiguration, folder: Path, now: GameConfiguration) -> GameConfiguration:
    """Return the configuration ``then`` of the run of ``folder`` with the keys of ``now`` for the run's own servers.

    Raises ``ConfigurationError`` where there is a key, and somebody else may have written where it would be sent.
    """
    keys = {role: getattr(now.llm, role).api_key for role in ROLES}
    if now.llm.api_key is None and not any(keys.values()):
        return then
    says_where = [MANIFEST, *([JOURNAL_FILE] if any(read_lines(folder, _change)) else [])]
    for path in (folder / name for name in says_where):
        writers = writers_besides_user(path.stat())
        if writers:
            raise ConfigurationError(
                f"{path} is not used with a key, for {writers}: keys are sent only to addresses from "
                "files that nobody but you can write"
            )
    is_served = then.llm.base_url is not None or then.agent_model is not None  # else the embedded model plays
    update: dict[str, object] = {"api_key": now.llm.api_key if is_served else None}
    for role, key in keys.items():
        own: ServerOptions = getattr(then.llm, role)
        if is_served or own.base_url is not None:
            update[role] = own.model_copy(update={"api_key": key})
    return then.model_copy(update={"llm": then.llm.model_copy(update=update)})


def _change(line: bytes, _place: str) -> OptionsChanged | None:
    """Return the change of options that a line of a journal tells of, if it does; other lines are not read."""
    event = EVENTS.validate_python(json.loads(line)["event"]) if b'"options_changed"' in line else None
    return event if isinstance(event, OptionsChanged) else None


@contextmanager
def open_resumed_run(
    configuration: GameConfiguration,
    parts: Parts,
    folder: Path,
    *,
    show: Callable[[Event], None],
    stop: Flag,
    asked: Asked = unwatched,
    forked_from: Path | None = None,
) -> Iterator[Run]:
    """Open a run so that it goes on after its latest turn.

    asked: told what a model is being asked
    forked_from: the run that a new fork comes from, which is blamed where its turns are not repeated
    Raises ``StoreError`` where it has ended, is being played, or is damaged; ``GameError``; ``Diverged``, also while it
    is played, where turns that are still to be repeated are played differently.
    """
    manifest = read_manifest(folder)
    require_story(manifest, parts)
    with ExitStack() as stack:
        stack.enter_context(claimed(folder))
        lines = list(read_journal(folder))
        stack.enter_context(_divergence_told(forked_from or folder, lines))
        if any(isinstance(line.event, RunEnded) for line in lines):
            raise StoreError(f"run {manifest.run_id} has ended: there is nothing to resume")
        recovers = may_have_lost_writes(folder, lines)
        snapshot = go_back(folder, shared_files(configuration)) if recovers else matching_snapshot(folder, lines)
        state = SessionState.from_json(snapshot) if snapshot else None
        done = state.seq if state else 0
        journal = Journal.reopen(folder, lines, lines[done - 1] if done else None)
        stack.callback(journal.close)
        keep_budgets(folder, configuration.budgets)
        stack.callback(shared_files(configuration).copy_to, folder / AT_END)
        repeats_edits = recovers or bool(manifest.forked_from)
        record = ContinuedRecord(journal, show, Recording(lines[done:]), repeats_edits=repeats_edits)
        run = stack.enter_context(assemble(configuration, parts, manifest, record, stop, journal, asked))
        for line in lines[:done]:
            if line.event is not None:
                run.committer.model.spending.count(line.event)
        if state is None:
            _begin_again(run, record, configuration, parts, manifest)
            yield run
        else:
            yield replace(run, position=_position(run, state, manifest, lines[:done]))


@contextmanager
def _divergence_told(run: Path, lines: Sequence[JournalLine]) -> Iterator[None]:
    """Let a ``Diverged`` say what it means for the run of that folder, whose ``lines`` were to be repeated."""
    try:
        yield
    except Diverged as divergence:
        to_repeat = (line.event for line in lines[divergence.difference.line - 1 :])
        turn = next((event.record for event in to_repeat if isinstance(event, TurnPlayed)), None)
        place = f"turn {turn.turn} of episode {turn.episode}" if turn else "its latest turn"
        told = (
            f"run {run.name} cannot go on: this version, or a file of the work folder, makes it play differently from "
            f"{place}; {program()} replay {shlex.quote(str(run))} shows the difference"
        )
        raise Diverged(divergence.difference, told) from divergence


def require_story(manifest: Manifest, parts: Parts) -> None:
    """Make sure that the story is the one that the run was begun with. Raises ``StoreError``."""
    if parts.game.facts.sha256 != manifest.story_sha256:
        raise StoreError(f"{parts.story.path} is not the story that run {manifest.run_id} was begun with")


def require_player(manifest: Manifest, options: Collection[str]) -> None:
    """Make sure that somebody plays on where a function of a Python program played, which is not there any more.

    options: the names of those that are given now
    Raises ``ConfigurationError``.
    """
    function = function_in(manifest.model)
    if function and "agent_model" not in options:
        raise ConfigurationError(
            f"run {manifest.run_id} is played by {function}, a function of a Python program: zorkgpt.api.resume goes "
            "on with one, --model M with a model in its place"
        )


def _require_unchanged(folder: Path) -> None:
    """Make sure that the manifest is what the run's first event says of it, if there is one yet."""
    line = next(read_journal(folder), None)
    if line is not None and isinstance(line.event, RunStarted):
        recorded = line.event.files.get(MANIFEST)
        if recorded not in {None, digests_at_start(folder)[MANIFEST]}:
            raise StoreError(f"{folder / MANIFEST} is not what it was when the run began")


def matching_snapshot(folder: Path, lines: Sequence[JournalLine]) -> bytes | None:
    """Return the snapshot of the run, ``None`` where there is none yet; it may be of another version.

    Raises ``StoreError`` for one of another journal.
    """
    content = read_snapshot(folder)
    if content is None:
        return None
    seq, line_sum = journal_line_of(content)
    if seq > len(lines) or lines[seq - 1].sum != line_sum:
        raise StoreError(f"{folder / SNAPSHOT} and the journal do not belong together: the journal was cut or changed")
    return content


def may_have_lost_writes(folder: Path, lines: Sequence[JournalLine]) -> bool:
    """Tell whether the computer was started anew since the run was played: a power cut may have undone writes."""
    mark = read_mark(folder)
    if mark is None or mark.boot in {"", boot_id()}:
        return False
    return not mark.is_settled or any(isinstance(line.event, TurnPlayed) for line in lines[mark.seq :])


def go_back(folder: Path, files: SharedFiles) -> bytes | None:
    """Make the shared files what they were at the latest checkpoint of the run, and return its snapshot.

    ``None`` stands for the beginning of the run. What the files hold now, perhaps edited since, is kept in the run
    folder. Everything played since is repeated from the journal. Raises ``StoreError``.
    """
    checkpoint, snapshot = latest_checkpoint(folder) or (folder / AT_START, None)
    if files.edited_since(checkpoint):
        files.copy_to(folder / BEFORE_RECOVERY)
        _LOG.warning(
            "the computer was started anew since this run was played: it goes on from the last state that is sure to "
            "be on the disk and repeats its turns; what the shared files held is in %s",
            folder / BEFORE_RECOVERY,
        )
    files.restore_from(checkpoint)
    return snapshot


def _begin_again(
    run: Run, record: ContinuedRecord, configuration: GameConfiguration, parts: Parts, manifest: Manifest
) -> None:
    """Begin a run anew that had committed nothing yet, and repeat what was recorded of it.

    Where others have edited the shared files since, the run begins with these. Raises ``StoreError`` where turns would
    be lost by that.
    """
    folder, recorded = record.journal.folder, record.recording.next_event
    files = shared_files(configuration)
    edited = files.edited_since(folder / AT_START)
    if edited and (record.recording.turns > 1 or manifest.forked_from):
        raise StoreError(f"{folder / SNAPSHOT} is missing, and {edited} is not what it was when the run began")
    if edited or not isinstance(recorded, RunStarted):
        record.journal.cut(0)
        record.recording.drop()
        run.committer.begin()
        recorded = started(configuration, parts, manifest, folder)
    record.may_lose = 0 if manifest.forked_from else 1
    record.emit(recorded)


def _position(run: Run, state: SessionState, manifest: Manifest, lines: Sequence[JournalLine]) -> RunPosition:
    if state.game is None:
        run.committer.restore(state)
        return RunPosition(state.episode_index)
    played: list[TurnPlayed] = []
    opening = None
    for line in lines:
        if isinstance(line.event, EpisodeStarted):
            opening, played = line.event.opening, []
        elif isinstance(line.event, TurnPlayed):
            played.append(line.event)
    if opening is None:
        raise StoreError(f"the journal of run {manifest.run_id} does not tell how the episode began")
    orchestrator = run.orchestrator
    orchestrator.game.restore(state.game)
    episode = Episode(GameState(episode=manifest.first_episode + state.episode_index), opening)
    orchestrator.learning.recall(episode.state, [turn.record for turn in played])
    for turn in played:
        episode.count(turn.record, turn.seconds)
    run.committer.restore(state)
    return RunPosition(state.episode_index, episode)

"""Assembles a run from a configuration, an open story and a model."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from shutil import rmtree
from threading import Event as Flag

from pydantic import BaseModel

from game_interface.core.restoring_game import RestoringGame
from managers.base_manager import ManagerParts
from orchestration.learning import Learning, build_learning, shared_files
from orchestration.parts import Parts, bind_to_story
from orchestration.route_proof import build_route_proof
from orchestration.run_log import open_log
from orchestration.turn import build_critic, build_turn, with_changes
from orchestration.zork_orchestrator import RunEnd, ZorkOrchestrator
from session.events import Event, RunStarted
from session.files.journal import Journal, Manifest, new_run_id
from session.files.recording import Recording
from session.files.run_folders import (
    AT_END,
    AT_START,
    RUN_LOG,
    SharedFiles,
    claimed,
    digests_at_start,
    give_back_episode_numbers,
    make_checkpoint,
    put_last,
    remove_unused,
    take_episode_numbers,
)
from session.files.shared_files import RUNS, remove_leftovers
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import derived_seed
from zorkgpt.llm.language_model import NoModel, Prompt, Role
from zorkgpt.llm.run_model import ChosenModel, RunModel
from zorkgpt.prompts.loader import using_prompts

SOURCE = "zorkgpt source"
"""The name under which a manifest has the digest of the program's files."""
_OWN_PACKAGES = ("session", "game_interface", "managers", "orchestration", "zorkgpt")
_PACKAGES = ("zorkgpt", "jericho", "openai", "xllamacpp")

Show = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class RunPosition:
    """The position of a run.

    index: of the episode in the plan, from 0
    episode: its number, if it has begun
    """

    index: int = 0
    episode: int | None = None
    turns: int = 0

    def describe(self) -> str:
        """Return the position as the end of a sentence; "" for the beginning of the run."""
        if self.episode is not None:
            return f", episode {self.episode}, after turn {self.turns}"
        return f", at the beginning of its episode {self.index + 1}" if self.index else ""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is ready to be played.

    folder: of its journal, or its work folder if it has none
    """

    folder: Path
    orchestrator: ZorkOrchestrator
    model: RunModel
    position: RunPosition = RunPosition()

    @property
    def is_played(self) -> bool:
        """Whether all its episodes were played, so that only its end is missing."""
        return self.position.index == len(self.orchestrator.seeds)

    def play(self, delay: float = 0.0) -> RunEnd:
        """Play the run until it ends or is paused. Raises ``StoreError``.

        delay: seconds to wait before each new turn, for spectators
        """
        end = self.orchestrator.play(self.position.index, delay)
        if not self.orchestrator.recording.is_repeating:
            self.orchestrator.learning.state.export_current_state()
        self.orchestrator.recording.sync()
        return end


@contextmanager
def open_run(configuration: GameConfiguration, parts: Parts, *, episodes: int, show: Show, stop: Flag) -> Iterator[Run]:
    """Create a run folder and assemble the run; every event goes to the journal, then to ``show``.

    Each model is tested before the run begins. If it cannot begin, no folder is left behind, and no episode
    number is used.
    """
    workdir = configuration.zork_game_workdir
    with ExitStack() as stack:
        undoing = stack.enter_context(ExitStack())
        if not workdir.exists():
            undoing.callback(remove_unused, workdir)
        bind_to_story(workdir, parts.game.facts)
        manifest = new_manifest(configuration, parts, episodes)
        undoing.callback(give_back_episode_numbers, workdir, manifest.first_episode, episodes)
        journal = Journal.create(workdir / RUNS, manifest)
        undoing.callback(rmtree, journal.folder, ignore_errors=True)
        stack.enter_context(claimed(journal.folder))
        stack.callback(journal.close)
        if parts.model is not None:
            parts.model.try_out(True)
        recording = Recording(show, journal)
        run = stack.enter_context(assemble(configuration, parts, manifest, recording, stop, journal))
        begin(configuration, parts, manifest, recording, journal.folder)
        put_last(journal.folder)
        stack.enter_context(shared_files(configuration).copied_at_end(journal.folder / AT_END))
        undoing.pop_all()
        yield run


def begin(
    configuration: GameConfiguration, parts: Parts, manifest: Manifest, recording: Recording, folder: Path
) -> None:
    """Copy the shared files, and record the start of the run. Raises ``StoreError``."""
    shared_files(configuration).copy_to(folder / AT_START, durable=True)
    recording.emit(started(configuration, parts, manifest, folder))


@contextmanager
def assemble(
    configuration: GameConfiguration,
    parts: Parts,
    manifest: Manifest,
    recording: Recording,
    stop: Flag,
    journal: Journal | None = None,
    copies: Path | None = None,
) -> Iterator[Run]:
    """Assemble the parts of a run.

    journal: ``None`` for a replay, which rebuilds every prompt in its own work folder
    copies: folder of the shared files as they were where the run goes on, or before the events that are repeated
    """
    folder = journal.folder if journal else configuration.zork_game_workdir
    for place in {folder, configuration.zork_game_workdir}:
        remove_leftovers(place)
    files = shared_files(configuration)
    # What a replay would report, the run has reported with the paths of its own work folder.
    with open_log(folder / RUN_LOG, prints_errors=journal is not None) as log, using_prompts(configuration.prompts):

        def asked(role: Role, prompt: Prompt, schema: type[BaseModel]) -> None:
            log.info("a model is asked", role=role)
            parts.asked(role, prompt, schema)

        model = RunModel(
            configuration, manifest.configuration, parts.model, recording, asked, answers_any=parts.answers_any
        )
        facts, tokens = parts.game.facts, model.tokens
        known = ManagerParts(log, configuration, GameState(), model, facts, parts.vocabulary, tokens, folder.name)
        learning = build_learning(known)
        learning.hold(recording, files, copies or (folder / AT_START if recording.is_repeating else None))
        game, critic = RestoringGame(parts.game, recording), build_critic(known, learning)
        build = partial(build_turn, model, parts, game, critic, learning, recording)
        orchestrator = ZorkOrchestrator(
            turn=build(),
            seeds=manifest.seeds,
            max_turns=configuration.max_turns_per_episode,
            first_episode=manifest.first_episode,
            stop=stop,
            checkpoint=partial(_checkpoint, journal, recording, learning, files) if journal else lambda: None,
            players=partial(with_changes, model, build),
            after_episode=build_route_proof(configuration, parts.game, learning, recording, stop),
            rebuilds_prompts=journal is None,
        )
        yield Run(folder, orchestrator, model)


def _checkpoint(journal: Journal, recording: Recording, learning: Learning, files: SharedFiles) -> None:
    """Make a checkpoint of a run, unless it is being repeated."""
    if not recording.is_repeating:
        for store in learning.stores():
            store.let_go()
        journal.sync()
        files.force_to_disk()
        make_checkpoint(journal.folder, journal.seq, journal.sum, files)


def started(configuration: GameConfiguration, parts: Parts, manifest: Manifest, folder: Path) -> RunStarted:
    """Return the first event of a run in that folder."""
    return RunStarted(
        run_id=manifest.run_id,
        folder=str(folder),
        story=parts.game.facts,
        story_choice=parts.story.describe(),
        player=manifest.player,
        model=manifest.model,
        server=manifest.server,
        engine=manifest.engine,
        model_choice=parts.model.reason if parts.model else "",
        assistance=manifest.assistance,
        episodes=len(manifest.seeds),
        max_turns=configuration.max_turns_per_episode,
        files=digests_at_start(folder),
    )


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Return 12 digits of the SHA-256 of the program's own modules and prompts, which decide what is played."""
    digest = hashlib.sha256()
    for package in _OWN_PACKAGES:
        root = Path(str(files(package)))
        for path in sorted(path for path in root.rglob("*") if path.suffix in {".py", ".md"}):
            digest.update(f"{package}/{path.relative_to(root).as_posix()}".encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def other_versions(manifest: Manifest) -> str:
    """Return how the program differs from the one that recorded a run; "" if it does not, or if that is unknown."""
    then, now = manifest.versions.get(SOURCE), source_digest()
    if then == now:
        return ""
    recorded = f"zorkgpt {manifest.versions.get('zorkgpt', '')} ({f'source {then}' if then else 'source unknown'})"
    return f"recorded by {recorded}, repeated by zorkgpt {version('zorkgpt')} (source {now})"


def new_manifest(configuration: GameConfiguration, parts: Parts, episodes: int) -> Manifest:
    """Return the manifest of a new run, with episode numbers that no other run has. Raises ``StoreError``."""
    facts, chosen = parts.game.facts, parts.model or ChosenModel(NoModel())
    seed = configuration.game.seed
    return Manifest(
        run_id=new_run_id(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=(Path(sys.argv[0]).name, *sys.argv[1:]),  # journals are published
        configuration=configuration.without_keys(),
        story=facts.name,
        story_path=str(parts.story.path.resolve()),
        story_sha256=facts.sha256,
        seeds=(seed,) * episodes
        if seed == "jericho"
        else tuple(derived_seed(seed, number, "episode") for number in range(1, episodes + 1)),
        first_episode=take_episode_numbers(configuration.zork_game_workdir, episodes),
        player=parts.player.name if parts.player else "",
        model=chosen.names,
        server=chosen.servers,
        engine=chosen.engine,
        versions={
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
            SOURCE: source_digest(),
        },
        assistance=tuple(sorted(configuration.assist)),
    )

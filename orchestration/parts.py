"""Opens the story in its own process, its folder, and the models of a run."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event as Flag
from typing import TYPE_CHECKING

from pydantic import SecretStr, ValidationError
from pydantic_core import PydanticSerializationError

from game_interface.core.game import Game
from game_interface.core.isolated import IsolatedGame
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import read_vocabulary
from orchestration.learning import shared_files
from session.commands import Vocabulary
from session.errors import ConfigurationError, StoreError, StoryError, reported_as
from session.events import ProposalReviewed
from session.files.run_folders import BoundStory, story_folders
from session.files.shared_files import (
    STORY_FILE,
    is_plain_name,
    is_reserved,
    locked,
    make_folder,
    read_shared,
    require_no_link,
    write_atomically,
)
from session.game_configuration import GameConfiguration, PlayerKind, RoleOptions
from session.model_files import is_large, model_path
from session.processes import program
from session.resolved_configuration import ResolvedConfiguration
from session.values import ROLES, Proposal, StoryFacts
from zorkgpt.llm.budget import Waits, require_prices
from zorkgpt.llm.embedded.model_store import ModelStore, Progress
from zorkgpt.llm.language_model import NoModel
from zorkgpt.llm.run_model import Asked, ChosenModel
from zorkgpt.players.player import JUDGED_BY, Person, Player
from zorkgpt.prompts.loader import check_prompts

if TYPE_CHECKING:  # a run without a model needs neither client nor engine
    from zorkgpt.llm.embedded.embedded_server import EmbeddedServer


@contextmanager
def choose_model(
    configuration: GameConfiguration, progress: Progress | None = None, stop: Flag | None = None, *, plays: bool = True
) -> Iterator[ChosenModel]:
    """Open the configured models; embedded ones run until the end of the block.

    progress: reports the download of a model file
    stop: ends a wait between two attempts, and cancels a request
    plays: the agent's model is called; otherwise the models learn from another player
    Raises ``ConfigurationError`` or ``LanguageModelUnavailable``.
    """
    from zorkgpt.llm.embedded.embedded_server import (  # noqa: PLC0415 - slow, and not needed without a model
        LONGEST_BRIEF_PROMPT,
        SAMPLING_EXTRAS,
        EmbeddedServer,
    )
    from zorkgpt.llm.openai.openai_model import OpenAIModel  # noqa: PLC0415 - slow, and not needed without a model

    with ExitStack() as stack:
        embedded: dict[str | None, EmbeddedServer] = {}
        settings = {}
        longest_prompt = max(getattr(configuration.prompt_budgets, role) for role in ROLES)
        for role in ROLES:
            settings[role] = options = configuration.role(role)
            if options.engine != "embedded":
                _require_server(options)
                continue
            name = options.model
            if name not in embedded:
                file = ModelStore().pull(progress) if name is None else model_path(name)
                engine = EmbeddedServer(
                    file, proven=name is None, threads=configuration.llm.threads, longest_prompt=longest_prompt
                )
                embedded[name] = stack.enter_context(engine)
            server = embedded[name]
            is_small = name is None or not is_large(name)
            settings[role] = replace(
                options,
                model=server.model,
                base_url=server.base_url,
                api_key=SecretStr(server.api_key),
                extra_body={**(SAMPLING_EXTRAS if is_small else {}), **options.extra_body},
                marks_cache=False,
            )
        waits = Waits(stop or Flag())
        model = stack.enter_context(OpenAIModel(settings, sleep=waits.sleep, stop=waits.stop))
        require_prices(configuration, model.find_names())
        agent = configuration.role("agent")
        try_out = partial(model.try_out, [role for role in ROLES if plays or role != "agent"])
        if agent.engine == "openai":
            yield ChosenModel(model, model.names(), model.servers(), waits=waits, try_out=try_out)
        else:
            is_brief = configuration.prompt_budgets.agent <= LONGEST_BRIEF_PROMPT
            why = "prompts for a small model" if is_brief else "full prompts"
            if agent.model is None:
                why = "no server or key is configured"
            yield ChosenModel(model, (embedded[agent.model].model,), (), "embedded", why, waits, try_out)


def _require_server(options: RoleOptions) -> None:
    """Raise ``ConfigurationError`` unless it is known which server has the model."""
    if options.base_url is None and options.model is None:
        key_alone = "a key is set, but no model" if options.api_key else "no model is configured"
        raise ConfigurationError(f"{key_alone}: set agent_model (--model)")
    if options.base_url is None and options.api_key is None:
        raise ConfigurationError(
            f"no server is configured for {options.model}: set llm.base_url (--base-url) or OPENAI_API_KEY, or use a "
            ".gguf file"
        )


USERS_OWN = Path("infrastructure") / "zork.z5"
_WORKDIR = "zork_game_workdir"


@dataclass(frozen=True, slots=True)
class ChosenStory:
    """The path of a story file that has not been read yet, and the reason for the choice in words."""

    path: Path
    why: str

    def describe(self) -> str:
        """Return the choice in one line."""
        return f"{self.path.name} ({self.why})"


def choose_story(configuration: GameConfiguration, folder: Path = Path()) -> ChosenStory:
    """Return the configured story, else the user's copy below ``folder``, else the bundled one."""
    if configuration.game.file is not None:
        return ChosenStory(configuration.game.file, "asked for")
    own_copy = folder / USERS_OWN
    if own_copy.exists():
        return ChosenStory(own_copy, f"your copy, in {USERS_OWN.parent}/")
    shipped = files("game_interface.stories") / "tidehouse.z5"
    return ChosenStory(Path(str(shipped)), "it ships with ZorkGPT; --game plays another")


def folder_for_story(configuration: GameConfiguration, facts: StoryFacts) -> Path:
    """Return the work folder of this story for any name of its file: ``zork_game_workdir`` or a folder in it.

    A work folder without a story is used itself. In the work folder of another story, the result is a folder with
    this story's name, or with its digest if the name is taken or not allowed. Raises ``StoreError``.
    """
    workdir = configuration.zork_game_workdir
    folders = story_folders(workdir)
    if folders[workdir] is None:
        return workdir
    for folder, story in folders.items():
        if story is not None and story.sha256 == facts.sha256:
            return folder
    taken = {file.name.casefold() for file in shared_files(configuration).files}
    taken |= {folder.name.casefold() for folder in folders if folder != workdir}
    is_free = is_plain_name(facts.name) and not is_reserved(facts.name) and facts.name.casefold() not in taken
    folder = workdir / (facts.name if is_free else f"story-{facts.sha256[:8]}")
    require_no_link(folder)
    return folder


def in_folder_of_story(resolved: ResolvedConfiguration, facts: StoryFacts) -> GameConfiguration:
    """Return the configuration with the work folder of this story.

    If the default work folder belongs to another story, a folder in it is used. Raises ``StoreError``.
    """
    configuration = resolved.configuration
    if _WORKDIR in resolved.origins:
        return configuration
    return configuration.model_copy(update={_WORKDIR: folder_for_story(configuration, facts)})


def bind_to_story(workdir: Path, facts: StoryFacts) -> None:
    """Record that the work folder belongs to this story, unless it already belongs to one.

    Raises ``ConfigurationError`` if it belongs to another story, ``StoreError`` if it cannot be written or its file
    cannot be read, and ``StoryError`` if the story's name is not UTF-8.
    """
    try:
        make_folder(workdir, f"the work folder {workdir} cannot be made")
        with reported_as(f"the work folder {workdir} cannot be written"):
            TemporaryFile(dir=workdir).close()
    except StoreError as error:
        raise StoreError(f"{error}; choose another (--workdir; workdir in Python)") from error
    path = workdir / STORY_FILE
    this = BoundStory(name=facts.name, sha256=facts.sha256)
    try:
        with locked(path):
            content = read_shared(path)
            bound = this if content is None else BoundStory.model_validate_json(content.removeprefix(BOM_UTF8))
            if content is None:
                write_atomically(path, this.model_dump_json(indent=2).encode() + b"\n")
    except PydanticSerializationError as error:
        raise StoryError(f"{facts.name!a}: the name of the story file is not UTF-8: rename it") from error
    except ValidationError as error:
        raise StoreError(
            f"{path} does not contain the name and digest of a story; delete it, and the next run writes a new one"
        ) from error
    if bound.sha256 != facts.sha256:
        other = "another file of the same name" if bound.name == facts.name else facts.name
        raise ConfigurationError(
            f"{workdir} belongs to the story {bound.name}, and this is {other}: choose another "
            "(--workdir; workdir in Python)"
        )


Review = Callable[[Proposal], ProposalReviewed | None]
"""Returns the user's decision on a proposal, ``None`` for none."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The game, the model and the story of a run; the caller closes game and model.

    model: ``None`` if the run is only repeated
    player: plays if the agent's model does not
    review: returns the user's decision on a proposal
    asked: called before each call of a model
    answers_any: a repeated run answers any prompt with the next recorded answer of its role
    """

    game: Game
    model: ChosenModel | None
    story: ChosenStory
    vocabulary: Vocabulary
    player: Player | None = None
    review: Review = lambda _proposal: None
    asked: Asked = lambda _role, _prompt, _schema: None
    answers_any: bool = False


_PLAYED_BY: Mapping[PlayerKind, str] = {
    "random": f"{program()} ablate --player random",
    "function": "zorkgpt.api.play",
    "client": f"{program()} mcp",
}


@contextmanager
def open_parts(
    configuration: GameConfiguration,
    progress: Progress | None = None,
    stop: Flag | None = None,
    read_command: Callable[[], str | None] | None = None,
    review: Review | None = None,
) -> Iterator[Parts]:
    """Open the story in its own process, and the model.

    read_command: returns a line that the user typed, for a human player; ``None`` ends the episode
    Raises ``ConfigurationError``, ``StoryError``, ``LanguageModelUnavailable``.
    """
    player = configuration.agent.player
    is_person = JUDGED_BY[player] == "person"
    if not (player == "model" or (is_person and read_command)):
        lacks = "terminal input to read the player's commands from" if is_person else "such player"
        use = "" if is_person else f"; use {_PLAYED_BY[player]}"
        raise ConfigurationError(f"agent.player is {player}, but this command has no {lacks}{use}")
    with ExitStack() as stack:
        parts = stack.enter_context(open_story(configuration))
        if review is not None:
            parts = replace(parts, review=review)
        model = ChosenModel(NoModel())
        if configuration.agent.uses_models:
            model = stack.enter_context(choose_model(configuration, progress, stop, plays=player == "model"))
        person = Person(read_command, parts.vocabulary) if read_command and is_person else None
        yield replace(parts, model=model, player=person)


@contextmanager
def open_story(configuration: GameConfiguration) -> Iterator[Parts]:
    """Open the story in its own process, without a model.

    Raises ``ConfigurationError``, ``StoryError``.
    """
    check_prompts(configuration.prompts)
    story = choose_story(configuration)
    with IsolatedGame(story.path, seed=configuration.game.seed, time_limit=configuration.game.time_limit) as game:
        yield Parts(game, None, story, read_vocabulary(Story.load(story.path)))

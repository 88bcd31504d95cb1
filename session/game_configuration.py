"""``GameConfiguration``: every option of a session, with its default and its description.

``GameConfiguration()`` alone is valid and reads nothing from outside; ``session.resolved_configuration`` fills
one from the command line, the environment and files.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainSerializer, PositiveInt, SecretStr, model_validator
from typing_extensions import Self

from session.configuration.option_groups import (
    DEFAULT_MEMORY_HISTORY_WINDOW,
    AgentOptions,
    AnyPath,
    Assistance,
    BudgetOptions,
    CirclingOptions,
    CommaSeparated,
    CriticOptions,
    Engine,
    ExtractorOptions,
    FileName,
    GameOptions,
    KnowledgeOptions,
    LanguageModelOptions,
    MapOptions,
    MemorySampling,
    ObjectiveOptions,
    PriceOptions,
    PromptBudgetOptions,
    RouteOptions,
    Sampling,
    ServerOptions,
    SimpleMemoryOptions,
    Text,
)
from session.configuration.options import Options, resolve, values_given
from session.configuration.sources import from_toml_file
from session.file_names import archive_name
from session.values import ROLES, Role

LONGEST_RECOMMENDED_MEMORY_HISTORY_WINDOW = 10
FALLBACKS: Mapping[Role, Role] = {
    "critic": "agent",
    "info_ext": "agent",
    "analysis": "agent",
    "memory": "info_ext",
}


@dataclass(frozen=True, slots=True)
class RoleOptions:
    """The model of one role with its server and sampling, after all fallbacks.

    model: ``None`` means the first one that the server lists
    base_url: ``None`` means the client's default
    """

    engine: Engine
    model: str | None
    base_url: str | None
    api_key: SecretStr | None
    sampling: Sampling


class GameConfiguration(Options):
    """All options of a session (docs/specification.md, Configuration options)."""

    aliases: ClassVar[Mapping[str, str]] = {
        "memory.show_persistence_markers": "show_persistence_markers",
        "memory.debug_ephemeral": "debug_ephemeral",
        **{f"llm.{role}_model": f"{role}_model" for role in ROLES},
    }

    max_turns_per_episode: PositiveInt = Field(500, description="turns after which an episode ends")
    zork_game_workdir: AnyPath = Field(
        Path("game_files"), description="work folder, for all that is learned and all runs"
    )
    knowledge_file: FileName = Field("knowledgebase.md", description="file of knowledge, in the work folder")
    map_state_file: FileName = Field("map_state.json", description="file of the map, in the work folder")

    agent_model: Text | None = Field(None, description="model of the agent, or a .gguf file; unset: the server's first")
    critic_model: Text | None = Field(None, description="model of the critic; unset: the agent's")
    info_ext_model: Text | None = Field(None, description="model of the extractor; unset: the agent's")
    analysis_model: Text | None = Field(None, description="model for objectives and knowledge; unset: the agent's")
    memory_model: Text | None = Field(None, description="model for memories; unset: the extractor's")
    agent_sampling: Sampling = Sampling()
    critic_sampling: Sampling = Sampling()
    info_ext_sampling: Sampling = Sampling()
    analysis_sampling: Sampling = Sampling()
    memory_sampling: MemorySampling = MemorySampling()

    knowledge_update_interval: PositiveInt = Field(100, description="turns between updates of the knowledge")
    objective_update_interval: PositiveInt = Field(20, description="turns between searches for objectives")
    enable_enhanced_objectives: bool = Field(
        True,
        description="objectives are found from knowledge, memories and map too, not from recent play alone",
    )
    room_description_age_window: PositiveInt = Field(
        10, le=20, description="turns after which a prompt says that a room may have changed since it was described"
    )
    show_persistence_markers: bool = Field(True, description="[spawn] and [session] on memories shown to the agent")
    debug_ephemeral: bool = Field(False, description="log everything done to ephemeral memories")

    assist: Annotated[frozenset[Assistance], CommaSeparated, PlainSerializer(sorted, when_used="json")] = Field(
        frozenset(),
        description="help given to the agent; valid-actions: commands that would do something now; "
        "fresh-actions: those of them that it played least at the place; "
        "proven-routes: routes are tried out and shortened between episodes",
    )
    game: GameOptions = GameOptions()
    llm: LanguageModelOptions = LanguageModelOptions()
    agent: AgentOptions = AgentOptions()
    critic: CriticOptions = CriticOptions()
    extractor: ExtractorOptions = ExtractorOptions()
    map: MapOptions = MapOptions()
    objectives: ObjectiveOptions = ObjectiveOptions()
    knowledge: KnowledgeOptions = KnowledgeOptions()
    circling: CirclingOptions = CirclingOptions()
    simple_memory: SimpleMemoryOptions = SimpleMemoryOptions()
    routes: RouteOptions = RouteOptions()
    prompt_budgets: PromptBudgetOptions = PromptBudgetOptions()
    budgets: BudgetOptions = BudgetOptions()
    prices: dict[str, PriceOptions] = Field(
        {}, description="by a model's name its input, cached and output, in dollars per million tokens"
    )

    def __init__(self, config_dict: Mapping[str, Any] | None = None, /, **options: object) -> None:
        """Set the options by name, or from a dictionary with the layout of ``pyproject.toml`` or of its table.

        Options by name override the dictionary. Raises ``ConfigurationError`` for an unknown option in the dictionary,
        and ``ValidationError`` for all other errors.
        """
        document = config_dict or {}
        table = document.get("tool", {}).get("zorkgpt", {}) if "tool" in document else document
        super().__init__(**{**values_given(type(self), table), **options})

    @model_validator(mode="after")
    def _require_different_names(self) -> Self:
        options: dict[str, str] = {}
        for option, name in self.file_names().items():
            other = options.setdefault(name.casefold(), option)
            if other != option:
                raise ValueError(f"{other} and {option} are both {name}: each file needs a name of its own")
        return self

    def file_names(self) -> Mapping[str, str]:
        """Return the file names in the work folder that options set, by the options' names."""
        return {
            "knowledge_file": self.knowledge_file,
            "the archive of knowledge_file": archive_name(self.knowledge_file),
            "map_state_file": self.map_state_file,
            "simple_memory.memory_file": self.simple_memory.memory_file,
        }

    @classmethod
    def from_toml(cls, path: Path | str) -> GameConfiguration:
        """Return the options in the file's ``[tool.zorkgpt]``, or in a whole ``zorkgpt.toml``, else defaults.

        Raises ``ConfigurationError`` with file and key, or with file and line for broken TOML.
        """
        configuration, _ = resolve(cls, from_toml_file(Path(path)))
        return configuration

    def role(self, role: Role) -> RoleOptions:
        """Return the role's model, server and sampling (docs/specification.md, Roles and fallbacks).

        A role without its own model uses the model of its fallback role, and that role's server unless it has its own.
        A key is sent only to the URL that it was set with. A role without its own seed uses the seed of the story.
        """
        model, server = self._model_and_server(role)
        return RoleOptions(
            engine=self._engine(model, server),
            model=model,
            base_url=server.base_url,
            api_key=server.api_key,
            sampling=self._sampling(role),
        )

    def _sampling(self, role: Role) -> Sampling:
        own: Sampling = getattr(self, f"{role}_sampling")
        followed = 1 if self.game.seed == "jericho" else self.game.seed
        return own if own.seed is not None else own.model_copy(update={"seed": followed})

    def _model_and_server(self, role: Role) -> tuple[str | None, ServerOptions]:
        model: str | None = getattr(self, f"{role}_model")
        own: ServerOptions = getattr(self.llm, role)
        if model is None and role in FALLBACKS:
            model, server = self._model_and_server(FALLBACKS[role])
        else:
            server = ServerOptions(base_url=self.llm.base_url, api_key=self.llm.api_key)
        if own.base_url is not None:
            server = own
        elif own.api_key is not None:
            server = ServerOptions(base_url=server.base_url, api_key=own.api_key)
        return model, server

    def _engine(self, model: str | None, server: ServerOptions) -> Engine:
        if self.llm.engine != "auto":
            return self.llm.engine
        if model is not None:
            return "embedded" if model.endswith(".gguf") else "openai"
        return "embedded" if server.base_url is None and server.api_key is None else "openai"

    def without_keys(self) -> dict[str, Any]:
        """Return the values of all options except keys, in nested groups, as JSON values."""
        return self.model_dump(mode="json")

    def get_memory_history_window(self) -> int:
        """Return how many recent turns the memory prompt shows, at least 1.

        Warns if the window is too small to be useful, or so large that it costs many tokens.
        """
        window = self.memory_sampling.memory_history_window
        if window < 1:
            warnings.warn(
                f"memory_history_window must be >= 1, using default: {DEFAULT_MEMORY_HISTORY_WINDOW}",
                stacklevel=2,
            )
            return DEFAULT_MEMORY_HISTORY_WINDOW
        if window > LONGEST_RECOMMENDED_MEMORY_HISTORY_WINDOW:
            warnings.warn(f"memory_history_window = {window} may use excessive context. Recommended: 3-8", stacklevel=2)
        return window

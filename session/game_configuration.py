"""``GameConfiguration``: every option of a session, with its default and its description.

``GameConfiguration()`` alone is valid and reads nothing from outside; ``session.resolved_configuration`` fills
one from the command line, the environment and files.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    NonNegativeFloat,
    NonNegativeInt,
    PlainSerializer,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, PydanticKnownError

from session.files.shared_files import is_plain_name, is_reserved
from session.model_files import is_model_file
from session.options import Options, from_file, resolve, values_given
from session.values import HIGHEST_SEED, ROLES, Role

DEFAULT_MEMORY_HISTORY_WINDOW = 3
OPENAI_BASE_URL = "https://api.openai.com/v1"
"""Where a model is requested if no base URL is set."""
SHORTEST_KEY = 4
"""Characters. A shorter key is too common as a word to be hidden in every text."""

Default = TypeVar("Default")

_OWN_FIELDS = frozenset({"model", "messages", "stream", "stream_options", "response_format"})
_DEEPEST = 100
"""Levels of tables and lists in a request: a manifest with nearly 200 could not be read again."""
_SECONDS_OF = {"s": 1, "m": 60, "h": 3600}


def _split_at_commas(value: object) -> object:
    if value == "none":
        return []
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def _from_json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError('expected a table, in JSON as in {"name": 1}') from error


def _in_folder(value: object) -> object:
    if not isinstance(value, str | Path):
        return value
    files = {path.stem: str(path) for path in sorted(_expanded(value).glob("*.md"))}
    if not files:
        raise ValueError(f"{value} is not a folder with .md files; a single file is set by its name, as prompts.agent")
    return files


def _from_file(value: object) -> object:
    if not isinstance(value, str | Path):
        return value
    path = _expanded(value).resolve()
    if path.suffix != ".md" or not path.is_file():  # a configuration from elsewhere must not have other files sent
        raise ValueError(f"{value} is not an existing .md file")
    try:
        content = path.read_bytes()
        return {"file": str(value), "sha256": sha256(content).hexdigest(), "text": content.decode("utf-8-sig")}
    except OSError as error:
        raise ValueError(f"cannot read {value}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{value} is not UTF-8") from error


def _check_fields(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    for name in sorted(fields.keys() & _OWN_FIELDS):
        raise ValueError(f"{name} is a field that the program sets itself")
    level: list[JsonValue] = [fields]
    for _ in range(_DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [value for values in inner for value in values]
    if level:
        raise ValueError(f"more than {_DEEPEST} tables or lists in each other")
    return fields


def _check_key(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if len(text) < SHORTEST_KEY:
        raise ValueError(f"a key has at least {SHORTEST_KEY} characters; leave it unset if the server requires none")
    if not (text.isascii() and text.isprintable() and " " not in text):
        raise ValueError("a key must not contain a space, a line break or a character that is not ASCII")
    return key


def _check_address(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
        raise ValueError("expected a URL such as http://localhost:8080/v1")
    if parts.query or parts.fragment:
        raise ValueError("a URL must not have a query (?) or a fragment (#); keys have options of their own")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL must not contain a user name or a password; keys have options of their own")
    return address


def _expanded(path: str | Path) -> Path:
    stripped = path.strip() if isinstance(path, str) else path
    if stripped == "":
        raise ValueError("expected a path, not an empty text")
    if "\0" in str(stripped):
        raise ValueError("a path must not contain a null character")
    try:
        return Path(stripped).expanduser()
    except RuntimeError as error:
        raise ValueError("the home folder for ~ is not known") from error


def _expanded_if_path(path: object) -> object:
    return _expanded(path) if isinstance(path, str | Path) else path


def _check_model(name: str) -> str:
    if is_model_file(name):
        _expanded(name)
    return name


def _check_file_name(name: str) -> str:
    if not is_plain_name(name):
        raise ValueError("expected a plain file name without a folder: the file is in the work folder")
    if is_reserved(name):
        raise ValueError(f"{name} is reserved for a file of the program")
    return name


_NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?")


def _in_seconds(value: object) -> object:
    spelt = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", value) if isinstance(value, str) else None
    if spelt:
        return float(spelt[1]) * _SECONDS_OF[spelt[2]]
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError("expected seconds, or a time such as 90s, 90m or 2h")
    return value


Assistance = Literal["valid-actions", "fresh-actions", "proven-routes"]
Engine = Literal["openai", "embedded"]
Text = Annotated[str, Field(min_length=1)]
FileName = Annotated[Text, AfterValidator(_check_file_name), WithJsonSchema({"type": "string", "format": "file name"})]
Model = Annotated[Text, AfterValidator(_check_model), WithJsonSchema({"type": "string", "format": "model"})]
Key = Annotated[SecretStr, AfterValidator(_check_key)]
Address = Annotated[str, AfterValidator(_check_address), WithJsonSchema({"type": "string", "format": "URL"})]


def _named_or_counted(value: object) -> object:
    """Return the seed, converted to a number if it is text. Raises pydantic's errors for anything else."""
    if value == "jericho":
        return value
    number = int(value) if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,20}\s*", value) else value
    if not isinstance(number, int) or isinstance(number, bool):
        raise PydanticCustomError("seed", "expected a whole number from 1, or jericho")
    if number <= 0:
        raise PydanticKnownError("greater_than", {"gt": 0})
    if number > HIGHEST_SEED:
        raise PydanticKnownError("less_than_equal", {"le": HIGHEST_SEED})
    return number


AnyPath = Annotated[Path, BeforeValidator(_expanded_if_path)]
CommaSeparated = BeforeValidator(_split_at_commas)  # as the environment can write a list
Json = BeforeValidator(_from_json)  # as the environment and the command line can write a table
Duration = Annotated[PositiveFloat, BeforeValidator(_in_seconds)]
Patience = Annotated[NonNegativeFloat, BeforeValidator(_in_seconds)]
StorySeed = Annotated[PositiveInt | Literal["jericho"], BeforeValidator(_named_or_counted)]


class Sampling(Options):
    """How a model draws its answer. An option other than ``seed`` that is not set is not sent to the server."""

    temperature: float | None = Field(None, ge=0, description="0 always takes the likeliest token")
    top_p: float | None = Field(None, gt=0, le=1, description="only the likeliest tokens of this total probability")
    top_k: PositiveInt | None = Field(None, description="only this many of the likeliest tokens")
    min_p: float | None = Field(None, ge=0, le=1, description="only tokens this probable, relative to the likeliest")
    max_tokens: int | None = Field(None, ge=5, description="longest answer, in tokens")
    seed: int | None = Field(None, description="the same seed requests the same answer; unset: game.seed")

    def get(self, name: str, default: Default) -> object | Default:
        """Return the option with that name, or ``default`` if it is not set."""
        value: object = getattr(self, name, None)
        return default if value is None else value


class MemorySampling(Sampling):
    """Sampling of the memory role, and how many recent turns its prompt shows."""

    temperature: float | None = Field(0.3, ge=0, description="0 always takes the likeliest token")
    max_tokens: int | None = Field(1000, ge=5, description="longest answer, in tokens")
    memory_history_window: int = Field(
        DEFAULT_MEMORY_HISTORY_WINDOW, description="recent turns shown, to find procedures of several steps (3-8)"
    )


class GameOptions(Options):
    """The story and how it is run."""

    file: AnyPath | None = Field(
        None, description="story file; unset: infrastructure/zork.z5 if it is there, else the story that ships"
    )
    seed: StorySeed = Field(
        1,
        description="seed of the story's own chance, at least 1; those of further episodes are derived from it. The "
        "models sample with the first one. jericho: that of Jericho's walkthrough of the story, in every episode",
    )
    time_limit: float = Field(10.0, ge=0.1, description="seconds that one command may take")


class ServerOptions(Options):
    """Where the model of one role is served, if not where the others are, and what its requests contain."""

    base_url: Address | None = Field(None, description="OpenAI-compatible address for this role alone")
    api_key: Key | None = Field(None, exclude=True, description="key for this role alone")
    reasoning_effort: Text | None = Field(None, description="how much the model thinks: low, medium, high or another")
    extra_body: Annotated[dict[Text, JsonValue], AfterValidator(_check_fields), Json] = Field(
        {}, description="more fields of each request, which only this server knows"
    )
    cache_control: bool = Field(
        False, description="the stable parts of prompts are marked, for servers that cache nothing else"
    )


class LanguageModelOptions(Options):
    """Where the models are served, and how long to wait for them."""

    engine: Literal["auto", "openai", "embedded"] = Field(
        "auto", description="auto: embedded for a .gguf file, hf:OWNER/REPO, or if no model, address and key is set"
    )
    base_url: Address | None = Field(None, description="OpenAI-compatible address; also OPENAI_BASE_URL")
    api_key: Key | None = Field(None, exclude=True, description="key for that address; also OPENAI_API_KEY")
    timeout: float = Field(300.0, ge=0.1, description="seconds that one request may take")
    stall_timeout: float = Field(120.0, ge=0.1, description="seconds of silence within one request")
    total_time: float = Field(
        900.0,
        ge=0.1,
        description="seconds that one answer may take, retries included; waits for a model that is down do not count",
    )
    patience: Patience = Field(
        300.0, description="seconds for which to wait for a model that is down or rate-limited; also as 90m or 8h"
    )
    max_attempts: PositiveInt = Field(8, description="answers that cannot be used before a question is given up")
    max_answer_length: PositiveInt = Field(
        1_000_000, description="characters of one answer, thoughts included; a longer one cannot be used"
    )
    threads: PositiveInt | None = Field(
        None,
        description="threads of an embedded model for reading; for writing it takes two of them at most; "
        "unset: half of the cores, up to 8, for reading, and one for writing",
    )
    agent: ServerOptions = ServerOptions()
    critic: ServerOptions = ServerOptions()
    info_ext: ServerOptions = ServerOptions()
    analysis: ServerOptions = ServerOptions()
    memory: ServerOptions = ServerOptions()


PlayerKind = Literal["model", "person", "person-alone", "function", "client", "random"]


class AgentOptions(Options):
    """Who chooses the commands, and what the agent sees of the past."""

    player: PlayerKind = Field(
        "model",
        description="what chooses the commands: model, person, or person-alone (a person, and no model is used at "
        "all); programs that play set function, client or random",
    )
    history_window: PositiveInt = Field(
        5,
        description="with prompt_budgets.history = 0: recent turns in the agent's prompt, the latest with their "
        "reasoning: this many to twice as many",
    )
    show_reasoning: bool = Field(True, description="the latest turns are shown with the reasoning behind them")
    reasoning_length: NonNegativeInt | None = Field(
        None, description="longest reasoning in an answer, in characters; 0: no reasoning"
    )

    @property
    def uses_models(self) -> bool:
        """Whether models may be called in any role."""
        return self.player != "person-alone"


class CriticOptions(Options):
    """What judges a proposal before it is played (docs/records/specification.md, Critic)."""

    mode: Literal["object_tree", "hybrid", "llm"] = Field(
        "hybrid",
        description="object_tree: no model; hybrid: the model where the object tree decides nothing; "
        "llm: the model, always",
    )
    max_rejections: NonNegativeInt = Field(
        2, description="proposals that may be rejected in a turn; the next one is played"
    )


class ExtractorOptions(Options):
    """What reads the text of an observation (docs/records/specification.md, Reading the text)."""

    mode: Literal["inline", "separate", "none"] = Field(
        "inline",
        description="inline: the agent, in its own answer; separate: the info_ext role, in a call of its own; "
        "none: the text is not interpreted",
    )


class MapOptions(Options):
    """How the map learns and how much of it is shown."""

    prune_after: PositiveInt = Field(
        3, description="failures after which an exit that never worked is taken off the map"
    )
    local_radius: PositiveInt = Field(2, description="rooms fewer moves away have a line on the map in a prompt")
    shown: bool = Field(True, description="the map is in prompts; it is learned either way")


class ObjectiveOptions(Options):
    """The number of objectives, their duration, and their sources."""

    enabled: bool = Field(True, description="find, track and complete objectives")
    max_active: PositiveInt = Field(8, description="objectives open at once")
    stale_after: PositiveInt = Field(80, description="turns without progress after which an objective is dropped")
    max_tokens: PositiveInt = Field(
        2800, description="tokens in a prompt about objectives; prompt_budgets.analysis is the limit"
    )


class KnowledgeOptions(Options):
    """What is learned about the game as a whole."""

    enabled: bool = Field(True, description="learn knowledge and show it")
    max_tokens: PositiveInt = Field(
        3000, description="tokens of knowledge; beyond that lines are merged or go to the archive"
    )


class CirclingOptions(Options):
    """When the agent is warned that it goes round in circles (docs/records/specification.md, Tries and circles)."""

    repeated_states: PositiveInt = Field(
        5, description="turns that repeat an earlier one, with no new text and no points in between"
    )
    turns_without_score: PositiveInt = Field(40, description="turns in which no point was scored")


class SimpleMemoryOptions(Options):
    """What is learned about each location."""

    enabled: bool = Field(True, description="learn location memories and show them")
    synthesis: bool = Field(True, description="a model writes memories of what happened at a location")
    memory_file: FileName = Field("Memories.md", description="file of memories, in the work folder")
    max_successful_actions_shown: NonNegativeInt = Field(5, description="memories of success shown at a location")
    max_failed_actions_shown: NonNegativeInt = Field(5, description="memories of failure shown at a location")
    max_tokens: PositiveInt = Field(500, description="tokens of all memories shown at a location")
    visits_in_question: PositiveInt = Field(
        3, description="visits with news that a large model is asked about in one question; death ends the wait"
    )
    flush_on_death: bool = Field(True, description="memories are on disk before play continues after a death")
    shuffled: bool = Field(
        False, description="each location is shown another's memories: a control, to find out what memories are worth"
    )


class RouteOptions(Options):
    """Commands that led somewhere, kept to be played again (docs/records/specification.md, Following routes)."""

    enabled: bool = Field(True, description="learn routes, show them, and let the agent follow them")
    shuffled: bool = Field(
        False, description="each route begins in its middle: a control, to find out what routes are worth"
    )
    proof_seeds: PositiveInt = Field(5, description="seeds with which proven-routes tries a route out")
    proof_commands: PositiveInt = Field(12_000, description="commands that may be played for this after an episode")
    proof_seconds: PositiveFloat = Field(60.0, description="seconds that this may take after an episode")


class ControlOptions(Options):
    """What other systems remember of earlier games: controls, to find out what our memory is worth."""

    reflection: bool = Field(
        False, description="one lesson of about 500 tokens is shown, which the model rewrites after each episode"
    )
    similar_turns: NonNegativeInt = Field(
        0, description="turns of all earlier games shown, those most similar to the present by BM25 (extra bm25)"
    )


BESIDE_GAMES = 4000  # tokens of the agent's prompt that whole games leave to everything else


class PromptBudgetOptions(Options):
    """The longest prompt of each role, in tokens (docs/records/specification.md, Prompt budgets)."""

    agent: PositiveInt = Field(16_000, description="tokens in the agent's prompt")
    history: NonNegativeInt = Field(
        6000,
        description="tokens of the game so far in the agent's prompt, at most three eighths of it; "
        "0: a window of agent.history_window turns",
    )
    earlier_games: NonNegativeInt = Field(
        6000,
        description="tokens of the best and the latest earlier game in the agent's prompt, of which 4,000 are for "
        "all else; 0: none",
    )
    critic: PositiveInt = Field(2000, description="tokens in the critic's prompt")
    info_ext: PositiveInt = Field(2000, description="tokens in the extractor's prompt")
    analysis: PositiveInt = Field(15_000, description="tokens in a prompt about objectives or knowledge")
    memory: PositiveInt = Field(6000, description="tokens in the memory prompt")
    cached: bool = Field(
        True,
        description="the server caches the beginning of prompts; false: other defaults, for short prompts: "
        "agent = 4000, history = 0, earlier_games = 0",
    )

    @property
    def game_so_far(self) -> int:
        """The tokens of the agent's prompt for the game so far; 0 for a window of turns."""
        return min(self.history, self.agent * 3 // 8)

    @property
    def games_before(self) -> int:
        """The tokens of the agent's prompt for earlier games; 0 for none."""
        return max(0, min(self.earlier_games, self.agent - self.game_so_far - BESIDE_GAMES))


class BudgetOptions(Options):
    """What a run may use up before it pauses. A model call that has begun is finished.

    The least values are less than any call takes.
    """

    max_cost: float | None = Field(None, ge=0.00001, description="US dollars that the models of a run may cost")
    max_tokens: int | None = Field(None, ge=10, description="tokens of a run's prompts and answers, cached ones too")
    max_time: Duration | None = Field(None, ge=1, description="seconds that a run may play; also as 90m or 2h")


class PriceOptions(Options):
    """What a model costs, in US dollars per million tokens."""

    input: NonNegativeFloat = Field(description="tokens of prompts")
    cached: NonNegativeFloat | None = Field(None, description="tokens of prompts that the server had; unset: as input")
    output: NonNegativeFloat = Field(description="tokens of answers")


class ChangedPrompt(Options):
    """A prompt in place of the program's own. A run keeps its text, so that it does not depend on the file.

    sha256: of the file's content, 64 hex digits
    """

    file: str
    sha256: str
    text: str


PromptFile = Annotated[ChangedPrompt, BeforeValidator(_from_file)]
LONGEST_RECOMMENDED_MEMORY_HISTORY_WINDOW = 10
PATIENCE_ELSEWHERE = 300.0
"""The maximum patience, in seconds, for models on another server than the agent's: play continues without them."""
FALLBACKS: Mapping[Role, Role] = {"critic": "agent", "info_ext": "agent", "analysis": "agent", "memory": "info_ext"}


@dataclass(frozen=True, slots=True)
class RoleOptions:
    """The model of one role with its server and its sampling, after all fallbacks.

    model: ``None`` takes the first one that the server lists
    base_url: up to and with ``/v1``; ``None`` is the client's default
    limits: of its time and its attempts; the server is the one above
    extra_body: fields that only this server knows, sent as they are (llama.cpp's ``repeat_penalty``)
    asked_for: the option that sets a field of ``extra_body``, by the field; a server that refuses it cannot be used
    marks_cache: the stable parts of prompts are marked for the server's cache
    """

    model: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    sampling: Sampling = field(default_factory=Sampling)
    limits: LanguageModelOptions = field(default_factory=LanguageModelOptions)
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict)
    asked_for: Mapping[str, str] = field(default_factory=dict)
    marks_cache: bool = False
    engine: Engine = "openai"


class GameConfiguration(Options):
    """All options of a session (docs/records/specification.md, Configuration options)."""

    aliases: ClassVar[Mapping[str, str]] = {
        "memory.show_persistence_markers": "show_persistence_markers",
        "memory.debug_ephemeral": "debug_ephemeral",
        **{f"llm.{role}_model": f"{role}_model" for role in ROLES},
    }

    max_turns_per_episode: PositiveInt = Field(500, description="turns after which an episode ends")
    max_turns_without_progress: PositiveInt | None = Field(
        None,
        description="turns without a point and without an objective marked as achieved after which an episode ends",
    )
    zork_game_workdir: AnyPath = Field(
        Path("game_files"), description="work folder, for all that is learned and all runs"
    )
    knowledge_file: FileName = Field("knowledgebase.md", description="file of knowledge, in the work folder")
    map_state_file: FileName = Field("map_state.json", description="file of the map, in the work folder")

    agent_model: Model | None = Field(
        None, description="model of the agent, a .gguf file, or hf:OWNER/REPO; unset: the server's first"
    )
    critic_model: Model | None = Field(None, description="model of the critic; unset: the agent's")
    info_ext_model: Model | None = Field(None, description="model of the extractor; unset: the agent's")
    analysis_model: Model | None = Field(None, description="model for objectives and knowledge; unset: the agent's")
    memory_model: Model | None = Field(None, description="model for memories; unset: the extractor's")
    agent_sampling: Sampling = Sampling()
    critic_sampling: Sampling = Sampling()
    info_ext_sampling: Sampling = Sampling()
    analysis_sampling: Sampling = Sampling()
    memory_sampling: MemorySampling = MemorySampling()

    knowledge_update_interval: PositiveInt = Field(100, description="turns between updates of the knowledge")
    objective_update_interval: PositiveInt = Field(20, description="turns between searches for objectives")
    enable_enhanced_objectives: bool = Field(
        True, description="objectives are found from knowledge, memories and map too, not from recent play alone"
    )
    room_description_age_window: PositiveInt = Field(
        10, le=20, description="turns after which a prompt says that a room may have changed since it was described"
    )
    show_persistence_markers: bool = Field(True, description="[spawn] and [session] on memories shown to the agent")
    debug_ephemeral: bool = Field(False, description="log everything done to ephemeral memories")

    assist: Annotated[frozenset[Assistance], CommaSeparated, PlainSerializer(sorted, when_used="json")] = Field(
        frozenset(),
        description="help given to the agent; valid-actions: commands that would do something now; "
        "fresh-actions: those of them that it played, and whose effects it saw, least; "
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
    controls: ControlOptions = ControlOptions()
    prompt_budgets: PromptBudgetOptions = PromptBudgetOptions()
    prompts: Annotated[dict[Text, PromptFile], BeforeValidator(_in_folder)] = Field(
        {}, description="files in place of the program's own prompts, by name, or a folder of them"
    )
    budgets: BudgetOptions = BudgetOptions()
    prices: Annotated[dict[str, PriceOptions], Json] = Field(
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

    @classmethod
    def from_toml(cls, path: Path | str) -> GameConfiguration:
        """Return the options in the file's ``[tool.zorkgpt]``, or in a whole ``zorkgpt.toml``, else defaults.

        Raises ``ConfigurationError`` with file and key, or with file and line for broken TOML.
        """
        configuration, _ = resolve(cls, from_file(Path(path)))
        return configuration

    def role(self, role: Role) -> RoleOptions:
        """Return the role's model, server and sampling (docs/records/specification.md, Roles and fallbacks).

        A role without its own model uses the model of its fallback role, and that role's server unless it has its own.
        A key is sent only to the URL that it was set with. A role without its own seed uses the seed of the story.
        """
        own: ServerOptions = getattr(self.llm, role)
        model: str | None = getattr(self, f"{role}_model")
        engine, limits = self.llm.engine, self.llm
        base_url, key = limits.base_url, limits.api_key
        if model is None and role in FALLBACKS:
            fallback = self.role(FALLBACKS[role])
            model, base_url, key = fallback.model, fallback.base_url, fallback.api_key
        if own.base_url is not None:
            base_url, key = own.base_url, own.api_key
        elif own.api_key is not None:
            key = own.api_key
        if engine == "auto":
            is_served = base_url is not None or key is not None
            engine = "openai" if (is_served if model is None else not is_model_file(model)) else "embedded"
        sampling: Sampling = getattr(self, f"{role}_sampling")
        if sampling.seed is None:
            sampling = sampling.model_copy(update={"seed": 1 if self.game.seed == "jericho" else self.game.seed})
        if role != "agent":
            agent = self.role("agent")
            if (engine, base_url) != (agent.engine, agent.base_url):
                limits = limits.model_copy(update={"patience": min(limits.patience, PATIENCE_ELSEWHERE)})
        body = dict(own.extra_body)
        asked_for = dict.fromkeys(body, f"llm.{role}.extra_body")
        if own.reasoning_effort is not None:
            body["reasoning_effort"] = own.reasoning_effort
            asked_for["reasoning_effort"] = f"llm.{role}.reasoning_effort"
        return RoleOptions(model, base_url, key, sampling, limits, body, asked_for, own.cache_control, engine)

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
                f"memory_history_window must be >= 1, using default: {DEFAULT_MEMORY_HISTORY_WINDOW}", stacklevel=2
            )
            return DEFAULT_MEMORY_HISTORY_WINDOW
        if window > LONGEST_RECOMMENDED_MEMORY_HISTORY_WINDOW:
            warnings.warn(f"memory_history_window = {window} may use excessive context. Recommended: 3-8", stacklevel=2)
        return window

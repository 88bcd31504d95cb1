"""Chooses the models that play, out of the configuration, and opens them."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING

from session.errors import ConfigurationError
from session.values import ROLES
from zorkgpt.llm.embedded.embedded_server import SAMPLING_EXTRAS, EmbeddedServer
from zorkgpt.llm.embedded.model_store import ModelStore
from zorkgpt.llm.openai.openai_model import OpenAIModel
from zorkgpt.llm.openai.settings import Limits, RoleSettings
from zorkgpt.llm.run_model import ChosenModel
from zorkgpt.llm.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.game_configuration import GameConfiguration, RoleOptions
    from zorkgpt.llm.embedded.model_store import Progress

_PATIENCE_ELSEWHERE = 300.0
"""Seconds, at most, for a model on another server than the agent's: play goes on without it."""


@contextmanager
def choose_model(
    configuration: GameConfiguration, progress: Progress | None = None, stop: Flag | None = None
) -> Iterator[ChosenModel]:
    """Open the configured models, ready to answer; embedded ones run until the end of the block.

    progress: told of a model file that has to be fetched
    stop: ends a wait between two tries, and cancels a request
    Raises ``ConfigurationError`` or ``LanguageModelUnavailable``.
    """
    with ExitStack() as stack:
        embedded: dict[str | None, EmbeddedServer] = {}
        settings = {}
        for role in ROLES:
            options = configuration.role(role)
            if options.engine == "embedded" and options.model not in embedded:
                file = ModelStore().pull(progress) if options.model is None else Path(options.model).expanduser()
                server = EmbeddedServer(file, proven=options.model is None, threads=configuration.llm.threads)
                embedded[options.model] = stack.enter_context(server)
            settings[role] = _role_settings(configuration, options, embedded)
        waits = Waits(stop or Flag())
        model = stack.enter_context(OpenAIModel(settings, sleep=waits.sleep, stop=waits.stop))
        model.find_names()
        chosen = ChosenModel(model, _description(configuration, model, embedded), waits)
        if configuration.role("agent").engine == "openai":
            chosen = replace(chosen, try_out=partial(model.try_out, "agent"))
        yield chosen


def limits_of(configuration: GameConfiguration, options: RoleOptions) -> Limits:
    """Return how long the model of a role may take and be waited for, and how often it is asked."""
    llm, agent = configuration.llm, configuration.role("agent")
    is_with_agent = (options.engine, options.base_url) == (agent.engine, agent.base_url)
    return Limits(
        request=llm.timeout,
        stall=llm.stall_timeout,
        total=llm.total_time,
        patience=llm.patience if is_with_agent else min(llm.patience, _PATIENCE_ELSEWHERE),
        attempts=llm.max_attempts,
        answer_length=llm.max_answer_length,
    )


def _role_settings(
    configuration: GameConfiguration, options: RoleOptions, embedded: dict[str | None, EmbeddedServer]
) -> RoleSettings:
    limits, sampling = limits_of(configuration, options), options.sampling
    if options.engine == "embedded":
        server = embedded[options.model]
        return RoleSettings(
            server.model, server.base_url, server.api_key, sampling, limits, SAMPLING_EXTRAS, compact=True
        )
    if options.base_url is None and options.model is None:
        key_alone = "a key is set, but no model is named for it" if options.api_key else "no model is named"
        raise ConfigurationError(f"{key_alone}: name one with --model or agent_model")
    if options.base_url is None and options.api_key is None:
        raise ConfigurationError(
            f"no server is configured that could serve {options.model}: set --base-url or OPENAI_API_KEY, "
            "or name a .gguf file"
        )
    key = options.api_key.get_secret_value() if options.api_key else None
    return RoleSettings(options.model, options.base_url, key, sampling, limits)


def _description(
    configuration: GameConfiguration, model: OpenAIModel, embedded: dict[str | None, EmbeddedServer]
) -> str:
    agent = configuration.role("agent")
    if agent.engine == "openai":
        return model.describe()
    server = embedded[agent.model]
    why = "embedded: no server or key is configured" if agent.model is None else "embedded"
    return f"{server.model} ({why})"

"""Model servers that run on this computer, but are not configured."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from session.errors import LanguageModelUnavailable
from session.game_configuration import GameConfiguration
from session.processes import program
from session.text import cut_at, one_line

USUAL_ADDRESSES: Mapping[str, str] = {
    "Ollama": "http://localhost:11434/v1",
    "LM Studio": "http://localhost:1234/v1",
    "llama.cpp": "http://localhost:8080/v1",
}
CONNECT_SECONDS, LISTING_SECONDS = 0.1, 0.5
_LONGEST_NAME = 60  # characters


def unused_server(configuration: GameConfiguration, addresses: Mapping[str, str] = USUAL_ADDRESSES) -> str:
    """Return the command that plays with the first of these servers that lists a model; "" if a model is configured.

    Only the list of models is requested. That takes at most ``LISTING_SECONDS`` for each port that is open.
    """
    agent = configuration.role("agent")
    if configuration.llm.engine != "auto" or agent.engine != "embedded" or agent.model is not None:
        return ""
    for name, address in addresses.items():
        url = urlsplit(address)
        with suppress(OSError, LanguageModelUnavailable):
            socket.create_connection((url.hostname or "", url.port or 0), CONNECT_SECONDS).close()
            from zorkgpt.llm.openai.model_server import (  # noqa: PLC0415 - slow, and rarely needed
                first_for_chat,
                served_models,
            )

            if model := first_for_chat(served_models(address, None, seconds=LISTING_SECONDS)):
                shown = cut_at(one_line(model), _LONGEST_NAME)
                command = f"{program()} run --base-url {address}"
                return f"A server at the usual address of {name} has {shown}: {command} plays with it."
    return ""

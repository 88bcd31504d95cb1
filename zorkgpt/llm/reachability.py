"""Whether a model server answers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from session.errors import LanguageModelUnavailable
from zorkgpt.llm.faults import RequestFailed
from zorkgpt.llm.model_server import ModelServer

if TYPE_CHECKING:
    from pydantic import SecretStr

_SECONDS = 10.0


def served_models(base_url: str | None, api_key: SecretStr | None) -> tuple[str, ...]:
    """The names of the models that the server lists, asked once and waited for ten seconds.

    base_url: ``None`` is the client's own default
    Raises ``ConfigurationError`` for an address or a key that cannot be sent, ``LanguageModelUnavailable`` with
    the address and the reason where no list comes.
    """
    server = ModelServer(base_url, api_key.get_secret_value() if api_key else None, time.monotonic)
    try:
        return tuple(server.model_names(_SECONDS))
    except RequestFailed as error:
        raise LanguageModelUnavailable(f"{server.address}: {error}") from error
    finally:
        server.close()

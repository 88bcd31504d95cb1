"""Whether a model server answers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from session.errors import LanguageModelUnavailable
from zorkgpt.llm.openai.faults import RequestFailed
from zorkgpt.llm.openai.model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import SecretStr

_SECONDS = 10.0


def served_models(
    base_url: str | None, api_key: SecretStr | None, other_keys: Iterable[SecretStr | None] = ()
) -> tuple[str, ...]:
    """The names of the models that the server lists, asked once and waited for ten seconds.

    base_url: ``None`` is the client's own default
    other_keys: of other servers, hidden in what this one says too
    Raises ``ConfigurationError`` for an address or a key that cannot be sent, ``LanguageModelUnavailable`` with
    the address and the reason where no list comes.
    """
    hidden = [key.get_secret_value() for key in other_keys if key]
    server = ModelServer(base_url, api_key.get_secret_value() if api_key else None, time.monotonic, hidden)
    try:
        return tuple(server.model_names(_SECONDS))
    except RequestFailed as error:
        raise LanguageModelUnavailable(f"{server.address}: {error}") from error
    finally:
        server.close()

"""The embedded model as a server on loopback, and how many cores it uses."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pydantic import JsonValue
from typing_extensions import Self
from xllamacpp import CommonParams, Server, llama_flash_attn_type

from session.errors import ConfigurationError
from zorkgpt.llm.embedded.trial_load import prove_loadable
from zorkgpt.llm.language_model import ROLES

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_MOST_READING = 8
_MOST_WRITING = 2


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads for reading a prompt and for writing an answer."""

    reading: int
    writing: int


def threads_for(chosen: int | None, cores: int) -> Threads:
    """Return the chosen number for reading, up to two of them for writing; by default half the cores, and one.

    llama.cpp's threads wait for one another by spinning at every token, so one that shares its core with another
    program slows all of them down. A second thread speeds up reading only (``benchmarks/embedded_turn.py``).
    """
    if chosen is None:
        return Threads(reading=min(max(1, cores // 2), _MOST_READING), writing=1)
    return Threads(reading=chosen, writing=min(chosen, _MOST_WRITING))


def available_cores() -> int:
    """Return the number of physical cores within the process's affinity and its container's quota; at least 1.

    Two hardware threads of one core share its arithmetic units, so a second thread only slows matrix products down.
    If the system does not report cores, every processor counts as one.
    """
    return max(1, int(min(_physical_cores(), _quota())))


def _physical_cores() -> int:
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    return len({_siblings(processor) for processor in os.sched_getaffinity(0)})


def _siblings(processor: int) -> str:
    try:
        return Path(_SIBLINGS.format(processor)).read_text()
    except OSError:
        return str(processor)


def _quota() -> float:
    try:
        quota, period = _CGROUP_QUOTA.read_text().split()
    except (OSError, ValueError):
        return float("inf")
    return float("inf") if quota == "max" else int(quota) / int(period)


CONTEXT_TOKENS = 2048
SAMPLING_EXTRAS: Mapping[str, JsonValue] = {"frequency_penalty": 0.5, "repeat_last_n": 400}
"""Fields that only llama.cpp knows; they keep a small model from repeating itself."""
_SILENT = -1


class EmbeddedServer:
    """A server for the model file ``gguf``, at ``base_url`` with the key ``api_key`` while it is open.

    It listens on loopback only.

    Each role has a slot of ``context_tokens`` (prompt and answer together) with its own prefix cache. The server
    gives a prompt to the slot with the longest common prefix, so the roles do not evict one another.

    With a seed, the same prompts in the same order get the same answers from every new server. A prompt of which only
    the last few tokens are new is computed differently from one that is read whole, and may get a different answer.

    Opening raises ``ConfigurationError`` for a file that cannot be loaded. Unless it is ``proven``, the file is first
    loaded in a child process, because llama.cpp may crash on a bad file.

    threads: for reading prompts, up to two of them also for writing; see ``threads_for`` for the default
    """

    def __init__(
        self,
        gguf: Path,
        *,
        proven: bool = False,
        context_tokens: int = CONTEXT_TOKENS,
        threads: int | None = None,
    ) -> None:
        self.gguf = gguf
        self.api_key = secrets.token_urlsafe()
        self._proven = proven
        self._context_tokens = context_tokens
        self._threads = threads_for(threads, available_cores())
        self._server: Server | None = None

    @property
    def model(self) -> str:
        """Return the model's name, as the server gives it."""
        return self.gguf.stem

    @property
    def base_url(self) -> str:
        """Return the address of the OpenAI protocol, up to and with ``/v1``."""
        if self._server is None:
            raise ConfigurationError(f"the embedded model {self.model} is not open")
        return f"{self._server.listening_address}/v1"

    def __enter__(self) -> Self:
        if not self._proven:
            prove_loadable(self.gguf)
        try:
            server = Server(self._parameters())
        except RuntimeError as error:
            raise ConfigurationError(
                f"{self.gguf}: llama.cpp cannot start with it: too little memory, or no free port on loopback"
            ) from error
        # Through the server's own queue: one that is closed before its loop turns would never end.
        server.handle_metrics()
        self._server = server
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server = None  # its destructor stops the threads and frees the model

    def _parameters(self) -> CommonParams:
        parameters = CommonParams()
        parameters.model.path = str(self.gguf)
        parameters.model_alias = {self.model}
        parameters.verbosity = _SILENT
        # With Jinja answers come in a Markdown fence, ten tokens for nothing; without, llama.cpp fills in only the
        # templates that it knows, such as the packaged model's.
        parameters.use_jinja = not self._proven
        self._set_speed(parameters)
        _close_doors(parameters, self.api_key)
        return parameters

    def _set_speed(self, parameters: CommonParams) -> None:
        parameters.cpuparams.n_threads = self._threads.writing
        parameters.cpuparams_batch.n_threads = self._threads.reading
        parameters.n_parallel = len(ROLES)
        parameters.n_ctx = self._context_tokens * len(ROLES)
        parameters.cache_ram_mib = 0  # with a slot for every role nothing is ever evicted
        parameters.warmup = False  # the first prompt warms up as well
        # On processors llama.cpp's flash attention writes an answer a fifth slower than plain attention.
        parameters.flash_attn_type = llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED


def _close_doors(parameters: CommonParams, api_key: str) -> None:
    """Listen on loopback alone, on a port that the system picks, and answer no web page and no other user."""
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [api_key]
    parameters.cors_origins = ""
    parameters.offline = True
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.endpoint_metrics = True  # asked once, by ourselves

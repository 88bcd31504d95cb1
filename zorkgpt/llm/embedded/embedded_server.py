"""The embedded model as a server on loopback: how many cores it uses, and whether llama.cpp can load its file.

llama.cpp trusts its files: a damaged one can end the process or block it forever. So a file of unknown origin is first
loaded in a child process, which runs this module.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue
from typing_extensions import Self
from xllamacpp import CommonParams, Server, llama_flash_attn_type

from session.errors import ConfigurationError, reported_as
from session.processes import child_environment, python_command
from zorkgpt.llm.language_model import ROLES

ENGINE_VARIABLES = ("GGML_*", "LLAMA_*", "OMP_*", "OPENBLAS_*", "MKL_*", "CUDA_*", "HIP_*", "ROCR_*", "HSA_*", "VK_*")
"""The environment variables that select the hardware for the engine."""
CONTEXT_TOKENS = 2048
LONGEST_BRIEF_PROMPT = 1500
"""Tokens of a prompt that fits into ``CONTEXT_TOKENS`` with its answer."""
SAMPLING_EXTRAS: Mapping[str, JsonValue] = {"frequency_penalty": 0.5, "repeat_last_n": 400}
"""Fields that only llama.cpp knows; they keep a small model from repeating itself."""
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_MOST_READING = 8
_MOST_WRITING = 2
_MAGIC = b"GGUF"
_SLOWEST_DISK = 20_000_000  # bytes a second
_PATIENCE_SECONDS = 60
_SILENT = -1
_ERRORS_ONLY = 1
_TRIAL_CONTEXT = 512  # tokens
_LOADING_ERROR = re.compile(r"error loading model: (.+)")


def threads_for(chosen: int | None, cores: int) -> tuple[int, int]:
    """Return the numbers of threads for reading a prompt and for writing an answer.

    llama.cpp's threads wait for one another by spinning at every token, so one that shares its core with another
    program slows all of them down. A second thread speeds up reading only (``benchmarks/embedded_turn.py``).
    """
    if chosen is None:
        return min(max(1, cores // 2), _MOST_READING), 1
    return chosen, min(chosen, _MOST_WRITING)


def available_cores() -> int:
    """Return the number of physical cores within the process's affinity and its container's quota; at least 1.

    Two hardware threads of one core share its arithmetic units, so a second thread only slows matrix products down.
    If the system does not report cores, every processor counts as one.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        siblings = set()
        for processor in os.sched_getaffinity(0):
            try:
                siblings.add(Path(_SIBLINGS.format(processor)).read_text())
            except OSError:
                siblings.add(str(processor))
        cores = len(siblings)
    try:
        quota, period = _CGROUP_QUOTA.read_text().split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no control groups, or a quota of "max"
        return cores


class EmbeddedServer:
    """A server for the model file ``gguf``, at ``base_url`` with the key ``api_key`` while it is open.

    Each role has a slot of ``CONTEXT_TOKENS`` (prompt and answer together) with its own prefix cache. The server
    gives a prompt to the slot with the longest common prefix, so the roles do not evict one another. Longer prompts
    share one context, as a slot of that size for each role would take several gigabytes. A prompt of which only the
    last few tokens are new is computed differently from one that is read whole, and may get a different answer.

    Opening raises ``ConfigurationError`` for a file that cannot be loaded; it is tried out first unless it is
    ``proven``.

    model: its name, as the server gives it
    threads: for reading prompts, up to two of them also for writing; see ``threads_for`` for the default
    longest_prompt: in tokens
    """

    def __init__(
        self,
        gguf: Path,
        *,
        proven: bool = False,
        threads: int | None = None,
        longest_prompt: int = LONGEST_BRIEF_PROMPT,
    ) -> None:
        self.gguf = gguf
        self.model = gguf.stem
        self.api_key = secrets.token_urlsafe()
        self._proven = proven
        self._threads = threads_for(threads, available_cores())
        self._longest_prompt = longest_prompt
        self._server: Server | None = None

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

    def __exit__(self, *_: object) -> None:
        self._server = None  # its destructor stops the threads and frees the model

    def _parameters(self) -> CommonParams:
        parameters = CommonParams()
        parameters.model.path = str(self.gguf)
        parameters.model_alias = {self.model}
        parameters.verbosity = _SILENT
        # With Jinja, answers come in a Markdown fence, which costs ten tokens. Without it, llama.cpp fills in only
        # the templates that it knows, such as the packaged model's.
        parameters.use_jinja = not self._proven
        parameters.cpuparams_batch.n_threads, parameters.cpuparams.n_threads = self._threads
        parameters.n_parallel = len(ROLES)
        parameters.kv_unified = self._longest_prompt > LONGEST_BRIEF_PROMPT
        shared = self._longest_prompt + 2 * CONTEXT_TOKENS
        parameters.n_ctx = shared if parameters.kv_unified else CONTEXT_TOKENS * len(ROLES)
        parameters.cache_ram_mib = 0  # with a slot for every role nothing is ever evicted
        parameters.warmup = False  # the first prompt warms up as well
        # On processors llama.cpp's flash attention writes an answer a fifth slower than plain attention.
        parameters.flash_attn_type = llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        # Loopback only, on a port that the system picks, without web pages and for this user only.
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.api_keys = [self.api_key]
        parameters.cors_origins = ""
        parameters.offline = True
        parameters.ui = False
        parameters.endpoint_slots = False
        parameters.endpoint_metrics = True  # requested once, when the server is opened
        return parameters


def prove_loadable(gguf: Path) -> None:
    """Load ``gguf`` in a child process. Raises ``ConfigurationError`` with the reason in one line if that fails."""
    with reported_as(f"{gguf}", ConfigurationError), gguf.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ConfigurationError(f"{gguf}: not a GGUF model file")
    needed, there = gguf.stat().st_size, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise ConfigurationError(
            f"{gguf}: needs {needed / 1e9:.1f} GB of memory, this machine has {there / 1e9:.1f} GB; use a smaller one"
        )
    limit = _PATIENCE_SECONDS + needed / _SLOWEST_DISK
    try:
        child = subprocess.run(  # noqa: S603  this module, by this Python
            python_command(__name__, str(gguf.absolute())),
            cwd="/",
            env=child_environment(*ENGINE_VARIABLES),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigurationError(
            f"{gguf}: llama.cpp was still loading the file after {limit:.0f} s; it may be damaged"
        ) from error
    if child.returncode < 0:
        raise ConfigurationError(
            f"{gguf}: llama.cpp crashed (signal {-child.returncode}): the file is damaged or too large for the memory"
        )
    if child.returncode:
        reason = _LOADING_ERROR.search(child.stderr)
        raise ConfigurationError(f"{gguf}: llama.cpp cannot load it" + (f": {reason[1]}" if reason else ""))


if __name__ == "__main__":
    parameters = CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.verbosity = _ERRORS_ONLY
    parameters.n_ctx = _TRIAL_CONTEXT
    parameters.warmup = False
    try:
        loaded = Server(parameters)
    except RuntimeError:
        sys.exit(1)  # llama.cpp has said why on stderr
    os._exit(0)  # one that is closed before its loop turns would never end

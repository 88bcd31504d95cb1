"""Loads a model file once in a child process, to find out whether llama.cpp can.

llama.cpp trusts its files: a damaged one can end the process, or keep it busy for ever. So a file of unknown
origin is looked at first, then loaded in a process that may die of it.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

from xllamacpp import CommonParams, Server

from session.errors import ConfigurationError
from session.processes import child_environment, python_command

ENGINE_VARIABLES = ("GGML_*", "LLAMA_*", "OMP_*", "OPENBLAS_*", "MKL_*", "CUDA_*", "HIP_*", "ROCR_*", "HSA_*", "VK_*")
"""With which a user tells the engine what to calculate on."""

_HEADER = struct.Struct("<4sIQQ")  # magic, version, tensors, key-value pairs
_VERSIONS = range(2, 100)  # version 1 is no longer read; a big-endian number is huge
_SLOWEST_DISK = 20_000_000  # bytes a second
_PATIENCE_SECONDS = 60
_ERRORS_ONLY = 1
_TRIAL_CONTEXT = 512  # tokens
_LOADING_ERROR = re.compile(r"error loading model: (.+)")


def prove_loadable(gguf: Path) -> None:
    """Load ``gguf`` in a child process. Raises ``ConfigurationError`` with the reason in one line if that fails."""
    _check_header(gguf)
    needed, there = gguf.stat().st_size, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise ConfigurationError(
            f"{gguf}: needs {needed / 1e9:.1f} GB of memory, this machine has {there / 1e9:.1f} GB: take a smaller one"
        )
    limit = _PATIENCE_SECONDS + gguf.stat().st_size / _SLOWEST_DISK
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
            f"{gguf}: llama.cpp was still loading it after {limit:.0f} s: is it damaged?"
        ) from error
    if child.returncode:
        raise ConfigurationError(f"{gguf}: {_reason(child)}")


def _check_header(gguf: Path) -> None:
    try:
        with gguf.open("rb") as file:
            header = file.read(_HEADER.size)
    except OSError as error:
        raise ConfigurationError(f"{gguf}: {error.strerror}") from error
    if header[:4] != b"GGUF":
        raise ConfigurationError(f"{gguf}: not a GGUF model file")
    if len(header) < _HEADER.size:
        raise ConfigurationError(f"{gguf}: a GGUF model file cut off in its header")
    _, version, tensors, _ = _HEADER.unpack(header)
    if version not in _VERSIONS:
        raise ConfigurationError(f"{gguf}: GGUF version {version} cannot be read; version 2 and later can")
    if tensors == 0:
        raise ConfigurationError(f"{gguf}: a GGUF file without a model in it (a vocabulary only?)")


def _reason(child: subprocess.CompletedProcess[str]) -> str:
    if child.returncode < 0:
        return f"llama.cpp died of it (signal {-child.returncode}): damaged, or too large for the memory"
    said = _LOADING_ERROR.search(child.stderr)
    return f"llama.cpp cannot load it: {said[1]}" if said else "llama.cpp cannot load it"


def _load(gguf: str) -> None:
    parameters = CommonParams()
    parameters.model.path = gguf
    parameters.verbosity = _ERRORS_ONLY
    parameters.n_ctx = _TRIAL_CONTEXT
    parameters.warmup = False
    try:
        Server(parameters)
    except RuntimeError:
        sys.exit(1)  # llama.cpp has said why on stderr


if __name__ == "__main__":
    _load(sys.argv[1])

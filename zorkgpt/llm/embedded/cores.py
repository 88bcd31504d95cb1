"""The number of processor cores that this process may use, and of threads for an embedded model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

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

    Two hardware threads of one core share its arithmetic: a second one only slows matrix products down.
    Where the system does not tell, every processor counts as a core.
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

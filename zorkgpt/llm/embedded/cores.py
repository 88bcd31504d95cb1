"""The number of processor cores that this process may use."""

from __future__ import annotations

import os
from pathlib import Path

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


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

"""Who may have written a file, for files that say where keys are sent."""

from __future__ import annotations

import os
import stat
from pwd import getpwuid

ROOT = 0


def writers_besides_user(status: os.stat_result) -> str:
    """Say in words who besides the user and root may have written a file; "" where nobody may."""
    if status.st_uid not in {os.geteuid(), ROOT}:
        return f"it belongs to {_name(status.st_uid)}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"it belongs to {_name(status.st_uid)}, and others can write it (chmod go-w mends that)"
    return ""


def _name(uid: int) -> str:
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"

"""Reserved file names, and the owners of files."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from pwd import getpwuid

RESERVED = frozenset({"runs", "forks", "story.json", "episodes.json", "current_state.json"})
"""Files and folders that every work folder may have besides the files of managers."""
RESERVED_ENDINGS = (".lock", ".backup")


def is_plain_name(name: str) -> bool:
    """Return whether the name is a plain file name that cannot lead to another folder."""
    return name == Path(name).name and name not in {"", ".."} and name.isprintable()


def is_reserved(name: str) -> bool:
    """Return whether the name, in any case, is reserved for a file or folder that does not belong to a manager."""
    folded = name.casefold()
    return folded in RESERVED or folded.endswith(RESERVED_ENDINGS)


def archive_name(knowledge_file: str) -> str:
    """Return the name of the archive of a knowledge file."""
    path = Path(knowledge_file)
    return f"{path.stem}.archive{path.suffix}"


ROOT_USER = 0


def writers_besides_user(status: os.stat_result) -> str:
    """Return in words which users other than root and the current one can write a file; "" if none can."""
    if status.st_uid not in {os.geteuid(), ROOT_USER}:
        return f"it belongs to {_name(status.st_uid)}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"it belongs to {_name(status.st_uid)}, and others can write it (to fix that: chmod go-w)"
    return ""


def _name(uid: int) -> str:
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"

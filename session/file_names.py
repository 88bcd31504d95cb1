"""Names that files may not have, and whom a file belongs to."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from pwd import getpwuid

RESERVED = frozenset({"runs", "forks", "story.json", "episodes.json", "current_state.json"})
"""Files and folders that every work folder may have, apart from the files that managers keep."""
RESERVED_ENDINGS = (".lock", ".backup")


def is_plain_name(name: str) -> bool:
    """Say whether a file of that name is in the folder where it is looked for, and nowhere else."""
    return name == Path(name).name and name not in {"", ".."} and name.isprintable()


def is_reserved(name: str) -> bool:
    """Return whether a work folder may have a file or folder of that name that no manager keeps, in any case."""
    folded = name.casefold()
    return folded in RESERVED or folded.endswith(RESERVED_ENDINGS)


def archive_name(knowledge_file: str) -> str:
    """Return the name of the file beside a file of knowledge for what is no longer in it."""
    path = Path(knowledge_file)
    return f"{path.stem}.archive{path.suffix}"


ROOT_USER = 0


def writers_besides_user(status: os.stat_result) -> str:
    """Say in words who besides the user and root may have written a file; "" where nobody may."""
    if status.st_uid not in {os.geteuid(), ROOT_USER}:
        return f"it belongs to {_name(status.st_uid)}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"it belongs to {_name(status.st_uid)}, and others can write it (chmod go-w mends that)"
    return ""


def _name(uid: int) -> str:
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"

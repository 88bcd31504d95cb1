"""Names that files of the work folder may have."""

from __future__ import annotations

from pathlib import Path

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

"""Names that files of the work folder may have."""

from __future__ import annotations

from pathlib import Path


def is_plain_name(name: str) -> bool:
    """Say whether a file of that name is in the folder where it is looked for, and nowhere else."""
    return name == Path(name).name and name not in {"", ".."} and name.isprintable()

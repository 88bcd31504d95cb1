"""How this program was started, for hints that name a command."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def program() -> str:
    """Return what to type in the current folder to run this program again, quoted for a shell."""
    typed = Path(sys.argv[0])
    if (typed.parent.name, typed.name) == ("zorkgpt", "__main__.py"):
        return f"{_as_typed(Path(sys.executable))} -m zorkgpt"
    return _as_typed(typed) if typed.name == "zorkgpt" else "zorkgpt"


def _as_typed(path: Path) -> str:
    """Return the name of a program if the shell finds it by that, else its path."""
    found = shutil.which(path.name)
    return path.name if found is not None and Path(found).absolute() == path.absolute() else shlex.quote(str(path))

"""A folder of one's own among the temporary ones."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from session.errors import GameError


class PrivateFolder:
    """An empty folder; gone with ``remove``, with this object, or with the process, whichever comes first.

    Raises ``GameError`` where there is no room for one.
    """

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix="zorkgpt-"))
        except OSError as error:
            raise GameError(f"no temporary folder can be made: {error.strerror or error}") from error
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

"""A folder of one's own among the temporary ones."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class PrivateFolder:
    """An empty folder; gone with ``remove``, with this object, or with the process, whichever comes first."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="zorkgpt-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

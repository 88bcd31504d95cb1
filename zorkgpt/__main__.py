"""``python -m zorkgpt``: the same as ``zorkgpt``."""

import os
import sys

# Python looks for modules in the current folder first, where any file may bear the name of one of ours.
_isolated = sys.flags.isolated or getattr(sys.flags, "safe_path", False)
if not _isolated and sys.path[0] != os.path.dirname(os.path.dirname(os.path.abspath(__file__))):  # noqa: PTH100, PTH120 - nor pathlib
    del sys.path[0]

from zorkgpt.cli.main import main  # noqa: E402 - only now is it ours for certain

main()

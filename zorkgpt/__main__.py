"""``python -m zorkgpt``: the same as ``zorkgpt``."""

from zorkgpt.cli.main import main

main()

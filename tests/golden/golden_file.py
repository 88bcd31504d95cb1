"""Texts that are kept whole beside this module, so that changing a word shows in review."""

from __future__ import annotations

import os
from pathlib import Path

from zorkgpt.llm.language_model import Prompt

FOLDER = Path(__file__).parent
REWRITE_VARIABLE = "REWRITE_GOLDEN"


def assert_golden(name: str, text: str) -> None:
    """The file of that name holds this text. With ``REWRITE_GOLDEN=1`` it does from now on."""
    file = FOLDER / name
    if os.environ.get(REWRITE_VARIABLE):
        file.write_text(text + "\n", encoding="utf-8")
    golden = file.read_text(encoding="utf-8") if file.exists() else ""
    assert text + "\n" == golden, f"{name} differs; mend the code, or run the test with {REWRITE_VARIABLE}=1"


def as_shown(prompt: Prompt) -> str:
    """Return the prompt as a golden file holds it."""
    return f"=== system ===\n{prompt.system}\n\n=== user ===\n{prompt.user}"

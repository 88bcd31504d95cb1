"""A key in ``.env`` is used unchanged."""

from __future__ import annotations

from pathlib import Path

from session.resolved_configuration import load_configuration


def test_a_dollar_sign_in_a_key_is_part_of_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("ZORKGPT_LLM__API_KEY=a${HOME}b\n")
    key = load_configuration({}, {}, tmp_path).configuration.llm.api_key
    assert key is not None
    assert key.get_secret_value() == "a${HOME}b"

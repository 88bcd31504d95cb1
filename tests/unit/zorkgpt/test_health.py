"""What is found of a run's needs, and the mend that is offered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from session.resolved_configuration import load_configuration
from tests.fixtures.misbehaving_server import MisbehavingServer, says_error
from zorkgpt.health import Finding, examine
from zorkgpt.llm.embedded.model_store import SMOLLM2, ModelStore

KEY = "sk-nobody-may-see-this"


@pytest.mark.parametrize(
    ("options", "subject", "well", "needed", "words", "mend"),
    [
        ({"game.file": "none.z5"}, "Story", False, True, "none.z5", "--game"),
        ({"game.file": "poem.gguf"}, "Story", False, True, "poem.gguf", "--game"),
        ({"zork_game_workdir": "a/b"}, "Work folder", True, True, "a/b does not exist yet, can be made", ""),
        ({"zork_game_workdir": "."}, "Work folder", True, True, " can be written", ""),
        ({"zork_game_workdir": "poem.gguf/work"}, "Work folder", False, True, "poem.gguf/work", "--workdir"),
        ({"agent_model": "poem.gguf"}, "Model", False, True, "poem.gguf", ""),
        ({}, "Model", False, False, "", "zorkgpt model pull"),
    ],
)
def test_what_a_run_needs_is_looked_at_without_a_trace_and_what_fails_has_its_mend(
    tmp_path: Path, options: dict[str, str], subject: str, well: bool, needed: bool, words: str, mend: str
) -> None:
    poem = tmp_path / "poem.gguf"
    poem.write_text("It is pitch black.")
    findings = _examined(tmp_path, {name: str(tmp_path / value) for name, value in options.items()})
    found = _only(subject, findings)
    assert (found.well, found.needed) == (well, needed)
    assert words in found.words
    assert mend in found.mend
    assert all(_only(each, findings).well for each in ("Python", "Jericho", "Server", "Key"))
    assert list(tmp_path.iterdir()) == [poem]


@pytest.mark.stories
def test_a_story_is_described_with_its_version(tmp_path: Path, zork1: Path) -> None:
    story = _only("Story", _examined(tmp_path, {"game.file": zork1}))
    assert (story.well, story.words) == (True, "zork1.z5 (asked for), version 3, opens")


def test_a_fetched_model_is_named(tmp_path: Path) -> None:
    store = ModelStore(tmp_path, replace(SMOLLM2, size=4))
    store.path.write_bytes(b"GGUF")
    model = _only("Model", list(examine(load_configuration({}, {}, tmp_path), tmp_path, store)))
    assert (model.well, model.words) == (True, f"{SMOLLM2.name} for agent, critic, info_ext, analysis, memory")


@pytest.mark.parametrize(
    ("listed", "model", "well", "words", "mend"),
    [
        (("other", "big"), "big", True, "big for agent, critic, info_ext, analysis, memory", ""),
        (("vendor/big",), "big", True, "big for agent, ", ""),
        (("big:latest",), "big", True, "big for agent, ", ""),
        (("bigger", "small"), "big", False, "big for agent, ", "bigger, small"),
        (("first", "second"), None, True, "first for agent, ", ""),
    ],
    ids=["listed", "with its vendor", "with a tag", "not listed", "unnamed"],
)
def test_the_model_is_looked_for_among_those_that_the_server_lists(
    tmp_path: Path, listed: tuple[str, ...], model: str | None, well: bool, words: str, mend: str
) -> None:
    with MisbehavingServer(says_error(500), models=listed) as server:
        findings = _examined(tmp_path, {"llm.base_url": server.base_url, "agent_model": model})
    found = _only("Model", findings)
    assert (found.well, found.needed) == (well, True)
    assert found.words.startswith(words)
    assert found.mend.endswith(mend)
    assert _only("Server", findings).words == f"{server.base_url} answers"
    assert _only("Key", findings).well


def test_each_server_and_model_is_looked_at_once(tmp_path: Path) -> None:
    with MisbehavingServer(says_error(500), models=("a", "b")) as server:
        models = {"agent_model": "a", "critic_model": "b"}
        findings = _examined(tmp_path, {"llm.base_url": server.base_url, **models})
    assert [each.words for each in findings if each.subject == "Model"] == [
        "a for agent, info_ext, analysis, memory",
        "b for critic",
    ]
    assert server.listings == 1


def test_a_refused_key_is_said_with_its_origin_and_not_shown(tmp_path: Path) -> None:
    with MisbehavingServer(says_error(500)) as server:
        server.listing = says_error(401, f"wrong key {KEY}")
        findings = _examined(tmp_path, {"llm.base_url": server.base_url}, {"OPENAI_API_KEY": KEY})
    found = _only("Server", findings)
    assert not found.well
    assert "401" in found.words
    assert "llm.api_key" in found.mend
    assert _only("Key", findings).words == "llm.api_key is set (OPENAI_API_KEY in the environment)"
    assert KEY not in repr(findings)


def test_nobody_listening_is_said_with_the_address(tmp_path: Path) -> None:
    address = "http://127.0.0.1:9/v1"
    found = _only("Server", _examined(tmp_path, {"llm.base_url": address}))
    assert (found.well, found.needed) == (False, True)
    assert address in found.words
    assert found.mend.startswith("start the server, or set the right")


def test_the_clients_default_server_needs_a_key(tmp_path: Path) -> None:
    resolved = load_configuration({"llm.engine": "openai"}, {}, tmp_path)
    key = next(each for each in examine(resolved, tmp_path, ModelStore(tmp_path)) if each.subject == "Key")
    assert not key.well
    assert "OPENAI_API_KEY" in key.mend


def _examined(
    folder: Path, overrides: dict[str, object] | None = None, environ: dict[str, str] | None = None
) -> list[Finding]:
    resolved = load_configuration(overrides or {}, environ or {}, folder)
    return list(examine(resolved, folder, ModelStore(folder / "models")))


def _only(subject: str, findings: list[Finding]) -> Finding:
    (found,) = [each for each in findings if each.subject == subject]
    return found

"""What is found of a run's needs, and the mend that is offered."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from session.resolved_configuration import load_configuration
from tests.fixtures.misbehaving_server import MisbehavingServer, says_error
from zorkgpt.health import Finding, examine
from zorkgpt.llm.embedded.model_store import SMOLLM2, ModelStore

KEY = "sk-nobody-may-see-this"


def test_python_and_jericho_are_found(tmp_path: Path) -> None:
    assert [each.well for each in _examined(tmp_path) if each.subject in {"Python", "Jericho"}] == [True, True]


def test_a_missing_story_is_named_with_the_way_to_name_another(tmp_path: Path) -> None:
    missing = tmp_path / "none.z5"
    story = _only("Story", _examined(tmp_path, {"game.file": missing}))
    assert not story.well
    assert story.needed
    assert str(missing) in story.words
    assert "--game" in story.mend


@pytest.mark.stories
def test_a_story_is_described_with_its_version(tmp_path: Path, zork1: Path) -> None:
    story = _only("Story", _examined(tmp_path, {"game.file": zork1}))
    assert (story.well, story.words) == (True, "zork1.z5 (asked for), version 3, opens")


def test_a_file_that_is_no_story_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.z5").write_text("It is pitch black.")
    story = _only("Story", _examined(tmp_path, {"game.file": tmp_path / "text.z5"}))
    assert (story.well, story.needed) == (False, True)


class TestWorkFolder:
    def test_one_that_is_there_is_written_to_and_left_as_it_was(self, tmp_path: Path) -> None:
        found = _only("Work folder", _examined(tmp_path, {"zork_game_workdir": tmp_path}))
        assert (found.well, found.words) == (True, f"{tmp_path} can be written")
        assert list(tmp_path.iterdir()) == []

    def test_one_that_is_not_there_can_be_made_and_is_not_made_by_looking(self, tmp_path: Path) -> None:
        work = tmp_path / "a" / "b"
        found = _only("Work folder", _examined(tmp_path, {"zork_game_workdir": work}))
        assert (found.well, found.words) == (True, f"{work} does not exist yet, can be made")
        assert list(tmp_path.iterdir()) == []

    def test_one_below_a_file_stops_a_run(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        found = _only("Work folder", _examined(tmp_path, {"zork_game_workdir": tmp_path / "file" / "work"}))
        assert (found.well, found.needed) == (False, True)
        assert "--workdir" in found.mend

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
    def test_one_that_may_not_be_written_stops_a_run(self, tmp_path: Path) -> None:
        sealed = tmp_path / "sealed"
        sealed.mkdir(mode=0o500)
        assert not _only("Work folder", _examined(tmp_path, {"zork_game_workdir": sealed})).well


class TestEmbedded:
    def test_a_model_not_fetched_yet_is_said_but_stops_no_run(self, tmp_path: Path) -> None:
        findings = _examined(tmp_path)
        model = _only("Model", findings)
        assert (model.well, model.needed) == (False, False)
        assert "zorkgpt model pull" in model.mend
        assert _only("Server", findings).well
        assert _only("Key", findings).well

    def test_a_fetched_model_is_named(self, tmp_path: Path) -> None:
        store = ModelStore(tmp_path, replace(SMOLLM2, size=4))
        store.path.write_bytes(b"GGUF")
        findings = list(examine(load_configuration({}, {}, tmp_path), tmp_path, store))
        model = _only("Model", findings)
        assert (model.well, model.words) == (True, f"{SMOLLM2.name} for agent, critic, info_ext, analysis, memory")

    def test_a_file_that_is_no_model_fails(self, tmp_path: Path) -> None:
        file = tmp_path / "poem.gguf"
        file.write_text("roses are red")
        model = _only("Model", _examined(tmp_path, {"agent_model": str(file)}))
        assert (model.well, model.needed) == (False, True)
        assert str(file) in model.words


class TestServer:
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
        self, tmp_path: Path, listed: tuple[str, ...], model: str | None, well: bool, words: str, mend: str
    ) -> None:
        with MisbehavingServer(says_error(500), models=listed) as server:
            findings = _examined(tmp_path, {"llm.base_url": server.base_url, "agent_model": model})
        found = _only("Model", findings)
        assert (found.well, found.needed) == (well, True)
        assert found.words.startswith(words)
        assert found.mend.endswith(mend)
        assert _only("Server", findings).words == f"{server.base_url} answers"
        assert _only("Key", findings).well

    def test_each_server_and_model_is_looked_at_once(self, tmp_path: Path) -> None:
        with MisbehavingServer(says_error(500), models=("a", "b")) as server:
            models = {"agent_model": "a", "critic_model": "b"}
            findings = _examined(tmp_path, {"llm.base_url": server.base_url, **models})
        assert [each.words for each in findings if each.subject == "Model"] == [
            "a for agent, info_ext, analysis, memory",
            "b for critic",
        ]
        assert server.listings == 1

    def test_a_refused_key_is_said_and_not_shown(self, tmp_path: Path) -> None:
        with MisbehavingServer(says_error(500)) as server:
            server.listing = says_error(401, f"wrong key {KEY}")
            findings = _examined(tmp_path, {"llm.base_url": server.base_url}, {"OPENAI_API_KEY": KEY})
        found = _only("Server", findings)
        assert not found.well
        assert "401" in found.words
        assert "llm.api_key" in found.mend
        assert KEY not in repr(findings)

    def test_nobody_listening_is_said_with_the_address(self, tmp_path: Path) -> None:
        address = "http://127.0.0.1:9/v1"
        found = _only("Server", _examined(tmp_path, {"llm.base_url": address}))
        assert (found.well, found.needed) == (False, True)
        assert address in found.words


class TestKey:
    def test_of_a_key_only_its_origin_is_shown(self, tmp_path: Path) -> None:
        with MisbehavingServer(says_error(500)) as server:
            findings = _examined(
                tmp_path, {"llm.base_url": server.base_url, "agent_model": "set"}, {"OPENAI_API_KEY": KEY}
            )
        assert _only("Key", findings).words == "llm.api_key is set (OPENAI_API_KEY in the environment)"
        assert KEY not in repr(findings)

    def test_the_clients_default_server_needs_one(self, tmp_path: Path) -> None:
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

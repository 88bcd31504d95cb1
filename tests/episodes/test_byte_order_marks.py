"""Files that people edit may begin with a byte order mark, as editors of Windows write it."""

from __future__ import annotations

import json
import shutil
from codecs import BOM_UTF8
from pathlib import Path

import pytest

from session.files.run_folders import find_run
from tests.fixtures.command_line import Ran, ran
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.typed_command import typed
from zorkgpt import prompts

pytestmark = pytest.mark.usefixtures("in_own_folder")


def play(server: MisbehavingServer, own_story: Path, folder: Path, *options: str) -> Ran:
    there = ("--game", str(own_story), "--base-url", server.base_url)
    return typed("run", *there, "--max-turns", "4", "--quiet", "--workdir", str(folder), *options)


def test_what_was_learned_is_read_from_files_with_a_mark_as_without(
    server: MisbehavingServer, own_story: Path, tmp_path: Path
) -> None:
    assert play(server, own_story, tmp_path / "plain").status == 0
    shutil.copytree(tmp_path / "plain", tmp_path / "marked")
    edited = [path for path in (tmp_path / "marked").iterdir() if path.suffix in {".md", ".json", ".jsonl"}]
    assert {path.name for path in edited} >= {"Memories.md", "map_state.json", "routes.json", "story.json"}
    for path in edited:
        path.write_bytes(BOM_UTF8 + path.read_bytes())
    assert (
        play(server, own_story, tmp_path / "plain").status == play(server, own_story, tmp_path / "marked").status == 0
    )
    kept = {path.name for folder in ("plain", "marked") for path in (tmp_path / folder).glob("*.corrupt*")}
    assert not kept
    rooms, routes = (
        [json.loads((tmp_path / folder / name).read_text("utf-8-sig"))[key] for folder in ("plain", "marked")]
        for name, key in (("map_state.json", "rooms"), ("routes.json", "routes"))
    )
    assert rooms[0].keys() == rooms[1].keys()
    assert len(routes[0]) == len(routes[1])


def test_a_prompt_begins_with_its_text(server: MisbehavingServer, own_story: Path, tmp_path: Path) -> None:
    text = (Path(prompts.__file__).parent / "agent.md").read_bytes()
    (tmp_path / "mine.md").write_bytes(BOM_UTF8 + text)
    assert play(server, own_story, tmp_path / "work", "--set", "prompts.agent=mine.md").status == 0
    manifest = json.loads((find_run(tmp_path / "work") / "manifest.json").read_text())
    assert manifest["configuration"]["prompts"]["agent"]["text"] == text.decode().strip()


def test_the_first_command_of_a_script_is_played(own_story: Path, tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(BOM_UTF8 + b"north\r\n")
    shown = typed("replay", "--from-actions", "script", "--game", str(own_story))
    assert "\n> north\n" in shown.text, shown
    typed_in = ran(tmp_path, "play", "--workdir", "played", "--game", str(own_story), typed="\ufeffnorth\n")
    assert "letters only" not in typed_in.text + typed_in.err.decode()

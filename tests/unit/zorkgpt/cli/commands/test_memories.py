"""``zorkgpt memories`` as typed. What the guide shows is tested in ``tests/architecture/test_docs.py``."""

from __future__ import annotations

import json
from functools import partial
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import get_args

import pytest

from managers.memory.document import Revision, open_memories, parse_memories
from session.events import FileEdited, FileWritten
from session.files.journal import Journal
from session.files.run_folders import AT_END, AT_START, MEMORIES_AT_END, MEMORIES_AT_START
from session.memory import PERSISTENCES, Memory
from tests.fixtures.typed_command import printed, refused, typed
from tests.unit.zorkgpt.report.dye_runs import manifest
from zorkgpt.cli.commands.memories import Persistent
from zorkgpt.mapping.map_graph import MapGraph

_run = partial(printed, "memories")

FILE = """\
# Location Memories

## Location 31: Blue Vats
**Visits:** 3 | **Episodes:** 1, 2

**[DISCOVERY - CORE] Jar on the shelf** *(Ep1, T4, +0)*
Full of mordant.
It smells.

**[DANGER - SUPERSEDED] Vat is hot** *(Ep1, T7, +0)*
[Superseded at T12 by "Vat is cold"]
~~Steam rises.~~

## Location 44: Drying Loft

**[NOTE] Rung is rotten**
Step over it.
"""


@pytest.fixture(autouse=True)
def workdir(in_own_folder: Path) -> Path:
    folder = in_own_folder / "game_files"
    folder.mkdir()
    (folder / "Memories.md").write_text(FILE)
    return folder


# show


def test_show_prints_every_location_and_with_all_what_was_given_up_and_why() -> None:
    assert _run("show") == (
        "Memories, game_files/Memories.md:\n"
        "Location 31: Blue Vats\n"
        "  [DISCOVERY - CORE] Jar on the shelf\n    Full of mordant.\n    It smells.\n"
        "Location 44: Drying Loft\n"
        "  [NOTE - PERMANENT] Rung is rotten\n    Step over it.\n"
    )
    given_up = '[DANGER - PERMANENT - SUPERSEDED] Vat is hot\n    Superseded at T12 by "Vat is cold"\n    Steam'
    assert given_up in _run("show", "31", "--all")


@pytest.mark.parametrize("location", ["44", "#44", "Drying Loft", "drying  LOFT"])
def test_a_location_is_known_by_its_number_and_its_name(location: str) -> None:
    assert _run("show", location).splitlines()[1] == "Location 44: Drying Loft"


@pytest.mark.parametrize("arguments", [(), ("7",)])
def test_where_nothing_is_known_show_says_so(workdir: Path, arguments: tuple[str, ...]) -> None:
    (workdir / "Memories.md").unlink()
    assert _run("show", *arguments).startswith("Nothing is remembered")
    assert list(workdir.iterdir()) == []


def test_json_has_the_fields_of_every_memory() -> None:
    vats, loft = json.loads(_run("show", "--all", "--json"))
    fields = ("location_id", "location_name", "visits", "episodes")
    assert [vats[field] for field in fields] == [31, "Blue Vats", 3, [1, 2]]
    assert [Memory(**each) for each in vats["memories"]] == parse_memories(FILE).memories()[31]
    assert (loft["visits"], loft["episodes"]) == (0, [])


def test_json_has_the_visits_that_only_the_map_has_counted(workdir: Path) -> None:
    graph = MapGraph()
    for number in (31, 44):
        graph.add_room(number, "Loft")
        for episode in (1, 1, 1, 2):
            graph.add_visit(number, episode)
    graph.save_to_json(workdir / "map_state.json")
    shown = [(each["visits"], each["episodes"]) for each in json.loads(_run("show", "--json"))]
    assert shown == [(3, [1, 2]), (4, None)]


def test_control_characters_and_brackets_are_printed_as_text_and_a_pipe_gets_whole_lines(workdir: Path) -> None:
    long = "word " * 60
    (workdir / "Memories.md").write_text(
        f"## Location 5: Q\x1buay\n**[NOTE] [red]T\x1b[2J**\n&#27;[2J\n**[A] B&#10;C**\n{long}\n"
    )
    shown = _run("show")
    assert "\x1b" not in shown
    assert shown.count("\\x1b") == 3
    assert "[red]T" in shown
    assert f"    {long.strip()}" in shown.splitlines()


# check


def test_check_prints_each_problem_with_its_line_and_exits_1(workdir: Path) -> None:
    header = "**[NOTE - PERMANENT] Mind the step** *(Ep1, T4, +0)*\n"
    (workdir / "Memories.md").write_text(
        f"## Location 31: Blue Vats\n\n{header}It creaks.\n\n{header.replace('Mind', 'mind')}It broke.\n\n"
        f"**[NOTE - PERMANENT] Empty** *(Ep1, T5, +0)*\n\n## Location 32: Loft\n\n{header}Another one.\n\n**[NOTE\n"
    )
    result = typed("memories", "check")
    assert result.status == 1
    same_title, empty, no_header = result.text.splitlines()
    assert same_title.startswith("game_files/Memories.md:6: ")
    assert empty.startswith("game_files/Memories.md:9: ")
    assert no_header.startswith("game_files/Memories.md:16: A memory begins with a line like")
    as_json = typed("memories", "check", "--json")
    assert as_json.status == 1
    checked = json.loads(as_json.out)
    assert (checked["file"], checked["memories"]) == ("game_files/Memories.md", 4)
    assert [problem["line"] for problem in checked["problems"]] == [6, 9, 16]


def test_check_counts_what_is_understood_and_names_a_byte_that_is_not_utf8(workdir: Path) -> None:
    assert _run("check") == "game_files/Memories.md: 3 memories at 2 locations, all understood\n"
    (workdir / "Memories.md").write_bytes(b"# \xff\n")
    assert "0xff" in refused(1, "memories", "check")


# add, invalidate


def test_an_added_memory_is_in_the_file_and_what_stood_there_stays(workdir: Path) -> None:
    _run("add", "31", "Dye first", " Then\nthe mordant. ", "--category", "danger", "--persistence", "core")
    content = (workdir / "Memories.md").read_text()
    added = "**[DANGER - CORE] Dye first**\nThen\nthe mordant.\n\n"
    assert content == FILE.replace("## Location 44", f"{added}## Location 44")
    assert (workdir / "Memories.md.backup").read_text() == FILE


def test_the_first_memory_of_a_location_gets_a_section_that_claims_no_visit(workdir: Path) -> None:
    _run("add", "40", "Nets dry here", "Leave them.", "--name", "Net Shed")
    document = parse_memories((workdir / "Memories.md").read_text())
    assert (document.names()[40], list(document.memories())) == ("Net Shed", [31, 40, 44])
    assert document.visits_at(40) is None


@pytest.fixture
def mapped(workdir: Path) -> Path:
    """The work folder with a map beside the memories: a room that has none, and two of one name."""
    graph = MapGraph()
    for number, name in {31: "Blue Vats", 32: "Causeway", 50: "Maze", 51: "Maze", 52: ""}.items():
        graph.add_room(number, name)
    graph.save_to_json(workdir / "map_state.json")
    return workdir


@pytest.mark.parametrize(("location", "number", "name"), [("causeway", 32, "Causeway"), ("L51 Maze", 51, "Maze")])
def test_a_room_that_only_the_map_knows_is_found_and_named_as_there(
    mapped: Path, location: str, number: int, name: str
) -> None:
    assert _run("add", location, "Nets dry", "Leave them.").endswith(f"added at location {number}: Nets dry\n")
    assert parse_memories((mapped / "Memories.md").read_text()).names()[number] == name


def test_rooms_of_one_name_on_the_map_are_told_by_number_and_without_any_name_that_is_said(mapped: Path) -> None:
    assert "50 or 51" in refused(2, "memories", "add", "Maze", "T", "x")
    unknown = refused(2, "memories", "add", "Attic", "T", "x")
    assert unknown == "no location of game_files is called Attic; its names: Blue Vats, Causeway, Drying Loft, Maze"
    assert "is called ;" in refused(2, "memories", "add", "", "T", "x")
    (mapped / "Memories.md").unlink()
    (mapped / "map_state.json").write_text("{")
    assert refused(2, "memories", "add", "Maze", "T", "x") == (
        "no location is called Maze: neither game_files/Memories.md nor game_files/map_state.json has a name yet; "
        "give its number"
    )


def test_a_number_that_is_not_on_the_map_is_warned_of_and_taken(
    mapped: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _run("add", "44", "Known to the file", "x")
    assert capfd.readouterr().err == ""
    _run("add", "999", "T", "x")
    assert capfd.readouterr().err == "zorkgpt: location 999 is not on the map; its memory is added anyway\n"
    assert 999 in parse_memories((mapped / "Memories.md").read_text()).memories()
    assert "needs a title" in refused(2, "memories", "add", "998", " ", "x")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "drying lift"), "there is Drying Loft"),
        (("show", "9" * 10), "called 9999"),
        (("add", "44", "RUNG is  rotten", "Mend it."), "this title already"),
        (("add", "44", "  ", "Mend it."), "needs a title"),
        (("add", "44", "Empty", "  "), "the text is empty"),
        (("add", "Net Shed", "Nets", "Dry."), "called Net Shed"),
        (("invalidate", "44", "Rung is rotten", "--reason", "  "), "--reason is empty"),
        (("invalidate", "44", "Rung is roten", "--reason", "x"), "title: Rung is roten; there is Rung is rotten"),
        (("invalidate", "44", "Rung", "--reason", "x"), "location 44 has no memory of this title: Rung"),
    ],
)
def test_what_cannot_be_done_is_an_error_with_the_closest_name_and_the_file_is_as_it_was(
    workdir: Path, arguments: tuple[str, ...], words: str
) -> None:
    error = refused(2, "memories", *arguments)
    assert words in error
    assert ("there is" in error) == ("there is" in words)
    assert (workdir / "Memories.md").read_text() == FILE


def test_an_ephemeral_memory_cannot_be_added_since_the_file_never_has_one() -> None:
    assert typed("memories", "add", "44", "T", "x", "--persistence", "ephemeral").status == 2
    assert set(get_args(Persistent)) == set(PERSISTENCES) - {"ephemeral"}


# diff


@pytest.fixture
def run_folder(workdir: Path) -> Path:
    folder = workdir / "runs" / "20260131-184500-1a2b"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    (folder / AT_START).mkdir()
    (folder / AT_END).mkdir()
    (folder / MEMORIES_AT_START).write_text(FILE)
    return folder


def test_diff_prints_what_became_of_the_memories_since_the_run_began(run_folder: Path) -> None:
    _run("add", "31", "Dye last", "It holds.")
    _run("invalidate", "drying loft", "rung is ROTTEN", "--reason", "mended")
    shown = (
        f"What run {run_folder.name} taught:\n"
        "Location 31: Blue Vats\n"
        "  added [NOTE - PERMANENT] Dye last\n    It holds.\n"
        "Location 44: Drying Loft\n"
        "  invalidated [NOTE - PERMANENT - SUPERSEDED] Rung is rotten\n    Invalidated: mended\n    Step over it.\n"
    )
    assert _run("diff", run_folder.name) == shown
    assert _run("diff") == shown


def test_diff_ends_where_the_run_ended_and_needs_the_runs_memories(run_folder: Path) -> None:
    (run_folder / MEMORIES_AT_END).write_text(FILE)
    _run("add", "31", "Learned by a later run", "x")
    assert _run("diff", str(run_folder)).endswith("No memory has changed.\n")
    (run_folder / MEMORIES_AT_START).unlink()
    assert MEMORIES_AT_START in refused(1, "memories", "diff", run_folder.name)
    assert run_folder.name in refused(1, "memories", "diff", "20260131-184500-1a2c")


@pytest.mark.parametrize("is_recorded", [True, False], ids=["seen by the run", "since the run's last write"])
def test_diff_does_not_count_what_others_changed_as_what_the_run_taught(run_folder: Path, is_recorded: bool) -> None:
    rmtree(run_folder)
    memories_file = run_folder.parents[1] / "Memories.md"
    journal = Journal.create(run_folder.parent, manifest(run_folder.name, first_episode=3))
    (run_folder / AT_START).mkdir()
    (run_folder / MEMORIES_AT_START).write_text(FILE)
    learned = Memory("NOTE", "Dye last", 3, "7", None, "It holds.", "permanent")
    open_memories(memories_file).apply(Revision(31, "Blue Vats", learned).apply_to)
    written = memories_file.read_bytes()
    journal.append(FileWritten("Memories.md", "", sha256(written).hexdigest()))
    _run("add", "31", "By hand", "A person wrote this.")
    _run("invalidate", "drying loft", "rung is ROTTEN", "--reason", "mended")
    if is_recorded:
        journal.append(FileEdited("Memories.md", memories_file.read_text()))
    journal.close()
    own, _, others = _run("diff", run_folder.name).partition("What people and other runs changed meanwhile:\n")
    assert "added [NOTE - PERMANENT] Dye last" in own
    assert "By hand" not in own
    assert "Rung" not in own
    assert "added [NOTE - PERMANENT] By hand" in others
    assert "invalidated [NOTE - PERMANENT - SUPERSEDED] Rung is rotten" in others

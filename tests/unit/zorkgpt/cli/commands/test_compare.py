"""``zorkgpt compare`` as typed: two runs side by side, within 80 columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session.events import Event, RunEnded
from session.files.run_folders import AT_END, AT_START
from tests.fixtures.run_events import answered
from tests.fixtures.typed_command import printed, typed
from tests.unit.zorkgpt.report.dye_runs import ended, played, started, turn, write_run
from zorkgpt.cli.terminal import NOTHING

OLD, NEW = "20260131-184500-1a2b", "20260201-090000-3c4d"
ONE = "## Location 31: Blue Vats\n**[NOTE - PERMANENT] Mordant first** *(Ep1, T2)*\nThen dye.\n"
TWO = f"{ONE}\n**[NOTE - PERMANENT] Mind the steam** *(Ep2, T2)*\nIt is hot.\n"
KNOWLEDGE = "## STRATEGY\n- Look first. *(Ep1, T1)*\n"
TABLE = f"""\
RUN          {OLD}       {NEW}
story        dyeworks                   dyeworks
player       scripted                   a-model-with-a-name-that-g…
state        done                       killed
episodes     2/2                        0/2
turns        4                          2
best score   9/50                       5/50
model calls  4                          2
tokens       4,200                      2,100
dollars      0.0000                     0.0000
assistance   none                       fresh-actions
                                        proven-routes
KNOWN        start → end                start → end
memories     0 → 1                      1 → 2
knowledge    0 → 0                      0 → 1
rooms        0 → 0                      0 → 0
routes       0 → 0                      0 → 0
MILESTONES   turn                       turn
5 points     2 (ep. 1), then 1 (ep. 2)  2
9 points     2 (ep. 2)                  {NOTHING}
"""


def episode(number: int, *scores: int) -> list[Event]:
    """An episode with a call and a turn for each of these scores."""
    turns = enumerate(scores, start=1)
    asked = answered("small", role="agent", prompt=1000, completion=50)
    plays = [(asked, played(turn(place, "dip", episode=number, score=score))) for place, score in turns]
    return [started(number), *(event for each in plays for event in each)]


def keep(run: Path, when: str, memories: str, knowledge: str = "") -> None:
    (run / when).mkdir(exist_ok=True)
    texts = {"Memories.md": memories, "knowledgebase.md": knowledge, "map_state.json": "", "routes.json": ""}
    for name, text in texts.items():
        (run / when / name).write_text(text)


@pytest.fixture(autouse=True)
def _runs(in_own_folder: Path) -> None:
    """Two runs; the second began with what the first had learned."""
    work = in_own_folder / "game_files"
    first = write_run(work, [*episode(1, 0, 5), ended(), *episode(2, 5, 9), ended(2), RunEnded(2)], OLD)
    keep(first, AT_START, "")
    keep(first, AT_END, ONE)
    name = "a-model-with-a-name-that-goes-on-and-on"
    second = write_run(work, episode(3, 0, 5), NEW, model=name, assistance=("fresh-actions", "proven-routes"))
    keep(second, AT_START, ONE)
    keep(second, AT_END, TWO, KNOWLEDGE)


def test_two_runs_are_printed_side_by_side_within_80_columns() -> None:
    shown = typed("compare", OLD, NEW)
    assert (shown.status, shown.text, shown.err) == (0, TABLE, b"")
    assert max(map(len, TABLE.splitlines())) <= 80


def test_calls_without_a_count_or_a_price_are_named(in_own_folder: Path) -> None:
    options = {"agent_model": "small", "prices": {"small": {"input": 1, "output": 0}}}
    calls = [*episode(1, 0, 5), answered("small", prompt=0, completion=0), answered("large", prompt=10, completion=0)]
    run = write_run(in_own_folder / "game_files", calls, "20260301-090000-0000", configuration=options)
    shown = [" ".join(line.split()) for line in typed("compare", run.name, run.name).text.splitlines()]
    assert {"tokens 2,110 of 3 calls 2,110 of 3 calls", "dollars 0.0020 of 3 calls 0.0020 of 3 calls"} <= {*shown}
    one, _ = json.loads(typed("compare", run.name, run.name, "--json").out)["runs"]
    assert (one["tokens"], one["uncounted"], one["unpriced"]) == (2110, 1, 1)


def test_json_has_all_of_it() -> None:
    found = json.loads(typed("compare", OLD, NEW, "--json").out)
    first, second = found["runs"]
    assert (first["run_id"], first["turns"], first["calls"], first["tokens"]) == (OLD, 4, 4, 4200)
    assert second["known_at_start"] == {"memories": 1, "knowledge": 0, "rooms": 0, "routes": 0}
    assert second["known_at_end"]["memories"] == 2
    assert found["milestones"][0] == {
        "score": 5,
        "reached": [
            [{"episode": 1, "seed": 10, "turn": 2}, {"episode": 2, "seed": 20, "turn": 1}],
            [{"episode": 3, "seed": 30, "turn": 2}],
        ],
    }


def test_what_a_copy_that_was_deleted_contained_is_unknown(in_own_folder: Path) -> None:
    (in_own_folder / "game_files" / "runs" / OLD / AT_END / "Memories.md").unlink()
    (memories,) = [line for line in typed("compare", OLD, NEW).text.splitlines() if line.startswith("memories")]
    assert memories.split() == ["memories", "0", "→", NOTHING, "1", "→", "2"]


def test_runs_of_two_stories_are_reported_as_such_and_a_run_without_copies_has_dashes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = write_run(tmp_path / "game_files", episode(1, 0), "20260301-090000-0000", story_sha256="7d" * 32)
    shown = printed("compare", other.name, OLD)
    (memories,) = [line for line in shown.splitlines() if line.startswith("memories")]
    assert memories.split() == ["memories", NOTHING, "→", NOTHING, "0", "→", "1"]
    assert "runs of different stories" in capfd.readouterr().err

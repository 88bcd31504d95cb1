"""``zorkgpt ablate`` as typed."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from filelock import FileLock

from session.errors import ConfigurationError
from session.events import RunEnded
from tests.fixtures.command_line import COMMAND, environment, ran
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.small_ablation import measured_pairs, measured_run
from tests.fixtures.troubled_server import Answers
from tests.fixtures.typed_command import printed, refused, typed
from tests.unit.zorkgpt.report.dye_runs import ended, started, write_run
from zorkgpt.ablation.ablation import make_plan
from zorkgpt.ablation.comparison import compare
from zorkgpt.ablation.measures import RunMeasures
from zorkgpt.ablation.plan import NAMED, PROTOCOLS, WrittenPlan, claim
from zorkgpt.ablation.results import UNIT, Results
from zorkgpt.cli import common_options
from zorkgpt.cli.commands import ablate


def results(assistance: str, *, detect: float | None = 5) -> Results:
    differences = {"shown": (9.0, 10.0, 11.0, 9.0, 12.0, 8.0), "one": (3.0,)}
    return Results(
        plan=WrittenPlan(arms={}, player="", pairs=6, episodes=1, stories={"dyeworks": ""}),
        command="zorkgpt ablate",
        assistance=assistance,
        models=("scripted",),
        versions=(),
        unit=UNIT,
        runs=(),
        scores=(),
        comparisons=tuple(
            compare({"dyeworks": each}, measure="score", first="full", other=other, detect=detect)
            for other, each in differences.items()
        ),
        conclusions=(),
    )


def test_the_table_has_a_line_a_difference_and_dashes_for_what_cannot_be_computed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ablate.print_results(results("valid\x1b[2J"), Path("out"))
    title, _, shown, one = capsys.readouterr().out.splitlines()[3:7]
    assert r"assistance: valid\x1b[2J" in title
    assert shown.split()[:5] == ["dyeworks", "shown", "score", "6", "+9.8"]
    assert one.split() == ["dyeworks", "one", "score", "1", "+3", "-", "-", "-", "-"]


def test_points_of_milestones_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    points = "2 milestones of milestones.toml, which the player does not see"
    runs = [replace(run, points=points) for run in measured_pairs("dyeworks", [1])]
    ablate.print_results(results("none").model_copy(update={"runs": tuple(runs)}), Path("out"))
    assert f"\nPoints: {points}.\n" in capsys.readouterr().out


def test_the_pairs_to_detect_are_a_column_only_if_they_were_requested(capsys: pytest.CaptureFixture[str]) -> None:
    ablate.print_results(results("none"), Path("out"))
    assert "--DETECT" in capsys.readouterr().out
    ablate.print_results(results("none", detect=None), Path("out"))
    assert "--DETECT" not in capsys.readouterr().out


def protocol_of(capsys: pytest.CaptureFixture[str], *runs: RunMeasures, assistance: str = "none") -> list[str]:
    """Return the lines of the protocol "tales" with these runs."""
    ablate.print_protocol("tales", PROTOCOLS["tales"], results(assistance).model_copy(update={"runs": runs}))
    return capsys.readouterr().out.splitlines()


def test_the_figures_of_a_protocol_are_the_final_score_the_mean_and_the_area_under_the_curve(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, two = (measured_run("dyeworks", "full", pair, score=score, most=50) for pair, score in ((1, 10.0), (2, 20.0)))
    unknown = measured_run("other", "full", 1, score=4.0, most=None)
    *_, heading, known, last, _ = protocol_of(capsys, one, two, unknown)
    assert heading.split()[2:6] == ["RUNS", "FINAL", "MEAN", "AREA,"]
    assert known.split() == ["dyeworks", "full", "2", "15", "15", "30"]
    assert last.split() == ["other", "full", "1", "4", "4", "-"]
    *_, final, _, otherwise = protocol_of(capsys, replace(one, last_score=12.0), replace(unknown, pair=2), unknown)
    assert final.split() == ["dyeworks", "full", "1", "12", "10", "20"]
    assert otherwise == "Not as in the protocol: 1 of 5 runs."
    partly = protocol_of(capsys, one, replace(two, score=None, last_score=None))
    assert partly[3].split()[2:] == ["2", *["10", "(of", "1)"] * 2, *["20", "(of", "1)"]]


@pytest.mark.parametrize(
    ("assistance", "played", "told"),
    [
        ("none", 5, []),
        ("proven-routes", 5, ["Not as in the protocol: help proven-routes, not none."]),
        ("none", 2, ["Not as in the protocol: 2 of 5 runs."]),
    ],
)
def test_what_was_not_played_as_in_the_protocol_is_stated(
    capsys: pytest.CaptureFixture[str], assistance: str, played: int, told: list[str]
) -> None:
    runs = [measured_run("dyeworks", "full", pair, score=10.0, most=50) for pair in range(1, played + 1)]
    lines = protocol_of(capsys, *runs, assistance=assistance)
    assert [line for line in lines if line.startswith("Not as")] == told


OTHER_SYSTEMS = Path(__file__).parents[5] / "docs" / "records" / "other-systems.md"
STATED = re.findall(
    r"^\| `(\S+)` \| (\d+) \S (\d+) \| (\d+)(?: pairs)? \| ([^|]+) \|", OTHER_SYSTEMS.read_text(), re.MULTILINE
)


def _claimed(protocol: str, player: Literal["model", "random"], more_pairs: int) -> tuple[str, ...]:
    """Give the folder ``out`` to what the documents state of a protocol; return the command that reports it."""
    ((episodes, turns, pairs, stated),) = (each for name, *each in STATED if name == protocol)
    arms = "full,transcripts-only" if protocol == "own" else "full"
    assist = () if stated == "none" else (stated.replace(" ", "-"),)
    options = {"max_turns_per_episode": int(turns), "assist": assist if player == "model" else None}
    plan = make_plan(arms, options, [], pairs=int(pairs) + more_pairs, episodes=int(episodes), player=player)
    claim(Path("out"), plan)
    return ("ablate", "--protocol", protocol, "--player", player, "--so-far", "--out", "out")


@pytest.mark.usefixtures("in_own_folder")
@pytest.mark.parametrize("player", ["model", "random"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_plans_what_the_documents_state(protocol: str, player: Literal["model", "random"]) -> None:
    command = _claimed(protocol, player, more_pairs=1)
    assert f"out holds {PROTOCOLS[protocol].pairs + 1} pairs already" in refused(2, *command)


@pytest.mark.usefixtures("in_own_folder")
def test_the_figures_of_a_protocol_are_printed_of_the_runs_so_far() -> None:
    command = _claimed("tales", "random", more_pairs=0)
    for pair in (1, 2):
        write_run(Path("out") / "full" / str(pair), [started(), ended(), RunEnded(1)])
    *_, row, otherwise = printed(*command).partition("Protocol tales, means of the runs")[2].splitlines()
    assert row.split()[:3] == ["tidehouse", "full", "2"]
    assert otherwise.startswith("Not as in the protocol: help ")
    assert otherwise.endswith("; 2 of 5 runs.")
    assert "out holds 5 pairs already" in typed(*command, "--pairs", "4").err.decode()


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "turns"), [("tales", 500), ("jericho-ttl-50", 7500)])
def test_a_protocol_sets_pairs_episodes_turns_and_help(in_own_folder: Path, protocol: str, turns: int) -> None:
    server = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    shown = printed("ablate", "--protocol", protocol, "--dry-run", *server)
    (row,) = (line.split() for line in shown.splitlines() if line.startswith("tidehouse"))
    assert row[:3] == ["tidehouse", "full", f"{turns:,}"]
    assert not (in_own_folder / "ablation").exists()


def test_the_help_names_every_arm_and_every_protocol() -> None:
    words = re.split(r"[\s,.:]+", re.sub(r"-\s+", "-", typed("ablate", "--help").text))
    assert {*NAMED, *PROTOCOLS} - {*words} == set()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--arms", ""), "no arm is given"),
        (("--max-scores", "tidehouse"), "such as tidehouse=100"),
        (("--max-scores", "tidehouse=much"), "such as tidehouse=100"),
        (("--max-scores", "tidehuose=9"), "--max-scores: no story tidehuose is played; expected tidehouse"),
        (("--games", "missing.z5"), "missing.z5; expected the path of a Z-machine story"),
        (("letter.txt", "--out", "none"), "letter.txt is not a story file: it is text."),
        (("--games", "a/one.z5", "b/one.z5"), "two stories have the same name"),
        (("--arms", "full,critic.modus=llm"), "the closest one is critic.mode"),
        (("--out", "."), "is not empty"),
        (("--so-far", "--out", "none"), "there is no ablation in none yet"),
        (("--protocol", "talles"), "--protocol talles: expected one of jericho-ttl-50, jericho-ttl-110, tales, own"),
        (("--protocol", "tales", "--max-turns", "50"), "--protocol tales fixes --max-turns: leave it out"),
        (("--protocol", "tales", "--arms", "full,assist=valid-actions"), "--protocol tales fixes assist"),
        (("--protocol", "tales", "--arms", "max_turns_per_episode=5"), "tales fixes max_turns_per_episode"),
        (("--player", "random"), "the random player does not use a model"),
        (("--protocol", "own", "--arms", "max_turns_without_progress=5"), "fixes max_turns_without_progress"),
        (("--protocol", "own", "--assist", "valid-actions", "--episodes", "2"), "fixes --episodes, --assist"),
    ],
)
def test_what_the_user_can_mend_is_one_line_and_status_2(
    in_own_folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    (in_own_folder / "letter.txt").write_text("dear")
    result = typed("ablate", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", *arguments)
    assert (result.status, len(result.lines)) == (2, 1)
    assert words in result.lines[0]
    assert not (in_own_folder / "none").exists()


@pytest.mark.usefixtures("in_own_folder")
def test_a_protocol_also_fixes_its_turns_for_the_random_player() -> None:
    result = typed("ablate", "--protocol", "tales", "--player", "random", "--arms", "max_turns_per_episode=5")
    assert (result.status, len(result.lines)) == (2, 1)
    assert "fixes max_turns" in result.lines[0]


@pytest.mark.parametrize(
    ("arms", "missing", "words"),
    [
        ("full,bm25", "bm25s", r"^bm25s is not installed: `.* install .*bm25.*` installs it$"),
        ("full,no-memory", "scipy", r"scipy is not installed: `.* install 'matplotlib>=[\d.]+' 'scipy"),
    ],
)
def test_a_missing_library_is_one_line_that_says_how_to_get_it_before_anything_is_played(
    in_own_folder: Path, clean_environment: pytest.MonkeyPatch, arms: str, missing: str, words: str
) -> None:
    clean_environment.setattr(common_options, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(ConfigurationError, match=words):
        ablate.ablate(arms=arms, out=in_own_folder / "out")
    assert not (in_own_folder / "out").exists()


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """Enables interrupts, which a shell may disable for tests in the background and all their children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_stops_it_with_a_line_and_the_same_command_goes_on(tmp_path: Path) -> None:
    with MisbehavingServer(Answers()) as server:
        arguments = (
            *("ablate", "--base-url", server.base_url, "--model", "served", "--arms", "full,no-memory"),
            *("--pairs", "1", "--episodes", "1", "--max-turns", "6", "--workers", "1", "--out", "out"),
        )
        with subprocess.Popen(
            [*COMMAND, *arguments], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline().startswith(b"2 runs of 1 episode, 0 done; assistance: none")
            assert process.stdout.readline() == b"1 of 2: tidehouse, full, pair 1\n"
            process.send_signal(signal.SIGINT)
            assert b"done; the same command continues from there" in process.stderr.read()
        assert process.returncode == 130
        again = ran(tmp_path, *arguments)
        assert again.status == 0
        assert b"2 of 2" in again.out
        assert b"1 done" in again.out
        assert b"full against no-memory: " in again.out
        assert b"Assistance: none." in again.out
        other = ran(tmp_path, *arguments, "--seed", "5")
        with FileLock(tmp_path / "out" / "lock"):  # as if it were still being played
            so_far = ran(tmp_path, *arguments, "--so-far")
    assert so_far.status == 0
    assert b"full against no-memory: " in so_far.out
    assert "--so-far" not in (tmp_path / "out" / "report.md").read_text()
    assert (other.status, len(other.lines)) == (2, 1)
    assert "contains another ablation" in other.lines[0]


@pytest.mark.slow
def test_an_arm_alone_is_measured_without_any_model(tmp_path: Path) -> None:
    command = "ablate --player random --arms full --pairs 2 --episodes 1 --max-turns 5"
    result = ran(tmp_path, *command.split())
    assert result.status == 0
    assert b"Model: random. Assistance: fresh-actions, proven-routes" in result.out
    assert b"Differences" not in result.out
    page = (tmp_path / "ablation" / "report.md").read_text()
    assert f"    zorkgpt {command}\n" in page
    assert (tmp_path / "ablation" / "plot.svg").exists()

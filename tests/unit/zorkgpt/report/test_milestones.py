"""Milestones of a story that keeps no score: who counts them, who sees them, and what a file that came along can do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from managers.known import Known
from session.events import Event, RunEnded
from session.files.run_folders import find_run
from session.game_configuration import GameConfiguration
from session.values import GameObject
from tests.fixtures.typed_command import typed
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, ended, played, started, turn, write_run
from zorkgpt import api
from zorkgpt.ablation.ablation import Ablation
from zorkgpt.ablation.plan import AblationPlan
from zorkgpt.llm.budget import Spending
from zorkgpt.report.exports import as_atif, as_markdown
from zorkgpt.report.figures import figures_of, gains_line
from zorkgpt.report.pages import update_site
from zorkgpt.report.played_run import PlayedRun, read_run
from zorkgpt.report.repetition import Repetition
from zorkgpt.report.run_page import page_of_run

FILE = """
[[milestone]]
name = "In the loft"
location = "drying loft"
points = 2

[[milestone]]
name = "Wet banner"
text = "It is  DYED."
thing = 9
points = 3

[[milestone]]
name = "Another story's"
location = 44
story = "other.z5"
"""
OPENING = replace(SEEN, score=None, max_score=None)
DYED = replace(OPENING, text="So it goes. It is dyed.", inventory=(GameObject(9, "banner"),))


def run_of(folder: Path, *events: Event, text: str | bytes = FILE) -> PlayedRun:
    """A run with these events of a story that has this file of milestones beside it."""
    (folder / "milestones.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_run(write_run(folder, events, story_path=str(folder / "dyeworks.z5")))


def run_in(folder: Path, text: str | bytes = FILE) -> PlayedRun:
    """A run without a score: to the loft, back, again to the loft, and a banner dyed; then the loft in episode 2."""
    climb, back = turn(1, "up", OPENING, location=LOFT), turn(2, "down", OPENING, text="It is dyed, they say.")
    dye = replace(turn(3, "dye banner", OPENING), after=DYED)
    again = turn(1, "up", OPENING, episode=2, location=LOFT)
    events: list[Event] = [started(1, OPENING), *map(played, (climb, back, dye)), ended()]
    return run_of(folder, *events, started(2, OPENING), played(again), text=text)


def test_milestones_are_points_in_all_figures_each_once_in_an_episode(tmp_path: Path) -> None:
    figures = figures_of(run_in(tmp_path))
    one, two = figures.episodes
    assert [(best.turn, best.score) for best in one.milestones] == [(1, 2), (3, 5)]
    assert (one.score, one.max_score, two.score) == (5, 5, 2)
    assert (figures.run.best_score, figures.run.max_score) == (5, 5)
    assert figures.points.startswith("2 milestones of ")


def test_each_turn_and_the_end_of_an_episode_have_the_points_in_place_of_scores(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    one, two = run.episodes
    assert [turn.played.record.score_change for turn in one.turns] == [2, 0, 3]
    assert [(each.score, each.best_score, each.max_score) for each in (one.ended, two.ended) if each] == [(5, 5, 5)]
    assert json.loads(as_atif(run))["extra"]["points"] == run.points
    assert page_of_run(run, Repetition()).notes[0].text == f"Points: {run.points}."


def test_output_names_them_and_the_player_does_not_see_them(tmp_path: Path, in_own_folder: Path) -> None:
    run = run_in(tmp_path)
    assert "2 milestones of " in as_markdown(run)
    shown = typed("runs", "show", str(run.summary.folder))
    assert "2 milestones of " in shown.text
    assert json.loads(typed("runs", "show", str(run.summary.folder), "--json").out)["points"]
    assert "5/5 of milestones" in typed("compare", *[str(run.summary.folder)] * 2).text
    assert [row["points_from"] for row in (*api.turns(run), *api.episodes(run))] == [run.points] * 6
    for_player = read_run(run.summary.folder, for_player=True)
    assert "milestone" not in as_markdown(for_player)
    assert figures_of(for_player).episodes[0].score is None
    assert in_own_folder.exists()


def test_the_index_of_a_site_names_them(tmp_path: Path) -> None:
    run, configuration = run_in(tmp_path).summary.folder, GameConfiguration(zork_game_workdir=tmp_path)
    update_site(tmp_path, [run], tmp_path / "site", configuration)
    (row,) = json.loads((tmp_path / "site" / "report.json").read_bytes())["index"]
    assert (row["run"]["best_score"], row["of_milestones"]) == (5, True)


def test_the_last_line_of_a_run_says_that_its_points_are_of_milestones(tmp_path: Path) -> None:
    configuration = GameConfiguration()
    line = gains_line(figures_of(run_in(tmp_path)), configuration, 2, Known(), Spending(configuration))
    assert "Episode 2: 2 of 5 points of milestones." in line


def test_a_story_with_a_score_has_no_milestones(tmp_path: Path) -> None:
    run = run_of(tmp_path, started(), played(turn(1, "up", location=LOFT)))
    assert (figures_of(run).episodes[0].score, run.points) == (0, "")


@pytest.mark.parametrize(
    "text",
    [
        "[[milestone]]\nname = 'Nothing else'",
        "[[milestone]]\nname = 'Blank'\ntext = '  '\n",
        "[[milestone]]\nname = ''\nlocation = 44",
        "[[milestone]]\nname = 'Huge'\nlocation = 44\npoints = 1000000",
        "[[milestone]]\nname = 'File'\nfile = '/etc/passwd'",
        "milestone = 5",
        "[[milestone]]\nname = 'True'\nlocation = true",
        f"milestone = {'[' * 30_000}",
        b"\xff\xfe",
        b"#" * 1_000_000,
    ],
)
def test_a_file_that_came_with_a_folder_only_leaves_scores_unknown(tmp_path: Path, text: str | bytes) -> None:
    run = run_in(tmp_path, text)
    assert {episode.score for episode in figures_of(run).episodes} == {None}
    assert "/etc/passwd" not in run.points
    assert run.points.startswith("unknown: ")
    assert "of milestones" not in typed("compare", *[str(run.summary.folder)] * 2).text


def test_a_file_with_milestones_of_other_stories_alone_says_nothing_of_this_one(tmp_path: Path) -> None:
    run = run_in(tmp_path, '[[milestone]]\nname = "Loft"\nlocation = 44\nstory = "other.z5"\n')
    assert (run.points, figures_of(run).run.best_score) == ("", None)


def test_a_text_is_no_pattern(tmp_path: Path) -> None:
    pattern = "[[milestone]]\nname = 'Regular'\ntext = '(.*)+'\n"
    assert [episode.score for episode in figures_of(run_in(tmp_path, pattern)).episodes] == [0, 0]


def test_a_location_or_thing_by_number_may_be_written_as_text(tmp_path: Path) -> None:
    numbers = "[[milestone]]\nname = 'Loft'\nlocation = '44'\n[[milestone]]\nname = 'Banner'\nthing = '9'\n"
    assert [episode.score for episode in figures_of(run_in(tmp_path, numbers)).episodes] == [2, 1]


def test_a_story_whose_score_is_unknown_now_and_then_has_no_milestones(tmp_path: Path) -> None:
    run = run_of(tmp_path, started(1, OPENING), played(turn(1, "up", location=LOFT, score=5)))
    assert (figures_of(run).episodes[0].score, run.points) == (5, "")


def test_a_byte_order_mark_does_not_count(tmp_path: Path) -> None:
    assert run_in(tmp_path, FILE.encode("utf-8-sig")).points.startswith("2 milestones of ")


def test_a_run_that_has_not_begun_has_no_points_of_milestones_and_it_is_unknown_whether_they_count(
    tmp_path: Path,
) -> None:
    run = run_of(tmp_path)
    assert (run.points, run.summary.best_score, run.summary.max_score) == ("", None, None)


def test_what_no_observation_shows_is_not_counted_as_missed(tmp_path: Path) -> None:
    opening = replace(OPENING, inventory=None)
    run = run_of(tmp_path, started(1, opening), played(turn(1, "up", opening, location=LOFT)))
    assert (run.summary.best_score, run.summary.max_score) == (2, 2)
    assert "1 milestone of " in run.points
    assert "no inventory: Wet banner" in run.points
    nowhere = replace(OPENING, location=None)
    events: list[Event] = [started(1, nowhere), played(turn(1, "up", nowhere, inventory=()))]
    run = read_run(write_run(tmp_path / "nowhere", events, story_path=str(tmp_path / "dyeworks.z5")))
    assert (run.summary.best_score, run.summary.max_score) == (0, 3)
    assert "no location or no inventory: In the loft" in run.points


def test_points_of_milestones_are_not_compared_with_scores_of_the_story(
    tmp_path: Path, in_own_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "milestones.toml").write_text(FILE)
    story = tmp_path / "dyeworks.z5"
    for folder, seen in (("full/1", OPENING), ("other/1", SEEN), ("full/2", OPENING), ("other/2", OPENING)):
        events: list[Event] = [started(1, seen), played(turn(1, "up", seen, location=LOFT)), ended(), RunEnded(1)]
        write_run(tmp_path / folder, events, story_path=str(story))
    one, two = (str(find_run(tmp_path / name)) for name in ("full/1", "other/1"))
    assert typed("compare", one, two).status == 0
    assert "points cannot be compared" in capfd.readouterr().err
    arms = {"full": GameConfiguration(), "other": GameConfiguration()}
    plan = AblationPlan(arms, {"dyeworks": story}, pairs=2, episodes=1)
    assert [run.score for run in Ablation(plan, tmp_path).runs()] == [None, 0, None, None]
    without = AblationPlan({"full": GameConfiguration()}, {"dyeworks": story}, pairs=2, episodes=1)
    assert [run.score for run in Ablation(without, tmp_path).runs()] == [2, 2]
    assert in_own_folder.exists()


def test_points_of_milestones_count_for_the_stories_of_an_ablation_that_keep_no_score(tmp_path: Path) -> None:
    stories = {"dyeworks": tmp_path / "dyeworks.z5", "mill": tmp_path / "mill.z5"}
    (tmp_path / "milestones.toml").write_text(FILE)
    for (name, story), seen in zip(stories.items(), (OPENING, SEEN), strict=True):
        events: list[Event] = [started(1, seen), played(turn(1, "up", seen, location=LOFT)), ended(), RunEnded(1)]
        write_run(tmp_path / name / "full" / "1", events, story_path=str(story))
    plan = AblationPlan({"full": GameConfiguration()}, stories, pairs=1, episodes=1)
    runs = Ablation(plan, tmp_path).runs()
    assert [(run.score, bool(run.points)) for run in runs] == [(2, True), (0, False)]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "milestones.toml").symlink_to(tmp_path / "secret")
    run = run_in(tmp_path, "hunter2")
    assert "unknown: " in run.points
    assert "hunter2" not in run.points

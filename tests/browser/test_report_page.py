"""Reading a report in a browser: turns, search, rooms, curves, two runs side by side, links; by mouse and by keys."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from session.events import TurnPlayed
from session.files.journal import read_journal
from tests.browser.conftest import SIDEWAYS, OpenReport
from tests.fixtures.recorded_run import RECORDED
from tests.fixtures.report_data import calls_of, data_in, seen_in
from tests.fixtures.typed_command import typed
from tests.fixtures.unplayed_report import HOSTILE, ablation_of, index_of, report_of, run_of
from zorkgpt.report.server import ReportServer

pytestmark = pytest.mark.slow

VIEWS = ("turn", "map", "curves", "learned", "compare")


def expect_turn(page: Page, name: str) -> None:
    """The page shows the turn under the name that a screen reader announces."""
    expect(page.get_by_role("article", name=name, exact=True)).to_be_visible()


def test_the_heading_says_what_was_played_by_whom_and_with_what_help(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(40)))
    heading = page.get_by_role("banner")
    for told in ("The Square", "model 1", "valid-actions", "2 of 50", "zorkgpt 0.1.0", "$0.04", "The log has a gap."):
        expect(heading).to_contain_text(told)


def test_of_many_seeds_the_first_are_shown_with_the_number_of_the_others(open_report: OpenReport) -> None:
    run = run_of(4)
    (episode,) = run["figures"]["episodes"]
    run["figures"]["episodes"] = [episode | {"seed": seed} for seed in (1, 16, 17, 18, 782)]
    heading = open_report(report_of(run)).get_by_role("banner")
    expect(heading.get_by_text("1, 16 and 3 more", exact=True)).to_have_count(1)


def test_a_person_is_named_in_place_of_a_model(open_report: OpenReport) -> None:
    run = run_of(4)
    run["figures"]["run"] |= {"player": "a person", "model": []}
    run["figures"]["manifest"] |= {"player": "a person", "model": []}
    page = open_report(report_of(run, run_of(4, number=2)))
    expect(page.get_by_role("banner").get_by_role("term").first).to_have_text("Player")
    expect(page.get_by_role("banner").get_by_role("definition").first).to_have_text("a person")
    expect(page.get_by_role("combobox", name="Run").get_by_role("option").first).to_contain_text("1: a person, ")
    page.evaluate("location.hash = '#compare'")
    expect(page.get_by_role("region", name="Left", exact=True)).to_contain_text("a person")


def test_the_slider_and_the_list_of_turns_go_to_a_turn(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(40)))
    page.get_by_role("slider", name="Turn").fill("17")
    expect(page.get_by_role("article")).to_contain_text("You are at 17 of run 1.")
    expect(page.get_by_role("article")).to_contain_text("Because of 17.")
    page.get_by_role("button", name="Next turn").click()
    expect_turn(page, "Episode 1, turn 18")
    page.get_by_role("option", name="go 6 ").click()
    expect_turn(page, "Episode 1, turn 6")


def test_keys_alone_are_enough(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(300)))
    for key, turn in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 50), ("Home", 0)):
        page.keyboard.press(key)
        expect(page.get_by_role("article")).to_have_attribute("aria-label", re.compile(rf", turn {turn}$"))
    page.keyboard.press("e")
    expect_turn(page, "Episode 2, turn 0")
    page.keyboard.press("Shift+E")
    expect_turn(page, "Episode 1, turn 0")
    page.keyboard.press("/")
    page.keyboard.type("because of 33.")
    page.keyboard.press("Enter")
    expect_turn(page, "Episode 1, turn 33")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next episode")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("2")
    page.get_by_role("button", name="Room 7", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Room", exact=True)).to_contain_text("Room 7")


def test_a_search_leaves_the_turns_that_have_the_words_and_looks_into_prompts_if_asked_to(
    open_report: OpenReport,
) -> None:
    page = open_report(report_of(run_of(40)))
    search, found = page.get_by_role("searchbox", name="Search the turns"), page.get_by_role("status").first
    search.fill("YOU ARE AT 12 OF")
    expect(found).to_contain_text("1 turn found")
    page.get_by_role("option", name="go 12").click()
    expect(page.locator("mark")).to_have_text(["You are at 12 of"])
    search.fill("line 44 of a prompt")
    expect(found).to_contain_text("0 turns found")
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("Search prompts, too").check()
    expect(found).to_contain_text("36 turns found")


def test_what_a_search_finds_in_several_episodes_names_the_episode(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(300)))
    page.get_by_role("searchbox", name="Search the turns").fill("you are at 12 of")
    expect(page.get_by_role("listbox", name="Turns").get_by_role("option")).to_contain_text(["e1 t12", "e2 t12"])


@pytest.mark.parametrize("kept", ["m", "e"], ids=["of every episode", "of this episode"])
def test_filters_leave_the_turns_that_pass(open_report: OpenReport, kept: str) -> None:
    page = open_report(report_of(json.loads(json.dumps(run_of(40)).replace('"m:', f'"{kept}:'))))
    page.get_by_text("Filter", exact=True).click()
    found = page.get_by_role("status").first
    for label, turns in (("Score changed", 2), ("Memory used", 7)):
        page.get_by_label(label).check()
        expect(found).to_contain_text(f"{turns} turns found")
        page.get_by_label(label).uncheck()
    page.get_by_role("combobox", name="Room").select_option(label="Room 3 (4)")
    expect(found).to_contain_text("2 turns found")
    page.get_by_role("combobox", name="Room").select_option(index=0)
    page.get_by_label("Role asked").select_option("agent")
    expect(found).to_contain_text("40 turns found")


def test_what_was_known_at_the_end_is_not_said_to_be_known_before(open_report: OpenReport) -> None:
    run = run_of(40)
    learned = [change["after"] for turn in run["turns"] for change in turn["changes"]]
    page = open_report(report_of({**run, "learned_known": False, "end": learned}), "#e1t5")
    expect(page.get_by_label("Around this turn")).to_contain_text("Remembered here at the end of the run")
    page.keyboard.press("4")
    expect(page.get_by_role("main")).to_contain_text("which turn taught it is not known")


def test_the_story_of_a_memory_names_the_turns_that_taught_showed_confirmed_and_superseded_it(
    open_report: OpenReport,
) -> None:
    run = run_of(40)
    (made,) = run["turns"][5]["changes"]
    made["after"]["sources"] = [[1, 5, 5]]
    run["turns"][9]["read"] = [made["key"]]
    gone = {**made["after"], "tags": ["NOTE", "core", "superseded"], "sources": []}  # none that are new
    run["turns"][20]["changes"].append({"key": made["key"], "before": made["after"], "after": gone, "by_others": True})
    for at in (5, 30):  # the same command at the same location
        run["turns"][at]["events"][-1]["event"]["record"]["proposals"][-1]["action"] = "pull lever"
        run["turns"][at - 1]["events"][-1]["event"]["record"]["after"]["location"] = {"num": 1, "name": "Room 0"}
    page = open_report(report_of(run), "#e1t25/learned")
    story = page.get_by_role("listitem").filter(has_text="What turn 5 taught").filter(has_text="superseded")
    story.get_by_text("Its story").click()
    for name, turns in {
        "taught by": "e1 t5",
        "born": "e1 t5",
        "shown": "e1 t6e1 t9",
        "edited by hand or by others": "e1 t20",
        "superseded or gone": "e1 t20",
        "same command, another result": "e1 t30",
        "same command, same result": "in no turn of this run",
    }.items():
        row = story.locator("dl > div").filter(has=page.get_by_text(name, exact=True))
        expect(row.locator("dd")).to_have_text(turns)


@pytest.mark.parametrize("is_known", [True, False])
def test_a_story_leaves_out_what_is_not_recorded(open_report: OpenReport, *, is_known: bool) -> None:
    run = run_of(40)
    run["figures"]["run"]["player"] = "a client over MCP"
    run |= {"learned_known": is_known, "end": [run["turns"][5]["changes"][0]["after"]]}
    page = open_report(report_of(run), "#e1t25/learned")
    story = page.get_by_role("listitem").filter(has_text="What turn 5 taught")
    story.get_by_text("Its story").click()
    expect(story.locator("dl dt").filter(has_text="taught by")).to_have_count(1)
    expect(story.locator("dl dt").filter(has_text="born")).to_have_count(int(is_known))
    expect(story.locator("dl dt").filter(has_text="shown")).to_have_count(0)


def test_tokens_that_a_server_did_not_count_are_unknown_and_named_beside_those_of_other_calls(
    open_report: OpenReport,
) -> None:
    run, beside = run_of(4), "xpath=following-sibling::dd[1]"
    calls = [call["event"] for turn in run["turns"] for call in calls_of(turn)]
    for uncounted, turn in ((calls[1:2], 4), (calls, 2)):
        for call in uncounted:
            call |= {"prompt_tokens": 0, "completion_tokens": 0, "requests": 1}
        page = open_report(report_of(run), f"#e1t{turn}")
        tokens = page.get_by_role("banner").get_by_text("Tokens", exact=True).locator(beside)
        if uncounted != calls:
            expect(tokens).to_contain_text(" and 1 call of unknown count")
    expect(tokens).not_to_contain_text("0")
    expect(page.locator("dt", has_text="Answers").locator(beside)).to_have_text("unknown")


def test_a_link_leads_to_a_moment_and_the_address_names_it_and_may_be_replaced_at_once(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(300)), "#e2t47")
    expect_turn(page, "Episode 2, turn 47")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**#e2t48")
    page.evaluate("location.hash = '#e1t3'")
    expect_turn(page, "Episode 1, turn 3")
    page.evaluate("() => { location.hash = '#e1t9'; history.replaceState(null, '', '#e1t3'); }")
    expect_turn(page, "Episode 1, turn 9")


def test_a_turn_shows_its_prompts_with_what_changed_marked_and_what_was_learned(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(40)), "#e1t2")
    page.locator("summary", has_text="agent").click()
    call = page.locator(".call")
    expect(call.locator("ins").first).to_contain_text("Line 41 of a prompt")
    expect(call.locator("del").first).to_contain_text("Line 1 ")
    expect(call).to_contain_text('"action": "go 2"')
    call.get_by_label("mark what changed since this role was last asked").uncheck()
    expect(call.locator("ins")).to_have_count(0)
    expect(call.locator("pre").nth(1)).to_contain_text("Line 2 of a prompt")
    page.get_by_role("slider", name="Turn").fill("5")
    expect(page.get_by_role("article").locator("ins")).to_contain_text("What turn 5 taught")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("article")).to_contain_text("1 learned item in the prompt")


def test_prompts_are_compared_by_lines(open_report: OpenReport) -> None:
    run = run_of(3)
    run["lines"] += [
        "You are in the hall and carry a lamp.",
        "You are in the yard and carry nothing.",
        "Both say this.",
    ]
    was, now, same = range(len(run["lines"]) - 3, len(run["lines"]))
    calls = [call for turn in run["turns"] for call in calls_of(turn)]
    calls[0]["prompt"]["user"], calls[1]["prompt"]["user"] = [was, 1, same, 1], [now, 1, same, 1]
    page = open_report(report_of(run), "#e1t2")
    page.locator("summary", has_text="agent").click()
    changed = page.locator(".call")
    expect(changed.locator("del")).to_have_text(["You are in the hall and carry a lamp.\n"])
    expect(changed.locator("ins")).to_have_text(["You are in the yard and carry nothing.\n"])


def test_a_turn_without_a_call_costs_nothing_and_calls_of_unknown_price_are_counted(open_report: OpenReport) -> None:
    run = run_of(4)
    calls = [calls_of(turn) for turn in run["turns"][1:]]
    run["turns"][1]["events"] = [each for each in run["turns"][1]["events"] if each not in calls[0]]
    for each in calls[2]:
        each["dollars"] = None
    page = open_report(report_of(run), "#e1t1")
    figures = page.get_by_label("Around this turn").get_by_role("definition")
    expect(figures.filter(has_text="$")).to_have_text(["$0", "0 tokens, $0"])
    page.keyboard.press("End")
    expect(page.get_by_role("banner")).to_contain_text("$0.0020 and 1 call of unknown price")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_label("Around this turn")).to_contain_text("no price known")


def test_figures_have_the_words_of_the_program_and_roles_are_whole_at_1280_pixels(
    open_report: OpenReport, pictures: Path
) -> None:
    run = run_of(40)
    (usage,) = run["figures"]["usage"]
    run["figures"]["usage"] = [usage | {"role": role, "prompt_tokens": 12345678} for role in ("agent", "memory")]
    page = open_report(report_of(run))
    page.get_by_text("About this run").click()
    for width in (400, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=pictures / f"about-{width}.png")
        table = page.get_by_role("region", name="Model calls by role")
        assert table.evaluate("each => each.scrollWidth <= each.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.get_by_role("columnheader", name="Cost")).to_be_visible()
    about = page.locator(".about").inner_text()
    assert "Commands of routes, of turns" in about
    assert "route turns" not in about


def test_a_printed_report_has_the_story_of_every_turn(open_report: OpenReport, pictures: Path) -> None:
    page = open_report(report_of(run_of(300)), "#e2t3")
    page.emulate_media(media="print")
    story = page.locator(".transcript")
    for turn in (1, 250):
        expect(story).to_contain_text(f"You are at {turn} of run 1.")
    expect(story).to_contain_text("> go 50")
    expect(story.get_by_role("heading")).to_have_text(["Episode 1", "Episode 2"])
    expect(page.get_by_role("slider", name="Turn")).to_be_hidden()
    (pictures / "story.pdf").write_bytes(page.pdf())
    page.emulate_media(media="screen")
    expect(story).to_be_empty()
    expect_turn(page, "Episode 2, turn 3")
    page.evaluate("location.hash = '#e2t3/curves'")
    page.emulate_media(media="print")
    expect(page.get_by_role("figure").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rooms_that_are_not_yet_seen_can_be_read(open_report: OpenReport, scheme: Literal["light", "dark"]) -> None:
    page = open_report(report_of(run_of(40)), "#e1t4/map")
    page.emulate_media(color_scheme=scheme)
    contrasts = page.locator(".room.unknown").evaluate_all(CONTRASTS)
    assert contrasts
    assert min(contrasts) >= 4.5


CONTRASTS = """(rooms) => rooms.map((room) => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const light = (part) => {
        const style = getComputedStyle(part);
        canvas.fillStyle = style.fill;
        canvas.globalAlpha = style.opacity * getComputedStyle(room).opacity;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((each) => each / 255)
            .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
            .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
    };
    const shades = [light(room.querySelector("rect")), light(room.querySelector("text"))].sort((a, b) => b - a);
    return (shades[0] + 0.05) / (shades[1] + 0.05);
})"""
"""The contrast of each room's name with its box, as in WCAG 2.2."""


def test_a_call_is_copied_and_downloaded_whole_with_every_answer_that_the_model_wrote(open_report: OpenReport) -> None:
    run = run_of(40)
    call, *_ = calls_of(run["turns"][2])
    call["event"] |= {"requests": 2, "text": "Well: {}", "unusable": ["I'd rather not. " + HOSTILE]}
    page = open_report(report_of(run), "#e1t2")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("summary", has_text="agent").click()
    for title, text in (
        ("The answer as the model wrote it", "Well: {}"),
        ("Answer 1, which could", "I'd rather not. <s"),
    ):
        page.locator("summary", has_text=title).click()
        expect(page.locator(".call")).to_contain_text(text)
    page.get_by_role("button", name="Copy the prompt").click()
    prompt = page.evaluate("navigator.clipboard.readText()")
    assert prompt.startswith("You play.\nAnswer in JSON.\n\nLine ")
    downloaded = json.loads(saved_by(page, "Download the call as JSON"))
    assert f"{downloaded['system']}\n\n{downloaded['user']}" == prompt
    assert (downloaded["episode"], downloaded["turn"], downloaded["recorded"]) == (1, 2, call["event"])


def test_figures_are_saved_as_csv_in_which_no_cell_is_a_formula(open_report: OpenReport) -> None:
    run = run_of(40)
    run["turns"][1]["events"][-1]["event"]["record"]["proposals"][-1]["action"] = '=1+1, "x"'
    page = open_report(report_of(run))
    page.get_by_text("About this run").click()
    turns = list(csv.DictReader(saved_by(page, "turns").splitlines()))
    assert [turn["command"] for turn in turns[:2]] == ['\'=1+1, "x"', "go 2"]
    assert (turns[-1]["score"], turns[-1]["prompt_tokens"], turns[-1]["dollars"]) == ("2", "500", "0.001")
    (calls,) = csv.DictReader(saved_by(page, "calls").splitlines())
    assert (calls["role"], calls["calls"], calls["retries"], calls["median_seconds"]) == ("agent", "40", "0", "1.5")
    assert len(saved_by(page, "episodes").splitlines()) == 2


def saved_by(page: Page, button: str) -> str:
    """The content of the file that a click on the button downloads."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    return download.value.path().read_text(encoding="utf-8")


def test_rooms_not_yet_seen_are_marked_and_one_that_is_clicked_tells_its_turns(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(40)), "#e1t4/map")
    expect(page.locator(".room.unknown")).to_have_count(25)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".room.unknown")).to_have_count(24)
    page.evaluate("location.hash = '#e1t38/map'")
    page.get_by_role("button", name="Room 5", exact=True).click()
    panel = page.get_by_label("Room", exact=True)
    expect(panel).to_contain_text("What turn 5 taught")
    expect(panel).to_contain_text("A wall.")
    panel.get_by_role("link", name="e1 t35").click()
    expect_turn(page, "Episode 1, turn 35")


def test_a_way_past_another_room_is_named_and_the_path_does_not_show_it(open_report: OpenReport) -> None:
    run = run_of(4)
    way = {"from_id": 1, "to_id": 3, "there": ["climb"], "back": [], "shown": "named"}
    run["map"]["ways"] = [way, {**way, "to_id": 2, "there": ["east"], "shown": "solid"}]
    for turn, place in zip(run["turns"], (1, 3, 1, 2, 1), strict=True):
        seen_in(turn)["location"] = {"num": place, "name": ""}
    page = open_report(report_of(run), "#e1t4/map")
    expect(page.locator("line.way")).to_have_count(1)
    expect(page.get_by_role("button", name="Room 0, here", exact=True).locator(".named")).to_have_text(
        ["climb > Room 2"]
    )
    path, line, box = (
        page.evaluate(f"document.querySelector('{part}').getBBox().width")
        for part in (".path", "line.way", ".room rect")
    )
    assert path == pytest.approx(line + box)


def test_a_click_on_a_curve_or_a_mark_goes_there(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(40)), "#e1t0/curves")
    page.get_by_role("img", name=re.compile("^Score")).click(position={"x": 300, "y": 60})
    expect(page.get_by_role("article", name="Episode 1, turn 0", exact=True)).to_have_count(0)
    expect(page.get_by_role("article")).to_have_count(1)
    page.keyboard.press("3")
    page.get_by_role("link", name="2 points (episode 1, turn 40)").click()
    expect_turn(page, "Episode 1, turn 40")


def test_the_curves_end_at_the_last_turn_although_each_episode_has_an_opening(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(300)), "#e2t50/curves")
    chart = page.get_by_role("figure").filter(has_text="Score")
    last = chart.locator(".tick-x").last
    expect(last).to_have_text("300")
    assert float(last.get_attribute("x") or 0) == pytest.approx(float(chart.locator(".now").get_attribute("x1") or 0))
    start, end = (float(chart.locator(".tick-x").nth(at).get_attribute("x") or 0) for at in (0, -1))
    border = float(chart.locator(".border").get_attribute("x1") or 0)
    assert border == pytest.approx(start + (end - start) * 250 / 300)


def test_on_a_phone_no_button_of_the_map_is_over_it(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(40)), "#e1t40/map")
    page.set_viewport_size({"width": 390, "height": 844})
    drawn, button = page.locator(".plan svg").bounding_box(), page.get_by_role("button", name="Larger").bounding_box()
    assert drawn is not None
    assert button is not None
    assert button["y"] >= drawn["y"] + drawn["height"]


def test_a_route_of_which_only_the_figures_changed_is_shown_with_its_commands(open_report: OpenReport) -> None:
    run = run_of(40)
    commands = [f"climb {number}" for number in range(12)]
    before: dict[str, object] = {"key": "r:1", "kind": "route", "title": "To the loft", "place": None, "by": ""}
    before |= {"text": "\n".join(commands), "tags": ["1 time"]}
    run["turns"][7]["changes"] = [{"key": "r:1", "before": before, "after": {**before, "tags": ["2 times"]}}]
    page = open_report(report_of(run), "#e1t7")
    changed = page.get_by_role("listitem").filter(has_text="route changed")
    expect(changed).to_contain_text(", ".join(commands))
    expect(changed).not_to_contain_text("as before")


def test_two_runs_stand_side_by_side_at_the_same_milestone(open_report: OpenReport) -> None:
    page = open_report(report_of(run_of(40), run_of(40, number=2)), "#compare")
    row = page.get_by_role("row", name="1 points")
    expect(row).to_contain_text("turn 20turn 21+1")
    row.get_by_role("button").click()
    expect(page.get_by_label("Left, turns")).to_contain_text("You are at 20 of run 1.")
    expect(page.get_by_label("Right, turns")).to_contain_text("You are at 21 of run 2.")
    row.get_by_role("link", name="turn 21").click()
    expect_turn(page, "Episode 1, turn 21")
    expect(page.get_by_role("article")).to_contain_text("You are at 21 of run 2.")


def test_a_run_that_stopped_before_its_first_episode_is_shown(open_report: OpenReport) -> None:
    page = open_report(report_of({**run_of(1), "turns": [], "map": None}))
    expect(page.get_by_role("main")).to_contain_text("No episode of this run was begun.")


@pytest.mark.parametrize("view", VIEWS)
def test_whatever_a_story_or_a_model_wrote_is_shown_and_does_nothing(open_report: OpenReport, view: str) -> None:
    words = HOSTILE + "\ud800"
    page = open_report(
        report_of(run_of(40, words=words, reasoning=words * 1000), run_of(40, number=2, words=words)), f"#e1t10/{view}"
    )
    page.locator("summary").evaluate_all("all => all.forEach(each => each.parentElement.open = true)")
    expect(page.locator("body")).to_contain_text("<script>document.title = 'taken'</script>")
    assert "taken" not in page.title().split("<script>", maxsplit=1)[0]
    assert page.locator("#page script, #page img").count() == 0
    shown = page.locator("body").inner_text()
    assert "U+202E" in shown
    assert not set("\u202e\x1b\x07") & set(shown)


@pytest.mark.parametrize(("turns", "seconds"), [(1000, 2.0), (5000, 10.0)])
def test_a_long_run_opens_soon_and_draws_only_what_is_in_sight(
    open_report: OpenReport, turns: int, seconds: float
) -> None:
    report = report_of(run_of(turns, reasoning="Long thought. " * 100))
    open_report(report_of(run_of(1)))
    begun = time.perf_counter()
    page = open_report(report, f"#e{turns // 250}t200")
    expect(page.get_by_role("article")).to_contain_text("You are at 200")
    assert time.perf_counter() - begun < seconds
    assert page.locator(".row").count() < 60
    page.get_by_role("slider", name="Turn").fill("777")
    expect_turn(page, "Episode 4, turn 24")


def test_an_ablation_shows_every_pair_and_every_episode_as_a_point(open_report: OpenReport) -> None:
    page = open_report(ablation_of(pairs=6, episodes=4))
    expect(page.get_by_role("main")).to_contain_text("square, full against no-memory: +2.2 points in 6 pairs")
    expect(page.locator(".point")).to_have_count(6)
    expect(page.locator(".dot")).to_have_count(2 * 6 * 4)
    expect(page.get_by_role("link", name="runs/full-3")).to_have_attribute("href", "full-3.html")
    page.get_by_label("Measure").select_option("turns to best")
    expect(page.locator(".point")).to_have_count(0)


def test_a_hostile_ablation_does_nothing(open_report: OpenReport) -> None:
    page = open_report(ablation_of(pairs=2, episodes=2, words=HOSTILE))
    expect(page.get_by_role("main")).to_contain_text("<script>document.title = 'taken'</script>")
    assert not set("\u202e\x1b\x07") & set(page.locator("body").inner_text())


@pytest.mark.parametrize("view", [*VIEWS, "ablation", "index"])
def test_no_view_has_a_serious_fault_of_accessibility_or_is_wider_than_the_screen(
    open_report: OpenReport, pictures: Path, axe: str, view: str
) -> None:
    others = {"ablation": ablation_of(pairs=20, episodes=5), "index": index_of(30)}
    page = open_report(others.get(view) or report_of(run_of(300), run_of(300, number=2)), f"#e1t41/{view}")
    page.evaluate(axe)
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for width, scheme in product((400, 768, 1280), schemes):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=pictures / f"{view}-{width}-{scheme}.png", full_page=True)
        page.locator("summary").evaluate_all("all => all.forEach(each => each.parentElement.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(SIDEWAYS) == []
        if width == 768:
            continue
        found: dict[str, Any] = page.evaluate("axe.run()")
        serious = [
            (width, scheme, fault["id"], [node["html"][:200] for node in fault["nodes"][:3]])
            for fault in found["violations"]
            if fault["impact"] in {"serious", "critical"}
        ]
        assert serious == []


def content(turns: int, *, follow: bool = True, number: int = 1) -> bytes:
    return json.dumps({**report_of(run_of(turns, number=number)), "follow": follow}).encode()


@pytest.fixture
def server() -> Iterator[ReportServer]:
    with ReportServer(0, content(10)) as server:
        yield server


@pytest.mark.parametrize(("read", "then"), [(10, 12), (4, 4)])
def test_whoever_reads_the_latest_turn_is_led_on_and_nobody_else(
    browser: Browser, server: ReportServer, read: int, then: int
) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server.url}#e1t{read}")
    expect(page.get_by_role("article")).to_have_attribute("aria-label", f"Episode 1, turn {read}")
    server.content = content(12, follow=False)
    expect(page.get_by_role("slider", name="Turn")).to_have_attribute("max", "12")
    expect(page.get_by_role("article")).to_have_attribute("aria-label", f"Episode 1, turn {then}")
    before = len(asked)
    page.wait_for_timeout(3000)
    assert len(asked) == before
    assert all(url.startswith(server.url) for url in asked)
    page.close()


def test_a_run_that_begins_later_is_shown_at_its_latest_turn(browser: Browser, server: ReportServer) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}#e1t4")
    expect(page.get_by_role("article")).to_have_attribute("aria-label", "Episode 1, turn 4")
    for turns in (6, 7):
        server.content = content(turns, number=2)
        expect(page.get_by_role("article")).to_have_attribute("aria-label", f"Episode 1, turn {turns}")
    page.close()


def test_every_recorded_turn_is_read_as_it_was_played(
    open_report: OpenReport, tmp_path: Path, own_story: Path, clean_environment: pytest.MonkeyPatch
) -> None:
    clean_environment.chdir(tmp_path)
    (run,) = (RECORDED / "runs").iterdir()
    written = typed("report", str(run), "--to", "written.html", "--game", str(own_story))
    assert written.status == 0, written
    page = open_report(data_in(Path("written.html").read_text(encoding="utf-8")))
    records = [line.event.record for line in read_journal(run) if isinstance(line.event, TurnPlayed)]
    assert records
    for record in records:
        page.evaluate(f"location.hash = '#e{record.episode}t{record.turn}'")
        article = page.get_by_role("article", name=f"Episode {record.episode}, turn {record.turn}", exact=True)
        expect(article.get_by_role("heading", level=2)).to_have_text(f"> {record.action}")
        expect(article.locator(".story")).to_have_text(record.after.text.strip())

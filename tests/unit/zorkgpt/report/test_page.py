"""A report is inert: what stories and models wrote is data, and nothing runs but what the page was built with."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from tests.fixtures.report_data import DATA, command_of, data_in, seen_in
from tests.unit.zorkgpt.report.dye_runs import SEEN, played, started, turn, write_run
from zorkgpt.report.played_run import read_run
from zorkgpt.report.repetition import Repetition
from zorkgpt.report.run_page import Note, PageData, page_of_run
from zorkgpt.report.server import page_of, page_with

HOSTILE = (
    "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> ]]> & &lt; \" ' ` \\ \\u003c "
    "\x00\x1b]52;c;b3duZWQ=\x07\x7f\x9b31m \r\n\t \u202eth\u2066gir\u2069 \u2028\u2029 \ufeff\U000e0041 "
    "e\u0301\U0001f47b"
)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


def test_hostile_text_is_the_same_on_the_page_and_no_markup(tmp_path: Path) -> None:
    record = turn(1, HOSTILE, text=HOSTILE * 500, died=True)
    run = write_run(tmp_path, [started(opening=replace(SEEN, text=HOSTILE)), played(record)], story=HOSTILE)
    page = page_with(PageData("zorkgpt", (page_of_run(read_run(run), Repetition(), notes=[Note(HOSTILE)]),)))
    (told,) = data_in(page)["runs"]
    opening, first = told["turns"]
    assert (told["figures"]["manifest"]["story"], told["notes"][0]["text"]) == (HOSTILE, HOSTILE)
    assert (seen_in(opening)["text"], command_of(first), seen_in(first)["text"]) == (HOSTILE, HOSTILE, HOSTILE * 500)
    assert page.count("<script") == page_of(b"{}").count("<script")
    assert "alert" not in page


def test_half_a_surrogate_pair_is_spelled_out() -> None:
    page = page_with(PageData("a\ud800b\udfffc \\ud800 \U0001f47b"))
    assert data_in(page)["program"] == "a\\ud800b\\udfffc \\ud800 \U0001f47b"


def test_a_policy_allows_the_scripts_and_styles_of_the_page_by_checksum_and_nothing_else() -> None:
    page = page_with(PageData("zorkgpt"))
    (policy,) = POLICY.findall(page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    inline = re.findall(r"<(script|style)>(.*?)</\1>", page, re.DOTALL)
    digests = {kind: [f"'sha256-{_digest(text)}'" for each, text in inline if each == kind] for kind, _ in inline}
    assert rules == {
        "default-src": "'none'",
        "script-src": " ".join(digests["script"]),
        "style-src": " ".join(digests["style"]),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert page.index(policy) < page.index("<style") < page.index(DATA.findall(page)[0])


def test_only_a_page_that_follows_a_run_may_ask_its_own_server() -> None:
    page = page_of(b"{}", follows="report.json")
    assert "connect-src 'self'" in POLICY.findall(page)[0]
    assert ' data-follow="report.json">' in page


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()

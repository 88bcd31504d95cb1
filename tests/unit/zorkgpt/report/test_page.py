"""A report is inert: what stories and models wrote is data, and nothing runs but what the page was built with."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

from tests.fixtures.report_data import DATA, data_in
from zorkgpt.report.run_page import PageData
from zorkgpt.report.server import page_of, page_with

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


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

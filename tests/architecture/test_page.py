"""The built report page loads nothing from elsewhere and names the licences of the software in it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

WEB = Path(__file__).parents[2] / "web"
PAGE = (files("zorkgpt.report") / "page" / "page.html").read_text(encoding="utf-8")


def test_nothing_is_fetched_and_nothing_but_one_script_and_one_style_is_there() -> None:
    markup = re.sub(r"<(script|style)>.*?</\1>", r"<\1>", PAGE, flags=re.DOTALL)
    assert re.findall(r"<(script|style|link|img|iframe|object|embed)\b[^>]*>", markup) == ["style", "script"]
    assert re.findall(r"\s(?:src|href|style|on\w+)=", markup) == []
    assert re.findall(r"url\((?!#)|@import|\beval\(|new Function", PAGE) == []


def test_the_licence_of_every_library_is_in_the_footer() -> None:
    libraries = json.loads((WEB / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert [name for name in libraries if not re.search(rf"<h3>{re.escape(name)} [\d.]+, \S+</h3>\s*<pre>", PAGE)] == []


def test_our_sources_write_no_markup() -> None:
    sources = {path.name: path.read_text(encoding="utf-8") for path in (WEB / "src").glob("*.ts*")}
    assert len(sources) > 10
    marked = re.compile(r"innerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|document\.write")
    assert [name for name, text in sources.items() if marked.search(text)] == []


def test_the_lock_names_checksums_and_no_registry() -> None:
    packages = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []

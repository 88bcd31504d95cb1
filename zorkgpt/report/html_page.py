"""Writes a report as one HTML file: the page as it was built, its data, and a policy that forbids all else."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from pydantic import TypeAdapter

JSON_FILE = "report.json"
POLICY_PLACE = "<!--zorkgpt:policy-->"
DATA_PLACE = "<!--zorkgpt:data-->"
_SURROGATE = re.compile("[\ud800-\udfff]")
_INLINE = re.compile(r"<(script|style)\b[^>]*>(.*?)</\1>", re.DOTALL)


def page_with(data: object) -> str:
    """Return the page with its data, a dataclass for all of them; it needs nothing else."""
    return page_of(as_json(data))


def page_of(content: bytes, *, follows: bool = False) -> str:
    """Return the page with data that is JSON already.

    follows: it asks its own server for ``report.json`` now and then, which is the same data anew
    """
    packed = b64encode(gzip.compress(content, mtime=0)).decode()
    source = f' data-follow="{JSON_FILE}"' if follows else ""
    element = f'<script type="application/json" id="zorkgpt-data" data-encoding="gzip-base64"{source}>'
    page = (files("zorkgpt.report") / "page" / "page.html").read_text(encoding="utf-8")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_policy(page, follows=follows)}">'
    return page.replace(POLICY_PLACE, policy, 1).replace(DATA_PLACE, f"{element}{packed}</script>", 1)


def as_json(data: object) -> bytes:
    """Return the data as JSON; half a surrogate pair, which UTF-8 cannot hold, is spelled out."""
    text = json.dumps(TypeAdapter(type(data)).dump_python(data, mode="json"), ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text).encode()


def _policy(page: str, *, follows: bool) -> str:
    """Return what the page may do: run the scripts and use the styles that it was built with, by their checksums."""
    digests: dict[str, list[str]] = {"script": [], "style": []}
    for kind, content in _INLINE.findall(page):
        digests[kind].append(f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'")
    allowed = {f"{kind}-src": " ".join(each) for kind, each in digests.items() if each}
    if follows:
        allowed["connect-src"] = "'self'"
    rules = {"default-src": "'none'", **allowed, "base-uri": "'none'", "form-action": "'none'"}
    return "; ".join(f"{rule} {source}" for rule, source in rules.items())

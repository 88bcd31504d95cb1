"""The page as one HTML file, and the server that shows it while runs are played."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from secrets import token_urlsafe
from socketserver import ThreadingTCPServer
from threading import Thread
from urllib.parse import quote

from pydantic import TypeAdapter
from typing_extensions import Self, override

from session.errors import ConfigurationError
from session.text import SURROGATE

JSON_FILE = "report.json"
POLICY_PLACE = "<!--zorkgpt:policy-->"
DATA_PLACE = "<!--zorkgpt:data-->"
_INLINE = re.compile(r"<(script|style)\b[^>]*>(.*?)</\1>", re.DOTALL)


def page_with(data: object) -> str:
    """Return the page with its data, a dataclass; the page needs no other file."""
    return page_of(as_json(data))


def page_of(content: bytes, *, follows: str = "") -> str:
    """Return the page with data that is JSON already.

    follows: the file beside it with the current version of the data, which it polls its server for; "" for none
    """
    packed = b64encode(gzip.compress(content, mtime=0)).decode()
    source = f' data-follow="{quote(follows)}"' if follows else ""
    element = f'<script type="application/json" id="zorkgpt-data" data-encoding="gzip-base64"{source}>'
    page = (files("zorkgpt.report") / "page" / "page.html").read_text(encoding="utf-8")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_policy(page, follows=bool(follows))}">'
    return page.replace(POLICY_PLACE, policy, 1).replace(DATA_PLACE, f"{element}{packed}</script>", 1)


def as_json(data: object) -> bytes:
    """Return the data as JSON; half a surrogate pair, which UTF-8 cannot hold, is spelled out."""
    text = json.dumps(TypeAdapter(type(data)).dump_python(data, mode="json"), ensure_ascii=False, separators=(",", ":"))
    return SURROGATE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text).encode()


def _policy(page: str, *, follows: bool) -> str:
    """Return the page's policy: it may run the scripts and use the styles that it was built with, by checksum."""
    digests: dict[str, list[str]] = {"script": [], "style": []}
    for kind, content in _INLINE.findall(page):
        digests[kind].append(f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'")
    allowed = {f"{kind}-src": " ".join(each) for kind, each in digests.items() if each}
    if follows:
        allowed["connect-src"] = "'self'"
    rules = {"default-src": "'none'", **allowed, "base-uri": "'none'", "form-action": "'none'"}
    return "; ".join(f"{rule} {source}" for rule, source in rules.items())


ADDRESS = "127.0.0.1"
SILENCE = 10.0  # seconds after which a silent client is disconnected
HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class ReportServer(ThreadingTCPServer):
    """Serves a page on one port of the loopback address, within a ``with`` block.

    Its two paths begin with a secret token, because every user of a computer can send requests to its loopback address.
    A request with another ``Host`` is refused, because it comes from another site's page.

    port: 0 for any free port. Raises ``ConfigurationError`` if it is taken.
    content: the current data of the page, as JSON
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, content: bytes) -> None:
        self.content = content
        self.word = token_urlsafe(16)
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise ConfigurationError(f"--port {port}: cannot listen on {ADDRESS}: {error.strerror}") from error

    @property
    def port(self) -> int:
        """The port that it answers on."""
        return int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{ADDRESS}:{self.port}/{self.word}/"

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    @override
    def __exit__(self, *_error: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer
    timeout = SILENCE

    def do_GET(self) -> None:
        """Answer with the page, its data, or an error."""
        content, hosts = self.server.content, {f"{name}:{self.server.port}" for name in (ADDRESS, "localhost")}
        mark = f'"{sha256(content).hexdigest()[:32]}"'
        if self.headers.get("Host") not in hosts:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        elif self._asks_for(""):
            self._answer(page_of(content, follows=JSON_FILE).encode(), {"Content-Type": "text/html; charset=utf-8"})
        elif not self._asks_for(JSON_FILE):
            self.send_error(HTTPStatus.NOT_FOUND)
        elif self.headers.get("If-None-Match") == mark:
            self.send_response(HTTPStatus.NOT_MODIFIED)
            self.send_header("ETag", mark)
            self.end_headers()
        else:
            headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "ETag": mark}
            self._answer(gzip.compress(content, mtime=0), headers)

    @override
    def log_message(self, *_message: object) -> None:
        """Log no requests: the terminal shows the address alone."""

    def _asks_for(self, name: str) -> bool:
        return compare_digest(self.path.encode("utf-8", "replace"), f"/{self.server.word}/{name}".encode())

    def _answer(self, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(HTTPStatus.OK)
        for name, value in {**HEADERS, **headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

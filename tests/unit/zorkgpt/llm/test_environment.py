"""Proxies and certificates that the environment names: what cannot be used is reported in one line with its name."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from itertools import product
from pathlib import Path

import pytest

from session.errors import ConfigurationError, LanguageModelUnavailable
from session.game_configuration import LanguageModelOptions, RoleOptions
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.unit.zorkgpt.llm.asking import GOOD, ask, model_on
from zorkgpt.llm.environment import connection_mend
from zorkgpt.llm.openai.openai_model import OpenAIModel

SCHEMES = ("http", "https", "all")
NAMES = [f"{scheme}_proxy" for scheme in SCHEMES] + [f"{scheme}_PROXY".upper() for scheme in SCHEMES]
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*NAMES, "NO_PROXY", "no_proxy", *CERTIFICATES):
        monkeypatch.delenv(name, raising=False)


def open_elsewhere(base_url: str = "http://model.invalid/v1") -> None:
    OpenAIModel({"agent": RoleOptions("named", base_url)}).close()


UNUSABLE = (
    *("socks5://host:1", "socks5h://user:secret@host"),
    *("http://user:secret@host:port", "http://host:0", "http://host:99999999", "http://[::1", "http://", "://"),
    *("socks4://host:1", "ftp://user:secret@host:1", " http://host:1", "http:// host", "http://host\x01"),
)
SECRET = "ftp://user:secret@host:1"


@pytest.mark.parametrize(("name", "proxy"), [*product(NAMES, [SECRET]), *product(NAMES[:1], UNUSABLE)])
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable_without_its_password(
    name: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, proxy)
    with pytest.raises(ConfigurationError, match=f"^agent: {name} .*unset") as caught:
        open_elsewhere()
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    with MisbehavingServer(GOOD) as server, model_on(server) as model:
        assert ask(model).value.action == "light lamp", "a server on this computer needs no proxy"


USUAL = ("host:8080", "http://user:p@ss@host:1", "https://host", "http://[::1]:8080", "")
BYPASSED = ("", "*", "[::1", "a b, ,*.x", "10.0.0.0/8", "::1/128", "x:80", "://", "http://")


@pytest.mark.parametrize(("proxy", "bypassed"), [*product(USUAL, BYPASSED[:1]), *product(USUAL[:1], BYPASSED[1:])])
def test_a_proxy_in_any_usual_form_is_used(proxy: str, bypassed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setenv("NO_PROXY", bypassed)
    open_elsewhere()


def unusable(folder: Path) -> dict[str, str]:
    (folder / "text").write_text("no certificate")
    (folder / "empty").touch()
    return {
        "missing": str(folder / "missing"),
        "text": str(folder / "text"),
        "empty": str(folder / "empty"),
        "folder": str(folder),
    }


@pytest.mark.parametrize("kind", ["missing", "text", "empty", "folder"])
@pytest.mark.parametrize("base_url", ["http://model.invalid/v1", "https://model.invalid/v1", "https://localhost:9/v1"])
def test_a_file_of_certificates_that_cannot_be_used_is_named_by_its_variable(
    kind: str, base_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unusable(tmp_path)[kind]
    monkeypatch.setenv("SSL_CERT_FILE", path)
    with pytest.raises(ConfigurationError, match=f"^agent: SSL_CERT_FILE={path} cannot be used: .*unset it$"):
        open_elsewhere(base_url)
    with MisbehavingServer(GOOD) as server, model_on(server) as model:
        assert ask(model).value.action == "light lamp", "no certificate is needed without TLS on this computer"


def test_a_folder_of_certificates_or_a_file_of_keys_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (tmp_path / "missing", Path(__file__)):
        monkeypatch.setenv("SSL_CERT_DIR", str(folder))
        with pytest.raises(ConfigurationError, match=f"^agent: SSL_CERT_DIR={folder} is not a folder; .*unset it$"):
            open_elsewhere()
    monkeypatch.setenv("SSL_CERT_DIR", f"{tmp_path / 'missing'}:{tmp_path}")
    open_elsewhere()
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "missing" / "keys"))
    with pytest.raises(ConfigurationError, match=r"^agent: SSLKEYLOGFILE=.* cannot be used: No such file"):
        open_elsewhere()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make a certificate with")
def test_the_certificates_of_the_environment_count_for_this_computer_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = tmp_path / "localhost.pem"
    signing = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    subprocess.run([*signing.split(), "-keyout", certificate, "-out", tmp_path / "c"], check=True, capture_output=True)
    certificate.write_bytes(certificate.read_bytes() + (tmp_path / "c").read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    limits = LanguageModelOptions(patience=0.0)
    with MisbehavingServer(GOOD) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        settings = RoleOptions("named", f"https://localhost:{server.server_port}/v1", limits=limits)
        with (
            OpenAIModel({"agent": settings}) as model,
            pytest.raises(LanguageModelUnavailable, match="set SSL_CERT_FILE to a file"),
        ):
            ask(model)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with OpenAIModel({"agent": settings}) as model:
            assert ask(model).value.action == "light lamp"


def test_what_to_check_names_the_proxy_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection_mend("https", "refused") == ": is the server running there?"
    monkeypatch.setenv("HTTP_PROXY", "http://host:1")
    assert "proxy" not in connection_mend("https", "refused") + connection_mend("", "refused")
    assert connection_mend("http", "refused").endswith("and the proxy in HTTP_PROXY?")
    monkeypatch.setenv("SSL_CERT_FILE", "/ca.pem")
    assert "SSL_CERT_FILE=/ca.pem" in connection_mend("https", "[SSL: CERTIFICATE_VERIFY_FAILED] unable to get issuer")

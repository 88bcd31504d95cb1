"""The environment's proxies and certificates, which HTTP clients use: what cannot be used is reported by its name."""

from __future__ import annotations

import os
import ssl
from importlib.util import find_spec
from urllib.request import getproxies

import httpx2

from session.errors import ConfigurationError
from session.processes import install_command

_SOCKS = ("socks5", "socks5h")


def certificates() -> ssl.SSLContext:
    """Return the client's certificates: those of ``SSL_CERT_FILE`` or ``SSL_CERT_DIR``, else those of the system.

    Raises ``ConfigurationError`` with the name of a variable that cannot be used.
    """
    file, folders = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not file and folders and not any(map(os.path.isdir, folders.split(os.pathsep))):
        raise ConfigurationError(f"SSL_CERT_DIR={folders} is not a folder; name a folder of certificates, or unset it")
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        name = "SSLKEYLOGFILE" if error.filename else "SSL_CERT_FILE"
        reason = "it contains no certificates" if isinstance(error, ssl.SSLError) else error.strerror
        raise ConfigurationError(
            f"{name}={os.environ.get(name)} cannot be used: {reason}; name another file, or unset it"
        ) from error


def require_usable_proxies() -> None:
    """Raise ``ConfigurationError`` with the name of a variable that names no proxy that the client can use.

    The value may contain a password and is not shown.
    """
    for name, proxy in proxies().items():
        try:
            url = httpx2.URL(proxy if "://" in proxy else f"http://{proxy}")
            is_valid = url.scheme in {"http", "https", *_SOCKS} and bool(url.host) and len(proxy.split()) == 1
            is_valid &= url.port is None or 0 < url.port < 1 << 16
        except httpx2.InvalidURL:
            is_valid = False
        if not is_valid:
            raise ConfigurationError(
                f"{name} is not the URL of a proxy, such as http://host:port; correct it, or unset it"
            )
        if url.scheme in _SOCKS and find_spec("socksio") is None:
            raise ConfigurationError(
                f"{name} names a SOCKS proxy, which needs a package: `{install_command('socksio')}`, or unset {name}"
            )


def proxies() -> dict[str, str]:
    """Return the proxies for servers elsewhere, by the names of their variables."""
    found = {scheme: url for scheme, url in getproxies().items() if scheme in {"http", "https", "all"} and url}
    names = {scheme: f"{scheme}_proxy" for scheme in found}
    return {name if name in os.environ else name.upper(): found[scheme] for scheme, name in names.items()}


def connection_mend(scheme: str, problem: str) -> str:
    """Return what to check if a server cannot be reached.

    scheme: that of the server's URL; "" for a server on this computer, which is reached without a proxy
    problem: the client's words
    """
    if "CERTIFICATE_VERIFY_FAILED" in problem:
        name = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), None)
        if name:
            return f": the server's certificate is not trusted by those of {name}={os.environ[name]}"
        return ": to trust the server's certificate, set SSL_CERT_FILE to a file that contains it"
    used = {f"{scheme}_proxy", "all_proxy"} if scheme else set()
    name = next((name for name in proxies() if name.lower() in used), None)
    return f": is the server running there, and the proxy in {name}?" if name else ": is the server running there?"

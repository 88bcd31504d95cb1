"""Where keys may be sent: to addresses that the user gave, or that come from a file with its own key or a trusted file.

A file with an address may come with a folder, such as a clone or an archive. Its owner is then the user, but its author
is not.
"""

from __future__ import annotations

import json
from hashlib import sha256
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from platformdirs import user_config_path

from session.errors import ConfigurationError
from session.files.atomic_write import write_atomically
from session.invocation import program
from session.values import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from session.game_configuration import GameConfiguration

_ADDRESS = "llm.base_url"


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this machine, which needs neither trust nor a proxy."""
    if host is None or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def require_trusted(configuration: GameConfiguration, files: Mapping[str, Path], home: Path | None) -> None:
    """Make sure that no key goes to an address from a file that the user may not have written.

    files: those that gave options, by the name of the option; other options come from the command line, the environment
        or defaults
    home: a file directly in this folder is the user's own configuration
    Raises ``ConfigurationError`` in one line that names the file.
    """
    for address, key in _pairs(configuration):
        file = files.get(address)
        is_users = home is not None and file is not None and file.parent.resolve() == home.resolve()
        if file is None or file == files.get(key) or is_users or is_trusted(file):
            continue
        raise ConfigurationError(
            f"{file} gives {address}, and {key} comes from elsewhere: no key is sent to an address that may have come "
            f"with a folder; {program()} config trust {file} allows it"
        )


def require_named(configuration: GameConfiguration, now: GameConfiguration, folder: Path) -> None:
    """Make sure that the addresses of a run are ones that the present configuration names, too, if keys go there.

    folder: of the run, which may have come with its work folder
    Raises ``ConfigurationError`` in one line.
    """
    named = {server.base_url for server in (now.llm, *(getattr(now.llm, role) for role in ROLES))}
    for address, _ in _pairs(configuration):
        url = _value(configuration, address)
        if url not in named:
            option = f"--base-url {url}" if address == _ADDRESS else f"--set {address}={url}"
            raise ConfigurationError(
                f"the run of {folder} has {address} = {url}: a key is sent there only if you name it yourself; "
                f"add {option}"
            )


def trust(file: Path) -> None:
    """Let keys be sent to the addresses in a file, as long as its content stays the same. Raises ``StoreError``."""
    store = _store()
    store.parent.mkdir(parents=True, exist_ok=True)
    trusted = {**_trusted(), str(file.resolve()): _digest(file)}
    write_atomically(store, json.dumps(trusted, indent=2).encode(), mode=0o600)


def is_trusted(file: Path) -> bool:
    """Return whether the user has trusted a file with its present content."""
    return _trusted().get(str(file.resolve())) == _digest(file)


def _pairs(configuration: GameConfiguration) -> Iterator[tuple[str, str]]:
    """Yield each address that is not this machine's with each key that is sent to it, by the names of the options."""
    llm = configuration.llm
    for role in ROLES:
        own = getattr(llm, role)
        key = f"llm.{role}.api_key" if own.api_key else "llm.api_key"
        address = f"llm.{role}.base_url" if own.base_url else _ADDRESS
        url, value = (own.base_url, own.api_key) if own.base_url else (llm.base_url, own.api_key or llm.api_key)
        if url is not None and value is not None and not is_loopback(urlsplit(url).hostname):
            yield address, key


def _value(configuration: GameConfiguration, address: str) -> str | None:
    *_, group, _name = address.split(".")
    url: str | None = (configuration.llm if group == "llm" else getattr(configuration.llm, group)).base_url
    return url


def _store() -> Path:
    return user_config_path("zorkgpt") / "trusted.json"


def _trusted() -> dict[str, str]:
    try:
        content = json.loads(_store().read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _digest(file: Path) -> str:
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigurationError(f"cannot read {file}: {error.strerror}") from error

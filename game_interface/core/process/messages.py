"""Sends whole messages through a socket between a process and its child: four bytes of length, then the content."""

from __future__ import annotations

import time
from socket import socket

_HEADER_SIZE = 4
_CHUNK = 1 << 16


def send_message(connection: socket, content: bytes) -> None:
    """Send one message. Raises ``OSError`` where the other side is gone."""
    connection.sendall(len(content).to_bytes(_HEADER_SIZE, "big") + content)


def receive_message(connection: socket, limit: float | None = None) -> bytes:
    """Return the next message; nothing may have been sent behind it.

    Raises ``TimeoutError`` if it is not there as a whole after ``limit`` seconds, ``EOFError`` or another ``OSError``
    where the other side is gone.
    """
    deadline = None if limit is None else time.monotonic() + limit
    received, size = b"", _HEADER_SIZE
    while len(received) < size:
        connection.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))
        chunk = connection.recv(_CHUNK)
        if not chunk:
            raise EOFError
        received += chunk
        if len(received) >= _HEADER_SIZE:
            size = _HEADER_SIZE + int.from_bytes(received[:_HEADER_SIZE], "big")
    return received[_HEADER_SIZE:]

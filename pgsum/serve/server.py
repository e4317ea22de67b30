"""The socket and what listens on it.

A connection that says nothing is closed: uvicorn by itself waits for ever for a request's headers.
Knows connections; knows nothing of what is asked.
"""

import asyncio
import errno
import socket
from ipaddress import ip_address
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from pgsum.errors import ConfigError
from pgsum.serve.limits import Limits

DEFAULT_PORT = 8765


class Listener:
    """A socket on which nobody is answered yet, and by which names it can be reached."""

    def __init__(self, host: str, port: int | None) -> None:
        """Without `port` the usual one, or any that is free where that is taken.

        Raises ConfigError where there is no such address, or its port cannot be had.
        """
        address = _address(host)
        if port is None:
            try:
                self.socket = _open(address, DEFAULT_PORT)
            except OSError:
                self.socket = _opened(host, address, 0)
        else:
            self.socket = _opened(host, address, port)
        ip = ip_address(address)
        self.is_local = ip.is_loopback
        name = socket.gethostname() if ip.is_unspecified else host
        port = self.socket.getsockname()[1]
        self.url = f"http://{f'[{name}]' if ':' in name else name}:{port}/"
        self.names = {"localhost", host} if self.is_local else {host, socket.gethostname()}


def make_server(
    app: ASGIApp, listener: Listener, *, limits: Limits | None = None
) -> uvicorn.Server:
    """What `run([listener.socket])` answers with until a signal comes.

    What has been asked by then is answered still; then the signal is raised anew, so that the
    process ends by it.
    """
    limits = limits or Limits()
    config = uvicorn.Config(
        app,
        http=type("InTime", (_InTime,), {"head_seconds": limits.head_seconds}),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
    )
    return uvicorn.Server(config)


class _InTime(H11Protocol):
    """A connection that ends when the headers of its next request do not come in time."""

    head_seconds: float
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # What follows an answer without being a request does not count either.
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waiting is None and not self.transport.is_closing():
            self._waiting = self.loop.call_later(self.head_seconds, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _address(host: str) -> str:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        found = []
    if not host or not found:
        raise ConfigError(
            f"--host is {host!r}: this machine knows no such address.",
            where="--host",
            hint="leave it out, and only this machine can reach the server",
        )
    return str(found[0][4][0])


def _open(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, port), family=family, backlog=1024)


def _opened(host: str, address: str, port: int) -> socket.socket:
    try:
        return _open(address, port)
    except OSError as error:
        reason = "it is taken" if error.errno == errno.EADDRINUSE else str(error.strerror or error)
        raise ConfigError(
            f"Port {port} of {host} cannot be had: {reason}.",
            where="--port",
            hint="leave --port out, or name another",
        ) from error

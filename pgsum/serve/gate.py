"""What a request must be before anything is made of it, and what every answer bears.

A page of another site that is open in one's browser can send requests here. It gets nothing: it is
not let in under a name that is not this server's (DNS rebinding), and what it sends is refused by
where it comes from. Knows HTTP; knows nothing of summaries.
"""

import asyncio
import re
from collections.abc import Collection
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgsum.serve.limits import Limits

_HOST = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::\d{1,5})?", re.I)
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_HANGING_UP = {400, 403, 408, 413, 415}
"""Answers after which nothing more is read: of such a request the body may still be coming."""


class Gate:
    """An application behind a gate.

    `names` are those that the server may be called by; by its numbers it may be called always,
    since no name then leads anywhere else.
    """

    def __init__(self, app: ASGIApp, *, names: Collection[str], limits: Limits) -> None:
        self._app = app
        self._names = {name.lower() for name in names}
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the beginning and the end of the server
            await self._app(scope, receive, send)
            return
        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                _add_headers(message)
            await send(message)

        try:
            async with asyncio.timeout(self._limits.seconds):
                refusal = self._refusal(scope["method"], Headers(scope=scope))
                if refusal is not None:
                    await refusal(scope, receive, answer)
                    return
                await self._app(scope, self._in_time(receive), answer)
        except TimeoutError:
            # An answer that is not taken ends as it is: the server closes what is not complete.
            if not begun:
                await _refused(504, "The summary took too long.", hint="ask for less")(
                    scope, receive, answer
                )

    def _in_time(self, receive: Receive) -> Receive:
        deadline = asyncio.get_running_loop().time() + self._limits.body_seconds
        complete = False

        async def receive_in_time() -> Message:
            nonlocal complete
            if complete:  # what comes now says that nobody waits for the answer any more
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "The request's body did not come in time.") from None
            complete = not message.get("more_body", False)
            return message

        return receive_in_time

    def _refusal(self, method: str, headers: Headers) -> JSONResponse | None:
        host = headers.get("host", "")
        if not self._is_own(host):
            return _refused(400, "The server is not called that.", where="Host")
        if int(headers.get("content-length", "0")) > self._limits.body_bytes:
            # Of a body whose length is not said beforehand, Starlette counts what comes.
            return _refused(413, "The request's body is too large.", hint="send less at a time")
        if method in ("GET", "HEAD", "OPTIONS"):
            return None
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            return _refused(403, "Other sites may not ask for anything here.", where="Origin")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method == "POST" and kind != "application/json":
            return _refused(
                415, "A request's body must be JSON.", hint="send Content-Type: application/json"
            )
        return None

    def _is_own(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = (found["v6"] or found["name"]).lower()
        return name in self._names or _is_number(name)


def _is_number(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _refused(
    status: int, error: str, *, where: str | None = None, hint: str | None = None
) -> JSONResponse:
    return JSONResponse({"error": error, "where": where, "hint": hint}, status)


def _add_headers(message: Message) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in _HEADERS.items():
        headers.setdefault(name, value)
    if message["status"] in _HANGING_UP:
        headers["connection"] = "close"

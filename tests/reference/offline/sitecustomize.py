"""For programs that find this folder on PYTHONPATH, and all they start: no network but loopback.

Each address that was asked for is a line of the file that REFUSED names.
"""

import os
import sys
from typing import Any

_LOOPBACK = ("127.", "::1", "localhost")


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if host is not None and not str(host).startswith(_LOOPBACK):
        with open(os.environ["REFUSED"], "a", encoding="utf-8") as file:
            file.write(f"{event} {host}\n")
        raise OSError(101, "Network is unreachable")


sys.addaudithook(_refuse)

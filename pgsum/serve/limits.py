"""How much a server takes upon itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Of a request, and of all that wait."""

    body_bytes: int = 1_000_000
    waiting: int = 64
    """Documents that wait while others are summarized."""
    head_seconds: float = 10
    """From the beginning of a connection, or of a request on it, until its headers are there."""
    body_seconds: float = 10
    """From the headers until the body is there."""
    seconds: float = 60
    """Until the answer has been taken."""
    connections: int = 256

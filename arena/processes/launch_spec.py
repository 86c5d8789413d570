"""What an arena and the keeper of a bot's process say to each other, over one socket.

The arena sends an `LaunchSpec` as a line of JSON, later perhaps `TERMINATE`, and in the end closes its side. The keeper
answers `STARTED`, or `FAILED` and the number of the system's error. From a sandbox comes `LISTENING` with a socket.
"""

from __future__ import annotations

import msgspec

from arena.processes.limits import ResourceLimits

TERMINATE = b"terminate\n"
STARTED = b"started\n"
FAILED = b"failed "
LISTENING = b"listening\n"


class LaunchSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A program to run. It gets `token` as a line on its standard input."""

    command: tuple[str, ...]
    environment: dict[str, str]
    token: str
    nice: int = 0
    """By how much others go before it."""
    limits: ResourceLimits | None = None
    sandbox: tuple[str, ...] = ()
    """A command that takes a descriptor of the socket to the arena, and the command to run."""

    def line(self) -> bytes:
        """The order as it is sent."""
        return msgspec.json.encode(self) + b"\n"


def read_order(line: bytes) -> LaunchSpec:
    """The order of a line."""
    return msgspec.json.decode(line, type=LaunchSpec)

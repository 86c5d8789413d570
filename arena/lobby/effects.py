"""The effects that the lobby asks for (`LobbyEffect`). The server performs them in order."""

from __future__ import annotations

from msgspec import Struct

from arena.lobby.seeks import MatchSpec
from protocol.messages import Error, Unseeked


class LobbyEffect(Struct, frozen=True, gc=False):
    """Something that the lobby asks for."""


class WakeAt(LobbyEffect, frozen=True, gc=False):
    """Send `Tick` at this time, and not at the time that an earlier effect gave. None means that no `Tick` is due."""

    time: float | None


class StartMatch(LobbyEffect, frozen=True, gc=False):
    """Start a match between `bots`, with seats drawn at random. `seeks` has the id of each bot's seek.

    `pool` is the pool in which it is rated, if any. It has the slow clock if `is_slow`. The answer is `MatchBegun` or
    `MatchNotBegun`.
    """

    match: str
    bots: tuple[str, ...]
    seeks: tuple[str, ...]
    spec: MatchSpec
    pool: str | None
    is_slow: bool


class RejectMessage(LobbyEffect, frozen=True, gc=False):
    """Reject the message that caused the event as malformed, which counts against its sender."""

    reason: str


class StartAssigned(LobbyEffect, frozen=True, gc=False):
    """Start an assigned match. The `absent` seats lose, because their bots did not connect."""

    match: str
    absent: tuple[int, ...]


class CallBots(LobbyEffect, frozen=True, gc=False):
    """Ask bots on other nodes to connect here for an assigned match."""

    bots: tuple[str, ...]


class StopServer(LobbyEffect, frozen=True, gc=False):
    """Stop the server, because it drains and no match is in progress, or the timeout is over."""


class Tell(LobbyEffect, frozen=True, gc=False):
    """Send a message to a connected bot. With `is_greeting`, it follows the welcome message."""

    bot: str
    message: Error | Unseeked
    is_greeting: bool = False


class ChargeSeek(LobbyEffect, frozen=True, gc=False):
    """Charge an address for a new seek with a config of `config_bytes`, or `refund` the charge for one that ended."""

    address: str
    config_bytes: int
    refund: bool


class LoadBot(LobbyEffect, frozen=True, gc=False):
    """Read a bot's data from the store, and answer with `BotLoaded`."""

    bot: str


class LookUpNames(LobbyEffect, frozen=True, gc=False):
    """Find out in the store which names are registered, and report the others with `NameUnknown`."""

    names: tuple[str, ...]


class NoteMissedMatch(LobbyEffect, frozen=True, gc=False):
    """Note for the operator that a bot missed a match, and may not seek for some seconds."""

    bot: str
    match: str
    pause_s: float

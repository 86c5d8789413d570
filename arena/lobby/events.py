"""The events that the lobby receives (`LobbyEvent`). They are plain values, so they can be logged and replayed.

Bots are given by their folded names, except in `BotJoined`. Times are in seconds of the clock that `Lobby.receive`
gets.
"""

from __future__ import annotations

from msgspec import Struct

from protocol.messages import Seek


class BotJoined(Struct, frozen=True, gc=False, tag=True):
    """A bot has connected. `bot` is its name as registered."""

    bot: str
    slots: int
    address: str
    is_person: bool = False


class BotLeft(Struct, frozen=True, gc=False, tag=True):
    """A bot's connection has ended. Its matches continue."""

    bot: str


class SeekPlaced(Struct, frozen=True, gc=False, tag=True):
    """A bot seeks a match. `refusal` says why the quotas of its address, or the rules of the game, allow no match now;
    None if they do.
    """

    bot: str
    seek: Seek
    refusal: str | None = None


class SeekWithdrawn(Struct, frozen=True, gc=False, tag=True):
    """A bot takes a seek back, which may have ended already."""

    bot: str
    id: str


class MatchAdded(Struct, frozen=True, gc=False, tag=True):
    """A match takes a slot of each of its bots: a match that the lobby started, an assigned or a resumed one."""

    match: str
    bots: tuple[str, ...]


class MatchBegun(Struct, frozen=True, gc=False, tag=True):
    """A match that the lobby started has begun."""

    match: str


class MatchNotBegun(Struct, frozen=True, gc=False, tag=True):
    """A match that the lobby started does not begin. With `seeks_again`, its seeks are active again."""

    match: str
    seeks_again: bool = False


class BotReady(Struct, frozen=True, gc=False, tag=True):
    """A bot has reported that it is ready for a match."""

    bot: str


class SeatReleased(Struct, frozen=True, gc=False, tag=True):
    """A match has released the slot of a bot, which `missed` the match, or `stayed` in it to its end, or neither."""

    match: str
    bot: str
    missed: bool = False
    stayed: bool = False


class BotLoaded(Struct, frozen=True, gc=False, tag=True):
    """A bot's ratings (mu, sigma) by pool and its approval were read from the store. With `has_history`, its past
    matches were read too.

    `encounters` has its number of matches by pool and opponent. `rated_matches` has its recent rated matches as tuples
    of match id, pool, opponent and the time of the end.
    """

    bot: str
    ratings: dict[str, tuple[float, float]]
    is_approved: bool = False
    has_history: bool = False
    encounters: list[tuple[str, str, int]] = []
    rated_matches: list[tuple[str, str, str, float]] = []


class RatingsReloaded(Struct, frozen=True, gc=False, tag=True):
    """A bot's ratings and recent rated matches were read again, after a change in the store. They replace what the
    lobby knows.
    """

    bot: str
    ratings: dict[str, tuple[float, float]]
    rated_matches: list[tuple[str, str, str, float]] = []


class BotForgotten(Struct, frozen=True, gc=False, tag=True):
    """A bot was renamed on another node, or deleted. What the lobby knows of it is wrong."""

    bot: str


class BotRenamed(Struct, frozen=True, gc=False, tag=True):
    """A disconnected bot has got the name `new`."""

    bot: str
    new: str


class RatedMatchResumed(Struct, frozen=True, gc=False, tag=True):
    """A rated match is about to resume after a restart. It counts towards the daily limits of its bots."""

    match: str
    pool: str
    bots: tuple[str, ...]


class MatchRated(Struct, frozen=True, gc=False, tag=True):
    """A match is over and rated. `ratings` has the new rating (mu, sigma) of each of its `bots`."""

    match: str
    pool: str
    bots: tuple[str, ...]
    ratings: tuple[tuple[float, float], ...]


class MatchUnrated(Struct, frozen=True, gc=False, tag=True):
    """A match is over and not rated."""

    match: str


class NameUnknown(Struct, frozen=True, gc=False, tag=True):
    """A name that a seek gives for an opponent is not registered."""

    name: str


class QuotaChanged(Struct, frozen=True, gc=False, tag=True):
    """The quotas let the bots of an address start matches again; or, if it `is_used_up`, no longer."""

    address: str
    is_used_up: bool


class GamesMoved(Struct, frozen=True, gc=False, tag=True):
    """The nodes have changed. `urls` has the URL of the node that pairs a game, for each game that another node
    pairs.
    """

    urls: dict[str, str]


class GameClosed(Struct, frozen=True, gc=False, tag=True):
    """A game gets no new matches on this server. `message` says why."""

    game: str
    message: str


class MatchAssigned(Struct, frozen=True, gc=False, tag=True):
    """The operator assigns a match to bots. It starts when all of them have a free slot. A bot that does not connect
    within `wait_s` seconds loses.
    """

    match: str
    bots: tuple[str, ...]
    wait_s: float


class AssignmentWithdrawn(Struct, frozen=True, gc=False, tag=True):
    """An assigned match that has not started is no longer wanted."""

    match: str


class DrainStarted(Struct, frozen=True, gc=False, tag=True):
    """The operator drains the server: no match starts, and the server stops when no match is in progress, or after
    `timeout_s` seconds if that is given. A further event replaces the timeout.
    """

    timeout_s: float | None = None


class DrainCancelled(Struct, frozen=True, gc=False, tag=True):
    """The operator cancels the draining."""


class Tick(Struct, frozen=True, gc=False, tag=True):
    """The time of the last `WakeAt` has come. `match` is the id for a match that starts now. While `is_paused` is true,
    seeks start no match.
    """

    match: str
    is_paused: bool = False


LobbyEvent = (
    BotJoined
    | BotLeft
    | SeekPlaced
    | SeekWithdrawn
    | MatchAdded
    | MatchBegun
    | MatchNotBegun
    | BotReady
    | SeatReleased
    | BotLoaded
    | RatingsReloaded
    | BotForgotten
    | BotRenamed
    | RatedMatchResumed
    | MatchRated
    | MatchUnrated
    | NameUnknown
    | QuotaChanged
    | GamesMoved
    | GameClosed
    | MatchAssigned
    | AssignmentWithdrawn
    | DrainStarted
    | DrainCancelled
    | Tick
)

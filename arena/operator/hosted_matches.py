"""The requests and events about matches of hosted bots that a runner plays as a whole, for a tournament."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from arena.operator.changes import Sha256Hex
from arena.operator.requests import Request, RunnerRequest
from protocol.bot_launch import BotSpec
from protocol.messages import Clock
from protocol.names import MATCH_ID_PATTERN, NAME_PATTERN

MAX_SEATS = 64
"""Maximum number of seats of a match."""
MAX_REPORT_BYTES = 700 * 1024
"""Maximum bytes of the packed report of a match. In JSON, a request with it then is within its limit."""


class HostedSeat(Struct, frozen=True, kw_only=True):
    """A seat of a match. A hosted bot plays with the version of this number and digest, a built-in bot as it is
    `specified`.
    """

    bot: Annotated[str, Meta(pattern=NAME_PATTERN)]
    """The name of the bot, of which the runner makes names of files."""
    number: Annotated[int, Meta(ge=0)] = 0
    digest: Sha256Hex | None = None
    specified: BotSpec | None = None


class MatchOrder(Struct, frozen=True, kw_only=True):
    """A match of a tournament, with all that its dice and its record follow from (see `Plan`). If it is `logged`, the
    runner hands in what the programs write.
    """

    match: Annotated[str, Meta(pattern=MATCH_ID_PATTERN)]
    tournament: Annotated[str, Meta(min_length=1, max_length=40)]
    seed: str
    stem: str | None = None
    prefix: str | None = None
    game: str
    config: dict[str, Any]
    paired: bool
    clock: Clock
    place: int
    start: int
    logged: bool = False
    seats: Annotated[list[HostedSeat], Meta(min_length=1, max_length=MAX_SEATS)]


class PlayMatch(Struct, frozen=True, kw_only=True, tag="play_match"):
    """An event for a runner: play this match, and report it."""

    order: MatchOrder


class StopPlaying(Struct, frozen=True, kw_only=True, tag="stop_playing"):
    """An event for a runner: end this match at once. It does not count."""

    match: str


class ReportMatch(RunnerRequest, frozen=True, tag="report_match"):
    """Say how a match ended: its packed `report`, or the `fault` for which it can't be played. If the `runner_failed`,
    another runner plays it.
    """

    runner: int
    match: str
    report: Annotated[bytes, Meta(max_length=MAX_REPORT_BYTES)] = b""
    fault: str = ""
    runner_failed: bool = False


class PlayHostedMatch(Request, frozen=True, tag="play_hosted_match"):
    """Have a runner play a match, and return its report. If no runner has enough slots within `wait_s` seconds, the
    request fails.
    """

    order: MatchOrder
    wait_s: Annotated[float, Meta(ge=0)] = 60.0


class HostedMatchReport(Struct, frozen=True, kw_only=True):
    """The answer to `PlayHostedMatch`: the packed report of the match."""

    report: bytes

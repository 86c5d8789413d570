"""The state of a running server for its operator: connected bots, running matches, seeks and failures."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from arena.operator.failure import Failure
from arena.operator.requests import Request
from arena.store.bot_versions import FailedVersion
from arena.store.nodes import NodeStatus

MAX_ENTRIES = 1_000_000
"""Maximum number of entries that a `StatusRequest` may ask for. No server has as many, so it stands for all."""


class StatusRequest(Request, frozen=True, tag="status"):
    """Ask for the server's state, with at most `most` bots, matches and failures. If `bot` is given, list only this
    bot, and say why its seeks wait.
    """

    most: Annotated[int, Meta(ge=0, le=MAX_ENTRIES)] = 20
    bot: str | None = None


class SeekStatus(Struct, frozen=True, kw_only=True):
    """A seek of a bot, and the seconds that it has waited. `preset` is None if the seek has a custom config. If the
    request names the bot, `reason` says why the seek waits.
    """

    game: str
    preset: str | None
    rated: bool
    open: bool
    opponents: list[str]
    seconds: float
    private: bool = False
    reason: str | None = None


class BotStatus(Struct, frozen=True, kw_only=True):
    """A connected bot with its seeks. It connected at `since`, and plays `playing` matches.

    If the rate limit delays its next match, `pace_s` is the seconds until then.
    """

    bot: str
    version: str
    address: str
    since: str
    playing: int
    seeks: list[SeekStatus]
    pace_s: int = 0
    client: str = ""


class MatchStatus(Struct, frozen=True, kw_only=True):
    """A running match. `clock_ms` is the time left to each seat, `to_move` the seat whose clock runs, or None."""

    match: str
    game: str
    preset: str | None
    seats: list[str]
    ply: int
    started: str
    rated: bool
    clock_ms: list[int]
    to_move: int | None


class RunnerStatus(Struct, frozen=True, kw_only=True):
    """A connected runner: its machine, since when it is connected, and the hosted bots that it runs, by folded name.

    `checks` are the bots of which it checks a version. `matches` are those of tournaments that it plays, which take
    `match_slots`; `tournaments` has the tournament of each. `load` is the number of processes that use a processor of
    its machine or wait for one, a processor, over the last minute; None if the runner does not say.
    """

    runner: int
    host: str
    since: str
    slots: int
    bots: list[str]
    checks: list[str] = []
    matches: list[str] = []
    tournaments: dict[str, str] = {}
    match_slots: int = 0
    load: float | None = None


class HostingStatus(Struct, frozen=True, kw_only=True):
    """The state of hosted bots: the runners, and the last versions that failed their check, newest first.

    `hosted` is the number of bots that shall run, `waiting` that of versions that wait for their check.
    """

    runners: list[RunnerStatus]
    hosted: int
    waiting: int
    failed: list[FailedVersion]
    stored_bytes: int
    """Size of the programs of all hosted bots, packed."""


class ServerStatus(Struct, frozen=True, kw_only=True):
    """The state of a server: bots by name, matches and failures newest first, and the nodes.

    `connected` is the number of connected bots, `under_way` that of running matches; both also count those not listed.
    `last_minute` and `last_hour` are numbers of finished matches. `held` says why no match can start; `warnings` says
    what needs attention.
    """

    at: str
    held: str | None
    connected: int
    bots: list[BotStatus]
    under_way: int
    matches: list[MatchStatus]
    last_minute: int
    last_hour: int
    failures: list[Failure]
    warnings: list[str] = []
    nodes: list[NodeStatus] = []
    hosting: HostingStatus | None = None
    """The state of hosted bots; None if the server hosts none."""

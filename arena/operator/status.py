"""The state of a running server as it tells its operator: who is connected, what is played and sought, what failed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from arena.operator.requests import Request
from arena.store.nodes import Node

ALL = 1_000_000
"""More of each than there are."""


class Failure(Struct, frozen=True, kw_only=True):
    """What failed: when (UTC, ISO 8601), whose it is (empty where nobody knows), and how, in words."""

    at: str
    who: str
    text: str


class StatusRequest(Request, frozen=True, tag="status"):
    """Ask what goes on; of bots, matches and failures `most` of each."""

    most: Annotated[int, Meta(ge=0, le=ALL)] = 20


class SeekStatus(Struct, frozen=True, kw_only=True):
    """A seek and for how many seconds it has waited. `preset` is there where its config is one."""

    game: str
    preset: str | None
    rated: bool
    open: bool
    opponents: list[str]
    seconds: float
    private: bool = False


class BotStatus(Struct, frozen=True, kw_only=True):
    """A bot that is connected: since when, in how many matches it plays, what it seeks, how long its pace holds it."""

    bot: str
    version: str
    address: str
    since: str
    playing: int
    seeks: list[SeekStatus]
    pace_s: int = 0
    client: str = ""


class MatchStatus(Struct, frozen=True, kw_only=True):
    """A match; `clock_ms` is what each seat has left, `to_move` a seat, None where nobody's clock runs."""

    match: str
    game: str
    preset: str | None
    seats: list[str]
    ply: int
    started: str
    rated: bool
    clock_ms: list[int]
    to_move: int | None


class ServerStatus(Struct, frozen=True, kw_only=True):
    """The state of a server: bots by name, matches and failures from the newest on, and how many there are of them; and
    the nodes of its arena, where there are several.

    `held` says why no match begins, if that is so, `warnings` what to look after. Matches were finished
    in the last minute and hour.
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
    nodes: list[Node] = []

"""Has the runners of an arena play the matches of hosted bots, each as a whole on one runner (see arena/hosting/fleet).

A match has the same dice on each machine, because they follow from its order.
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from arena.operator.hosted_matches import HostedSeat, MatchOrder
from arena.ratings.tournament_pairing import Pairing
from arena.runs.connected import ConcurrentPlayers
from arena.runs.contestants import Contestant
from arena.runs.job import MatchReport, append_to_log
from arena.runs.plan import Plan
from arena.runs.play_request import PlayReply
from arena.store.entrants import HostedEntrant
from protocol.display import short_repr
from protocol.errors import ArenaFault, UsageFault
from protocol.games import load_game
from protocol.names import fold_name

MAX_PENDING_MATCHES = 64
"""Maximum number of matches of a tournament that are played by runners or wait for them."""
_GZIP_WBITS = 31
"""The argument of zlib that says that data is in the format of gzip."""
MAX_UNPACKED_REPORT_BYTES = 64 * 1024 * 1024
"""Maximum bytes of the report of a match when it is unpacked."""


class RunnerPlayers(ConcurrentPlayers):
    """Plays the matches of a plan by runners. `entrants` are its hosted bots; the others are built-in bots. `logs` is
    the folder for what programs wrote in matches in which they failed. If the run is `logged`, runners hand in the logs
    of all matches, for the owners of the bots.

    `play_order` has a runner play a match, and returns its packed report; it raises `Fault` if the match can't be
    played. The constructor raises `UsageFault` if there is another kind of bot in the plan.
    """

    def __init__(
        self,
        plan: Plan,
        entrants: Sequence[HostedEntrant],
        logs: Path,
        play_order: Callable[[MatchOrder], Awaitable[bytes]],
        concurrency: int = MAX_PENDING_MATCHES,
        *,
        logged: bool = False,
    ) -> None:
        super().__init__(concurrency)
        self._logged = logged
        self._plan = plan
        self._seats = make_seats(plan, entrants)
        self._logs = logs
        self._play_order = play_order

    async def play_match(self, pairing: Pairing) -> MatchReport:
        order = replace(make_order(self._plan, pairing, self._seats), logged=self._logged)
        report = unpack_report(await self._play_order(order), order.match)
        for bot, output in report.output:
            if bot in pairing.seats:
                await asyncio.to_thread(append_to_log, self._logs, bot, output)
        return report


class _PackedReply(PlayReply, frozen=True, kw_only=True):
    """A report of a match, with the end of the output of each bot that failed, by its name."""

    output: dict[str, bytes] = msgspec.field(default_factory=dict)


def make_seats(plan: Plan, entrants: Sequence[HostedEntrant]) -> dict[str, HostedSeat]:
    """Return the seats of a plan's bots, by their names in it. Raise `UsageFault` if a runner can't run one of them."""
    return {contestant.name: _make_seat(contestant, entrants) for contestant in plan.contestants}


def _make_seat(contestant: Contestant, entrants: Sequence[HostedEntrant]) -> HostedSeat:
    for entrant in entrants:
        if fold_name(entrant.bot) == fold_name(contestant.name):
            return HostedSeat(bot=contestant.name, number=entrant.number, digest=entrant.digest)
    if not contestant.reference or contestant.spec is None:
        raise UsageFault(
            f"{contestant.name}: runners play hosted bots and built-in ones: hand its program in, or leave it out"
        )
    return HostedSeat(bot=contestant.name, specified=contestant.spec)


def make_order(plan: Plan, pairing: Pairing, seats: Mapping[str, HostedSeat]) -> MatchOrder:
    """Return the order for a match of a plan. `seats` are those of `make_seats`."""
    header, _ = plan.header_of(pairing, "", lambda bot: "")
    return MatchOrder(
        match=header.match,
        tournament=plan.id,
        seed=plan.seed,
        stem=plan.stem,
        prefix=plan.prefix,
        game=plan.rules.name,
        config=plan.rules.config,
        paired=plan.paired,
        clock=plan.clock,
        place=pairing.place,
        start=pairing.start,
        seats=[seats[bot] for bot in pairing.seats],
    )


def plan_of_order(order: MatchOrder) -> tuple[Plan, Pairing]:
    """Return a plan with the bots of an order, which have no commands yet, and the pairing of its match.

    Raise `BotFault` or `UsageFault` if the game is unknown here, or its config or the id of the match is wrong.
    """
    plan = Plan(
        id=order.tournament,
        seed=order.seed,
        contestants=tuple(Contestant(seat.bot, (), reference=True) for seat in order.seats),
        rules=load_game(order.game, order.config),
        format="round-robin",
        rounds=1,
        paired=order.paired,
        clock=order.clock,
        stem=order.stem,
        prefix=order.prefix,
        rated=False,
    )
    pairing = Pairing(order.place, 0, tuple(seat.bot for seat in order.seats), order.start)
    header, _ = plan.header_of(pairing, "", lambda bot: "")
    if header.match != order.match:
        raise UsageFault(f"the match of an order is {order.match}: its plan calls it {short_repr(header.match)}")
    return plan, pairing


def pack_report(report: MatchReport) -> bytes:
    """Pack the report of a match, without its luck."""
    reply = _PackedReply.from_closed(report.closed)
    reply = replace(reply, failures={**report.failures}, output=dict(report.output))
    return gzip.compress(msgspec.json.encode(reply), mtime=0)


def unpack_report(packed: bytes, match: str) -> MatchReport:
    """Return the report of a match. Raise `ArenaFault` if it is not readable, is too large, or is that of another
    match.
    """
    unpacking = zlib.decompressobj(wbits=_GZIP_WBITS)
    try:
        data = unpacking.decompress(packed, MAX_UNPACKED_REPORT_BYTES)
        if not unpacking.eof:
            raise ArenaFault(f"a runner sent a report of the match {match} that is cut off, or too large")
        reply = msgspec.json.decode(data, type=_PackedReply)
    except (zlib.error, msgspec.MsgspecError) as exc:
        raise ArenaFault(f"a runner sent an unreadable report of the match {match}: {exc}") from exc
    if reply.result.match != match:
        raise ArenaFault(f"a runner sent the report of {reply.result.match} for the match {match}")
    return MatchReport(reply.to_closed(), failures=reply.failures, output=tuple(reply.output.items()))

"""A match that an arena has a runner play, and runners that play without any program."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from arena.operator.hosted_matches import HostedSeat, MatchOrder
from arena.runs.contestants import Contestant
from arena.runs.hosted_players import pack_report, plan_of_order
from arena.runs.in_process import InProcessHost
from arena.runs.job import MatchJob
from arena.runs.sandbox import BotEnvironment
from protocol.bot_launch import BotSpec
from protocol.messages import Clock

ORDER = MatchOrder(
    match="t1-00000",
    tournament="t1",
    seed="7",
    game="nim",
    config={},
    paired=False,
    clock=Clock(bank_ms=1000, increment_ms=0),
    place=0,
    start=0,
    seats=[HostedSeat(bot="ann", number=1, digest="a" * 64), HostedSeat(bot="bob", number=1, digest="b" * 64)],
)


def played_at_once(order: MatchOrder) -> bytes:
    """The packed report of a match that `random` plays in all seats, in this process."""
    plan, pairing = plan_of_order(order)
    specs = [BotSpec(name=seat.bot, bot="random", seed="") for seat in order.seats]
    contestants = tuple(Contestant(one.name, (), reference=True, spec=one) for one in specs)
    job = MatchJob(
        key="", plan=replace(plan, contestants=contestants), environment=BotEnvironment(variables={}), logs=Path()
    )
    return pack_report(InProcessHost(job).play(pairing))

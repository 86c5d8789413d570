"""Matches that the operator has played."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from arena.operator.requests import Handler, Tell
from arena.tournament.calls import HandedOver, Play
from protocol.dice import SEED_BYTES
from protocol.errors import UsageFault
from protocol.games import load
from protocol.names import folded
from protocol.shown import shown
from referee.record import Header

if TYPE_CHECKING:
    from arena.server.arena import Arena

MOST_WAIT = 3600.0


def operations(arena: Arena) -> Iterator[Handler]:
    """What concerns matches."""

    async def play(request: Play, tell: Tell) -> HandedOver:
        rules, seed = load(request.game, request.config), _seed(request.seed)
        if len(request.bots) != rules.seats or len(set(map(folded, request.bots))) != rules.seats:
            raise UsageFault(
                f"bots are {shown(request.bots)}: {request.game} has {rules.seats} seats, each for another bot"
            )
        if not 0 <= request.wait_s <= MOST_WAIT:
            raise UsageFault(f"wait_s is {request.wait_s}: it is 0 to {MOST_WAIT:g} seconds")

        def made() -> tuple[Header, bytes]:
            header = arena.header(
                request.match,
                rules,
                request.bots,
                seed,
                pool=request.pool,
                clock=request.clock,
                tournament=request.tournament,
                place=request.place,
            )
            return header, seed

        return HandedOver.of(await arena.calls.play(request.match, request.bots, made, request.wait_s))

    yield Handler(Play, play, while_heard=True)


def _seed(text: str) -> bytes:
    """Raises `UsageFault`."""
    try:
        seed = bytes.fromhex(text)
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        raise UsageFault(f"seed is {shown(text)}: it is {SEED_BYTES} bytes in hex")
    return seed

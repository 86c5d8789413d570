"""Matches that the operator has played."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from arena.operator.requests import Handler, Tell
from arena.store.registry import registered_bot
from arena.tournament.play_request import Play, PlayReply
from protocol.dice import SEED_BYTES
from protocol.display import shown
from protocol.errors import UsageFault
from protocol.games import load
from protocol.names import MATCH_PATTERN, NAME_FORM, folded, is_bot_name
from referee.record import Header

if TYPE_CHECKING:
    from arena.server.arena import Arena

MOST_WAIT = 3600.0


def operations(arena: Arena) -> Iterator[Handler]:
    """What concerns matches."""

    async def play(request: Play, tell: Tell) -> PlayReply:
        rules, seed = load(request.game, request.config), _seed(request.seed)
        _check(request, rules.seats)
        known = [await arena.store.read(registered_bot, bot) for bot in request.bots]
        if None in known:
            name = request.bots[known.index(None)]
            raise UsageFault(f"there is no bot called {name} on this server: `arena bot list` names them")
        wait = 0.0 if any(bot is not None and bot.revoked for bot in known) else request.wait_s

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

        called = arena.assigned.play(request.match, request.tournament, request.bots, made, wait)
        return PlayReply.of(await called)

    yield Handler(Play, play, while_heard=True)


def _check(request: Play, seats: int) -> None:
    """Raises `UsageFault`."""
    bots, clock = request.bots, request.clock
    if not re.match(MATCH_PATTERN, request.match):
        raise UsageFault(f"match is {shown(request.match)}: it is 1 to 40 lower-case letters, digits and dashes")
    if wrong := [bot for bot in bots if not is_bot_name(bot)]:
        raise UsageFault(f"{shown(wrong[0])} is no name for a bot: {NAME_FORM}")
    if len(bots) != seats or len(set(map(folded, bots))) != seats:
        raise UsageFault(f"bots are {shown(bots)}: {request.game} has {seats} seats, each for another bot")
    if min(clock.bank_ms, clock.increment_ms) < 0:
        raise UsageFault(f"clock is {clock.bank_ms} and {clock.increment_ms} ms: neither is less than 0")
    if not 0 <= request.wait_s <= MOST_WAIT:
        raise UsageFault(f"wait_s is {request.wait_s}: it is 0 to {MOST_WAIT:g} seconds")


def _seed(text: str) -> bytes:
    """Raises `UsageFault`."""
    try:
        seed = bytes.fromhex(text)
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        raise UsageFault(f"seed is {shown(text)}: it is {SEED_BYTES} bytes in hex")
    return seed

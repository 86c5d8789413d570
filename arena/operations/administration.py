"""Operator requests about bots, the ladder and assigned matches, which apply at once; and the list of all handlers."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from arena.operations import draining, names, status, thinning, tournaments
from arena.operator.changes import (
    Annul,
    Approve,
    Dismissed,
    Register,
    Revoke,
    Rotate,
    SetDisplay,
    SetPeople,
    StartSeason,
)
from arena.operator.requests import Handler, Tell
from arena.server.arena import REPLACED, REVOKED
from arena.store import registry, result_queries, seasons
from arena.store.annulment import Annulling, Annulment, annul_matches
from arena.store.rating_decisions import DecidedMeanwhile
from arena.tournament.play_request import Play, PlayReply
from protocol.dice import SEED_BYTES
from protocol.display import shown
from protocol.display_names import no_bot_name, normalize_display
from protocol.errors import UsageFault
from protocol.games import load
from protocol.names import MATCH_PATTERN, folded, is_bot_name
from referee.record import Header

if TYPE_CHECKING:
    from arena.server.arena import Arena

MOST_WAIT = 3600.0
MAX_ANNUL_TRIES = 3
"""After this many attempts, everything is computed in one transaction, which blocks all nodes."""
FEW_MATCHES = 50
"""If at most this many matches were stored meanwhile, the saving transaction rates them too, in about 10 ms."""


def operations(arena: Arena) -> dict[str, Handler]:
    """Return all handlers of operator requests by name."""
    every = (
        *status.operations(arena),
        *_about_bots(arena),
        *names.operations(arena),
        *_about_the_ladder(arena),
        _play_of(arena),
        *tournaments.operations(arena),
        thinning.operation(arena),
        draining.operation(arena),
    )
    return {operation.request.do(): operation for operation in every}


def _about_bots(arena: Arena) -> Iterator[Handler]:
    store = arena.store

    async def register(request: Register, tell: Tell) -> None:
        for name in request.hashes:
            if not is_bot_name(name):
                raise UsageFault(no_bot_name(name))
        displays = {name: normalize_display(display) for name, display in request.displays.items()}
        await store.write(registry.add_bots, request.hashes, displays)

    async def revoke(request: Revoke, tell: Tell) -> Dismissed:
        await store.write(registry.revoke_bots, request.names)
        return Dismissed(bots=arena.dismiss(request.names, REVOKED, "revoked"))

    async def rotate_token(request: Rotate, tell: Tell) -> Dismissed:
        await store.write(registry.rotate_token, request.name, request.token_hash)
        return Dismissed(bots=arena.dismiss([request.name], REPLACED, "its token was replaced"))

    async def approve(request: Approve, tell: Tell) -> None:
        await store.write(registry.approve_bots, request.names, approved=request.approved)
        await arena.approvals_changed(request.names)

    async def set_people(request: SetPeople, tell: Tell) -> None:
        await store.write(partial(registry.set_people, person=request.person), request.names)

    async def set_display(request: SetDisplay, tell: Tell) -> None:
        display = None if request.display is None else normalize_display(request.display)
        await store.write(registry.set_display, request.name, display)

    yield Handler(Register, register)
    yield Handler(Revoke, revoke)
    yield Handler(Rotate, rotate_token)
    yield Handler(Approve, approve)
    yield Handler(SetPeople, set_people)
    yield Handler(SetDisplay, set_display)


def _about_the_ladder(arena: Arena) -> Iterator[Handler]:
    store = arena.store

    deciding = asyncio.Lock()
    """Serializes decisions about ratings on this node; `DecidedMeanwhile` detects those on others."""

    async def annul(request: Annul, tell: Tell) -> Annulment:
        async with deciding:
            done = await annul_now(request)
            await arena.ratings_changed(done.pools)
            return done

    async def annul_now(request: Annul) -> Annulment:
        for _ in range(MAX_ANNUL_TRIES):
            annulling = await store.read_beside(Annulling, request.ids, request.bot, request.since, undo=request.undo)
            while await store.read_beside(annulling.advance) > FEW_MATCHES:
                pass
            with contextlib.suppress(DecidedMeanwhile):  # by another node
                return await store.write(annulling.save)
        return await store.write(annul_matches, request.ids, request.bot, request.since, undo=request.undo)

    async def start_season(request: StartSeason, tell: Tell) -> None:
        async with deciding:
            pools = await store.read(result_queries.rated_pools)
            await store.write(seasons.start_season, request.name)
            await arena.ratings_changed(pools)

    yield Handler(Annul, annul)
    yield Handler(StartSeason, start_season)


def _play_of(arena: Arena) -> Handler:
    """Return the handler for playing an assigned match."""

    async def play(request: Play, tell: Tell) -> PlayReply:
        rules, seed = load(request.game, request.config), _seed(request.seed)
        _check(request, rules.seats)
        known = [await arena.store.read(registry.registered_bot, bot) for bot in request.bots]
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

    return Handler(Play, play, while_heard=True)


def _check(request: Play, seats: int) -> None:
    """Raise `UsageFault` if the request is invalid."""
    bots = request.bots
    if not re.match(MATCH_PATTERN, request.match):
        raise UsageFault(f"match is {shown(request.match)}: it is 1 to 40 lower-case letters, digits and dashes")
    if wrong := [bot for bot in bots if not is_bot_name(bot)]:
        raise UsageFault(no_bot_name(wrong[0]))
    if len(bots) != seats or len(set(map(folded, bots))) != seats:
        raise UsageFault(f"bots are {shown(bots)}: {request.game} has {seats} seats, each for another bot")
    if not 0 <= request.wait_s <= MOST_WAIT:
        raise UsageFault(f"wait_s is {request.wait_s}: it is 0 to {MOST_WAIT:g} seconds")


def _seed(text: str) -> bytes:
    """Parse a seed in hex. Raises `UsageFault`."""
    try:
        seed = bytes.fromhex(text)
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        raise UsageFault(f"seed is {shown(text)}: it is {SEED_BYTES} bytes in hex")
    return seed

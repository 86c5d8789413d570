"""Operator requests about bots and the ladder, which apply at once; and the list of all handlers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from arena.operations import draining, names, status, thinning, tournaments
from arena.operator.changes import (
    Annul,
    Approve,
    DisconnectedBots,
    Register,
    Revoke,
    Rotate,
    SetDisplay,
    SetPeople,
    StartSeason,
)
from arena.operator.requests import OperationHandler, SendEvent
from arena.server.arena import CREDENTIAL_REPLACED_MESSAGE, REVOKED_MESSAGE
from arena.store import registry, result_queries, seasons
from arena.store.annulment import AnnulmentOutcome, AnnulmentPlan, annul_matches
from arena.store.rating_decisions import RatingDecisionsChanged
from protocol.display_names import describe_invalid_bot_name, normalize_display
from protocol.errors import UsageFault
from protocol.names import is_bot_name

if TYPE_CHECKING:
    from arena.hosting.limits import HostingLimits
    from arena.server.arena import Arena
    from arena.server.hosting import Hosting

MAX_ANNUL_TRIES = 3
"""Maximum attempts to annul matches without blocking other nodes. If all fail, one transaction annuls them and blocks
the other nodes meanwhile.
"""
MAX_MATCHES_IN_SAVE = 50
"""Maximum number of new matches that are rated in the transaction that saves recomputed ratings.

Rating them takes about 10 ms. If there are more, they are rated before this transaction.
"""


def all_handlers(arena: Arena, *, hosting: HostingLimits | None = None) -> dict[str, OperationHandler]:
    """Return all handlers of operator requests by name. Those about hosted bots are left out unless `hosting` is given:
    the limits on what their authors hand in.
    """
    hosts = None if hosting is None else _make_hosting(arena, hosting)
    tournament_runner = tournaments.TournamentRunner(arena)
    every = (
        *status.operations(arena, hosts),
        *_bot_handlers(arena),
        *names.handlers(arena, tournament_runner),
        *_ladder_handlers(arena),
        *tournaments.operations(arena, tournament_runner),
        thinning.retention_handler(arena),
        draining.drain_handler(arena),
        *(() if hosting is None or hosts is None else _hosting_handlers(arena, hosts, hosting)),
    )
    return {operation.request.operation_name(): operation for operation in every}


def _make_hosting(arena: Arena, limits: HostingLimits) -> Callable[[], Hosting]:
    from arena.operations import hosting  # most servers don't need it

    return hosting.make_hosting(arena, limits)


def _hosting_handlers(arena: Arena, hosts: Callable[[], Hosting], limits: HostingLimits) -> Iterator[OperationHandler]:
    from arena.operations import bot_files, hosting, plans

    yield from hosting.handlers(arena, hosts)
    yield from plans.handlers(arena)
    yield from bot_files.handlers(arena, limits.kept_bytes)


def _bot_handlers(arena: Arena) -> Iterator[OperationHandler]:
    store = arena.store

    async def register(request: Register, tell: SendEvent) -> None:
        for name in request.hashes:
            if not is_bot_name(name):
                raise UsageFault(describe_invalid_bot_name(name))
        displays = {name: normalize_display(display) for name, display in request.displays.items()}
        await store.write(registry.add_bots, request.hashes, displays)

    async def revoke(request: Revoke, tell: SendEvent) -> DisconnectedBots:
        await store.write(registry.revoke_bots, request.names)
        return DisconnectedBots(bots=arena.dismiss(request.names, REVOKED_MESSAGE, "revoked"))

    async def rotate_token(request: Rotate, tell: SendEvent) -> DisconnectedBots:
        await store.write(registry.rotate_token, request.name, request.token_hash)
        return DisconnectedBots(
            bots=arena.dismiss([request.name], CREDENTIAL_REPLACED_MESSAGE, "its token was replaced")
        )

    async def approve(request: Approve, tell: SendEvent) -> None:
        await store.write(registry.approve_bots, request.names, approved=request.approved)
        await arena.reload_approvals(request.names)

    async def set_people(request: SetPeople, tell: SendEvent) -> None:
        await store.write(partial(registry.set_people, person=request.person), request.names)

    async def set_display(request: SetDisplay, tell: SendEvent) -> None:
        display = None if request.display is None else normalize_display(request.display)
        await store.write(registry.set_display, request.name, display)

    yield OperationHandler(Register, register)
    yield OperationHandler(Revoke, revoke)
    yield OperationHandler(Rotate, rotate_token)
    yield OperationHandler(Approve, approve)
    yield OperationHandler(SetPeople, set_people)
    yield OperationHandler(SetDisplay, set_display)


def _ladder_handlers(arena: Arena) -> Iterator[OperationHandler]:
    store = arena.store

    decision_lock = asyncio.Lock()
    """The lock held while this node annuls matches or starts a season. It does not lock out other nodes: if one of them
    changes which matches are rated meanwhile, saving this node's annulment raises `RatingDecisionsChanged`.
    """

    async def annul(request: Annul, tell: SendEvent) -> AnnulmentOutcome:
        async with decision_lock:
            done = await annul_now(request)
            await arena.reload_ratings(done.pools)
            return done

    async def annul_now(request: Annul) -> AnnulmentOutcome:
        for _ in range(MAX_ANNUL_TRIES):
            annulling = await store.read_slowly(
                AnnulmentPlan, request.ids, request.bot, request.since, undo=request.undo
            )
            while await store.read_slowly(annulling.advance) > MAX_MATCHES_IN_SAVE:
                pass
            with contextlib.suppress(RatingDecisionsChanged):  # by another node
                return await store.write(annulling.save)
        return await store.write(annul_matches, request.ids, request.bot, request.since, undo=request.undo)

    async def start_season(request: StartSeason, tell: SendEvent) -> None:
        async with decision_lock:
            pools = await store.read(result_queries.rated_pools)
            await store.write(seasons.start_season, request.name)
            await arena.reload_ratings(pools)

    yield OperationHandler(Annul, annul)
    yield OperationHandler(StartSeason, start_season)

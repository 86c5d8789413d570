"""The bots of the house beside a server: which there are by its settings, and how they reach it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from arena.builtin_bots import BuiltinBot, Supervisor, demo_bots, house_bots, house_tokens
from arena.commands.settings import ServerSettings
from arena.network.binding import bound, port_of
from arena.processes.bot_commands import check_settings
from arena.processes.launch_spec import passed
from arena.server.arena import Arena
from arena.store.store import Store
from protocol.errors import UsageFault
from protocol.names import folded

HOST = "127.0.0.1"
ADDRESS = "the house"
"""What its bots count as, apart from whoever else connects from this machine."""
FOLDER = "house"


def builtin_bots_of(settings: ServerSettings) -> list[BuiltinBot]:
    """The bots that the settings ask for. Raises `UsageFault`, also for a setting that a bot does not have."""
    asked = house_bots(settings.house)
    check_settings({f"the house bot {bot.name}": bot.command for bot in asked})
    bots = [bot.with_options("--open") for bot in asked]
    if settings.demo:
        ours = {folded(bot.name) for bot in bots}
        bots += [bot for bot in demo_bots() if folded(bot.name) not in ours]
    if len(bots) > settings.max_per_address:
        raise UsageFault(f"max_per_address is {settings.max_per_address}: the house alone has {len(bots)} bots")
    return bots


@contextlib.asynccontextmanager
async def running(bots: Sequence[BuiltinBot], store: Store, data: Path) -> AsyncIterator[Supervisor | None]:
    """The house, to be begun inside when its arena listens. Raises `Fault` where a name or a token can't be had."""
    if not bots:
        yield None
        return
    folder = data / FOLDER
    house = Supervisor(
        bots, house_tokens(store, folder / "tokens.json", [bot.name for bot in bots]), folder, passed(os.environ)
    )
    try:
        yield house
    finally:
        await house.end()


async def start_bots(house: Supervisor, arena: Arena) -> None:
    """Begin, on a socket of the house's own: not encrypted, and on this machine alone."""
    (listening,) = bound(HOST, 0)
    await arena.host.listener.take(listening, ADDRESS)
    house.begin(f"ws://{HOST}:{port_of([listening])}")

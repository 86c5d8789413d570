"""Computes how much memory and disk an arena may use for its clients, from the settings or the machine's resources."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from arena.commands.settings import ServerSettings
from arena.host.quotas import MATCH_BYTES, MIB, QuotaLimits
from machine.memory import memory_bytes
from protocol.errors import ArenaFault, os_errors_as

PART = 4
"""The divisor of the machine's memory and free disk that gives the default limits: a quarter of each."""
LITTLE_MEMORY, LITTLE_DISK = 64, 512
"""MiB below which a warning is logged: a class would reach the limit."""

log = logging.getLogger("arena")


def quota_limits(settings: ServerSettings, journals: int, data: Path) -> QuotaLimits:
    """Return the limits of a server that may have this many journals open. Low limits are logged.

    Raises `ArenaFault` if the free disk space can't be determined.
    """
    memory = settings.match_memory or memory_bytes() // PART // MIB
    stored = settings.stored_per_day or _free(data) // PART // MIB
    matches = min(settings.max_matches or journals, journals)
    if memory < LITTLE_MEMORY:
        log.warning("matches have %d MiB of memory: %d small ones at most", memory, memory * MIB // MATCH_BYTES)
    if stored < LITTLE_DISK:
        log.warning("there is little room in %s: what is played may take %d MiB of it in a day", data, stored)
    return QuotaLimits(
        matches=matches,
        matches_each=settings.max_matches_per_address,
        memory=memory * MIB,
        memory_each=settings.match_memory_per_address * MIB,
        stored=stored * MIB,
        stored_each=settings.stored_per_day_per_address * MIB,
        match_bytes=settings.max_match_size * MIB,
    )


def _free(data: Path) -> int:
    with os_errors_as(ArenaFault, f"how much room there is in {data} can't be known"):
        return shutil.disk_usage(data).free

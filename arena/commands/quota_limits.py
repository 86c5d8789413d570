"""Computes how much memory and disk an arena may use for its clients, from the settings or the machine's resources."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from arena.commands.settings import ServerSettings
from arena.host.quotas import MATCH_BYTES, QuotaLimits
from machine.memory import memory_bytes
from machine.units import MIB
from protocol.errors import ArenaFault, os_errors_as

RESOURCE_DIVISOR = 4
"""The default limits are the machine's memory and its free disk space, each divided by this number."""
MIN_MEMORY_MIB, MIN_DISK_MIB = 64, 512
"""The memory and the disk space, in MiB, that the bots of a class of students need. If the limit for clients is lower,
the server logs a warning.
"""

log = logging.getLogger("arena")


def quota_limits(settings: ServerSettings, journals: int, data: Path) -> QuotaLimits:
    """Return the quotas of a server that may have `journals` journals open. Log a warning if memory or disk is low.

    Raise `ArenaFault` if the free disk space can't be determined.
    """
    memory = settings.match_memory or memory_bytes() // RESOURCE_DIVISOR // MIB
    stored = settings.stored_per_day or _free_disk_bytes(data) // RESOURCE_DIVISOR // MIB
    matches = min(settings.max_matches or journals, journals)
    if memory < MIN_MEMORY_MIB:
        log.warning("matches have %d MiB of memory: %d small ones at most", memory, memory * MIB // MATCH_BYTES)
    if stored < MIN_DISK_MIB:
        log.warning("there is little room in %s: what is played may take %d MiB of it in a day", data, stored)
    return QuotaLimits(
        matches=matches,
        matches_per_address=settings.max_matches_per_address,
        memory=memory * MIB,
        memory_per_address=settings.match_memory_per_address * MIB,
        stored=stored * MIB,
        stored_per_address=settings.stored_per_day_per_address * MIB,
        match_bytes=settings.max_match_size * MIB,
    )


def _free_disk_bytes(data: Path) -> int:
    with os_errors_as(ArenaFault, f"how much room there is in {data} can't be known"):
        return shutil.disk_usage(data).free

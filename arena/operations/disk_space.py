"""A warning before the disks of the data folder and the database are full."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from arena.server.warnings import Warnings

EVERY = 60.0
"""Seconds between two checks."""
SHARE = 0.05
LEAST, MOST = 2**30, 20 * 2**30
"""Bounds on the free bytes that trigger the warning, whatever the fraction of the disk."""


def shortage(folder: Path) -> str | None:
    """Return a line if the disk of a folder is nearly full; None otherwise, or if unknown."""
    try:
        whole, _, free = shutil.disk_usage(folder)
    except OSError:
        return None
    if free >= min(max(LEAST, SHARE * whole), MOST):
        return None
    left = f"{free / 2**20:,.0f} MiB" if free < LEAST else f"{free / 2**30:.1f} GiB"
    return f"the disk of {folder} is nearly full: {left} left, {free / max(1, whole):.0%}; play is held when it is full"


def look(warnings: Warnings, folders: Iterable[Path]) -> None:
    """Set or clear the warning that the disk of one of the folders is nearly full."""
    warnings.tell("disk space", next(filter(None, map(shortage, folders)), None))


async def watch(warnings: Warnings, folders: Collection[Path]) -> None:
    """Check the disks every minute, without end."""
    while True:
        look(warnings, folders)
        await asyncio.sleep(EVERY)

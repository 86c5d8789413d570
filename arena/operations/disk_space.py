"""Warns the operator before the disks of the data folder and the database are full."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from arena.server.warnings import Warnings

CHECK_INTERVAL_S = 60.0
"""Seconds between two checks of the disks."""
MIN_FREE_FRACTION = 0.05
"""The free fraction of a disk below which there is a warning, subject to `MIN_WARNING_BYTES` and `MAX_WARNING_BYTES`.
"""
MIN_WARNING_BYTES, MAX_WARNING_BYTES = 2**30, 20 * 2**30
"""If less than `MIN_WARNING_BYTES` are free, there is always a warning; if `MAX_WARNING_BYTES` or more are free, there
is none. Between the two, `MIN_FREE_FRACTION` decides.
"""


def describe_shortage(folder: Path) -> str | None:
    """Return a warning if the disk of a folder is nearly full; None if enough is free or the free space is unknown."""
    try:
        whole, _, free = shutil.disk_usage(folder)
    except OSError:
        return None
    if free >= min(max(MIN_WARNING_BYTES, MIN_FREE_FRACTION * whole), MAX_WARNING_BYTES):
        return None
    left = f"{free / 2**20:,.0f} MiB" if free < MIN_WARNING_BYTES else f"{free / 2**30:.1f} GiB"
    return f"the disk of {folder} is nearly full: {left} left, {free / max(1, whole):.0%}; play is held when it is full"


def update_warning(warnings: Warnings, folders: Iterable[Path]) -> None:
    """Set or clear the warning that the disk of one of the folders is nearly full."""
    warnings.update("disk space", next(filter(None, map(describe_shortage, folders)), None))


async def run_checks(warnings: Warnings, folders: Collection[Path]) -> None:
    """Check the disks every minute, without end."""
    while True:
        update_warning(warnings, folders)
        await asyncio.sleep(CHECK_INTERVAL_S)

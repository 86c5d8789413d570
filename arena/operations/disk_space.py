"""A warning before the disk is full: what is free in the file systems of the data folder and of the database."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from arena.server.warnings import Warnings

EVERY = 60.0
"""Seconds."""
SHARE = 0.05
LEAST, MOST = 2**30, 20 * 2**30
"""Bytes: that share of a file system is little, but at least and at most so much."""


def shortage(folder: Path) -> str | None:
    """That little is left for a folder, in a line; None where that is not so, or not known."""
    try:
        whole, _, free = shutil.disk_usage(folder)
    except OSError:
        return None
    if free >= min(max(LEAST, SHARE * whole), MOST):
        return None
    left = f"{free / 2**20:,.0f} MiB" if free < LEAST else f"{free / 2**30:.1f} GiB"
    return f"the disk of {folder} is nearly full: {left} left, {free / max(1, whole):.0%}; play is held when it is full"


def look(warnings: Warnings, folders: Iterable[Path]) -> None:
    """Warn where little is left for one of the folders, and no more where that is over."""
    warnings.tell("disk space", next(filter(None, map(shortage, folders)), None))


async def watch(warnings: Warnings, folders: Collection[Path]) -> None:
    """Look every minute, for ever."""
    while True:
        look(warnings, folders)
        await asyncio.sleep(EVERY)

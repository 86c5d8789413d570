"""The folder for cached files, which can be made again: tables of exact game values, and compiled code."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the cache folder, `$XDG_CACHE_HOME/bot-arena` or `~/.cache/bot-arena`. It may be missing or read-only."""
    base = environ.get("XDG_CACHE_HOME", "")
    home = environ.get("HOME") or os.path.expanduser("~")
    return (Path(base) if os.path.isabs(base) else Path(home, ".cache")) / "bot-arena"


def make_room(folder: Path, pattern: str, max_bytes: int) -> None:
    """Remove files in the folder that match a pattern, the least recently modified first. Stop when the remaining ones
    take at most `max_bytes` bytes.
    """
    with contextlib.suppress(OSError):
        files = sorted((path.stat().st_mtime_ns, path.stat().st_size, path) for path in folder.glob(pattern))
        there = sum(size for _, size, _ in files)
        for _, size, path in files:
            if there <= max_bytes:
                break
            path.unlink(missing_ok=True)
            there -= size

"""Where things are kept that can be made again: exact tables, compiled code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CACHE_HOME/bot-arena`, else `~/.cache/bot-arena`. It may not be there, nor be writable."""
    base = environ.get("XDG_CACHE_HOME", "")
    home = environ.get("HOME") or os.path.expanduser("~")
    return (Path(base) if os.path.isabs(base) else Path(home, ".cache")) / "bot-arena"

"""A running arena with its page, for tests in a browser."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from processes import Served, serving


class House(NamedTuple):
    """A running arena: its address for bots, and the URL of its page."""

    url: str
    page: str
    served: Served


@contextlib.asynccontextmanager
async def open_house(data: Path, *options: str) -> AsyncIterator[House]:
    """`arena serve` with its page over a data folder."""
    async with serving(data, "--web-port", "0", *options) as served:
        yield House(served.url, await served.page(), served)

"""Two servers on one database of PostgreSQL, as processes of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from arena.server.nodes import rendezvous_weight
from postgres import new_database
from processes import Served, serving


@dataclass
class TwoNodes:
    """Two nodes, of which one has the matches of nim; and their database."""

    db: str
    nim: Served
    other: Served


@asynccontextmanager
async def two_nodes(folder: Path, *options: str, **environ: str) -> AsyncIterator[TwoNodes]:
    """Nodes called a and b, which see each other."""
    url = new_database()
    first, second = sorted(("a", "b"), key=lambda name: rendezvous_weight(name, "nim"), reverse=True)
    async with (
        serving(folder / first, "--db", url, "--node", first, *options, **environ) as nim,
        serving(folder / second, "--db", url, "--node", second, *options, **environ) as other,
    ):
        for one in (nim, other):
            await one.says("accepts matches")
        yield TwoNodes(url, nim, other)

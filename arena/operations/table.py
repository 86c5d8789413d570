"""All that a server does for its operator."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from arena.operations import bots, ladder, matches, status
from arena.operator.requests import Handler

if TYPE_CHECKING:
    from arena.server.arena import Arena


def operations(arena: Arena) -> dict[str, Handler]:
    """The operations of an arena, by their names."""
    every = chain.from_iterable(module.operations(arena) for module in (status, bots, ladder, matches))
    return {operation.request.do(): operation for operation in every}

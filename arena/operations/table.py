"""All that a server does for its operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.operations import bots, ladder, matches, status
from arena.operator.requests import Handler, table

if TYPE_CHECKING:
    from arena.server.arena import Arena

_MODULES = (status, bots, ladder, matches)


def operations(arena: Arena) -> dict[str, Handler]:
    """The operations of an arena, by their names."""
    return table(operation for module in _MODULES for operation in module.operations(arena))

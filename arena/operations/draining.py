"""The operator request to drain a server, or to cancel the draining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from arena.operator.requests import OperationHandler, Request, SendEvent

if TYPE_CHECKING:
    from arena.server.arena import Arena


class DrainRequest(Request, frozen=True, tag="drain"):
    """A request to start no more matches. The server stops when none is in progress, or after `within_s` seconds.

    With `undo`, the request cancels the draining.
    """

    within_s: Annotated[float, Meta(ge=0)] | None = None
    undo: bool = False

    def action_name(self) -> str:
        return "undo_drain" if self.undo else "drain"

    def changed_names(self) -> Sequence[str]:
        return ()


class DrainReply(Struct, frozen=True, kw_only=True):
    """The reply to a `DrainRequest`: the number of matches in progress.

    `changed` is false if there was no draining to cancel.
    """

    under_way: int
    changed: bool = True


def drain_handler(arena: Arena) -> OperationHandler:
    """Return the handler of `DrainRequest`."""

    async def drain(request: DrainRequest, tell: SendEvent) -> DrainReply:
        changed = True
        if request.undo:
            changed = arena.undo_drain()
        else:
            arena.drain(request.within_s)
        return DrainReply(under_way=len(arena.host.clients.runners), changed=changed)

    return OperationHandler(DrainRequest, drain)

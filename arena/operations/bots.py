"""What the operator decides about bots, which counts at once for those that are connected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from arena.operator.requests import Handler, Request, Tell
from arena.store import registry

if TYPE_CHECKING:
    from arena.server.arena import Arena


class Revoke(Request, frozen=True, tag="revoke"):
    """Let bots in no more, and end their connections; all of them or none."""

    names: list[str]


class Rotate(Request, frozen=True, tag="rotate"):
    """Give a bot another token, of which only the hash is told, and end the connection that has the old one."""

    name: str
    token_hash: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


class Approve(Request, frozen=True, tag="approve"):
    """Have matches of these bots rated where only those between approved bots are, or no more; all of them or none."""

    names: list[str]
    approved: bool = True


class Dismissed(Struct, frozen=True, kw_only=True):
    """The bots whose connections were ended."""

    bots: list[str] = []


def operations(arena: Arena) -> Iterator[Handler]:
    """What concerns bots."""
    store = arena.store

    async def revoke(request: Revoke, tell: Tell) -> Dismissed:
        await store.write(registry.revoke_bots, request.names)
        why = "the operator revoked {bot}: it may not come in any more"
        return Dismissed(bots=arena.dismiss(request.names, why, "revoked"))

    async def rotate_token(request: Rotate, tell: Tell) -> Dismissed:
        await store.write(registry.rotate_token, request.name, request.token_hash)
        why = "the operator gave {bot} a new token: bring that one"
        return Dismissed(bots=arena.dismiss([request.name], why, "its token was replaced"))

    async def approve(request: Approve, tell: Tell) -> None:
        await store.write(registry.approve_bots, request.names, approved=request.approved)
        await arena.approvals_changed(request.names)

    yield Handler(Revoke, revoke)
    yield Handler(Rotate, rotate_token)
    yield Handler(Approve, approve)

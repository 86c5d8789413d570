"""What the operator's pages are told when a server starts them."""

from __future__ import annotations

import msgspec

PREFIX = "/admin"


class AdminConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where the server takes its operator, the SHA-256 of the operator's token, and the names by which pages may be
    asked for, beside this machine's own and addresses. No secret is among it.
    """

    url: str
    token_hash: str
    hosts: tuple[str, ...] = ()

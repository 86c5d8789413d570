"""The configuration of the admin pages, which a server sends to the pages' process."""

from __future__ import annotations

import msgspec

PREFIX = "/admin"


class AdminConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The access data of the admin pages: the server's URL, the hash (SHA-256) of the operator's token, and the host
    names allowed in requests besides addresses and this machine's own names. It contains no secret.
    """

    url: str
    token_hash: str
    hosts: tuple[str, ...] = ()

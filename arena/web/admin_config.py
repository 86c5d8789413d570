"""The configuration of the admin pages, which a server sends to the pages' process."""

from __future__ import annotations

import msgspec

PREFIX = "/admin"
"""The beginning of the paths of all admin pages."""


class AdminConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of the admin pages. It contains no secret.

    It has the server's URL, the SHA-256 hash of the operator's token, and host names that requests may have, in
    addition to addresses and this machine's own names.
    """

    url: str
    token_hash: str
    hosts: tuple[str, ...] = ()

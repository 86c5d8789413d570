"""What a server says to the page's process, on its standard input: a `WebServerConfig`, later perhaps `RELOAD`."""

from __future__ import annotations

import msgspec

from arena.store.answer_limit import SERVER_STATEMENT_TIMEOUT_S
from arena.web.admin_config import AdminConfig

RELOAD = b"reload\n"
"""Read the certificate and its key again."""


class WebServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What to serve: the database, on which inherited sockets, with what `Site` has to know."""

    where: str
    descriptors: list[int]
    socket: str
    registration: bool
    certificate: str | None = None
    key: str | None = None
    proxies: str = ""
    admin: AdminConfig | None = None
    log_level: str = "info"
    log: str = "text"
    node: str | None = None
    statement_timeout_s: float = SERVER_STATEMENT_TIMEOUT_S
    """How long a statement of the database may take."""

    def line(self) -> bytes:
        """The order as it is sent."""
        return msgspec.json.encode(self) + b"\n"

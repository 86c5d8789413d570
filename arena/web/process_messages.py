"""The messages that a server sends to the pages' process on standard input: a `WebServerConfig`, and `RELOAD_LINE`."""

from __future__ import annotations

import msgspec

from arena.store.answer_limit import SERVER_STATEMENT_TIMEOUT_S
from arena.web.admin_config import AdminConfig
from arena.web.hosting_config import HostingConfig

RELOAD_LINE = b"reload\n"
"""The line that tells the pages' process to reload the certificate and its key."""


class WebServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of the pages: the database, the inherited sockets, and the parameters of `Site`."""

    where: str
    descriptors: list[int]
    socket: str
    registration: bool
    certificate: str | None = None
    key: str | None = None
    proxies: str = ""
    admin: AdminConfig | None = None
    hosting: HostingConfig | None = None
    log_level: str = "info"
    log: str = "text"
    node: str | None = None
    statement_timeout_s: float = SERVER_STATEMENT_TIMEOUT_S
    """Maximum seconds that a database statement may take."""

    def encode(self) -> bytes:
        """Return the line that sends the configuration."""
        return msgspec.json.encode(self) + b"\n"

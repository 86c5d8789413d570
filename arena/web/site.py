"""What the pages of one arena have in common: its store, and where a browser reaches the arena itself."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from arena.store.registry import display_names
from arena.store.store import Reader
from arena.store.tournaments import Standings
from arena.web.admin_config import AdminConfig
from arena.web.grading import Grading
from arena.web.node_urls import NodeUrls
from arena.web.serving import Serving

STATIC = Path(__file__).parent / "static"
HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]", re.IGNORECASE)
"""A host name or address as it may stand in a URL or a policy, without its port."""
_HOST_AND_PORT = re.compile(rf"(?:{HOST.pattern})(?::\d{{1,5}})?", re.IGNORECASE)

MAX_DISPLAYS = 10_000
DISPLAYS_TTL_S = 5.0
"""For so long pages have display names as they were: a page of a hundred bots asks the store once."""


class Site:
    """One arena as its pages know it.

    `socket` is where a browser finds the arena: its port, on the host that the page came from, or a whole `ws://` or
    `wss://` URL; empty, if nothing is live and there is only the store. With `admin` there are pages for the operator.
    """

    def __init__(
        self, reader: Reader, *, socket: str = "", registration: bool = False, admin: AdminConfig | None = None
    ) -> None:
        self.reader = reader
        self.socket = socket
        self.registration = registration
        self.admin = admin
        self.serving = Serving()
        self.grading = Grading()
        self.nodes = NodeUrls(reader)
        self._displays: dict[str, str] = {}
        self._displays_read = -math.inf
        self.tables: Standings = {}
        """Those of tournaments, as they were told last."""

    def displays(self) -> Mapping[str, str]:
        """Return display names by folded names, as they were a few seconds ago at most."""
        now = time.monotonic()
        if now - self._displays_read > DISPLAYS_TTL_S:
            self._displays = self.reader.read(display_names, MAX_DISPLAYS)
            self._displays_read = now
        return self._displays

    @cached_property
    def static_version(self) -> str:
        """A name for the static files as they are now: under it a browser may keep them for ever."""
        found = hashlib.sha256()
        for file in sorted(path for path in STATIC.rglob("*") if path.is_file()):
            found.update(f"{file.relative_to(STATIC)}\n".encode() + file.read_bytes())
        return found.hexdigest()[:12]

    def static(self, path: str) -> str:
        """The address of a static file."""
        return f"/static/{self.static_version}/{path}"


def address(socket: str, host: str, *, encrypted: bool) -> str:
    """The arena's URL for who reached the page as `host`; `socket` is that of `Site`."""
    if not socket.isdecimal():
        return socket
    name = HOST.match(host) if _HOST_AND_PORT.fullmatch(host) else None
    return f"{'wss' if encrypted else 'ws'}://{name[0] if name else 'localhost'}:{socket}"


def origin(host: str, *, encrypted: bool) -> str:
    """The URL of the pages for who reached them as `host`, its port included."""
    name = _HOST_AND_PORT.fullmatch(host)
    return f"{'https' if encrypted else 'http'}://{name[0] if name else 'localhost'}"

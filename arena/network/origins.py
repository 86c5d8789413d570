"""Which web pages may connect, and under which names a machine may be asked for itself."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import urlsplit

from arena.network.addresses import is_loopback
from protocol.display import shown

ANY = "*"


def origins(text: str) -> tuple[str, ...]:
    """Origins from `https://example.org,http://localhost:8000`, or `*` for any. Raises `ValueError`."""
    found = [part.lower().removesuffix("/") for part in filter(None, map(str.strip, text.split(",")))]
    for origin in found:
        if origin not in (ANY, "null") and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/?#@\s]+", origin):
            raise ValueError(f"{origin!r} is no origin")
    return tuple(found)


class OwnPage(NamedTuple):
    """Where the arena's own page is: on the host that the arena is asked for as, whatever its name."""

    scheme: str
    port: int

    def on(self, host: str) -> str:
        """Its origin, as a browser writes it, where the arena was asked for as `host` (which may have a port)."""
        name = _name_in(f"//{host}")
        usual = {"http": 80, "https": 443}.get(self.scheme) == self.port
        return f"{self.scheme}://{f'[{name}]' if ':' in name else name}{'' if usual else f':{self.port}'}"


def page_may_connect(origin: str, host: str, origins: Collection[str] = (), page: OwnPage | None = None) -> bool:
    """Whether a page of `origin` may connect to the arena that it asked for as `host`: one of `origins`, the arena's
    own `page`, or one of its own host and port.

    A browser says with `Origin` whose page it is that wants to connect; programs send none.
    """
    if ANY in origins or origin.lower() in origins:
        return True
    if not host or not _name_in(origin):
        return False
    if page is not None and origin.lower() == page.on(host):
        return True
    return urlsplit(origin.lower()).netloc == host.lower()


def misdirected(host: str, local: str) -> str | None:
    """Why a request for `host` is not answered that came in at the address `local`, where nobody speaks for others."""
    if not host or not is_loopback(local) or is_own_name(host):
        return None
    return f"{shown(host)} is no name of this machine; a proxy in front of the arena is named by --trusted-proxy"


def is_own_name(host: str) -> bool:
    """Whether a `Host` header names this machine itself: a loopback address, `localhost`, or the machine's name.

    Of any other name that leads to loopback, a page on the web may be the owner.
    """
    name = _name_in(f"//{host}")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        own = socket.gethostname().lower()
        return name in ("localhost", own, own.partition(".")[0]) or name.endswith(".localhost")


def _name_in(url: str) -> str:
    """The host that a URL names, without its port; empty where it is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""

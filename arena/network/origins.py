"""Which web pages may connect, and under which names a machine may be asked for itself."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

ANY = "*"


def origins(text: str) -> tuple[str, ...]:
    """Origins from `https://example.org,http://localhost:8000`, or `*` for any. Raises `ValueError`."""
    found = [part.lower().removesuffix("/") for part in filter(None, map(str.strip, text.split(",")))]
    for origin in found:
        if origin not in (ANY, "null") and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/?#@\s]+", origin):
            raise ValueError(f"{origin!r} is no origin")
    return tuple(found)


class Origins:
    """The pages that may connect: those that are `allowed`, and the arena's own.

    A browser says with `Origin` whose page it is that wants to connect; programs send none.
    """

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        self._allowed = frozenset(allowed)

    def allow(self, origin: str, host: str) -> bool:
        """Whether a page of `origin` may connect to the arena that it asked for as `host`."""
        if self._allowed & {ANY, origin.lower()}:
            return True
        return bool(host) and urlsplit(origin.lower()).netloc == host.lower()


def is_own_name(host: str) -> bool:
    """Whether a `Host` header names this machine itself: a loopback address, `localhost`, or the machine's name.

    Of any other name that leads to loopback, a page on the web may be the owner.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        own = socket.gethostname().lower()
        return name in ("localhost", own, own.partition(".")[0]) or name.endswith(".localhost")

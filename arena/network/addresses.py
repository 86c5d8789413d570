"""Where a connection comes from: what counts as one address, for whom a proxy speaks, and of which web page it is; and
under which names a machine may be asked for itself.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

from machine.host_names import read_host
from protocol.display import shown

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
NETWORK_BITS = 64
"""So much of an IPv6 address is its network; within it anyone may take as many addresses as he likes."""
ANY = "*"
"""Pages of any origin."""


def address_of(host: str) -> str:
    """What is counted as one address: an IPv4 address, the /64 network of an IPv6 address, else the text itself."""
    ip = _parsed(host)
    return host if ip is None else _counted(ip)


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    ip = _parsed(host)
    return ip is not None and ip.is_loopback


def networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks from `10.0.0.1,192.168.0.0/16`. Raises `ValueError` naming what is neither."""
    found = []
    for part in filter(None, map(str.strip, text.split(","))):
        try:
            found.append(ipaddress.ip_network(part, strict=False))
        except ValueError:
            raise ValueError(f"{part!r} is no address and no network") from None
    return tuple(found)


class Proxies:
    """The peers that are believed when they say for whom they speak."""

    def __init__(self, trusted: Sequence[Network] = ()) -> None:
        self._trusted = tuple(trusted)

    def trusts(self, host: str) -> bool:
        """Whether a peer is one of them."""
        ip = _parsed(host)
        return ip is not None and self._has(ip)

    def origin(self, peer: str, forwarded: Sequence[str]) -> str:
        """The address to be counted for a peer that sent these `X-Forwarded-For` headers.

        Each proxy adds at the right whom it heard, so the last entry that is none of ours is the only one known to be
        true; whatever is left of it, or of something that is no address, anyone may have written.
        """
        ip = _parsed(peer)
        if ip is None:
            return peer
        for entry in reversed([part for value in forwarded for part in value.split(",")]):
            if not self._has(ip):
                break
            before = _parsed(_without_port(entry.strip()))
            if before is None:
                break
            ip = before
        return _counted(ip)

    def _has(self, ip: _IPAddress) -> bool:
        return any(ip.version == network.version and ip in network for network in self._trusted)


def _parsed(host: str) -> _IPAddress | None:
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return mapped or ip


def _counted(ip: _IPAddress) -> str:
    if isinstance(ip, ipaddress.IPv4Address) or ip.is_loopback:
        return str(ip)
    return str(ipaddress.IPv6Network((int(ip), NETWORK_BITS), strict=False))


def _without_port(entry: str) -> str:
    """Return the address in an entry as some proxies write it: `192.0.2.1:5000` and `[2001:db8::1]:5000`."""
    return read_host(entry) or entry


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
        name = read_host(host)
        usual = {"http": 80, "https": 443}.get(self.scheme) == self.port
        return f"{self.scheme}://{f'[{name}]' if ':' in name else name}{'' if usual else f':{self.port}'}"


def page_may_connect(origin: str, host: str, origins: Collection[str] = (), page: OwnPage | None = None) -> bool:
    """Whether a page of `origin` may connect to the arena that it asked for as `host`: one of `origins`, the arena's
    own `page`, or one of its own host and port.

    A browser says with `Origin` whose page it is that wants to connect; programs send none.
    """
    if ANY in origins or origin.lower() in origins:
        return True
    scheme, _, place = origin.lower().partition("://")
    if not scheme or not read_host(place) or not read_host(host):
        return False
    if page is not None and origin.lower() == page.on(host):
        return True
    return place == host.lower()


def misdirected(host: str, local: str) -> str | None:
    """Why a request for `host` is not answered that came in at the address `local`, where nobody speaks for others."""
    if not host or not is_loopback(local) or is_own_name(host):
        return None
    return f"{shown(host)} is no name of this machine; a proxy in front of the arena is named by --trusted-proxy"


def is_own_name(host: str) -> bool:
    """Whether a `Host` header names this machine itself: a loopback address, `localhost`, or the machine's name.

    Of any other name that leads to loopback, a page on the web may be the owner.
    """
    name = read_host(host)
    if not name:
        return False
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        own = socket.gethostname().lower()
        return name in ("localhost", own, own.partition(".")[0]) or name.endswith(".localhost")


def host_names(text: str) -> tuple[str, ...]:
    """Names from `arena.example.org,arena.lan`, in lower case. Raises `ValueError` naming what is none."""
    found = [part.lower() for part in filter(None, map(str.strip, text.split(",")))]
    for name in found:
        if not re.fullmatch(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", name):
            raise ValueError(f"{name!r} is no name of a host")
    return tuple(found)


def answers_to(host: str, names: Collection[str]) -> bool:
    """Whether a `Host` header is an address, a name of this machine, or one of the `names`, in lower case.

    No page on the web can be the owner of one of these.
    """
    name = read_host(host)
    return _parsed(name) is not None or is_own_name(host) or name in names

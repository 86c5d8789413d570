"""The addresses of clients, trusted proxies, the origins of web pages, and the host names of this machine."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

from machine.host_names import read_host
from protocol.display import short_repr

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
IPV6_PREFIX_BITS = 64
"""The length of the network part of an IPv6 address. All addresses of a network count as one, because a client may use
any of them.
"""
ANY_ORIGIN = "*"
"""The entry in a list of allowed origins that allows any origin."""


def address_of(host: str) -> str:
    """Return the address under which limits count a host: its IPv4 address, or its /64 network for IPv6. If `host` is a
    name, return it unchanged.
    """
    ip = _parse_ip(host)
    return host if ip is None else _counted_address(ip)


def is_loopback(host: str) -> bool:
    ip = _parse_ip(host)
    return ip is not None and ip.is_loopback


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parse addresses and networks like `10.0.0.1,192.168.0.0/16`. Raise a `ValueError` that names the invalid part."""
    found = []
    for part in filter(None, map(str.strip, text.split(","))):
        try:
            found.append(ipaddress.ip_network(part, strict=False))
        except ValueError:
            raise ValueError(f"{part!r} is no address and no network") from None
    return tuple(found)


class Proxies:
    """The proxies that are trusted to report their clients' addresses."""

    def __init__(self, trusted: Sequence[Network] = ()) -> None:
        self._trusted = tuple(trusted)

    def trusts(self, host: str) -> bool:
        ip = _parse_ip(host)
        return ip is not None and self._is_trusted(ip)

    def client_address(self, peer: str, forwarded: Sequence[str]) -> str:
        """Return the address under which limits count a client, from its connection's peer address and
        `X-Forwarded-For` headers.

        Each proxy appends the address from which it received the request. So only the last entry that is not a trusted
        proxy is reliable. The client may have forged the entries before it.
        """
        ip = _parse_ip(peer)
        if ip is None:
            return peer
        for entry in reversed([part for value in forwarded for part in value.split(",")]):
            if not self._is_trusted(ip):
                break
            before = _parse_ip(_strip_port(entry.strip()))
            if before is None:
                break
            ip = before
        return _counted_address(ip)

    def _is_trusted(self, ip: _IPAddress) -> bool:
        return any(ip.version == network.version and ip in network for network in self._trusted)


def _parse_ip(host: str) -> _IPAddress | None:
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return mapped or ip


def _counted_address(ip: _IPAddress) -> str:
    if isinstance(ip, ipaddress.IPv4Address) or ip.is_loopback:
        return str(ip)
    return str(ipaddress.IPv6Network((int(ip), IPV6_PREFIX_BITS), strict=False))


def _strip_port(entry: str) -> str:
    """Return the address in an `X-Forwarded-For` entry. Proxies may add a port: `192.0.2.1:50`, `[2001:db8::1]:50`."""
    return read_host(entry) or entry


def parse_origins(text: str) -> tuple[str, ...]:
    """Parse origins like `https://example.org,http://localhost:8000`; `*` is any origin. Raise `ValueError` if
    invalid.
    """
    found = [part.lower().removesuffix("/") for part in filter(None, map(str.strip, text.split(",")))]
    for origin in found:
        if origin not in (ANY_ORIGIN, "null") and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/?#@\s]+", origin):
            raise ValueError(f"{origin!r} is no origin")
    return tuple(found)


class OwnPage(NamedTuple):
    """The scheme and port of the arena's own web pages. Their host name is that by which a client reached the arena."""

    scheme: str
    port: int

    def origin_on(self, host: str) -> str:
        """Return the origin of the arena's own pages, as browsers write it, for a client that reached the arena as
        `host`. The port in `host` is ignored.
        """
        name = read_host(host)
        usual = {"http": 80, "https": 443}.get(self.scheme) == self.port
        return f"{self.scheme}://{f'[{name}]' if ':' in name else name}{'' if usual else f':{self.port}'}"


def can_page_connect(origin: str, host: str, origins: Collection[str] = (), page: OwnPage | None = None) -> bool:
    """Return whether a web page with this origin may connect to an arena that it reached as `host`.

    It may if its origin is one of `origins` or that of the arena's own `page`, or if its host and port are those of
    `host`. Browsers send the origin of a page in the header `Origin`; programs do not send this header.
    """
    if ANY_ORIGIN in origins or origin.lower() in origins:
        return True
    scheme, _, place = origin.lower().partition("://")
    if not scheme or not read_host(place) or not read_host(host):
        return False
    if page is not None and origin.lower() == page.origin_on(host):
        return True
    return place == host.lower()


def misdirection_reason(host: str, local: str) -> str | None:
    """Return why a request for `host` that arrived at the address `local` is refused; None if it is allowed.

    A loopback address answers only requests for this machine's own names, except for those that a trusted proxy
    forwards.
    """
    if not host or not is_loopback(local) or is_own_name(host):
        return None
    return f"{short_repr(host)} is no name of this machine; a proxy in front of the arena is named by --trusted-proxy"


def is_own_name(host: str) -> bool:
    """Return whether a `Host` header names this machine: by a loopback address, `localhost` or the machine's name.

    Any other name that resolves to a loopback address may be that of a hostile web page (DNS rebinding).
    """
    name = read_host(host)
    if not name:
        return False
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        own = socket.gethostname().lower()
        return name in ("localhost", own, own.partition(".")[0]) or name.endswith(".localhost")


def parse_host_names(text: str) -> tuple[str, ...]:
    """Parse host names like `arena.example.org,arena.lan` into lower case. Raise `ValueError`, naming an invalid
    one.
    """
    found = [part.lower() for part in filter(None, map(str.strip, text.split(",")))]
    for name in found:
        if not re.fullmatch(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", name):
            raise ValueError(f"{name!r} is no name of a host")
    return tuple(found)


def is_allowed_host(host: str, names: Collection[str]) -> bool:
    """Return whether a `Host` header has an address, a name of this machine, or one of `names` (in lower case).

    No foreign web page can have such a host, so DNS rebinding fails.
    """
    name = read_host(host)
    return _parse_ip(name) is not None or is_own_name(host) or name in names

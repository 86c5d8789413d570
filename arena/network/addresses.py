"""What counts as one address, and whose connection it is that a proxy passes on."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import TypeAlias

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
NETWORK_BITS = 64
"""So much of an IPv6 address is its network; within it anyone may take as many addresses as he likes."""


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
    """Some proxies write `192.0.2.1:5000` and `[2001:db8::1]:5000`."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry

"""The rule for the nodes that an arena names: to which of them a client may connect and send its token."""

from __future__ import annotations

from urllib.parse import urlsplit

from machine.client.connecting import is_loopback
from machine.host_names import split_address
from protocol.display import short_repr

MAX_NODES = 32
"""The maximum number of nodes of an arena to which a client is connected at one time. It ignores further nodes that a
server names.
"""


def find_refusal(url: str, given_url: str, hosts: tuple[str, ...]) -> str | None:
    """Return why the client must not connect to a URL that an arena names; None if it may.

    `given_url` is the URL that the user gave, `hosts` are other hosts that the user allows. If `given_url` uses TLS,
    other URLs must use it too.
    """
    named = split_address(url, "ws", "wss")
    if named is None or named.username or named.password:
        return f"{short_repr(url, 80)} is not a WebSocket URL"
    given = urlsplit(given_url)
    if given.scheme == "wss" and named.scheme != "wss":
        return f"{short_repr(url, 80)} has no TLS, but {given_url} has: the token would travel in clear text"
    host = named.hostname or ""
    if host == given.hostname or (is_loopback(url) and is_loopback(given_url)) or _allows_host(hosts, host):
        return None
    return f"{short_repr(url, 80)} is on another host than {given_url}: if that is right, add --hosts {host}"


def _allows_host(hosts: tuple[str, ...], host: str) -> bool:
    """Return whether a host is in `hosts`, where `*.example` stands for all subdomains of `example`."""
    return any(host == each or (each.startswith("*.") and host.endswith(each[1:])) for each in hosts)

"""Reading of hosts in `Host` headers, origins and URLs. A text must be a valid host as a whole.

Parsers of the standard library take `[::1].evil` for `::1`. That is dangerous: a text that only begins or ends like a
trusted host may belong to anyone.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

MAX_URL_CHARS = 2000
"""The maximum number of characters of a URL."""
_HOST_PATTERN = re.compile(
    r"(?:\[([0-9a-f:.]+(?:%[0-9a-z._~-]+)?)\]|([^\s\[\]:/?#@\\%]+))(?::[0-9]{0,5})?", re.IGNORECASE | re.ASCII
)
"""The pattern of a host: a name or an address, with or without a port (RFC 9110, 7.2)."""


def read_host(text: str) -> str:
    """Return the name or address in `example.org:8080` or `[::1]`, in lower case; empty for anything else."""
    found = _HOST_PATTERN.fullmatch(text)
    if found is None:
        return ""
    address, name = found.groups()
    if address is None:
        return str(name).lower()
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return ""
    return str(address).lower()


def host_of_url(url: str) -> str:
    """Return the host of a URL, in lower case. Return an empty text if it has none."""
    try:
        place = urlsplit(url).netloc
    except ValueError:
        return ""
    return read_host(place.rpartition("@")[2])


def split_address(url: str, *schemes: str) -> SplitResult | None:
    """Return the parts of a URL with one of these schemes; None for an invalid URL."""
    if len(url) > MAX_URL_CHARS or not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        sound = parts.scheme in schemes and host_of_url(url) and parts.port != 0 and not parts.fragment
        (parts.hostname or "").encode("idna")  # raises an error for names that can never be looked up
    except ValueError:
        return None
    return parts if sound else None

"""Where the events go: the address of an MQTT broker."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from protocol.errors import UsageFault

DEFAULT_PORT = 1883
DEFAULT_PREFIX = "arena"


class BadBroker(UsageFault):
    """An MQTT address that cannot be used."""


class Broker(NamedTuple):
    """Where the events go. `prefix` has no slash at either end."""

    host: str
    port: int
    user: str | None
    password: str | None
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Broker:
        """The address `mqtt://[user:password@]host[:port][/prefix]`. Raises `BadBroker`; a password is never shown."""
        form = "it looks like mqtt://host:1883/prefix"
        try:
            parts = urlsplit(url)
            port = DEFAULT_PORT if parts.port is None else parts.port
        except ValueError as exc:
            raise BadBroker(f"the MQTT address cannot be read ({exc}): {form}") from exc
        if parts.scheme != "mqtt":
            raise BadBroker(f"the MQTT address begins with {parts.scheme[:20] or 'no scheme'!r}: {form}")
        if not parts.hostname or port == 0:
            raise BadBroker(f"the MQTT address names no {'port' if parts.hostname else 'host'}: {form}")
        if set(url) & set("?#"):
            raise BadBroker(f"an MQTT prefix with ? or # is no topic: {form}")
        prefix = unquote(parts.path).strip("/") or DEFAULT_PREFIX
        if prefix.startswith("$") or set(prefix) & set("+#\0") or len(prefix) > 200:
            raise BadBroker(
                f"the MQTT prefix {prefix[:40]!r} is no topic: up to 200 characters without + # or leading $"
            )
        user, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
        return cls(parts.hostname, port, user, password, prefix)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

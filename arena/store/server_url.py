"""Which URLs are those of a database on a server; known without loading what speaks to it."""

from __future__ import annotations

SCHEMES = ("postgresql", "postgres")


def is_on_server(where: str) -> bool:
    """Whether a path or a URL is that of a database on a server, and in no file."""
    scheme, separator, _ = where.partition("://")
    return bool(separator) and scheme in SCHEMES

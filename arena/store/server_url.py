"""Recognising URLs of database servers without loading a driver."""

from __future__ import annotations

SCHEMES = ("postgresql", "postgres")


def is_on_server(where: str) -> bool:
    """Return whether a path or URL names a database on a server."""
    scheme, separator, _ = where.partition("://")
    return bool(separator) and scheme in SCHEMES

"""Recognising the URL of a database server without loading its driver."""

from __future__ import annotations

SERVER_SCHEMES = ("postgresql", "postgres")
"""The URL schemes of database servers."""


def is_server_url(where: str) -> bool:
    """Return whether a path or URL names a database on a server."""
    scheme, separator, _ = where.partition("://")
    return bool(separator) and scheme in SERVER_SCHEMES

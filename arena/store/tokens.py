"""Tokens: made here, shown once, kept as a hash only."""

from __future__ import annotations

import hashlib
import secrets


def new_token() -> str:
    """A fresh token: 43 characters, 256 bits. None begins with a dash, by which a command line knows an option."""
    while (token := secrets.token_urlsafe(32)).startswith("-"):
        pass
    return token


def hash_token(token: str) -> str:
    """What is stored of a token: SHA-256 in hex. Tokens are random, so nothing slower is needed."""
    return hashlib.sha256(token.encode()).hexdigest()

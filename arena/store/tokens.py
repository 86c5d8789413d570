"""Tokens of bots: generated here, shown once, and stored only as a hash."""

from __future__ import annotations

import hashlib
import secrets


def generate_token() -> str:
    """Generate a token of 43 characters (256 bits). None starts with a dash, so none looks like an option."""
    while (token := secrets.token_urlsafe(32)).startswith("-"):
        pass
    return token


def hash_token(token: str) -> str:
    """Return the stored form of a token, SHA-256 in hex. Tokens are random, so no slow hash is needed."""
    return hashlib.sha256(token.encode()).hexdigest()

"""The tokens of bots. They are generated here, shown to the user once, and stored only as hashes."""

from __future__ import annotations

import hashlib
import secrets


def generate_token() -> str:
    """Return a new token of 43 characters (256 bits). It never starts with a dash, as a command-line option does."""
    while (token := secrets.token_urlsafe(32)).startswith("-"):
        pass
    return token


def hash_token(token: str) -> str:
    """Return the SHA-256 hash of a token in hex, for storage. Tokens are random, so a slow hash is not needed."""
    return hashlib.sha256(token.encode()).hexdigest()

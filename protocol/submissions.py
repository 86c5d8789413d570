"""The limit on what the author of a hosted bot hands in, which clients check before they send it."""

from __future__ import annotations

MAX_SUBMISSION_BYTES = 12 * 1024 * 1024
"""Maximum bytes of a source file or zip that is handed in."""

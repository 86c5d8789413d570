"""The limits on what the author of a hosted bot hands in, which clients know too."""

from __future__ import annotations

MAX_SUBMISSION_BYTES = 12 * 1024 * 1024
"""Maximum bytes of a source file or zip that is handed in."""
MAX_SUBMISSION_LIMIT_BYTES = 512 * 1024 * 1024
"""The largest limit on these bytes that an arena can have."""
MIN_UPLOAD_BYTES_PER_S = 32 * 1024
"""Minimum bytes a second at which it must come, on average."""

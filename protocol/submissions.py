"""Limits what the author of a hosted bot hands in, and tells files by their names. Clients and the arena share this."""

from __future__ import annotations

MAX_SUBMISSION_BYTES = 12 * 1024 * 1024
"""Maximum bytes of a source file or zip that is handed in."""
MAX_SUBMISSION_LIMIT_BYTES = 512 * 1024 * 1024
"""The largest limit on these bytes that an arena can have."""
MIN_UPLOAD_BYTES_PER_S = 32 * 1024
"""Minimum bytes a second at which it must come, on average."""
_MACOS_NAMES, _MACOS_PREFIX = frozenset({"__MACOSX", ".DS_Store"}), "._"
"""The names, and the beginning of names, of what macOS adds to folders and zips."""


def is_zip(name: str) -> bool:
    """Return whether a file of this name is handed in as a zip with a manifest."""
    return name.lower().endswith(".zip")


def is_clutter(name: str) -> bool:
    """Return whether macOS adds files or folders of this name: how it shows a folder, and attributes of files."""
    return name in _MACOS_NAMES or name.startswith(_MACOS_PREFIX)

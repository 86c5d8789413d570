"""How many examples a test tries: a few in every run, and more where CI or NIGHTLY is set."""

from __future__ import annotations

import os


def examples(few: int, *, ci: int = 0, nightly: int = 0) -> int:
    """Return the number of examples for this run: the largest one of those whose environment variable is set."""
    in_ci = ci if os.environ.get("CI") else 0
    overnight = max(ci, nightly) if os.environ.get("NIGHTLY") else 0
    return max(few, in_ci, overnight)

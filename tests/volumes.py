"""How many examples a test tries: a few in every run, and more where NIGHTLY is set."""

from __future__ import annotations

import os

IS_NIGHTLY = bool(os.environ.get("NIGHTLY"))


def examples(few: int, *, nightly: int) -> int:
    """Return the number of examples for this run."""
    return nightly if IS_NIGHTLY else few

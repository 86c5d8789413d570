"""Gives each file of tests the environment variables that the run had at its beginning.

Some libraries set variables for the processes that they start, and leave them: distributed does. Programs of later
tests could then not be forked (tests/zygote.py), or would run otherwise.
"""

from __future__ import annotations

import os
from pathlib import Path

_environ: dict[str, str] = {}
_file: Path | None = None
"""The file of the test that runs."""


def remember() -> None:
    """Take the variables of now for those of the beginning."""
    _environ.update(os.environ)


def restore_before(file: Path) -> None:
    """Restore the variables, unless the last test was one of this file too."""
    global _file
    if file == _file:
        return
    _file = file
    for name in os.environ.keys() - _environ.keys():
        del os.environ[name]
    os.environ.update(_environ)

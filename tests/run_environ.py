"""Gives each file of tests the environment variables that the run had at its beginning, and each test an empty working
folder.

Some libraries set variables for the processes that they start, and leave them: distributed does. Programs of later
tests could then not be forked (tests/zygote.py), or would run otherwise. And the repository holds what its owner works
with: an `arena-data` of another version, an arena.toml.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_environ: dict[str, str] = {}
_file: Path | None = None
"""The file of the test that runs."""
_folder: Path | None = None
"""The working folder of the test that runs, and of the next one unless something is left in it."""


def remember() -> None:
    """Take the variables of now for those of the beginning."""
    _environ.update(os.environ)


def restore_before(file: Path) -> None:
    """Change to an empty folder. Restore the variables, unless the last test was one of this file too."""
    global _file
    _change_to_empty_folder()
    if file == _file:
        return
    _file = file
    for name in os.environ.keys() - _environ.keys():
        del os.environ[name]
    os.environ.update(_environ)


def remove_folder() -> None:
    """Remove the working folder with everything that tests left in it."""
    global _folder
    if _folder is not None:
        os.chdir(_folder.parent)
        shutil.rmtree(_folder, ignore_errors=True)
        atexit.unregister(remove_folder)
        _folder = None


def _change_to_empty_folder() -> None:
    global _folder
    if _folder is not None and any(os.scandir(_folder)):
        remove_folder()
    if _folder is None:
        _folder = Path(tempfile.mkdtemp(prefix="bot-arena-test-"))
        atexit.register(remove_folder)
    os.chdir(_folder)

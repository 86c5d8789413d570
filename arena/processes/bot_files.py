"""The programs of authors: how a Python file is started, and what is said where one hides the library."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from protocol.errors import UsageFault

_HIDDEN = re.compile(r"cannot import name .*\bbots\b.*?[('\"]([^('\"]*[/\\]bots\.py)")


def startable(command: Sequence[str]) -> tuple[str, ...]:
    """A command as it is started: a Python file that is no program by itself is run by this Python.

    Raises `UsageFault` where there is no such program or file.
    """
    if not command or shutil.which(command[0]) is not None:
        return tuple(command)
    program, there = command[0], Path(command[0]).is_file()
    if program.endswith(".py") and there:
        return (sys.executable, *command)
    if there:
        here = "" if "/" in program else "./"
        raise UsageFault(f"{program!r} can't be run: write {here}{program}, after chmod +x {program}")
    raise UsageFault(f"there is no {'file' if program.endswith('.py') else 'program'} {program!r}")


def hidden_in(words: str) -> str | None:
    """What to say to an author of whose last words are that the library is hidden: which file hides it."""
    found = _HIDDEN.search(words)
    return None if found is None else f"{found[1]} has the name of the library, and hides it: rename the file"

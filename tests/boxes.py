"""Whether bubblewrap can make boxes for hosted bots on this machine, and the users of programs in them."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from contextlib import ExitStack

import pytest

from arena.runs.sandbox_users import reserved_users


def works() -> bool:
    """Whether bubblewrap can make a box on this machine. In CI it must be there."""
    if shutil.which("bwrap") is None:
        if os.environ.get("CI"):
            pytest.fail("bubblewrap is not installed")
        return False
    users = () if os.geteuid() == 0 else ("--unshare-user", "--disable-userns")
    command = ["bwrap", *users, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"]
    return subprocess.run(command).returncode == 0


boxed = pytest.mark.skipif(not works(), reason="there is no bubblewrap here, or it is not permitted")
_held = ExitStack()
"""Holds the users of this process until it ends."""


@functools.cache
def box_users() -> tuple[int, ...]:
    """A user that no other process of the tests has: the limit of processes counts all that a user has."""
    return _held.enter_context(reserved_users(1)) if os.geteuid() == 0 else ()

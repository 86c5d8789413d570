"""Whether bubblewrap can make boxes for hosted bots on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def works() -> bool:
    """Whether bubblewrap can make a box on this machine."""
    users = () if os.geteuid() == 0 else ("--unshare-user", "--disable-userns")
    command = ["bwrap", *users, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"]
    return shutil.which("bwrap") is not None and subprocess.run(command).returncode == 0


boxed = pytest.mark.skipif(not works(), reason="there is no bubblewrap here, or it is not permitted")

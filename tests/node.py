"""Node, with a WebSocket, for what is written in JavaScript."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from timeouts import WITHIN


class Node(NamedTuple):
    """The program, and a folder in which scripts find a WebSocket."""

    program: str
    folder: Path


def node_in(folder: Path) -> Node:
    """Node with `ws` in a folder, which is made. Without Node the test is skipped; in CI it fails."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        if os.environ.get("CI"):
            pytest.fail("node or npm is not installed")
        pytest.skip("node or npm is not installed")
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}')
    built_in = subprocess.run([program, "-e", "process.exit(globalThis.WebSocket ? 0 : 1)"], timeout=WITHIN)
    if built_in.returncode:
        install = [npm, "install", "--no-audit", "--no-fund", "--silent", "ws@8"]
        subprocess.run(install, cwd=folder, check=True, timeout=WITHIN)
    return Node(program, folder)

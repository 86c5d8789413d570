"""Node, with a WebSocket, for what is written in JavaScript."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from timeouts import WITHIN

NO_WEBSOCKET = "Node 22 has a WebSocket; before that: npm install ws\n"


def without_websocket(program: Path) -> tuple[int, str]:
    """Run a program in its folder, where there is no package, by a Node that has no WebSocket: exit code, what it says.

    Without Node the test is skipped; in CI it fails.
    """
    command = [found("node"), "--import", "data:text/javascript,delete globalThis.WebSocket", program.name]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, timeout=WITHIN)
    return done.returncode, done.stdout + done.stderr


def found(program: str) -> str:
    """Where a program is. Without it the test is skipped; in CI it fails."""
    path = shutil.which(program)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(f"{program} is not installed")
        pytest.skip(f"{program} is not installed")
    return path


class Node(NamedTuple):
    """The program, and a folder in which scripts find a WebSocket."""

    program: str
    folder: Path


def node_in(folder: Path) -> Node:
    """Node with `ws` in a folder, which is made. Without Node the test is skipped; in CI it fails."""
    program, npm = found("node"), found("npm")
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}')
    built_in = subprocess.run([program, "-e", "process.exit(globalThis.WebSocket ? 0 : 1)"], timeout=WITHIN)
    if built_in.returncode:
        install = [npm, "install", "--no-audit", "--no-fund", "--silent", "ws@8"]
        subprocess.run(install, cwd=folder, check=True, timeout=WITHIN)
    return Node(program, folder)

"""Node, with a WebSocket, for what is written in JavaScript."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import select
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from arena.web.room_files import describe_games
from arena.web.site import list_static_files
from programs import program
from timeouts import WITHIN

PAGE_SCRIPTS = Path(__file__).with_name("page_scripts.mjs")
NO_WEBSOCKET = "Node 22 has a WebSocket; before that: npm install ws\n"


def without_websocket(script: Path) -> tuple[int, str]:
    """Run a script in its folder, where there is no package, by a Node without a WebSocket: exit code, what it says."""
    command = [program("node", "nodejs"), "--import", "data:text/javascript,delete globalThis.WebSocket", script.name]
    done = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, timeout=WITHIN)
    return done.returncode, done.stdout + done.stderr


class Node(NamedTuple):
    """The program, and a folder in which scripts find a WebSocket."""

    program: str
    folder: Path


def node_in(folder: Path) -> Node:
    """Node with `ws` in a folder, which is made."""
    folder.mkdir()
    if (modules := _modules()) is not None:
        (folder / "node_modules").symlink_to(modules)
    return Node(program("node", "nodejs"), folder)


@functools.cache
def _modules() -> Path | None:
    """The folder of `ws` for all tests of this process, which ends with it; none where Node has a WebSocket itself."""
    built_in = [program("node", "nodejs"), "-e", "process.exit(globalThis.WebSocket ? 0 : 1)"]
    if subprocess.run(built_in, timeout=WITHIN).returncode == 0:
        return None
    folder = Path(tempfile.mkdtemp(prefix="arena-node-"))
    atexit.register(shutil.rmtree, folder)
    (folder / "package.json").write_text('{"private": true}')
    install = [program("npm"), "install", "--no-audit", "--no-fund", "--silent", "ws@8"]
    subprocess.run(install, cwd=folder, check=True, timeout=WITHIN)
    return folder / "node_modules"


def _copy_page_modules(folder: Path) -> None:
    """Copy the modules of the pages and of the games into a folder.

    `page.mjs` in it stands for a page: when it is imported, the games are known.
    """
    for path, file in list_static_files():
        if file.suffix == ".js":
            copy = folder / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
    (folder / "package.json").write_text('{"type": "module"}')
    games = msgspec.json.encode(describe_games(lambda path: (folder / path).as_uri())).decode()
    (folder / "page.mjs").write_text(
        f"globalThis.document = {{ getElementById: () => ({{ textContent: {json.dumps(games)} }}) }};\n"
        'await import("./games.js");\n'
        "delete globalThis.document;\n"
    )


@contextlib.contextmanager
def page_scripts(folder: Path, *options: str) -> Iterator[Callable[..., Any]]:
    """Yield a function that runs JavaScript: it takes the source of a function, and its arguments but the first, which
    imports a module of the pages by its path.

    Without Node the test is skipped; in CI it fails. At the end Node must have said nothing on standard error.
    """
    command = (program("node", "nodejs"), PAGE_SCRIPTS, folder, *options)
    _copy_page_modules(folder)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    questions, answers = process.stdin, process.stdout

    def run(*call: Any) -> Any:
        questions.write(json.dumps(call).encode() + b"\n")
        questions.flush()
        assert select.select([answers], [], [], WITHIN)[0], "no answer"
        answer = answers.readline()
        assert answer, "it has ended"
        return json.loads(answer)

    try:
        yield run
        _, said = process.communicate(timeout=WITHIN)
        assert (process.returncode, said.decode()) == (0, "")
    finally:
        process.kill()
        process.communicate()

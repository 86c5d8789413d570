"""A bot that looks around and takes what it can get, prints what it got as a line of JSON, and then plays on.

HUNT says what there is to be had: see tests/arena/runs/test_sandbox.py.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import socket
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faulty_bots import Steady

HUNT = json.loads(os.environ.get("HUNT", "{}"))


def environments() -> list[list[str]]:
    """The environment of each process that can be read."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append((folder / "environ").read_bytes().decode(errors="replace").split("\0"))
    return found


def secrets() -> list[str]:
    """The operator's, in whosever environment."""
    return [word for words in environments() for word in words if word.startswith("ARENA_MQTT=")]


def own_secrets() -> list[str]:
    """The operator's, in its own environment."""
    return [name for name in os.environ if name == "ARENA_MQTT"]


def others() -> list[str]:
    """The words that are to be seen in the command lines of processes."""
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            lines.append((folder / "cmdline").read_bytes().decode(errors="replace"))
    return [word for word in HUNT["others"] if any(word in line.split("\0") for line in lines)]


def tokens() -> list[str]:
    """Those in environments of bots of this tournament."""
    here = "ARENA_URL=" + os.environ["ARENA_URL"]
    return [word for words in environments() if here in words for word in words if word.startswith("ARENA_TOKEN=")]


def seed() -> list[Any]:
    """The seed of the tournament, out of its database."""
    database = sqlite3.connect(f"file:{HUNT['data']}/arena.db?mode=ro", uri=True)
    return database.execute("select seed from tournaments").fetchall()


def journals() -> list[str]:
    return [path.read_text()[:20] for path in Path(HUNT["data"], "journal").iterdir()]


def file() -> str:
    """A file that is none of its business."""
    return Path(HUNT["file"]).read_text()


def write() -> bool:
    """A file beside its own program."""
    Path(__file__).with_name("hostile-was-here").touch()
    return True


def connect(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        return True


def outside() -> bool:
    """A way to a network other than the loopback: a route is enough."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        any_socket.connect(("192.0.2.1", 9))
        return True


def processes() -> int:
    """How many can be had, of at most 600."""
    warnings.simplefilter("ignore")  # of forks beside threads, from Python 3.12 on
    children: list[int] = []
    try:
        while len(children) < 600:
            child = os.fork()
            if child == 0:
                while True:
                    signal.pause()
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(children)


def memory() -> bool:
    """Four gigabytes to write to."""
    mmap.mmap(-1, 4 * 1024**3, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    return True


def scratch() -> int:
    """Mebibytes in a temporary file, of at most 100."""
    path = Path("/tmp", f"hostile-{os.getpid()}")
    written = 0
    try:
        with path.open("wb", buffering=0) as opened:
            while written < 100:
                opened.write(bytes(1024 * 1024))
                written += 1
    except OSError:
        pass
    path.unlink()
    return written


TAKES: dict[str, Callable[[], Any]] = {
    "secrets": secrets,
    "own secrets": own_secrets,
    "others": others,
    "tokens": tokens,
    "seed": seed,
    "journals": journals,
    "file": file,
    "write": write,
    "port": lambda: connect(HUNT["port"]),
    "arena": lambda: connect(int(os.environ["ARENA_URL"].rpartition(":")[2])),
    "outside": outside,
    "processes": processes,
    "memory": memory,
    "scratch": scratch,
}


class Hostile(Steady):
    """Takes what it can at its first turn."""

    done = False

    def turn(self, turn: dict[str, Any]) -> None:
        if not self.done:
            self.done = True
            took = {}
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            for name in HUNT["take"]:
                try:
                    took[name] = TAKES[name]()
                except (OSError, sqlite3.Error) as exc:
                    took[name] = f"{type(exc).__name__}: {exc}"
            print(json.dumps(took), flush=True)
        super().turn(turn)


if __name__ == "__main__":
    Hostile().run()

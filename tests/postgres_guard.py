"""Stop a PostgreSQL server and remove its folder once the process that it was started for has ended.

`postgres.py` starts this program beside each server of the tests: python postgres_guard.py PID FOLDER. A process that
is killed runs no code of its own, so it could not stop its server itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
from pathlib import Path


def wait_for_end(process: int) -> None:
    """Return once a process has ended, whether or not it is a child of this one."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll()
        os.close(descriptor)


def stop_server(folder: Path) -> None:
    """End the server of a folder as a crash would, if it runs, and return once it has ended."""
    with contextlib.suppress(OSError, ValueError):
        process = int((folder / "data" / "postmaster.pid").read_text().partition("\n")[0])
        os.kill(process, signal.SIGQUIT)
        wait_for_end(process)


def remove_server(folder: Path) -> None:
    stop_server(folder)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    wait_for_end(int(sys.argv[1]))
    remove_server(Path(sys.argv[2]))

"""The keeper of a bot: `python -m arena.processes.launcher` reads a `LaunchSpec` and runs its program.

The keeper ends with the bot's exit code. When the arena is gone for any reason, it kills the bot and all descendants.
"""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from arena.processes.bounded_log import BoundedLog
from arena.processes.launch_spec import LaunchSpec
from machine.keeper import supervise
from machine.subprocesses import die_with_parent, end_first_without_memory, keep_private, lower_priority


def main() -> None:
    keep_bot(start_program)


def keep_bot(start_program: Callable[[LaunchSpec, socket.socket, int | None], int]) -> None:
    """Read a `LaunchSpec` from standard input, which is a socket to the arena, and run its program. `start_program`
    starts it, as the function of this name does.
    """
    end_first_without_memory()
    keep_private()
    arena = socket.socket(fileno=0)
    with arena.makefile("rb", buffering=0) as orders:
        order = msgspec.json.decode(orders.readline(), type=LaunchSpec)
    if order.log is None or order.largest_log is None:
        supervise(arena, partial(start_program, order, arena, None))
        return
    log = BoundedLog(Path(order.log), order.largest_log)

    def start() -> int:
        child = start_program(order, arena, log.pipe)
        log.start()
        return child

    supervise(arena, start, log.wait_until_written)


def start_program(spec: LaunchSpec, arena: socket.socket, output: int | None) -> int:
    """Start the bot and return its process id. `arena` is the socket to the arena, `output` the descriptor of the log.

    The bot's standard input is a socket, because other processes could open a pipe through /proc and read the token.
    """
    theirs, ours = socket.socketpair()
    with theirs, ours, arena.dup() as line:
        ours.sendall(spec.token.encode() + b"\n")
        process = subprocess.Popen(  # noqa: S603 - the operator's own command line
            (*spec.sandbox, str(line.fileno()), *spec.command) if spec.sandbox else spec.command,
            env=spec.environment,
            stdin=theirs.fileno(),
            stdout=output,
            stderr=output,
            pass_fds=[line.fileno()] if spec.sandbox else (),
            start_new_session=True,
            preexec_fn=partial(prepare_program, spec),
        )
    process.returncode = 0  # `keep` waits for it, with all the others
    return process.pid


def prepare_program(spec: LaunchSpec) -> None:
    """Give this process, which is to become the bot, the priority, the signals and the limits of a specification."""
    lower_priority(spec.nice)
    if spec.holds_sigterm:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    if spec.limits is not None:
        spec.limits.apply()
    die_with_parent()  # after the change of user, which would reset it


if __name__ == "__main__":
    main()

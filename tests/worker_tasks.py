"""Work for the tests of `machine.workers.local`: in a module of its own, as workers import it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

from protocol.errors import ArenaFault


def square(number: int) -> int:
    return number * number


def squares(numbers: Sequence[int]) -> list[int]:
    return [square(number) for number in numbers]


def own_process(_: object) -> int:
    return os.getpid()


def own_process_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def lengths(chunk: Sequence[float]) -> list[int]:
    """For every item how long its chunk is; an item takes so many seconds."""
    time.sleep(sum(chunk))
    return [len(chunk)] * len(chunk)


def killed_twice(task: tuple[Path, int]) -> int:
    """The task's number, and a line in its file for every time; number 5 kills its worker the first two times."""
    folder, number = task
    with (folder / str(number)).open("a") as done:
        done.write(f"{os.getpid()}\n")
    if number == 5 and (folder / "5").read_text().count("\n") <= 2:
        die(number)
    return number


def die(_: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("not reached")


def die_while_telling(first: Path) -> str:
    """A word, but the process that is `first` to make this file dies when half of its result is told."""
    if not first.exists():
        first.touch()
        _tell_half_and(lambda: die(None))
    return "told"


def halt_while_telling(gate: Path | None) -> None:
    """Open the pipe when half of the result is told, and never tell the rest; at once for None."""
    if gate is not None:
        _tell_half_and(lambda: wait_for(gate))


def _tell_half_and(then: Callable[[], object]) -> None:
    def send(connection: Connection, message: bytes) -> None:
        os.write(connection.fileno(), message[: len(message) // 2])
        then()

    Connection._send = send  # type: ignore[attr-defined]  # of this process, which lives as long as its crew


def die_at_three(number: int) -> int:
    """End the process for 3. Return smaller numbers; a larger one is never done."""
    if number > 3:
        signal.pause()
    return die(number) if number == 3 else number


def refuse(number: int) -> int:
    if number == 3:
        raise ArenaFault("three is refused")
    return number


def strike(blow: tuple[int, int] | None) -> None:
    """Send a process, or with a negative number its group, a signal, and never be done; at once for None."""
    if blow is not None:
        os.kill(*blow)
        while True:
            signal.pause()


def strike_and_wait(blow: tuple[int, int, Path]) -> None:
    """The same, but done when somebody writes to the pipe."""
    pid, number, gate = blow
    os.kill(pid, number)
    wait_for(gate)


def wait_for(gate: Path | None) -> None:
    """Be done when somebody writes to the pipe; at once for None."""
    if gate is not None:
        gate.read_bytes()


def hears_ctrl_c(_: object) -> bool:
    """Whether it could have reached the worker since it was started, or can now."""
    blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return not blocked or signal.getsignal(signal.SIGINT) != signal.SIG_IGN

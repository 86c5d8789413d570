"""The keeper of a bot in a process of a fork server. It forks the bot from itself if the server has imported the bot's
module, whose function `main` is the bot.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

from arena.processes import launcher
from arena.processes.launch_spec import LaunchSpec
from machine import fork_requests

FUNCTION = "arena.processes.forked_launcher:main"
"""The function that a process of a fork server calls."""
MODULE_COMMAND = (sys.executable, "-P", "-m")
"""The beginning of the command of a bot that can be forked. The name of the module follows."""
_KEEPER_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The signals that a keeper handles in its own way."""


class _IsBot(BaseException):
    """Raised in the process of the bot, to leave what the keeper does."""

    def __init__(self, module: str, arguments: tuple[str, ...]) -> None:
        self.module = module
        self.arguments = arguments


def main() -> None:
    """Do as the keeper does that is started by a command. In the bot's process, run the bot."""
    try:
        launcher.keep_bot(_start)
    except _IsBot as bot:
        module, arguments = bot.module, bot.arguments
    else:
        return
    server = fork_requests.line_to_server
    kept = server.fileno() if server is not None else 2
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    sys.argv = [module, *arguments]
    sys.modules[module].main()


def _start(spec: LaunchSpec, arena: socket.socket, output: int | None) -> int:
    if not _can_fork(spec):
        return launcher.start_program(spec, arena, output)
    if child := fork_bot(spec, arena, output):
        return child
    _, _, _, module, *arguments = spec.command
    raise _IsBot(module, tuple(arguments))


def fork_bot(spec: LaunchSpec, arena: socket.socket, output: int | None) -> int:
    """Fork the process of a bot from its keeper, and return its process id. Return 0 in that process, which then has
    the session, streams, signals, priority and limits that `start_program` gives a bot.
    """
    theirs, ours = socket.socketpair()
    with theirs, ours:
        ours.sendall(spec.token.encode() + b"\n")
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _KEEPER_SIGNALS)
        child = os.fork()
        if child:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return child
        os.setsid()
        os.dup2(theirs.fileno(), arena.detach())  # 0
        if output is not None:
            os.dup2(output, 1)
            os.dup2(output, 2)
    signal.set_wakeup_fd(-1)
    for number in _KEEPER_SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, before | ({signal.SIGTERM} if spec.holds_sigterm else set()))
    launcher.prepare_program(spec)
    return 0


def _can_fork(spec: LaunchSpec) -> bool:
    *start, module = spec.command[: len(MODULE_COMMAND) + 1]
    return (
        tuple(start) == MODULE_COMMAND
        and module in sys.modules
        and not spec.sandbox
        and spec.environment == dict(os.environ)
    )

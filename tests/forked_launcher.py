"""The launcher of a bot (arena/processes/launcher.py), forked from the zygote, which forks the bot from itself in turn.

A bot is `python [-P] -m MODULE …` or `python [-P] SCRIPT …`, with the Python and the environment of the launcher. Any
other command, and one with limits or in a sandbox, is run by `exec` as the product does.
"""

from __future__ import annotations

import os
import runpy
import socket
import sys
from pathlib import Path
from types import ModuleType

from arena.processes import launcher
from arena.processes.forked_launcher import fork_bot
from arena.processes.launch_spec import LaunchSpec


class _IsBot(BaseException):
    """Raised in the process of the bot, to leave what the launcher does."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words


def main() -> None:
    """Obey the order on standard input in the folder that the command names. In the bot's process, run the bot.

    This module is only found from the repository, where the zygote has started it.
    """
    os.chdir(sys.argv[1])
    try:
        launcher.keep_bot(_start)
    except _IsBot as bot:
        words = bot.words
    else:
        return
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    _run(words)


def _start(order: LaunchSpec, arena: socket.socket, output: int | None) -> int:
    if order.sandbox or order.limits or dict(os.environ) != order.environment or not _can_run(order.command):
        return launcher.start_program(order, arena, output)
    if child := fork_bot(order, arena, output):
        return child
    raise _IsBot(_words(order.command))


def _can_run(command: tuple[str, ...]) -> bool:
    if command[0] != sys.executable or not (words := _words(command)):
        return False
    return words[0] == "-m" or (not words[0].startswith("-") and Path(words[0]).is_file())


def _words(command: tuple[str, ...]) -> tuple[str, ...]:
    """What follows `python` or `python -P` in a command."""
    return command[2:] if command[1:2] == ("-P",) else command[1:]


def _run(words: tuple[str, ...]) -> None:
    sys.orig_argv[:] = [sys.executable, *words]
    sys.modules["__main__"] = program = ModuleType("__main__")
    program.__dict__.update(__builtins__=sys.modules["builtins"], __annotations__={})
    if words[0] == "-m":
        sys.argv = ["-m", *words[2:]]
        sys.path[0] = os.getcwd()
        runpy._run_module_as_main(words[1])  # type: ignore[attr-defined]
    else:
        sys.argv = list(words)
        sys.path[0] = str(Path(words[0]).resolve().parent)
        program.__file__ = words[0]
        exec(compile(Path(words[0]).read_bytes(), words[0], "exec"), program.__dict__)


if __name__ == "__main__":
    main()

"""The first program in a sandbox: `python -m arena.runs.sandbox_init LIMITS DESCRIPTOR COMMAND…`.

It listens on the port to which the bot connects, sends that socket to the tournament, and runs the bot (exec).
"""

from __future__ import annotations

import os
import socket
import sys

import msgspec

from arena.processes.launch_spec import LISTENING_MESSAGE, ResourceLimits
from machine.terminal import say
from protocol import DEFAULT_PORT

HOST = "127.0.0.1"
"""The address in the sandbox to which the bot connects."""
EXIT_CODE_NOT_STARTED = 127
"""The exit code if the bot can't be started."""


def main() -> None:
    """Open the socket to which the bot connects, pass it to the tournament, apply the limits and run the bot."""
    limits = msgspec.json.decode(sys.argv[1], type=ResourceLimits)
    with socket.socket(fileno=int(sys.argv[2])) as tournament, socket.create_server((HOST, DEFAULT_PORT)) as listening:
        socket.send_fds(tournament, [LISTENING_MESSAGE], [listening.fileno()])
    command = sys.argv[3:]
    limits.apply()
    try:
        os.execvp(command[0], command)  # noqa: S606 - the operator's own command
    except OSError as exc:
        say(f"{command[0]} can't be started: {exc.strerror}", err=True)
        raise SystemExit(EXIT_CODE_NOT_STARTED) from None


if __name__ == "__main__":
    main()

"""What runs first in a bot's box: `python -m arena.tournament.sandbox_init LIMITS DESCRIPTOR COMMAND…`.

It listens where the bot will look for its arena, hands that socket out to the tournament, and becomes the bot.
"""

from __future__ import annotations

import os
import socket
import sys

import msgspec

from arena.processes.launch_spec import LISTENING, ResourceLimits
from machine.terminal import say
from protocol import PORT

HOST = "127.0.0.1"
NOT_STARTED = 127


def main() -> None:
    """Become the bot."""
    limits = msgspec.json.decode(sys.argv[1], type=ResourceLimits)
    with socket.socket(fileno=int(sys.argv[2])) as tournament, socket.create_server((HOST, PORT)) as listening:
        socket.send_fds(tournament, [LISTENING], [listening.fileno()])
    command = sys.argv[3:]
    limits.hold()
    try:
        os.execvp(command[0], command)  # noqa: S606 - the operator's own command line
    except OSError as exc:
        say(f"{command[0]} can't be started: {exc.strerror}", err=True)
        raise SystemExit(NOT_STARTED) from None


if __name__ == "__main__":
    main()

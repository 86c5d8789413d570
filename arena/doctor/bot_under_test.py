"""The bot that is examined: its process, and how it ended if it did."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from arena.doctor.tcp_proxy import HOST
from arena.processes.launch_spec import LaunchSpec
from arena.processes.process import BotProcess, Crash
from protocol import bot_launch

NAME = "patient"


class BotUnderTest:
    """Runs a command as an author does, with the arena in its environment. `happened` is called when it has ended.

    Each run has a name and a token of its own: what one run did to its name is no matter to the next.
    """

    def __init__(self, command: Sequence[str], port: int, game: str, log: Path, happened: Callable[[], None]) -> None:
        self.ended: str | None = None
        """How the process ended, if it did by itself."""
        self.ended_well = False
        """Whether it did so as a program that has done what it wanted."""
        self.last_words = ""
        """What it wrote by then, and where the log of it is."""
        self.log = log
        self._command = tuple(command)
        self._url = f"ws://{HOST}:{port}"
        self._game = game
        self._happened = happened
        self._process: BotProcess | None = None
        self._runs = 0

    async def start(self) -> None:
        """Run the program anew, after `stop`. Raises `BotCrashed` if there is none, `ArenaFault` for its log."""
        self.ended, self.ended_well = None, False
        self._runs += 1
        name = NAME if self._runs == 1 else f"{NAME}-{self._runs}"
        token = secrets.token_urlsafe(24)
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("ARENA_")},
            bot_launch.URL: self._url,
            bot_launch.BOT: name,
            bot_launch.TOKEN: token,  # as well as on standard input: the bot may be one for servers or for tournaments
            bot_launch.TOKEN_FD: "0",
            bot_launch.GAME: self._game,
        }
        order = LaunchSpec(command=self._command, environment=environment, token=token)
        self._process = BotProcess(name, order, self.log, self._crashed)
        await self._process.start()

    async def stop(self) -> None:
        """End it."""
        if self._process is not None:
            await self._process.stop(leave_within=0.0)

    def _crashed(self, process: BotProcess, crash: Crash) -> None:
        if process is self._process:
            self.ended, self.ended_well, self.last_words = crash.how, crash.code == 0, crash.last_words
            self._happened()

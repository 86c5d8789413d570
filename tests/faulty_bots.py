"""Bots that fail, each in its own way, over the JSON subprotocol and without the client library.

`python faulty_bots.py KIND` plays as a tournament wants it: ARENA_URL and ARENA_BOT from the environment, the
token from standard input.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

GOING_AWAY = 1001


class Steady:
    """Plays the first legal move, comes back when the connection breaks, ends when the arena goes away."""

    def __init__(self) -> None:
        self.bot = os.environ["ARENA_BOT"]
        self.token = sys.stdin.readline().strip()
        self.wire: ClientConnection

    def send(self, **message: Any) -> None:
        self.wire.send(json.dumps(message))

    def run(self) -> None:
        code: int | None = None
        while code != GOING_AWAY:
            with connect(
                os.environ["ARENA_URL"], subprotocols=[Subprotocol("arena.v1.json")], proxy=None, close_timeout=1
            ) as self.wire:
                slots = int(os.environ.get("ARENA_SLOTS", "1"))
                self.send(type="hello", bot=self.bot, token=self.token, slots=slots)
                try:
                    while True:
                        self.receive(json.loads(self.wire.recv()))
                except ConnectionClosed:
                    code = self.wire.close_code

    def receive(self, message: dict[str, Any]) -> None:
        if message["type"] == "start":
            self.start(message)
        elif message["type"] == "turn":
            self.turn(message)

    def start(self, start: dict[str, Any]) -> None:
        self.send(type="ready", match=start["match"])

    def turn(self, turn: dict[str, Any]) -> None:
        self.move(turn, turn["legal"][0])

    def move(self, turn: dict[str, Any], move: Any) -> None:
        self.send(type="move", match=turn["match"], ply=turn["ply"], move=move)


class Mute(Steady):
    """Is ready, and never moves."""

    def turn(self, turn: dict[str, Any]) -> None:
        pass


class Illegal(Steady):
    """Takes more than there is, each time it is asked again."""

    def receive(self, message: dict[str, Any]) -> None:
        super().receive(message)
        if message["type"] == "rejected" and message.get("strikes_left"):
            self.turn(message)

    def turn(self, turn: dict[str, Any]) -> None:
        self.move(turn, {"heap": 0, "take": 1000})


class Seeking(Steady):
    """Seeks a match as if it were on a server, and again after each."""

    def receive(self, message: dict[str, Any]) -> None:
        if message["type"] in ("welcome", "end"):
            self.send(type="seek", id="next", game=os.environ["ARENA_GAME"])
        if message["type"] == "error":
            print(f"told: {message['message']} ({message['code']})", flush=True)
        super().receive(message)


class Forgetful(Seeking):
    """Comes back at once from whatever happened, with a new token; fails at what it was not told of."""

    def send(self, **message: Any) -> None:
        if message["type"] == "hello":
            message["token"] = secrets.token_hex(16)
        super().send(**message)

    def receive(self, message: dict[str, Any]) -> None:
        known = message["type"] in ("welcome", "start", "turn", "end", "error", "unseeked")
        if not known and (message["type"] != "rejected" or "strikes_left" in message):
            raise RuntimeError(f"what is {message['type']}?")
        super().receive(message)


class Halting(Steady):
    """Plays, but never moves in its third match while ARENA_HALTED names a FIFO, through which it tells of it.

    Without ARENA_HALTED it is a steady bot: the same program goes on with the tournament that it held up.
    """

    matches = 0

    def start(self, start: dict[str, Any]) -> None:
        self.matches += 1
        super().start(start)

    def turn(self, turn: dict[str, Any]) -> None:
        if self.matches < 3 or "ARENA_HALTED" not in os.environ:
            super().turn(turn)
        else:
            os.close(os.open(os.environ["ARENA_HALTED"], os.O_WRONLY))


class PausingOnce(Steady):
    """Never moves at its first turn; started again, it plays."""

    def turn(self, turn: dict[str, Any]) -> None:
        if first_time():
            signal.pause()
        super().turn(turn)


class Vanishing(Steady):
    """Leaves at its first turn, while its process goes on."""

    def turn(self, turn: dict[str, Any]) -> None:
        self.wire.close()
        signal.pause()


class VanishingOnce(Vanishing):
    """Leaves at its first turn; started again, it plays."""

    def turn(self, turn: dict[str, Any]) -> None:
        if first_time():
            super().turn(turn)
        Steady.turn(self, turn)


class Crashing(Steady):
    """Dies at its first turn, and says why."""

    def turn(self, turn: dict[str, Any]) -> None:
        raise RuntimeError(f"no idea at ply {turn['ply']}")


class CrashingOnce(Crashing):
    """Dies at its first turn; started again, it plays."""

    def turn(self, turn: dict[str, Any]) -> None:
        if first_time():
            super().turn(turn)
        Steady.turn(self, turn)


class CrashingBeforeReady(Steady):
    """Dies when a match starts; started again, it plays."""

    def start(self, start: dict[str, Any]) -> None:
        if first_time():
            raise RuntimeError("not ready for this")
        super().start(start)


class Silent(Steady):
    """Connects to nothing and says nothing."""

    def run(self) -> None:
        print("thinking about it", flush=True)
        signal.pause()


class Stillborn(Steady):
    """Dies before it connects."""

    def run(self) -> None:
        raise RuntimeError("no brain found")


def first_time() -> bool:
    """Whether this bot asks for the first time, in all its runs; ARENA_MEMORY names a file that remembers."""
    try:
        os.close(os.open(os.environ["ARENA_MEMORY"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


KINDS = {
    kind.__name__.lower(): kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, Steady)
}

if __name__ == "__main__":
    KINDS[sys.argv[1]]().run()

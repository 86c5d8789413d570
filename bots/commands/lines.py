"""`python -m bots.commands.lines FILE.py`: plays a Python `Bot` by the line protocol, as a program of `arena-bot pipe`.

It is how a hosted bot that uses the library runs in its box, which has no network: there is no connection, but a line
of JSON for each message on standard input, and one for each move on standard output (docs/other-languages.md).
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import msgspec

from bots.client.bot import Bot, GiveUp, Turn, make_turn_rng
from bots.client.loading import load_bot
from bots.client.worker_threads import read_choice
from machine.terminal import say
from protocol import bot_launch
from protocol.errors import Fault, UsageFault
from protocol.games.base import Game
from protocol.games.wire_game import load_client_game
from protocol.messages import End, Move, Rejected, Resign, Start
from protocol.messages import Turn as TurnMessage

_FAILED_EXIT_CODE = 1
"""The exit code after an error of the bot. The match is then lost, and the output says why."""


def main() -> None:
    """Play the bot of the file that the command line names, until standard input ends."""
    if len(sys.argv) != 2:
        raise SystemExit("give one file: python -m bots.commands.lines FILE.py")
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the bot prints is no move
    questions = os.fdopen(os.dup(0), "rb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # `input` has no answer, and a program that the bot starts takes no line
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is in the log though the bot is killed
    path = Path(sys.argv[1])
    try:
        bot = load_bot(path, None, path.stem, {}, {})
        LinePlayer(bot, answers).play(questions)
    except Fault as fault:
        say(str(fault), err=True)
        raise SystemExit(_FAILED_EXIT_CODE) from None
    except Exception as exc:
        _print_error(exc)
        raise SystemExit(_FAILED_EXIT_CODE) from None


def _print_error(exc: Exception) -> None:
    """Print the traceback of an error of the bot, from the bot's own code on."""
    here = str(Path(__file__))
    frames = traceback.extract_tb(exc.__traceback__)
    own = [number for number, frame in enumerate(frames) if frame.filename != here]
    lines = traceback.format_list(frames[own[0] :] if own else frames)
    say("".join([*lines, *traceback.format_exception_only(exc)]).rstrip(), err=True)


class LinePlayer:
    """Plays a bot by lines of JSON. One match is in progress at a time."""

    def __init__(self, bot: Bot, answers: TextIO) -> None:
        self._bot = bot
        self._seed = os.environ.get(bot_launch.SEED_VARIABLE) or bot.name
        self._answers = answers
        self._start: Start | None = None
        self._rules: Game[Any, Any] | None = None
        self._memory: dict[str, Any] = {}
        self._turn: Turn | None = None

    def play(self, lines: Iterable[bytes]) -> None:
        """Answer lines until they end. Raise `UsageFault` if the bot does not play the game of a match."""
        for line in lines:
            received = time.monotonic()
            message = msgspec.json.decode(line)
            match message.get("type"):
                case "start":
                    self._begin(_convert(message, Start))
                case "turn":
                    self._choose(_convert(message | {"digest": "0" * 64}, TurnMessage), received)
                case "rejected":
                    self._bot.rejected(_convert(message, Rejected))
                case "end":
                    self._bot.ended(_convert(message, End))

    def _begin(self, start: Start) -> None:
        self._start, self._memory = start, {}
        rules = load_client_game(start.game, start.config)
        if self._rules is None or (self._rules.name, self._rules.config) != (rules.name, rules.config):
            self._bot.check_game(rules)
            self._bot.warm_up(rules)
            self._rules = rules
        self._bot.prepare(start)

    def _choose(self, message: TurnMessage, received: float) -> None:
        start, rules = self._start, self._rules
        if start is None or rules is None:
            raise UsageFault("a turn came before start")
        turn = Turn(
            match=message.match,
            seat=start.seat or 0,
            ply=message.ply,
            state=message.state,
            legal=message.legal or [],
            options=message.options,
            events=message.events,
            players=start.seats,
            clock_ms=message.clock,
            increment_ms=start.clock.increment_ms,
            rules=rules,
            position=rules.decode_state(message.state),
            random=make_turn_rng(self._seed, message.match, message.ply),
            memory=self._memory,
            received=received,
        )
        try:
            chosen = self._bot.choose(turn)
        except GiveUp as exc:
            if str(exc):
                say(str(exc), err=True)
            self._write(Resign(match=turn.match))
            return
        move, left_out = read_choice(turn, chosen)
        if left_out is not None:
            say(f"part of the info of a move is dropped: {left_out}", err=True)
        self._write(move)

    def _write(self, message: Move | Resign) -> None:
        self._answers.write(msgspec.json.encode(message).decode() + "\n")
        self._answers.flush()


def _convert(message: dict[str, Any], kind: Any) -> Any:
    return msgspec.convert(message, kind)


if __name__ == "__main__":
    main()

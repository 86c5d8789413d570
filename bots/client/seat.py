"""A bot's seat in one match: its turns, its work in progress, and the answers that it still owes."""

from __future__ import annotations

import dataclasses
import hmac
from typing import Any

from bots.client import progress_report
from bots.client.bot import Bot, Turn, seeded
from bots.client.talk import Effect, Say
from bots.client.worker_threads import Choose, Conclude, Prepare, Thought, Work
from protocol import messages
from protocol.dice import NONCE_BYTES
from protocol.display import printable
from protocol.error_codes import ILLEGAL_MOVE, MALFORMED_MOVE
from protocol.games.base import Game

STRIKES = (ILLEGAL_MOVE, MALFORMED_MOVE)
"""Rejections after which another move may be chosen."""


class Seat:
    """A bot's seat in a match, from `start` to `end`, across connections.

    At most one piece of work is with the thinking threads at a time. The next one waits here, so that calls for a match
    come in order.
    """

    def __init__(self, bot: Bot, start: messages.Start, seat: int, rules: Game[Any, Any], seed: str) -> None:
        self.start = start
        self.thinking = False
        self.over = False
        self._bot = bot
        self._seat = seat
        self._rules = rules
        self._seed = seed
        self._memory: dict[str, Any] = {}
        self._prepared = False
        self._playing = False
        self._resignation: messages.Resign | None = None
        self._turn: Turn | None = None
        self._answer: messages.Move | None = None
        self._waiting: Work | None = None
        self._told_left_out = False
        """True once discarded `info` was reported: once a match, as it may happen at every turn."""

    @property
    def done(self) -> bool:
        """True if the match is over and no work is left."""
        return self.over and not self.thinking

    @property
    def given_up(self) -> bool:
        """True if the match was resigned, or lost by a failure."""
        return self._resignation is not None

    @property
    def failure(self) -> str | None:
        """The failure of the program in the match, in a line; None if there is none."""
        return None if self._resignation is None else self._resignation.failure

    def begin(self) -> list[Effect]:
        """Handle the first `start`: prepare, then report ready. A bot without `prepare` is ready at once."""
        if type(self._bot).prepare is not Bot.prepare:
            return self._think(Prepare(self.start.match, self.start))
        self._prepared = True
        return [self._ready()]

    def resume(self) -> list[Effect]:
        """Handle a repeated `start` on a new connection: send again what may not have arrived."""
        if self._resignation is not None:
            return [self._resignation]
        return [self._ready()] if self._prepared and not self._playing else []

    def turned(self, message: messages.Turn, now: float) -> list[Effect]:
        """Handle a `turn`. One that is repeated after a reconnect gets the move chosen before, if there is one."""
        self._playing = True
        if self._seat not in message.movers:
            return []
        if self._resignation is not None:
            return [self._resignation]
        if self._turn is not None and self._turn.ply == message.ply and (self._answer or self.thinking):
            return [self._answer] if self._answer else []
        try:
            self._turn = self._read(message, now)
        except (KeyError, TypeError, ValueError, IndexError) as exc:
            where = f"ply {message.ply} of {message.match}"
            failure = f"cannot read the state at {where}: {exc!r}"
            return [self._trouble(failure), *self.resign(failure)]
        self._answer = None
        return self._think(Choose(message.match, self._turn))

    def rejected(self, rejected: messages.Rejected, now: float) -> list[Effect]:
        """Handle a rejected move: tell the author, and choose again if the turn is still open."""
        effects: list[Effect] = [Say(progress_report.rejection(self._bot.name, rejected, self._answer), trouble=True)]
        turn = self._turn
        if turn is None or turn.ply != rejected.ply or rejected.code not in STRIKES or rejected.strikes_left == 0:
            return effects
        clock = list(turn.clock_ms)
        if rejected.clock_ms is not None:
            clock[self._seat] = rejected.clock_ms
        self._answer = None
        self._turn = dataclasses.replace(
            turn, clock_ms=clock, received=now, random=seeded(self._seed, rejected.match, rejected.ply)
        )
        return effects + self._think(Choose(rejected.match, self._turn, rejected))

    def ended(self, end: messages.End | None) -> list[Effect]:
        """Handle the end of the match; `end` is None if it ended while the connection was down.

        The bot's `ended` or `missed` is called after its last work, if it overrides that method.
        """
        self.over = True
        self._waiting = None
        bot = type(self._bot)
        heeded = bot.missed is not Bot.missed if end is None else bot.ended is not Bot.ended
        return self._think(Conclude(self.start.match, end)) if heeded else []

    def thought(self, thought: Thought) -> list[Effect]:
        """Handle finished work. A move for a turn that has passed is dropped."""
        self.thinking = False
        effects: list[Effect] = []
        if thought.trouble is not None:
            lost = "resigned" if thought.failure is None else "lost"
            consequence = "" if self.over else f"; the match is {lost}"
            details = f"\n{thought.details}" if thought.details else ""
            effects.append(self._trouble(thought.trouble + consequence + details))
        if not self.over and (thought.gave_up or thought.trouble is not None):
            return effects + self.resign(thought.failure)
        if type(thought.work) is Prepare and not self.over:
            self._prepared = True
            if not self._playing:
                effects.append(self._ready())
        elif thought.move is not None and self._turn is not None and thought.move.ply == self._turn.ply:
            self._answer = thought.move
            if thought.left_out is not None and not self._told_left_out:
                self._told_left_out = True
                where = f"at ply {thought.move.ply} of {thought.move.match}"
                effects.append(self._trouble(f"its move {where} goes without what cannot be kept: {thought.left_out}"))
            if not self.over:
                effects.append(thought.move)
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            effects += self._think(waiting)
        return effects

    def resign(self, failure: str | None = None) -> list[Effect]:
        """Resign the match, whichever seat is to move, or report how the program failed."""
        self._resignation = resignation(self.start.match, failure)
        self._waiting = None
        return [self._resignation]

    def result(self, end: messages.End) -> Say:
        """Return the line about the result of the match."""
        return Say(progress_report.result(self.start, self._seat, end, self.failure))

    def _think(self, work: Work) -> list[Effect]:
        if self.thinking:
            self._waiting = work
            return []
        self.thinking = True
        return [work]

    def _ready(self) -> messages.Ready:
        """Return `ready` with a nonce that follows from the bot's seed, so that repeating it gives the same nonce."""
        match = self.start.match
        nonce = hmac.digest(self._seed.encode(), f"nonce/{match}".encode(), "sha256")[:NONCE_BYTES]
        return messages.Ready(match=match, nonce=nonce.hex())

    def _trouble(self, text: str) -> Say:
        return Say(f"{self._bot.name}: {text}", trouble=True)

    def _read(self, message: messages.Turn, now: float) -> Turn:
        return Turn(
            match=message.match,
            seat=self._seat,
            ply=message.ply,
            state=message.state,
            legal=message.legal or [],
            options=message.options,
            events=message.events,
            players=self.start.seats,
            clock_ms=message.clock,
            increment_ms=self.start.clock.increment_ms,
            rules=self._rules,
            position=self._rules.decode_state(message.state),
            random=seeded(self._seed, message.match, message.ply),
            memory=self._memory,
            received=now,
        )


def resignation(match: str, failure: str | None) -> messages.Resign:
    """Return the message that resigns a match, with the failure cut to the allowed length."""
    return messages.Resign(match=match, failure=None if failure is None else printable(failure)[: messages.MAX_NOTE])

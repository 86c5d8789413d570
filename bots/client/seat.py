"""A bot's seat in one match: its turns, its work in progress, and the messages to repeat after a reconnect."""

from __future__ import annotations

import dataclasses
import hmac
from typing import Any

from bots.client import progress_report
from bots.client.bot import Bot, Turn, make_turn_rng
from bots.client.worker_threads import Choose, Conclude, Prepare, Work, WorkResult
from machine.client.client_protocol import Effect, PrintLine
from protocol import messages
from protocol.dice import NONCE_BYTES
from protocol.display import escape_unprintable
from protocol.error_codes import ILLEGAL_MOVE, MALFORMED_MOVE
from protocol.games.base import Game

STRIKE_CODES = (ILLEGAL_MOVE, MALFORMED_MOVE)
"""The codes of rejections after which the bot may choose another move."""


class Seat:
    """A bot's seat in a match, from `start` to `end`, across connections.

    The thinking threads have at most one piece of work for a match at a time. The next piece waits here, so that the
    calls for a match are made in order.
    """

    def __init__(self, bot: Bot, start: messages.Start, seat: int, rules: Game[Any, Any], seed: str) -> None:
        self.start = start
        self.is_thinking = False
        self.is_over = False
        self._bot = bot
        self._seat = seat
        self._rules = rules
        self._seed = seed
        self._memory: dict[str, Any] = {}
        self._prepared = False
        self._playing = False
        self._resignation: messages.Resign | None = None
        self._turn: Turn | None = None
        self._answered_move: messages.Move | None = None
        self._waiting_work: Work | None = None
        self._reported_discarded = False
        """True once the author was told that a part of a move's `info` was dropped. Once in a match is enough."""

    @property
    def is_done(self) -> bool:
        """True if the match is over and the bot has no more work to do for it."""
        return self.is_over and not self.is_thinking

    @property
    def is_resigned(self) -> bool:
        """True if the bot has resigned the match, or lost it by a failure of its program."""
        return self._resignation is not None

    @property
    def failure(self) -> str | None:
        """The failure of the bot's program in this match, in one line; None if it has not failed."""
        return None if self._resignation is None else self._resignation.failure

    def handle_start(self) -> list[Effect]:
        """Handle the first `start`: call `prepare`, then report ready. A bot without `prepare` is ready at once."""
        if type(self._bot).prepare is not Bot.prepare:
            return self._think(Prepare(self.start.match, self.start))
        self._prepared = True
        return [self._make_ready()]

    def handle_repeated_start(self) -> list[Effect]:
        """Return the messages to send again after a reconnect, when `start` is repeated: they may not have arrived."""
        if self._resignation is not None:
            return [self._resignation]
        return [self._make_ready()] if self._prepared and not self._playing else []

    def handle_turn(self, turn: messages.Turn, now: float) -> list[Effect]:
        """Handle a `turn`. If the turn was repeated after a reconnect, repeat the move that was chosen for it."""
        self._playing = True
        if self._seat not in turn.movers:
            return []
        if self._resignation is not None:
            return [self._resignation]
        if self._turn is not None and self._turn.ply == turn.ply and (self._answered_move or self.is_thinking):
            return [self._answered_move] if self._answered_move else []
        try:
            self._turn = self._read_turn(turn, now)
        except (KeyError, TypeError, ValueError, IndexError) as exc:
            where = f"ply {turn.ply} of {turn.match}"
            failure = f"cannot read the state at {where}: {exc!r}"
            return [self._trouble(failure), *self.resign(failure)]
        self._answered_move = None
        return self._think(Choose(turn.match, self._turn))

    def handle_rejection(self, rejected: messages.Rejected, now: float) -> list[Effect]:
        """Handle a rejected move: tell the author, and choose again if the turn is still open."""
        effects: list[Effect] = [
            PrintLine(progress_report.format_rejection(self._bot.name, rejected, self._answered_move), is_error=True)
        ]
        turn = self._turn
        if turn is None or turn.ply != rejected.ply or rejected.code not in STRIKE_CODES or rejected.strikes_left == 0:
            return effects
        clock = list(turn.clock_ms)
        if rejected.clock_ms is not None:
            clock[self._seat] = rejected.clock_ms
        self._answered_move = None
        self._turn = dataclasses.replace(
            turn, clock_ms=clock, received=now, random=make_turn_rng(self._seed, rejected.match, rejected.ply)
        )
        return effects + self._think(Choose(rejected.match, self._turn, rejected))

    def handle_end(self, end: messages.End | None) -> list[Effect]:
        """Handle the end of the match; `end` is None if the match ended while the connection was down.

        The bot's `ended` or `missed` is called after its other work for the match, if its class overrides the method.
        """
        self.is_over = True
        self._waiting_work = None
        bot = type(self._bot)
        heeded = bot.missed is not Bot.missed if end is None else bot.ended is not Bot.ended
        return self._think(Conclude(self.start.match, end)) if heeded else []

    def handle_result(self, result: WorkResult) -> list[Effect]:
        """Handle the result of a thinking thread's work. A move for an earlier turn is dropped."""
        self.is_thinking = False
        effects: list[Effect] = []
        if result.message is not None:
            lost = "resigned" if result.failure is None else "lost"
            consequence = "" if self.is_over else f"; the match is {lost}"
            details = f"\n{result.details}" if result.details else ""
            effects.append(self._trouble(result.message + consequence + details))
        if not self.is_over and (result.gave_up or result.message is not None):
            return effects + self.resign(result.failure)
        if type(result.work) is Prepare and not self.is_over:
            self._prepared = True
            if not self._playing:
                effects.append(self._make_ready())
        elif result.move is not None and self._turn is not None and result.move.ply == self._turn.ply:
            self._answered_move = result.move
            if result.discarded is not None and not self._reported_discarded:
                self._reported_discarded = True
                where = f"at ply {result.move.ply} of {result.move.match}"
                effects.append(self._trouble(f"part of the info of its move {where} is dropped: {result.discarded}"))
            if not self.is_over:
                effects.append(result.move)
        if self._waiting_work is not None:
            waiting, self._waiting_work = self._waiting_work, None
            effects += self._think(waiting)
        return effects

    def resign(self, failure: str | None = None) -> list[Effect]:
        """Resign the match, even if another seat is to move. `failure` says how the program failed, if it did."""
        self._resignation = make_resignation(self.start.match, failure)
        self._waiting_work = None
        return [self._resignation]

    def format_result(self, end: messages.End) -> PrintLine:
        """Return the line about the result of the match."""
        return PrintLine(progress_report.format_result(self.start, self._seat, end, self.failure))

    def _think(self, work: Work) -> list[Effect]:
        if self.is_thinking:
            self._waiting_work = work
            return []
        self.is_thinking = True
        return [work]

    def _make_ready(self) -> messages.Ready:
        """Return the message `ready`. Its nonce follows from the bot's seed and the match, so a repeated `ready` has
        the same nonce.
        """
        match = self.start.match
        nonce = hmac.digest(self._seed.encode(), f"nonce/{match}".encode(), "sha256")[:NONCE_BYTES]
        return messages.Ready(match=match, nonce=nonce.hex())

    def _trouble(self, text: str) -> PrintLine:
        return PrintLine(f"{self._bot.name}: {text}", is_error=True)

    def _read_turn(self, turn: messages.Turn, now: float) -> Turn:
        return Turn(
            match=turn.match,
            seat=self._seat,
            ply=turn.ply,
            state=turn.state,
            legal=turn.legal or [],
            options=turn.options,
            events=turn.events,
            players=self.start.seats,
            clock_ms=turn.clock,
            increment_ms=self.start.clock.increment_ms,
            rules=self._rules,
            position=self._rules.decode_state(turn.state),
            random=make_turn_rng(self._seed, turn.match, turn.ply),
            memory=self._memory,
            received=now,
        )


def make_resignation(match: str, failure: str | None) -> messages.Resign:
    """Return the message that resigns a match. `failure` is cut to the allowed length."""
    return messages.Resign(
        match=match, failure=None if failure is None else escape_unprintable(failure)[: messages.MAX_NOTE_CHARS]
    )

"""Random matches in memory, by which a server or a tournament tries rules before bots meet them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from protocol.codec import JSON, MSGPACK
from protocol.games.base import Game
from protocol.messages import Clock, Player, Turn
from referee.effects import Effect, MoveReceived, ReportRulesFault, SeatReady, SendToSeat, SendToWatchers
from referee.match import Match
from referee.record import RecordedSeat, make_header
from referee.state import Phase

MAX_REHEARSED_PLIES = 5000
"""Number of plies after which a random match is not played on."""
_CLOCK = Clock(bank_ms=3_600_000, increment_ms=0)


class Rehearsal(NamedTuple):
    """A random match: its number of plies, whether it ended, and its digest."""

    plies: int
    is_over: bool
    digest: bytes


def rehearse_match(game: Game[Any, Any], seed: int) -> Rehearsal:
    """Play a random match by guarded rules, with a spectator, as bots that choose from what their turns list. Raise
    `RulesFault` if the match would be void.
    """
    rng = random.Random(seed)  # noqa: S311  nothing depends on it
    key = rng.randbytes(32)
    bots = [f"bot-{seat}" for seat in range(game.seats)]
    header = make_header(
        match="rehearsal",
        game=game,
        seats=[RecordedSeat(bot=bot) for bot in bots],
        seed=key,
        pool=None,
        clock=_CLOCK,
        started="",
    )
    match = Match(header, key, [Player(bot=bot) for bot in bots], game=game)
    match.set_watched(is_watched=True)
    asked = _deliver(match.start_match(0.0))
    for seat in range(game.seats):
        asked |= _deliver(match.receive(SeatReady(seat, b""), 0.0))
    while asked and match.ply < MAX_REHEARSED_PLIES:
        seat, turn = asked.popitem()
        move = rng.choice(turn.legal or [])
        asked |= _deliver(match.receive(MoveReceived(seat, turn.ply, move), 0.0))
    is_over = match.standing.phase is Phase.OVER
    if is_over:
        match.footer(match.result(""), None)
    return Rehearsal(match.ply, is_over, match.standing.current_course.digest)


def _deliver(effects: Sequence[Effect]) -> dict[int, Turn]:
    """Encode the messages of effects, and return the turns that ask a seat to move. Raise `RulesFault`."""
    asked = {}
    for effect in effects:
        if isinstance(effect, ReportRulesFault):
            raise effect.fault
        if isinstance(effect, SendToSeat | SendToWatchers):
            MSGPACK.encode(effect.message)
            JSON.encode(effect.message)
        if isinstance(effect, SendToSeat) and isinstance(effect.message, Turn) and effect.message.legal:
            asked[effect.seat] = effect.message
    return asked

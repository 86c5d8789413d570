"""Calling off a match of which only the header and the seed are left. The match is void; its record verifies."""

from __future__ import annotations

from protocol.messages import Player
from referee.effects import Abort, WriteLine
from referee.footer import ClosedMatch
from referee.match import Match
from referee.record import Header, Secret, Void, write_line


def call_off_match(header: Header, seed: bytes, finished: str) -> ClosedMatch:
    """Return the match of a header as called off before any move, at the time `finished`. Raise `BotFault` if the game
    is unknown.
    """
    match = Match(header, seed, [Player(bot=seat.bot, version=seat.version) for seat in header.seats])
    effects = [*match.start_match(0.0), *match.receive(Abort(), 0.0)]
    lines = [
        effect.line
        for effect in effects
        if isinstance(effect, WriteLine) and not isinstance(effect.line, Secret | Void)
    ]
    result = match.result(finished)
    return ClosedMatch(result, tuple(map(write_line, lines)), match.footer(result, None))

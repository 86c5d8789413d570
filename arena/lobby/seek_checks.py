"""Checks of a seek's fields: which matches a bot may ask for."""

from __future__ import annotations

from typing import Any

from protocol import error_codes
from protocol.display import list_choices, short_repr
from protocol.errors import BadConfig, BotFault, MalformedMessage
from protocol.games import check_offered, game_class, shared_game
from protocol.games.base import Game
from protocol.messages import Seek
from protocol.names import fold_name


class SeekNotAllowed(BotFault):
    """Raised if a seek asks for a match that is not allowed."""

    code = error_codes.NOT_ALLOWED


def opponents_of(seek: Seek) -> list[str]:
    """Return the folded names of the opponents that a seek names."""
    names = seek.opponents if seek.opponent is None else [seek.opponent, *seek.opponents]
    return list(map(fold_name, names))


def rules_of(bot: str, seek: Seek) -> Game[Any, Any] | None:
    """Check a seek, and return the rules of its game and config; None for an open seek. Raise a `BotFault` if the seek
    is refused. `bot` is the folded name of its bot.
    """
    check_offered(seek.game)
    if seek.open:
        _check_open(seek)
        return None
    if seek.presets:
        raise SeekNotAllowed("seek: presets belong to an open seek: write the preset into the config")
    if seek.opponent is not None and seek.opponents:
        raise MalformedMessage("seek: opponent and opponents exclude each other: name all of them in opponents")
    game = shared_game(seek.game, seek.config)
    game.check_cost()
    opponents = opponents_of(seek)
    if seek.private and opponents:
        raise SeekNotAllowed(
            "seek: a private seek names no opponents, but waits to be named: leave out private or the names"
        )
    if seek.private and game.seats != 2:
        raise SeekNotAllowed(f"seek: a private seek is for a match of 2 seats: this one has {game.seats}")
    if bot in opponents:
        raise SeekNotAllowed("seek: a bot does not play itself: name another opponent")
    if len(set(opponents)) < len(opponents):
        raise SeekNotAllowed("seek: opponents names a bot twice: each has one seat")
    if len(opponents) >= game.seats:
        raise SeekNotAllowed(
            f"seek: {len(opponents)} opponents are named: this match has {game.seats} seats, with yours"
        )
    return game


def _check_open(seek: Seek) -> None:
    known = game_class(seek.game).presets
    for preset in seek.presets:
        if preset not in known:
            raise BadConfig(f"seek: {seek.game} has no preset {short_repr(preset)}: {list_choices(known)}")
    if seek.config:
        raise BadConfig("seek: an open seek has no config: it takes the config of the seek that it answers")
    if opponents_of(seek):
        raise SeekNotAllowed("seek: an open seek names no opponents: leave out opponent and opponents, or open")
    if seek.private:
        raise SeekNotAllowed("seek: open and private exclude each other: an open seek accepts any opponent")

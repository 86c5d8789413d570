"""What each message of a client does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arena.host.lobby import Lobby
from arena.host.session import Action, Session
from arena.server.matchmaking import named
from arena.server.playban import paused
from protocol import error_codes
from protocol.errors import BadConfig, BotFault, MalformedMessage
from protocol.games import game_class, load
from protocol.games.base import Game
from protocol.messages import (
    ClientMessage,
    Hello,
    List,
    Move,
    Ready,
    Rejected,
    Resign,
    Seek,
    Unseek,
    Unseeked,
    Unwatch,
    Watch,
)
from protocol.names import folded
from referee.effects import Played, Readied, Resigned

EVERY_MATCH = "*"
RESIGNING = 0.0013
"""Seconds that a match takes the arena from seek to store, beside its plies; who resigns has made it for that."""


class NotAllowed(BotFault):
    """Something that this client may not do."""

    code = error_codes.NOT_ALLOWED


class NoSlots(BotFault):
    """More seeks and matches than the connection has slots."""

    code = error_codes.NO_SLOTS


class Unavailable(BotFault):
    """Something that is not there now."""

    code = error_codes.UNAVAILABLE


def everything(lobby: Lobby) -> Action:
    """What messages do where clients may ask for everything there is: they raise `BotFault` for what they may not."""

    def act(session: Session, message: ClientMessage) -> None:
        _ACTIONS[type(message)](lobby, session, message)

    return act


def _second_hello(lobby: Lobby, session: Session, message: Hello) -> None:
    """Refuse a `hello` that is not the first message."""
    raise MalformedMessage("hello: it is said once, as the first message of a connection")


def _seek(lobby: Lobby, session: Session, message: Seek) -> None:
    """Put a seek in force."""
    bot = _player(session)
    if lobby.seeks.holds(bot, message.id):
        raise MalformedMessage(f"seek: id {message.id!r} is in force already: choose another")
    if lobby.free_slots(bot) <= 0:  # before the config is read: a large map takes a few milliseconds
        raise NoSlots(f"seek: all {session.slots} slots of this connection hold a seek or a match")
    pause = lobby.pause(session)
    if pause > 0:
        raise Unavailable(paused(pause))
    if message.open:
        _check_open(message)
    lobby.seek(session, message, None if message.open else _rules(bot, message))


def _check_open(message: Seek) -> None:
    """Refuse an open seek that asks for more than a game."""
    game_class(message.game)
    if message.config:
        raise BadConfig("seek: an open seek has no config: it takes that of whoever wants to play")
    if named(message):
        raise NotAllowed("seek: an open seek names nobody: leave opponent and opponents out, or open")


def _rules(bot: str, message: Seek) -> Game[Any, Any]:
    """The rules that a seek asks for."""
    if message.opponent is not None and message.opponents:
        raise MalformedMessage("seek: opponent and opponents don't go together: name all of them in opponents")
    game = load(message.game, message.config)
    game.check_cost()
    opponents = [folded(name) for name in named(message)]
    if bot in opponents:
        raise NotAllowed("seek: a bot does not play itself: name another opponent")
    if len(set(opponents)) < len(opponents):
        raise NotAllowed("seek: opponents names a bot twice: each has one seat")
    if len(opponents) >= game.seats:
        raise NotAllowed(f"seek: {len(opponents)} opponents are named: this match has {game.seats} seats, with yours")
    return game


def _unseek(lobby: Lobby, session: Session, message: Unseek) -> None:
    """Take a seek back; a `start` that was sent before stands."""
    if session.bot is not None:
        lobby.seeks.withdraw(session.key, message.id)
    session.send(Unseeked(id=message.id))


def _ready(lobby: Lobby, session: Session, message: Ready) -> None:
    """A seat is ready; for a match that is over by now that means nothing."""
    place = lobby.seat(session, message.match) if session.bot is not None else None
    if place is None:
        if session.told_end_of(message.match):
            return
        if lobby.runner(message.match) is not None:
            raise Unavailable(f"ready: you have no seat in {message.match!r}: the start of who watches needs no answer")
        _player(session)
        raise Unavailable(f"ready: you are in no match {message.match!r}: it is over, or was never yours")
    runner, seat = place
    lobby.ready(session.key)
    runner.receive(Readied(seat, bytes.fromhex(message.nonce or "")))


def _move(lobby: Lobby, session: Session, message: Move) -> None:
    """A seat moves."""
    _player(session)
    place = lobby.seat(session, message.match)
    if place is None:
        text = f"you are in no match {message.match!r}: it is over, or was never yours"
        session.send(Rejected(match=message.match, ply=message.ply, code=error_codes.NO_SUCH_MATCH, message=text))
        return
    runner, seat = place
    runner.receive(Played(seat, message.ply, message.move, message.info, session.round_trip, session.waited))


def _resign(lobby: Lobby, session: Session, message: Resign) -> None:
    """A seat gives up; of a match that is over, nothing is left to resign."""
    _player(session)
    place = lobby.seat(session, message.match)
    if place is not None:
        runner, seat = place
        session.charge(RESIGNING)
        runner.receive(Resigned(seat))


def _watch(lobby: Lobby, session: Session, message: Watch) -> None:
    """Follow one match, or hear of all."""
    if message.match == EVERY_MATCH:
        lobby.subscribe(session)
        return
    runner = lobby.runner(message.match)
    if runner is None:
        raise Unavailable(f"watch: no match {message.match!r} is under way")
    runner.watch(session)


def _unwatch(lobby: Lobby, session: Session, message: Unwatch) -> None:
    """Stop following."""
    if message.match == EVERY_MATCH:
        lobby.unsubscribe(session)
        return
    runner = lobby.runner(message.match)
    if runner is not None:
        runner.unwatch(session)


def _list(lobby: Lobby, session: Session, message: List) -> None:
    """Tell who is here and what is played."""
    session.show(lobby.listing())


def _player(session: Session) -> str:
    """The folded name of a session's bot."""
    if session.bot is None:
        raise NotAllowed("a watcher may only watch: say hello with a bot's name to play")
    return session.key


_ACTIONS: dict[type[ClientMessage], Callable[[Lobby, Session, Any], None]] = {
    Hello: _second_hello,
    Seek: _seek,
    Unseek: _unseek,
    Ready: _ready,
    Move: _move,
    Resign: _resign,
    Watch: _watch,
    Unwatch: _unwatch,
    List: _list,
}

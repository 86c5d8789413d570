"""Who is connected and who plays where; and what each message of a client does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arena.referee.effects import Delayed, Played, Readied, Resigned
from arena.server.runner import Runner
from arena.server.seeking import Begin, RatingOf, Seeks
from arena.server.session import Action, Session
from protocol import error_codes
from protocol.close_codes import SUPERSEDED
from protocol.errors import BotFault, MalformedMessage
from protocol.games import load
from protocol.messages import (
    ClientMessage,
    Hello,
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

EVERY_MATCH = "*"


class NotAllowed(BotFault):
    """Something that this client may not do."""

    code = error_codes.NOT_ALLOWED


class NoSlots(BotFault):
    """More seeks and matches than the connection has slots."""

    code = error_codes.NO_SLOTS


class Unavailable(BotFault):
    """Something that is not there now."""

    code = error_codes.UNAVAILABLE


class Lobby:
    """The arena's memory of the present. `begin` starts a match of paired seeks; `rating_of(bot, game)`: mu, sigma."""

    def __init__(self, begin: Begin, rating_of: RatingOf) -> None:
        self._sessions: dict[str, Session] = {}
        self._runners: dict[str, Runner] = {}
        self._news: set[Session] = set()
        """Watchers of every match."""
        self._playing: dict[str, dict[str, int]] = {}
        self._seeks = Seeks(begin, rating_of, lambda: len(self._sessions))
        self._known: set[str] = set()

    def enter(self, session: Session) -> list[str]:
        """A bot comes in; an older connection of it is closed. Its matches under way, to be told by `resume`."""
        assert session.bot is not None
        older = self._sessions.get(session.key)
        if older is not None:
            self.leave(older)
            older.close(SUPERSEDED, "superseded by a newer connection of the same bot")
        self._sessions[session.key] = session
        self._known.add(session.key)
        return list(self._playing.get(session.key, ()))

    def resume(self, session: Session) -> None:
        """Give a bot that came in its seats back."""
        for match, seat in list(self._playing.get(session.key, {}).items()):
            self._runners[match].come_back(seat, session, follow=session.follow)

    def leave(self, session: Session) -> None:
        """A connection is gone: its seeks die with it, its matches go on."""
        for runner in list(self._runners.values()):
            runner.unwatch(session)
            runner.unsubscribe(session)
        self._news.discard(session)
        if session.bot is None or self._sessions.get(session.key) is not session:
            return
        del self._sessions[session.key]
        self._seeks.leave(session.key)
        for match, seat in list(self._playing.get(session.key, {}).items()):
            self._runners[match].lose(seat, session)

    def add(self, runner: Runner) -> None:
        """A match is about to begin, or goes on after a restart: seat the bots that are here."""
        self._runners[runner.id] = runner
        for seat, bot in enumerate(runner.bots):
            self._playing.setdefault(folded(bot), {})[runner.id] = seat
            session = self._sessions.get(folded(bot))
            if session is not None:
                runner.sit(seat, session, follow=session.follow)
        for session in self._news:
            runner.subscribe(session)

    def remove(self, runner: Runner) -> None:
        """A match is over and told."""
        del self._runners[runner.id]
        for seat in range(len(runner.bots)):
            self.release(runner, seat)

    def release(self, runner: Runner, seat: int) -> None:
        """A seat plays no more in this match, which may go on: its bot has the slot back."""
        bot = folded(runner.bots[seat])
        playing = self._playing.get(bot, {})
        playing.pop(runner.id, None)
        if not playing:
            self._playing.pop(bot, None)

    def delayed(self, by: float) -> None:
        """The arena was late by so many seconds: no match counts them."""
        for runner in list(self._runners.values()):
            runner.receive(Delayed(by))

    def close(self) -> None:
        """Pair no more, and leave the matches under way to their journals."""
        self._seeks.close()
        for runner in self._runners.values():
            runner.stop()

    def here(self, bot: str) -> bool:
        """Whether a bot is connected."""
        return folded(bot) in self._sessions

    def known(self, bot: str) -> bool:
        """Whether a bot was ever here."""
        return folded(bot) in self._known

    def version(self, bot: str) -> str:
        """What a bot that is here announced as its version."""
        return self._sessions[folded(bot)].version

    def free_slots(self, bot: str) -> int:
        """How many more matches a bot takes now; 0 while it is away."""
        name = folded(bot)
        session = self._sessions.get(name)
        if session is None:
            return 0
        return session.slots - self._seeks.count(name) - len(self._playing.get(name, ()))

    def forfeit(self, bot: str) -> None:
        """A bot is gone for good: its matches under way are lost at once."""
        for match, seat in list(self._playing.get(folded(bot), {}).items()):
            self._runners[match].forfeit(seat)

    def act(self, session: Session, message: ClientMessage) -> None:
        """Do what a client's message says. Raises `BotFault` for what it may not do."""
        _ACTIONS[type(message)](self, session, message)

    def seek(self, session: Session, message: Seek) -> None:
        """Put a seek in force."""
        bot = _player(session)
        if self._seeks.holds(bot, message.id):
            raise MalformedMessage(f"seek: id {message.id!r} is in force already: choose another")
        if self.free_slots(bot) <= 0:  # before the config is read: a large map takes a few milliseconds
            raise NoSlots(f"seek: all {session.slots} slots of this connection hold a seek or a match")
        game = load(message.game, message.config)
        if message.opponent is not None and folded(message.opponent) == bot:
            raise NotAllowed("seek: a bot does not play itself: name another opponent")
        if message.opponent is not None and game.seats > 2:
            raise NotAllowed(f"seek: an opponent is named where two play: this match has {game.seats} seats")
        self._seeks.add(session, message, game)

    def unseek(self, session: Session, message: Unseek) -> None:
        """Take a seek back; a `start` that was sent before stands."""
        self._seeks.withdraw(_player(session), message.id)
        session.send(Unseeked(id=message.id))

    def ready(self, session: Session, message: Ready) -> None:
        """A seat is ready."""
        seat = self._seat(session, message.match)
        if seat is None:
            raise Unavailable(f"ready: you are in no match {message.match!r}: it is over, or was never yours")
        self._runners[message.match].receive(Readied(seat, bytes.fromhex(message.nonce or "")))

    def move(self, session: Session, message: Move) -> None:
        """A seat moves."""
        playing = self._playing.get(_player(session))
        seat = None if playing is None else playing.get(message.match)
        if seat is None:
            text = f"you are in no match {message.match!r}: it is over, or was never yours"
            session.send(Rejected(match=message.match, ply=message.ply, code=error_codes.NO_SUCH_MATCH, message=text))
            return
        event = Played(seat, message.ply, message.move, message.info, session.round_trip)
        self._runners[message.match].receive(event)

    def resign(self, session: Session, message: Resign) -> None:
        """A seat gives up; of a match that is over, nothing is left to resign."""
        seat = self._seat(session, message.match)
        if seat is not None:
            self._runners[message.match].receive(Resigned(seat))

    def watch(self, session: Session, message: Watch) -> None:
        """Follow one match, or hear of all."""
        if message.match == EVERY_MATCH:
            self._news.add(session)
            for runner in self._runners.values():
                runner.subscribe(session)
            return
        if message.match not in self._runners:
            raise Unavailable(f"watch: no match {message.match!r} is under way")
        self._runners[message.match].watch(session)

    def unwatch(self, session: Session, message: Unwatch) -> None:
        """Stop following."""
        if message.match == EVERY_MATCH:
            self._news.discard(session)
            for runner in self._runners.values():
                runner.unsubscribe(session)
        elif message.match in self._runners:
            self._runners[message.match].unwatch(session)

    def second_hello(self, session: Session, message: Hello) -> None:
        """Refuse a `hello` that is not the first message."""
        raise MalformedMessage("hello: it is said once, as the first message of a connection")

    def _seat(self, session: Session, match: str) -> int | None:
        return self._playing.get(_player(session), {}).get(match)


def everything(lobby: Lobby) -> Action:
    """What messages do where clients may ask for everything there is."""
    return lobby.act


def _player(session: Session) -> str:
    """The folded name of a session's bot."""
    if session.bot is None:
        raise NotAllowed("a watcher may only watch: say hello with a bot's name to play")
    return session.key


_ACTIONS: dict[type[ClientMessage], Callable[[Lobby, Session, Any], None]] = {
    Hello: Lobby.second_hello,
    Seek: Lobby.seek,
    Unseek: Lobby.unseek,
    Ready: Lobby.ready,
    Move: Lobby.move,
    Resign: Lobby.resign,
    Watch: Lobby.watch,
    Unwatch: Lobby.unwatch,
}

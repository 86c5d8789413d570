"""Who is connected, who seeks a match, who plays where; and what each message of a client does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from arena.ratings import pairing
from arena.referee.effects import Played, Readied, Resigned
from arena.server.runner import Runner
from arena.server.session import SUPERSEDED, Session
from protocol.digest import canonical
from protocol.errors import BotFault, MalformedMessage
from protocol.games import load
from protocol.games.base import Game
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

EVERY_MATCH = "*"
GATHER = 0.02
"""How long the first new seek waits for company, in seconds; after that seeks are looked at every second."""
LOOK_AGAIN = 1.0

log = logging.getLogger("arena.server.lobby")


class NotAllowed(BotFault):
    """Something that this client may not do."""

    code = "not_allowed"


class NoSlots(BotFault):
    """More seeks and matches than the connection has slots."""

    code = "no_slots"


class Unavailable(BotFault):
    """Something that is not there now."""

    code = "unavailable"


@dataclass(frozen=True, eq=False, slots=True)
class Sought:
    """A seek in force. `kind` is what both sides must agree on: game, config, rated."""

    session: Session
    bot: str
    id: str
    game: Game[Any, Any]
    rated: bool
    opponent: str | None
    since: float
    kind: tuple[str, bytes, bool]

    @property
    def place(self) -> tuple[str, str]:
        """Whose seek, and which of them."""
        return self.bot.lower(), self.id

    def accepts(self, other: Sought) -> bool:
        """Whether this seek may be paired with a bot's."""
        return self.opponent is None or self.opponent.lower() == other.bot.lower()

    def fits(self, other: Sought) -> bool:
        """Whether the two may be paired."""
        two = self.bot.lower() != other.bot.lower()
        return two and self.kind == other.kind and self.accepts(other) and other.accepts(self)


Begin = Callable[[Sequence[Sought]], None]
RatingOf = Callable[[str, str], tuple[float, float]]


class Lobby:
    """The arena's memory of the present. `begin` starts a match of paired seeks; `rating_of(bot, game)`: mu, sigma."""

    def __init__(self, begin: Begin, rating_of: RatingOf) -> None:
        self.sessions: dict[str, Session] = {}
        self.runners: dict[str, Runner] = {}
        self.news: set[Session] = set()
        """Watchers of every match."""
        self._begin = begin
        self._rating_of = rating_of
        self._playing: dict[str, dict[str, int]] = {}
        self._seeks: dict[tuple[str, str], Sought] = {}
        self._look: asyncio.Handle | None = None
        self._look_at = 0.0
        self._known: set[str] = set()
        self._loop = asyncio.get_running_loop()

    def enter(self, session: Session) -> list[str]:
        """A bot comes in; an older connection of it is closed. Its matches under way, to be told by `resume`."""
        assert session.bot is not None
        older = self.sessions.get(session.bot.lower())
        if older is not None:
            self.leave(older)
            older.close(SUPERSEDED, "superseded by a newer connection of the same bot")
        self.sessions[session.bot.lower()] = session
        self._known.add(session.bot.lower())
        return list(self._playing.get(session.bot.lower(), ()))

    def resume(self, session: Session) -> None:
        """Give a bot that came in its seats back."""
        assert session.bot is not None
        for match, seat in list(self._playing.get(session.bot.lower(), {}).items()):
            self.runners[match].come_back(seat, session, follow=session.follow)

    def leave(self, session: Session) -> None:
        """A connection is gone: its seeks die with it, its matches go on."""
        for runner in list(self.runners.values()):
            runner.unwatch(session)
        self.news.discard(session)
        if session.bot is None or self.sessions.get(session.bot.lower()) is not session:
            return
        name = session.bot.lower()
        del self.sessions[name]
        for key in [key for key in self._seeks if key[0] == name]:
            del self._seeks[key]
        for match, seat in list(self._playing.get(name, {}).items()):
            self.runners[match].lose(seat, session)

    def add(self, runner: Runner) -> None:
        """A match is about to begin, or goes on after a restart: seat the bots that are here."""
        match = runner.match
        self.runners[match.id] = runner
        for seat, player in enumerate(match.players):
            self._playing.setdefault(player.bot.lower(), {})[match.id] = seat
            session = self.sessions.get(player.bot.lower())
            if session is not None:
                runner.sit(seat, session, follow=session.follow)
        for session in self.news:
            runner.watchers[session] = False

    def remove(self, runner: Runner) -> None:
        """A match is over and told."""
        del self.runners[runner.match.id]
        for seat in range(len(runner.match.players)):
            self.release(runner, seat)

    def release(self, runner: Runner, seat: int) -> None:
        """A seat plays no more in this match, which may go on: its bot has the slot back."""
        bot = runner.match.players[seat].bot.lower()
        playing = self._playing.get(bot, {})
        playing.pop(runner.match.id, None)
        if not playing:
            self._playing.pop(bot, None)

    def free_slots(self, bot: str) -> int:
        """How many more matches a bot takes now; 0 while it is away."""
        name = bot.lower()
        session = self.sessions.get(name)
        if session is None:
            return 0
        seeking = sum(1 for key in self._seeks if key[0] == name)
        return session.slots - seeking - len(self._playing.get(name, ()))

    def close(self) -> None:
        """Pair no more."""
        if self._look is not None:
            self._look.cancel()

    def known(self, bot: str) -> bool:
        """Whether a bot was ever here."""
        return bot.lower() in self._known

    def forfeit(self, bot: str) -> None:
        """A bot is gone for good: its matches under way are lost at once."""
        for match, seat in list(self._playing.get(bot.lower(), {}).items()):
            self.runners[match].forfeit(seat)

    def act(self, session: Session, message: ClientMessage) -> None:
        """Do what a client's message says. Raises `BotFault` for what it may not do."""
        _ACTIONS[type(message)](self, session, message)

    def seek(self, session: Session, message: Seek) -> None:
        """Put a seek in force."""
        bot = _name(session)
        if (bot.lower(), message.id) in self._seeks:
            raise MalformedMessage(f"seek: id {message.id!r} is in force already: choose another")
        if self.free_slots(bot) <= 0:  # before the config is read: a large map takes a few milliseconds
            raise NoSlots(f"seek: all {session.slots} slots of this connection hold a seek or a match")
        game = load(message.game, message.config)
        if message.opponent is not None and message.opponent.lower() == bot.lower():
            raise NotAllowed("seek: a bot does not play itself: name another opponent")
        if message.opponent is not None and game.seats > 2:
            raise NotAllowed(f"seek: an opponent is named where two play: this match has {game.seats} seats")
        rated = message.rated and message.opponent is None and game.preset is not None
        kind = (game.name, canonical(game.config), rated)
        sought = Sought(session, bot, message.id, game, rated, message.opponent, self._loop.time(), kind)
        self._seeks[sought.place] = sought
        self._look_in(GATHER)

    def unseek(self, session: Session, message: Unseek) -> None:
        """Take a seek back; a `start` that was sent before stands."""
        self._seeks.pop((_name(session).lower(), message.id), None)
        session.send(Unseeked(id=message.id))

    def ready(self, session: Session, message: Ready) -> None:
        """A seat is ready."""
        seat = self._seat(session, message.match)
        if seat is None:
            raise Unavailable(f"ready: you are in no match {message.match!r}: it is over, or was never yours")
        self.runners[message.match].receive(Readied(seat, bytes.fromhex(message.nonce or "")))

    def move(self, session: Session, message: Move) -> None:
        """A seat moves."""
        playing = self._playing.get(_name(session).lower())
        seat = None if playing is None else playing.get(message.match)
        if seat is None:
            text = f"you are in no match {message.match!r}: it is over, or was never yours"
            session.send(Rejected(match=message.match, ply=message.ply, code="no_such_match", message=text))
            return
        event = Played(seat, message.ply, message.move, message.info, session.wire.round_trip)
        self.runners[message.match].receive(event)

    def resign(self, session: Session, message: Resign) -> None:
        """A seat gives up; of a match that is over, nothing is left to resign."""
        seat = self._seat(session, message.match)
        if seat is not None:
            self.runners[message.match].receive(Resigned(seat))

    def watch(self, session: Session, message: Watch) -> None:
        """Follow one match, or hear of all."""
        if message.match == EVERY_MATCH:
            self.news.add(session)
            for runner in self.runners.values():
                runner.watchers.setdefault(session, False)
            return
        if message.match not in self.runners:
            raise Unavailable(f"watch: no match {message.match!r} is under way")
        self.runners[message.match].watch(session)

    def unwatch(self, session: Session, message: Unwatch) -> None:
        """Stop following."""
        if message.match == EVERY_MATCH:
            self.news.discard(session)
            for runner in self.runners.values():
                if not runner.watchers.get(session):
                    runner.unwatch(session)
        elif message.match in self.runners:
            runner = self.runners[message.match]
            runner.unwatch(session)
            if session in self.news:
                runner.watchers[session] = False

    def second_hello(self, session: Session, message: Hello) -> None:
        """Refuse a `hello` that is not the first message."""
        raise MalformedMessage("hello: it is said once, as the first message of a connection")

    def _seat(self, session: Session, match: str) -> int | None:
        return self._playing.get(_name(session).lower(), {}).get(match)

    def _look_in(self, seconds: float) -> None:
        at = self._loop.time() + seconds
        if self._look is not None:
            if self._look_at <= at:
                return
            self._look.cancel()
        self._look_at = at
        self._look = self._loop.call_at(at, self._pair)

    def _pair(self) -> None:
        """Begin every match that the seeks in force allow now: those that name an opponent first."""
        self._look = None
        for find in (self._named_pairs, self._open_groups):
            for group in find():
                for sought in group:
                    del self._seeks[sought.place]
                self._begin(group)
        if self._seeks:
            self._look_in(LOOK_AGAIN)

    def _named_pairs(self) -> list[tuple[Sought, Sought]]:
        pairs: dict[Sought, Sought] = {}
        for sought in self._seeks.values():
            if sought.opponent is not None and sought not in pairs:
                others = (other for other in self._seeks.values() if other not in pairs)
                other = next((other for other in others if sought.fits(other)), None)
                if other is not None:
                    pairs |= {sought: other, other: sought}
        return [(a, b) for a, b in pairs.items() if a.place < b.place]

    def _open_groups(self) -> list[tuple[Sought, ...]]:
        seekers = []
        for sought in self._seeks.values():
            if sought.opponent is None:
                mu, sigma = self._rating_of(sought.bot, sought.game.name)
                waits = sought.game.seats < len(self.sessions)  # all there are have nobody better to wait for
                patience = pairing.PATIENCE if waits else 0.0
                bot, seats = sought.bot.lower(), sought.game.seats
                seekers.append(
                    pairing.Seeker(bot, mu, sigma, sought.since, sought, sought.kind, seats=seats, patience=patience)
                )
        return [tuple(seeker.key for seeker in group) for group in pairing.ladder_groups(seekers, self._loop.time())]


def _name(session: Session) -> str:
    if session.bot is None:
        raise NotAllowed("a watcher may only watch: say hello with a bot's name to play")
    return session.bot


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

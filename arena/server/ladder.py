"""The ladder of a host: checking seeks, pairing them, and reserving slots for assigned matches."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import ceil
from typing import Any

from arena.host.actions import require_bot
from arena.host.handler import NotAllowed, OnAnotherNode, Unavailable
from arena.host.host import MatchHost
from arena.host.runner import MatchRunner
from arena.host.session import ClientSession
from arena.server.bot_cache import BotCache
from arena.server.drain import Drain
from arena.server.matchmaking import Begin, Matchmaker, MatchRate, named_opponents
from arena.server.nodes import SingleNode
from arena.server.playban import Playbans, pause_message
from arena.server.seek_index import ActiveSeek
from machine.histogram import Histogram
from protocol import error_codes
from protocol.display import list_choices, short_repr
from protocol.errors import BadConfig, BotFault, MalformedMessage
from protocol.games import game_class, load_game
from protocol.games.base import Game
from protocol.messages import ClientMessage, Error, ListedSeek, Seek, Unseek, Unseeked
from protocol.names import fold_name

OPEN_SLOT_DIVISOR = 4
"""Number by which the slots of a bot with open seeks are divided. The quotient, but at least 1, is the maximum number
of matches that one opponent may play with the bot at the same time. So a bot with enough slots can play this many
opponents at once.
"""
MAX_LISTED_SEEKS, NAMING_SEEK_WEIGHT = 24, 3
"""`MAX_LISTED_SEEKS` is the maximum number of seeks of one bot in a listing: enough for an open seek in each of many
games. A seek that names opponents is long, and counts as `NAMING_SEEK_WEIGHT` seeks.
"""
WAIT_BUCKETS_S = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
"""The upper bounds, in seconds, of the buckets in the histogram of waits from seek to match."""


class NoSlots(BotFault):
    """Raised if the seeks and matches of a connection already use all its slots."""

    code = error_codes.NO_SLOTS


class Ladder:
    """The seeks of connected bots. `begin` starts a match of paired seeks, unless the host has a fault or drains."""

    def __init__(
        self, host: MatchHost, begin: Begin, bots: BotCache, rate: MatchRate, drain: Drain, nodes: SingleNode
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._clients = host.clients
        self._events = host.events
        self._quotas = host.quotas
        self._nodes = nodes
        self._unknown = bots.unknown
        self._playbans = Playbans(self._loop.time, self._clients.is_online)
        self._reserved: Counter[str] = Counter()
        """The number of slots that are reserved for assigned matches, by folded bot name."""
        self.seeking: Counter[tuple[str, bool]] = Counter()
        """The number of active seeks, by game and whether they are open. The two kinds count separately, because two
        open seeks never pair.
        """
        self.waits = Histogram(WAIT_BUCKETS_S)
        """The histogram of the seconds from seek to match."""
        self.seeks = Matchmaker(
            begin,
            bots,
            is_playing=lambda bot: bool(host.clients.matches_of(bot)),
            is_paused=lambda: host.health.reason is not None or drain.is_draining or nodes.is_draining,
            capacity=self._capacity,
            is_at_open_limit=self._is_at_open_limit,
            rate=rate,
            on_seek_changed=self._on_seek_changed,
        )
        """The matchmaker with the active seeks."""

    def handle(self, session: ClientSession, message: ClientMessage) -> None:
        """Handle a `seek` or `unseek` message. Raise a `BotFault` if it is refused."""
        if isinstance(message, Seek):
            self._seek(session, message)
        elif isinstance(message, Unseek):  # a `start` sent before stays valid
            if session.bot is not None:
                self.seeks.withdraw(session.key, message.id)
            session.send(Unseeked(id=message.id))

    def on_connected(self, session: ClientSession) -> None:
        self._unknown.mark_known(session.key)

    def on_seated(self, session: ClientSession) -> None:
        self._playbans.on_seated(session.key, session.connection.address)

    def on_seat_ready(self, session: ClientSession) -> None:
        if self._playbans.on_ready(session.key):
            self.seeks.reschedule()

    def on_seat_released(self, runner: MatchRunner, seat: int) -> None:
        """Handle that a match has released a seat. Its bot played or missed the match, and has a free slot again."""
        bot = fold_name(runner.bots[seat])
        if runner.is_absent(seat):
            self._on_missed(bot, runner.id)
        elif runner.has_stayed(seat):
            self._playbans.on_played(bot)
        if self._playbans.on_released(bot):
            self.seeks.reschedule()

    def redirect_seeks(self) -> None:
        """End the seeks for games that another node pairs now, and send their bots the URL of that node."""
        moved = {game: self._nodes.url_of_other_owner(game) for game, _ in +self.seeking}
        for session in list(self._clients.sessions.values()):
            for seek in list(self.seeks.seeks_of(session.key)):
                url = moved[seek.spec.game]
                if url is not None:
                    self.seeks.withdraw(session.key, seek.id)
                    fault = OnAnotherNode(f"this seek has ended: {seek.spec.game} is now played on another node", url)
                    session.send(Error(code=fault.code, message=str(fault), ref=seek.id, url=url))

    def list_seeks(self, bot: str) -> tuple[list[ListedSeek], int]:
        """Return a bot's seeks without duplicates, and for how many seconds the rate limit delays its matches."""
        alike = dict.fromkeys(
            (
                seek.spec.game,
                seek.spec.preset,
                seek.spec.rated,
                seek.spec.open,
                seek.presets,
                seek.private,
                seek.opponents,
            )
            for seek in self.seeks.seeks_of(bot)
        )
        seeks = [
            ListedSeek(
                game=game,
                preset=preset,
                rated=rated,
                open=is_open,
                presets=sorted(presets),
                private=private,
                opponents=sorted(opponents),
                unknown=self._unknown.filter_unknown(opponents),
            )
            for (game, preset, rated, is_open, presets, private, opponents), weight in zip(
                alike, accumulate(NAMING_SEEK_WEIGHT if seek[-1] else 1 for seek in alike), strict=True
            )
            if weight <= MAX_LISTED_SEEKS
        ]
        return seeks, ceil(self.seeks.rate_delay_s(bot))

    def on_match_started(self, group: Sequence[ActiveSeek]) -> None:
        """Record how long these seeks waited until their match started."""
        now = self._loop.time()
        for seek in group:
            self.waits.observe(now - seek.since)

    def free_slots(self, bot: str) -> int:
        """Return the number of a bot's slots without a match or a seek; 0 or less while the bot is disconnected."""
        return self._clients.free_slots_of(bot) - len(self.seeks.seeks_of(fold_name(bot)))

    @contextmanager
    def reserving(self, bots: Sequence[str]) -> Iterator[None]:
        """Reserve a slot of each bot inside the context, so that no match from the bot's own seeks takes it."""
        names = list(map(fold_name, bots))
        self._reserved.update(names)
        try:
            yield
        finally:
            self._reserved.subtract(names)
            self._reserved = +self._reserved
            self.seeks.reschedule()

    def ensure_free_slot(self, bot: str) -> None:
        """Ensure that a bot has a free slot for an assigned match, by ending its newest seek if necessary."""
        name = fold_name(bot)
        if self.free_slots(name) > 0:
            return
        for seek in list(self.seeks.seeks_of(name))[-1:]:
            self.seeks.withdraw(name, seek.id)
            text = "this seek has ended, because the bot was assigned to a tournament match: seek again"
            seek.session.send(Error(code=error_codes.UNAVAILABLE, message=text, ref=seek.id))

    def _seek(self, session: ClientSession, message: Seek) -> None:
        """Check a seek and make it active."""
        bot = require_bot(session)
        if self.seeks.has_seek(bot, message.id):
            raise MalformedMessage(f"seek: id {message.id!r} is in force already: choose another")
        if self.free_slots(bot) <= 0:  # before the config is parsed, which takes a few milliseconds for a large map
            raise NoSlots(f"seek: all {session.slots} slots of this connection hold a seek or a match")
        url = self._nodes.url_of_other_owner(message.game)
        if url is not None:
            raise OnAnotherNode(f"seek: {message.game} is played on another node", url)
        refusal = self._quotas.refusal_reason(session.connection.address)
        if refusal is not None:
            raise Unavailable(f"seek: {refusal}")
        pause = self._playbans.pause_s(session.key, session.connection.address)
        if pause > 0:
            raise Unavailable(pause_message(pause))
        if message.open:
            _check_open(message)
        elif message.presets:
            raise NotAllowed("seek: presets belong to an open seek: write the preset into the config")
        self.seeks.add(session, message, None if message.open else _rules(bot, message))
        self._unknown.look_up(
            name for name in map(fold_name, named_opponents(message)) if not self._clients.is_online(name)
        )

    def _on_missed(self, bot: str, match: str) -> None:
        """Withdraw the seeks of a bot that missed its match, and suspend the bot for a while."""
        seconds = self._playbans.on_missed(bot)
        self._events.note_missed_match(bot, match, seconds)
        for seek in self.seeks.withdraw_all(bot):
            seek.session.send(Error(code=error_codes.UNAVAILABLE, message=pause_message(seconds), ref=seek.id))
        self._loop.call_later(seconds, self.seeks.reschedule)

    def _capacity(self, bot: str) -> int:
        """Return the maximum number of matches that a bot's seeks may start now, given its slots and limits."""
        session = self._clients.session_of(bot)  # it may have disconnected during the pairing round
        if session is None or not self._playbans.may_start(bot, session.connection.address):
            return 0
        if not self._quotas.can_start_match(session.connection.address):
            return 0
        if self._reserved[bot] and self._clients.free_slots_of(bot) <= self._reserved[bot]:
            return 0
        return session.slots if self._playbans.is_trusted(bot) else 1

    def _on_seek_changed(self, seek: ActiveSeek, back: bool) -> None:
        """Update the counts of seeks and their charged memory. The seek became active, or ended if `back` is true."""
        self.seeking[seek.spec.game, seek.spec.open] += -1 if back else 1
        own = 0 if seek.spec.pool is not None else len(seek.spec.packed)
        self._quotas.charge_seek(seek.session.connection.address, own, refund=back)

    def _is_at_open_limit(self, bot: str, other: str) -> bool:
        """Return whether `bot` already plays too many matches with `other` to take more open seeks of
        `other` (see `OPEN_SLOT_DIVISOR`).
        """
        session = self._clients.session_of(other)
        together = self._clients.matches_of(bot).keys() & self._clients.matches_of(other).keys()
        return session is not None and len(together) >= max(1, session.slots // OPEN_SLOT_DIVISOR)


def _check_open(message: Seek) -> None:
    """Raise a `BotFault` if an open seek has an unknown preset, or has a config, opponents or `private`."""
    known = game_class(message.game).presets
    for preset in message.presets:
        if preset not in known:
            raise BadConfig(f"seek: {message.game} has no preset {short_repr(preset)}: {list_choices(known)}")
    if message.config:
        raise BadConfig("seek: an open seek has no config: it takes the config of the seek that it answers")
    if named_opponents(message):
        raise NotAllowed("seek: an open seek names no opponents: leave out opponent and opponents, or open")
    if message.private:
        raise NotAllowed("seek: open and private exclude each other: an open seek accepts any opponent")


def _rules(bot: str, message: Seek) -> Game[Any, Any]:
    """Load the rules for the game and config of a seek, and check the opponents that it names."""
    if message.opponent is not None and message.opponents:
        raise MalformedMessage("seek: opponent and opponents exclude each other: name all of them in opponents")
    game = load_game(message.game, message.config)
    game.check_cost()
    opponents = [fold_name(name) for name in named_opponents(message)]
    if message.private and opponents:
        raise NotAllowed(
            "seek: a private seek names no opponents, but waits to be named: leave out private or the names"
        )
    if message.private and game.seats != 2:
        raise NotAllowed(f"seek: a private seek is for a match of 2 seats: this one has {game.seats}")
    if bot in opponents:
        raise NotAllowed("seek: a bot does not play itself: name another opponent")
    if len(set(opponents)) < len(opponents):
        raise NotAllowed("seek: opponents names a bot twice: each has one seat")
    if len(opponents) >= game.seats:
        raise NotAllowed(f"seek: {len(opponents)} opponents are named: this match has {game.seats} seats, with yours")
    return game

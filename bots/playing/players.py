"""Bots that play many matches in this process. Each is made once from its spec and reused.

An entry point of the group `bot_arena.players` names `Players`, so that an arena plays bots without importing this
module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec.structs import replace

from bots.client.bot import Bot
from bots.client.loading import build_bot
from bots.client.warm_up import warm_up_bot
from bots.client.worker_threads import format_exception
from bots.playing.local_match import LocalClient, LocalMatch
from machine.code_timer import CodeTimer
from protocol.bot_launch import BotSpec
from protocol.errors import Fault, UsageFault
from protocol.games import shared_game
from protocol.games.base import Game
from referee.effects import MatchEvent
from referee.footer import ClosedMatch
from referee.in_process import InProcessPlayers, MatchObserver, SeatPlayer
from referee.record import Header, RecordedSeat
from referee.state import MatchStanding


class Players(InProcessPlayers):
    """Bots that play one match after the other. They are warmed up for `game` before the first match.

    `say` receives a bot's name and a message for its author. The constructor raises `UsageFault` if a bot does not
    exist, can't be made with its settings, or does not play the game. Unless `strict` is set, such a fault is recorded
    in `failed_bots` instead if the bot is a Python file that can be read. This bot is then absent from its matches.
    """

    def __init__(
        self, specs: Sequence[BotSpec], game: Game[Any, Any], say: Callable[[str, str], None], *, strict: bool = True
    ) -> None:
        self.failed_bots: dict[str, str] = {}
        self._strict = strict
        self._game = game
        self._rules = game
        self._not_warmed_up: dict[str, Bot] = {}
        """The bots that have not warmed up yet."""
        self._say = say
        self._guests: dict[str, LocalClient] = {}
        for spec in specs:
            with self._record_fault(spec, "can't be imported"):
                self._not_warmed_up[spec.name] = build_bot(spec)
        self._bots = dict(self._not_warmed_up)
        _check_defaults(specs, list(self._not_warmed_up.values()))
        for spec in specs:
            if (bot := self._not_warmed_up.get(spec.name)) is not None:
                with self._record_fault(spec, "can't play"):
                    bot.check_game(game)
                    self._guests[spec.name] = LocalClient(bot, spec.name, spec.seed, game, partial(say, spec.name))
        self._specs = {spec.name: spec for spec in specs}

    def play(self, header: Header, seed: bytes, on_ply: MatchObserver | None = None) -> ClosedMatch:
        """Play the match of this header between these bots, with dice from `seed`, to which the header commits.

        In the main thread, a bot that does not return is interrupted when its time is up; in other threads it is not.
        """
        guests = self._guests_of(header)
        seats = [
            RecordedSeat(bot=seat.bot, version="" if guest is None else guest.version)
            for seat, guest in zip(header.seats, guests, strict=True)
        ]
        return LocalMatch(replace(header, seats=seats), seed, guests, on_ply=on_ply).play()

    def play_on(
        self,
        header: Header,
        seed: bytes,
        standing: MatchStanding,
        events: Sequence[MatchEvent],
        observer: MatchObserver | None = None,
    ) -> ClosedMatch:
        """Continue a match, described by a header, from its state `standing`: apply these events, then play to the end.

        Thinking takes no time. For a bot it is as if its program had been restarted. A bot that does not return from a
        call is not interrupted.
        """
        return LocalMatch(header, seed, self._guests_of(header), timed=False, on_ply=observer).resume(standing, events)

    def join_seat(self, bot: str, seed: str) -> SeatPlayer:
        """Return a function that passes a message to a bot and returns the bot's answers. It serves a match that is
        refereed elsewhere. A call that does not return is not interrupted.
        """
        self._warm_up()
        guest = LocalClient(self._bots[bot], bot, seed, self._game, partial(self._say, bot))
        alarm = CodeTimer()
        return lambda message: [said for _, said in guest.send(message, alarm)]

    def _warm_up(self) -> None:
        cold, self._not_warmed_up = self._not_warmed_up, {}
        for name, bot in cold.items():
            if name not in self.failed_bots:
                with self._record_fault(self._specs[name], "can't play"):
                    warm_up_bot(bot, self._game)

    def _guests_of(self, header: Header) -> list[LocalClient | None]:
        """Return the clients of a match's bots, by seat. For a bot in `failed_bots`, there is None."""
        self._warm_up()
        self._rules = shared_game(header.game, header.config)  # held, so that the next match finds them in the cache
        return [None if seat.bot in self.failed_bots else self._guests[seat.bot] for seat in header.seats]

    @contextmanager
    def _record_fault(self, spec: BotSpec, what: str) -> Iterator[None]:
        """Record a `UsageFault` of this context in `failed_bots` if the bot is a Python file that can be read.
        Otherwise, or if `strict` is set, raise it. An exception that the file's code raises becomes a
        `UsageFault`.
        """
        try:
            try:
                yield
            except Exception as exc:  # in `check_game`, for instance
                if isinstance(exc, Fault) or not _is_readable_file(spec):
                    raise
                raise UsageFault(f"{spec.name}: its code {format_exception(exc)}") from exc
        except UsageFault as fault:
            if self._strict or not _is_readable_file(spec):
                raise
            self.failed_bots[spec.name] = f"{what}: {fault}"


def _is_readable_file(spec: BotSpec) -> bool:
    """Return whether the bot is in a Python file that can be read. Faults of such a bot are blamed on the file's
    author.
    """
    file = spec.bot if spec.bot.endswith(".py") else spec.bot.rpartition(":")[0]
    return file.endswith(".py") and os.access(file, os.R_OK)


def _check_defaults(specs: Sequence[BotSpec], bots: Sequence[Bot]) -> None:
    """Raise `UsageFault` if one of the default settings fits none of the bots."""
    known = {key for bot in bots for key in bot.settings}
    for key, value in ((key, value) for spec in specs for key, value in spec.defaults.items()):
        if key not in known:
            names = ", ".join(spec.name for spec in specs)
            raise UsageFault(f"--set {key}={value}: none of these bots has this setting: {names}")

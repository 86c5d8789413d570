"""A bot's conversation with an arena: its seeks, its matches, and when it has played enough.

A conversation outlives connections: matches continue on the next connection.
"""

from __future__ import annotations

import dataclasses
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from bots.client import progress_report
from bots.client.bot import Bot
from bots.client.seat import Seat, make_resignation
from bots.client.settings import Settings
from bots.client.worker_threads import WorkResult
from machine.backoff import Backoff
from machine.client.client_protocol import ClientProtocol, Effect, PrintLine, ScheduleListing, Stop
from protocol import games, messages
from protocol.close_codes import GOING_AWAY
from protocol.error_codes import NO_SLOTS, UNAVAILABLE
from protocol.errors import Fault, UsageFault
from protocol.games.base import Game
from protocol.games.wire_game import load_client_game, load_started_game

NORMAL_CLOSURE = 1000
"""The close code of a WebSocket that ends without a particular reason."""
MAX_CACHED_RULES = 64
"""The maximum number of configs whose game objects are kept for further matches."""
RETRYABLE_CODES = (UNAVAILABLE, NO_SLOTS)
"""The error codes of refused seeks that may succeed later."""
FIRST_SEEK_DELAY_S, MAX_SEEK_DELAY_S = 2.0, 60.0
"""`FIRST_SEEK_DELAY_S` is the delay, in seconds, until a refused seek is first tried again. The delay doubles after
each failure, up to `MAX_SEEK_DELAY_S`. Once a match begins, it is `FIRST_SEEK_DELAY_S` again."""
MAX_LISTING_INTERVAL_S = 600.0
"""The longest interval, in seconds, between reports on what the bot's seeks wait for."""
LISTING_INTERVAL_FACTOR = 5
"""The factor by which the interval between two reports grows after each report. A report says what the bot's seeks wait
for."""
MAX_FAILED_IN_A_ROW = 3
"""The number of failed matches in a row after which the bot stops seeking."""
_rules_key = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class ScheduleSeek:
    """An effect: call `Conversation.retry_seek` for this game after these seconds."""

    seconds: float
    game: str


@dataclass(frozen=True, slots=True)
class WarmUp:
    """An effect: warm up the bot for a game while it plays other games, then call `Conversation.on_warmed_up`."""

    game: str


class Conversation(ClientProtocol):
    """The conversation of `bot` with an arena until the process ends. `bot` has already been warmed up for `game`."""

    def __init__(
        self,
        bot: Bot,
        settings: Settings,
        token: str,
        game: Game[Any, Any] | None = None,
        first_look_delay_s: float = 3.0,
    ) -> None:
        super().__init__(bot.name, token, settings.url, settings.patience)
        self._first_look_delay_s = first_look_delay_s
        self.played = 0
        self._bot = bot
        self._settings = settings
        self._seed = settings.seed or os.urandom(16).hex()
        self._slots = settings.slots
        self._seats: dict[str, Seat] = {}
        self._waits_for_end = type(bot).ended is not Bot.ended or type(bot).missed is not Bot.missed
        self._finishing: dict[str, Seat] = {}
        self._unreachable_matches: set[str] = set()
        """The matches on nodes that can't be reached. Other matches may be played in the slots of these."""
        self._seeks: dict[str, str] = {}
        """The game of each open seek, by the seek's id."""
        self._withdrawn: set[str] = set()
        """Seeks that were withdrawn but are not confirmed yet."""
        self._games_to_play = list(bot.games) if settings.game is None else [settings.game]
        """The games to play, in order of preference."""
        self._needs_warm_up = settings.open and type(bot).warm_up is not Bot.warm_up
        self._not_warmed_up = list(self._games_to_play) if self._needs_warm_up else []
        """The games for which the bot still has to warm up. The warm-up for the first of them is in progress."""
        self._held_games: set[str] = set()
        """Games whose seeks were refused. The bot does not seek them until their `ScheduleSeek` is due."""
        self._backoffs: defaultdict[str, Backoff] = defaultdict(lambda: Backoff(FIRST_SEEK_DELAY_S, MAX_SEEK_DELAY_S))
        """The growing delays until refused seeks are tried again, by game."""
        self._listing_interval_s = first_look_delay_s
        self._listing_scheduled = False
        """True if a `ScheduleListing` is scheduled."""
        self._match_began = False
        """True if a match began since the last `ScheduleListing`."""
        self._reports_listing = False
        """True if the next listing that arrives has to be reported to the author."""
        self._failed_in_a_row = 0
        self._failing = False
        """True if the program failed in too many matches in a row, so that no more matches are played."""
        self._is_finishing = False
        """True once the bot was asked to stop after its matches under way."""
        self._last_details = ""
        """The last traceback that was reported to the author."""
        self._presets: dict[str, list[str]] = {}
        """The presets that the open seek for a game names, by game."""
        self._rules: dict[tuple[str, messages.RulesStamp | None, bytes], Game[Any, Any]] = {}
        if game is not None:
            self._rules[game.name, None, _rules_key(game.config)] = game

    def _make_hello(self) -> messages.Hello:
        return messages.Hello(
            bot=self._name,
            token=self._token,
            version=str(self._bot.version)[:64],
            client="bot-arena/python",
            slots=self._settings.slots,
            person=self._bot.person,
        )

    def _on_turn(self, turn: messages.Turn, now: float) -> list[Effect]:
        seat = self._seats.get(turn.match)
        return seat.handle_turn(turn, now) if seat else []

    def _on_unseeked(self, seek: str) -> list[Effect]:
        self._drop_seek(seek)
        return self._seek_or_stop()

    def handle_result(self, result: WorkResult) -> list[Effect]:
        """Return the effects of a thinking thread's result."""
        match = result.work.match
        seat = self._seats.get(match) or self._finishing.get(match)
        if seat is None:
            return []
        if result.details:
            result = self._shorten_repeated(result)
        effects = seat.handle_result(result)
        if seat.is_done and self._finishing.pop(match, None) is not None:
            effects += self._seek_or_stop()
        return effects

    def finish(self) -> list[Effect]:
        """Seek no more matches, and stop once those under way are over. Which these are, a `welcome` says."""
        self._is_finishing = True
        return self._seek_or_stop()

    def retry_seek(self, game: str) -> list[Effect]:
        """Seek matches of the game again. Called when its `ScheduleSeek` is due."""
        self._held_games.discard(game)
        return self._seek_or_stop()

    def request_listing(self) -> list[Effect]:
        """Request a listing when its `ScheduleListing` is due, unless a match has begun meanwhile."""
        self._listing_scheduled = False
        if not self._seeks:
            return []
        if self._match_began:
            return self._schedule_listing()
        self._reports_listing = True
        self._listing_interval_s = min(self._listing_interval_s * LISTING_INTERVAL_FACTOR, MAX_LISTING_INTERVAL_S)
        return [messages.List(), *self._schedule_listing()]

    def _schedule_listing(self) -> list[Effect]:
        if self._listing_scheduled:
            return []
        self._listing_scheduled, self._match_began = True, False
        return [ScheduleListing(self._listing_interval_s)]

    def on_warmed_up(self, game: str, fault: str | None) -> list[Effect]:
        """Handle the end of a `WarmUp`. `fault` is the reason why the bot can't play the game; None if it can."""
        self._not_warmed_up.remove(game)
        effects: list[Effect] = [WarmUp(self._not_warmed_up[0])] if self._not_warmed_up else []
        if self.connected:
            effects.append(messages.Warming(games=list(self._not_warmed_up)))
        if fault is not None:
            self._games_to_play.remove(game)
            effects.append(self.make_error_line(f"the bot can't play {game}: {fault}"))
            if not self._games_to_play:
                effects.append(Stop(1))
        return effects + self._seek_or_stop()

    def on_interrupt(self) -> list[Effect]:
        """Return lines about the unfinished matches, to print when the user interrupts the process."""
        starts = [seat.start for seat in self._seats.values() if not seat.is_resigned]
        if self._settings.assigned or not starts:
            return []
        away_ms = min((start.away_ms for start in starts if start.away_ms), default=0)
        return [self.make_error_line(progress_report.format_left_matches(len(starts), away_ms))]

    def handle_lost(self, code: int) -> list[Effect]:
        self._seeks.clear()
        self._withdrawn.clear()
        stops = super().handle_lost(code)
        return [Stop(0)] if self._settings.assigned and code in (NORMAL_CLOSURE, GOING_AWAY) else stops

    def set_unreachable(self, matches: set[str]) -> list[Effect]:
        self._unreachable_matches = matches
        return self._seek_or_stop()

    def _on_welcome(self, welcome: messages.Welcome) -> list[Effect]:
        first = not self.games
        self.games = welcome.games
        if first and self._settings.game is None:
            self._add_games_of_arena()
        self._slots = min(self._settings.slots, welcome.limits.slots)
        going_on = {*welcome.resumed, *self.matches_elsewhere}
        self.awaited -= self._seats.keys()
        effects: list[Effect] = []
        if not self._settings.assigned:
            effects.append(PrintLine(progress_report.format_welcome(self._bot.name, self.url, welcome.resumed)))
        for match in self._seats.keys() - going_on:
            effects.append(self.make_error_line(f"{match} ended while the connection was down"))
            effects += self._end_match(match, None)
        if self._not_warmed_up:
            if first:
                effects.append(WarmUp(self._not_warmed_up[0]))
            effects.append(messages.Warming(games=list(self._not_warmed_up)))
        return effects + self._seek_or_stop()

    def _add_games_of_arena(self) -> None:
        """Add the games of the arena that the bot plays although this machine does not have their rules."""
        more = [game for game in self.games if game in self._bot.games and game not in self._games_to_play]
        self._games_to_play += more
        if self._needs_warm_up:
            self._not_warmed_up += more

    def _on_start(self, start: messages.Start) -> list[Effect]:
        self._backoffs.clear()
        self._listing_interval_s, self._match_began, self._reports_listing = self._first_look_delay_s, True, False
        if start.seek is not None:
            self._drop_seek(start.seek)
        known = self._seats.get(start.match)
        if known is not None:
            return known.handle_repeated_start()
        if start.seat is None:
            return []
        try:
            rules = self._load_rules(start)
        except Fault as exc:
            return [self.make_error_line(f"{start.match} is lost: {exc}"), make_resignation(start.match, str(exc))]
        # A server that assigns matches gives each bot its own seed. Two bots that people start may have the same one.
        seed = self._seed if self._settings.assigned else f"{self._seed}/seat-{start.seat}"
        seat = self._seats[start.match] = Seat(self._bot, start, start.seat, rules, seed)
        return seat.handle_start() + (self._seek_or_stop() if self._settings.open else [])

    def _on_end(self, end: messages.End) -> list[Effect]:
        seat = self._seats.get(end.match)
        if seat is None:
            return []
        effects: list[Effect] = [] if self._settings.assigned else [seat.format_result(end)]
        return effects + self._end_match(end.match, end) + self._seek_or_stop()

    def _end_match(self, match: str, end: messages.End | None) -> list[Effect]:
        """Remove a match that has ended. Its seat is kept until the bot has finished its work for the match."""
        self.played += 1
        seat = self._seats.pop(match)
        effects = seat.handle_end(end)
        if not seat.is_done:
            self._finishing[match] = seat
        self._failed_in_a_row = self._failed_in_a_row + 1 if seat.failure is not None else 0
        if self._failed_in_a_row == MAX_FAILED_IN_A_ROW and not self._settings.assigned and not self._failing:
            self._failing = True
            effects.append(
                self.make_error_line(
                    f"the bot stops, because its program failed in {MAX_FAILED_IN_A_ROW} matches in a row"
                )
            )
        return effects

    def _shorten_repeated(self, result: WorkResult) -> WorkResult:
        """Return the result. If its traceback is the one that was reported last, leave it out and name the failure in
        the message.
        """
        if result.details != self._last_details:
            self._last_details = result.details
            return result
        return dataclasses.replace(result, message=f"{result.message} as before: {result.failure}", details="")

    def _on_rejected(self, rejected: messages.Rejected, now: float) -> list[Effect]:
        seat = self._seats.get(rejected.match)
        if seat is None:
            return [PrintLine(progress_report.format_rejection(self._bot.name, rejected, None), is_error=True)]
        return seat.handle_rejection(rejected, now)

    def _on_listing(self, listing: messages.Listing) -> list[Effect]:
        """Report what the bot's next match waits for, if it is time for a report."""
        if not (self._reports_listing and self._seeks):
            return []
        self._reports_listing = False
        game = next(iter(self._seeks.values()))
        return [PrintLine(progress_report.format_waiting(self._bot.name, game, self._settings.opponent, listing))]

    def _on_error(self, error: messages.Error, line: PrintLine) -> list[Effect]:
        game = self._seeks.get(error.ref or "")
        if error.ref is None or game is None:
            return [line]
        self._drop_seek(error.ref)
        if error.code not in RETRYABLE_CODES:
            return [line, Stop(1)]
        if game in self._held_games:
            return []
        told = [] if self._held_games else [line]
        self._held_games.add(game)
        return [*told, ScheduleSeek(self._backoffs[game].next_delay(), game)]

    def _seek_or_stop(self) -> list[Effect]:
        """Seek matches for the free slots. Stop the bot when it has played all its matches."""
        if self._settings.assigned or not self.connected:
            return []
        playing = len(self._seats) + len(self.awaited)
        under_way = playing + len(self._seeks)
        room = self._slots - under_way + len(self._unreachable_matches & self._seats.keys())
        if self._bot.seeks_when_done:
            room -= len(self._finishing)
        all_told = not under_way and not (self._waits_for_end and self._finishing)
        if self._failing:
            return [Stop(1)] if all_told else self._withdraw_seeks()
        if self._is_finishing:
            return [Stop(0)] if all_told else self._withdraw_seeks()
        if self._settings.matches is not None:
            left = self._settings.matches - self.played
            if left <= 0 and all_told:
                return [Stop(0)]
            if self._settings.open and left <= playing:
                return self._withdraw_seeks()
            if not self._settings.open:  # open seeks are for different games, and most may wait for long
                room = min(room, left - under_way)
        return self._seek(room) if room > 0 else []

    def _seek(self, max_seeks: int) -> list[Effect]:
        games = [game for game in self._games_to_play if game in self.games]
        if not games:
            wanted = ", ".join(self._games_to_play)
            return [
                self.make_error_line(f"the arena does not play {wanted}; it plays {', '.join(self.games)}"),
                Stop(1),
            ]
        if self._settings.open:
            taken = {*self._seeks.values(), *self._not_warmed_up, *self._held_games}
            return self._seek_openly([game for game in games if game not in taken], max_seeks)
        if games[0] in self._held_games:
            return []
        config, rated, opponent = dict(self._settings.config), self._settings.rated, self._settings.opponent
        names = [self._new_seek(games[0]) for _ in range(max_seeks)]
        seeks = [messages.Seek(id=name, game=games[0], config=config, rated=rated, opponent=opponent) for name in names]
        return [*seeks, *self._schedule_listing()]

    def _seek_openly(self, wanted: Sequence[str], count: int) -> list[Effect]:
        """Make open seeks for some games, each with the presets that the bot plays."""
        seeks: list[Effect] = []
        troubles: list[Effect] = []
        for game in wanted:
            if len(seeks) == count:
                break
            try:
                presets = self._presets_of(game)
            except UsageFault as fault:
                self._games_to_play.remove(game)
                troubles.append(self.make_error_line(f"the bot can't play {game}: {fault}"))
                continue
            seeks.append(messages.Seek(id=self._new_seek(game), game=game, open=True, presets=presets))
        plays = not set(self._games_to_play).isdisjoint(self.games)
        return [*troubles, *seeks, *([] if plays else [Stop(1)])]

    def _presets_of(self, game: str) -> list[str]:
        """Return the presets of a game that the bot plays; an empty list if it plays all. Raise the bot's `UsageFault`
        if it plays none.
        """
        if game not in self._presets:
            known = games.game_class(game).presets if games.is_known_game(game) else [""]
            plays, faults = [], []
            for preset in known:
                try:
                    self._bot.check_game(load_client_game(game, {"preset": preset} if preset else {}))
                    plays.append(preset)
                except UsageFault as fault:
                    faults.append(fault)
            if faults and not plays:
                raise faults[0]
            self._presets[game] = plays if faults else []
        return self._presets[game]

    def _withdraw_seeks(self) -> list[Effect]:
        withdrawn = [messages.Unseek(id=name) for name in self._seeks if name not in self._withdrawn]
        self._withdrawn.update(self._seeks)
        return [*withdrawn]

    def _drop_seek(self, seek: str) -> None:
        self._seeks.pop(seek, None)
        self._withdrawn.discard(seek)

    def _new_seek(self, game: str) -> str:
        self._seeks_made += 1
        name = f"s{self._seeks_made}"
        self._seeks[name] = game
        return name

    def _load_rules(self, start: messages.Start) -> Game[Any, Any]:
        """Return the game object of a match. Matches with equal configs share it and the tables that it computes."""
        key = (start.game, start.rules, _rules_key(start.config))
        rules = self._rules.get(key)
        if rules is None:
            if len(self._rules) >= MAX_CACHED_RULES:
                self._rules.clear()
            rules = load_started_game(start)
            if self._settings.open:  # others chose its config, so it is new to the bot
                self._bot.check_game(rules)
            self._rules[key] = rules
        return rules

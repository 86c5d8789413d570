"""A bot's conversation with an arena: its seeks, its seats, and when it has played enough.

It outlives connections: matches continue on the next one.
"""

from __future__ import annotations

import dataclasses
import os
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from bots.client import progress_report
from bots.client.bot import Bot
from bots.client.seat import Seat, resignation
from bots.client.settings import Settings
from bots.client.talk import Effect, LookLater, Say, SeekLater, Stop, Talk, WarmUp
from bots.client.worker_threads import Thought
from machine.backoff import Backoff
from protocol import games, messages
from protocol.close_codes import GOING_AWAY
from protocol.error_codes import AUTH_FAILED, BAD_MESSAGE, NAME_TAKEN, NO_SLOTS, NOT_ALLOWED, UNAVAILABLE
from protocol.errors import Fault, UsageFault
from protocol.games.base import Game
from protocol.messages import FromClient

NORMAL_CLOSURE = 1000
"""The close code of a WebSocket that ends without a particular reason."""
MOST_CACHED = 64
PASSING = (UNAVAILABLE, NO_SLOTS)
"""Error codes of seeks that may succeed later."""
SEEK_AGAIN, SEEK_AGAIN_AT_LAST = 2.0, 60.0
"""Seconds until the next try. They double after each failure, up to the second value, until a match begins."""
LOOK_AT_LAST = 600.0
"""The longest interval between reports on whom the bot waits for, in seconds. The first intervals are shorter."""
LOOK_LATER = 5
HOPELESS = (NAME_TAKEN, AUTH_FAILED, NOT_ALLOWED, BAD_MESSAGE)
"""Fatal errors after which reconnecting would not help."""
MOST_FAILED = 3
"""The number of failed matches in a row after which the bot stops seeking."""
_rules_key = msgspec.json.Encoder(order="sorted").encode


class Conversation(Talk):
    """All that `bot` says and has to think about until the process ends. `game` is what it was warmed up for."""

    def __init__(
        self,
        bot: Bot,
        settings: Settings,
        token: str,
        game: Game[Any, Any] | None = None,
        first_look_delay_s: float = 3.0,
    ) -> None:
        self._first_look_delay_s = first_look_delay_s
        self.connected = False
        self.played = 0
        self.at = settings.url
        self._bot = bot
        self._settings = settings
        self._token = token
        self._seed = settings.seed or os.urandom(16).hex()
        self._slots = settings.slots
        self._games: list[str] = []
        """The games that the arena plays; none before the first welcome."""
        self._seats: dict[str, Seat] = {}
        self._waits = type(bot).ended is not Bot.ended or type(bot).missed is not Bot.missed
        self._finishing: dict[str, Seat] = {}
        self._awaited: set[str] = set()
        self._away: set[str] = set()
        """Matches on nodes that can't be reached. Others may be played in their slots."""
        self._seeks: dict[str, str] = {}
        """The games of the seeks in force, by id."""
        self._withdrawn: set[str] = set()
        """Seeks that were withdrawn but are not confirmed yet."""
        self._wanted = list(bot.games) if settings.game is None else [settings.game]
        """The games to play, in order of preference."""
        self._cold = list(self._wanted) if settings.open and type(bot).warm_up is not Bot.warm_up else []
        """The games that the bot still has to warm up for. The first is in progress."""
        self._seeks_made = 0
        self._held: set[str] = set()
        """Games that were refused and are not sought until their `SeekLater` is due."""
        self._backoffs: defaultdict[str, Backoff] = defaultdict(lambda: Backoff(SEEK_AGAIN, SEEK_AGAIN_AT_LAST))
        """The backoff of each game's seeks."""
        self._next_look = first_look_delay_s
        self._looking = False
        """True if a `LookLater` is due."""
        self._met = False
        """True if a match began since the last `LookLater`."""
        self._asked = False
        """True if the next listing has to be reported."""
        self._failed_in_a_row = 0
        self._failing = False
        """True if too many matches in a row failed, so that no more are played."""
        self._last_details = ""
        """The traceback that was reported last."""
        self._parting = ""
        """The arena's reason for closing the connection, if it is about to."""
        self._presets: dict[str, list[str]] = {}
        """The presets of each game's open seek."""
        self._rules: dict[tuple[str, bytes], Game[Any, Any]] = {}
        if game is not None:
            self._rules[game.name, _rules_key(game.config)] = game

    def hello(self) -> messages.Hello:
        self._parting = ""
        return messages.Hello(
            bot=self._bot.name,
            token=self._token,
            version=self._bot.version[:64],
            client="bot-arena/python",
            slots=self._settings.slots,
            person=self._bot.person,
        )

    def _turned(self, turn: messages.Turn, now: float) -> list[Effect]:
        seat = self._seats.get(turn.match)
        return seat.turned(turn, now) if seat else []

    def _unseeked(self, seek: str) -> list[Effect]:
        self._forget(seek)
        return self._go_on()

    def thought(self, thought: Thought) -> list[Effect]:
        """Return the effects of finished work. Nothing is sent while the connection is down."""
        match = thought.work.match
        seat = self._seats.get(match) or self._finishing.get(match)
        if seat is None:
            return []
        if thought.details:
            thought = self._once_in_full(thought)
        effects = [e for e in seat.thought(thought) if self.connected or not isinstance(e, FromClient)]
        if seat.done and self._finishing.pop(match, None) is not None:
            effects += self._go_on()
        return effects

    def seek(self, game: str) -> list[Effect]:
        """Seek the game again: its `SeekLater` is due."""
        self._held.discard(game)
        return self._go_on()

    def look(self) -> list[Effect]:
        """Request a listing, unless a match began meanwhile: the `LookLater` is due."""
        self._looking = False
        if not self._seeks:
            return []
        if self._met:
            return self._look_later()
        self._asked = True
        self._next_look = min(self._next_look * LOOK_LATER, LOOK_AT_LAST)
        return [messages.List(), *self._look_later()]

    def _look_later(self) -> list[Effect]:
        """Schedule the next listing request, unless one is scheduled."""
        if self._looking:
            return []
        self._looking, self._met = True, False
        return [LookLater(self._next_look)]

    def warmed(self, game: str, fault: str | None) -> list[Effect]:
        """Handle the end of a `WarmUp`. `fault` is the reason why the game can't be played, if it can't."""
        self._cold.remove(game)
        effects: list[Effect] = [WarmUp(self._cold[0])] if self._cold else []
        if self.connected:
            effects.append(messages.Warming(games=list(self._cold)))
        if fault is not None:
            self._wanted.remove(game)
            effects.append(self.trouble(f"it does not play {game}: {fault}"))
            if not self._wanted:
                effects.append(Stop(1))
        return effects + self._go_on()

    def interrupted(self) -> list[Effect]:
        """Return what to report about matches under way when the process is interrupted."""
        starts = [seat.start for seat in self._seats.values() if not seat.given_up]
        if self._settings.assigned or not starts:
            return []
        away_ms = min((start.away_ms for start in starts if start.away_ms), default=0)
        return [self.trouble(progress_report.left(len(starts), away_ms))]

    def lost(self, code: int) -> list[Effect]:
        self.connected = False
        self._seeks.clear()
        self._withdrawn.clear()
        self._awaited.clear()
        if self._settings.assigned and code in (NORMAL_CLOSURE, GOING_AWAY):
            return [Stop(0)]
        why = progress_report.STOPPING.get(code)
        return [self.trouble(why), Stop(1)] if why else []

    def without(self, matches: set[str]) -> list[Effect]:
        self._away = matches
        return self._go_on()

    def ended(self, code: int) -> str:
        return progress_report.ended(self.at, code, self._parting)

    def _welcomed(self, welcome: messages.Welcome) -> list[Effect]:
        first = not self._games
        self.connected = True
        self._games = welcome.games
        self._slots = min(self._settings.slots, welcome.limits.slots)
        going_on = {*welcome.resumed, *self.kept}
        self._awaited = (self._awaited & {*self.kept} | {*welcome.resumed}) - self._seats.keys()
        effects: list[Effect] = []
        if not self._settings.assigned:
            effects.append(Say(progress_report.welcomed(self._bot.name, self.at, welcome.resumed)))
        for match in self._seats.keys() - going_on:
            effects.append(self.trouble(f"{match} ended while the connection was down"))
            effects += self._over(match, None)
        if self._cold:
            if first:
                effects.append(WarmUp(self._cold[0]))
            effects.append(messages.Warming(games=list(self._cold)))
        return effects + self._go_on()

    def _started(self, start: messages.Start) -> list[Effect]:
        self._awaited.discard(start.match)
        self._backoffs.clear()
        self._next_look, self._met, self._asked = self._first_look_delay_s, True, False
        if start.seek is not None:
            self._forget(start.seek)
        known = self._seats.get(start.match)
        if known is not None:
            return known.resume()
        if start.seat is None:
            return []
        try:
            rules = self._rules_of(start)
        except Fault as exc:
            return [self.trouble(f"{start.match} is lost: {exc}"), resignation(start.match, str(exc))]
        # A server that assigns matches gives each bot its own seed. Two bots that people start may have the same one.
        seed = self._seed if self._settings.assigned else f"{self._seed}/seat-{start.seat}"
        seat = self._seats[start.match] = Seat(self._bot, start, start.seat, rules, seed)
        return seat.begin() + (self._go_on() if self._settings.open else [])

    def _ended(self, end: messages.End) -> list[Effect]:
        seat = self._seats.get(end.match)
        if seat is None:
            return []
        effects: list[Effect] = [] if self._settings.assigned else [seat.result(end)]
        return effects + self._over(end.match, end) + self._go_on()

    def _over(self, match: str, end: messages.End | None) -> list[Effect]:
        """End a match; its seat stays while the bot thinks."""
        self.played += 1
        seat = self._seats.pop(match)
        effects = seat.ended(end)
        if not seat.done:
            self._finishing[match] = seat
        self._failed_in_a_row = self._failed_in_a_row + 1 if seat.failure is not None else 0
        if self._failed_in_a_row == MOST_FAILED and not self._settings.assigned and not self._failing:
            self._failing = True
            effects.append(self.trouble(f"its program failed in {MOST_FAILED} matches in a row, so it stops"))
        return effects

    def _once_in_full(self, thought: Thought) -> Thought:
        """Reduce a thought to one line if its traceback was just reported."""
        if thought.details != self._last_details:
            self._last_details = thought.details
            return thought
        return dataclasses.replace(thought, trouble=f"{thought.trouble} as before: {thought.failure}", details="")

    def _rejected(self, rejected: messages.Rejected, now: float) -> list[Effect]:
        seat = self._seats.get(rejected.match)
        if seat is None:
            return [Say(progress_report.rejection(self._bot.name, rejected, None), trouble=True)]
        return seat.rejected(rejected, now)

    def _listed(self, listing: messages.Listing) -> list[Effect]:
        """Report what the next match waits for."""
        if not (self._asked and self._seeks):
            return []
        self._asked = False
        game = next(iter(self._seeks.values()))
        return [Say(progress_report.waiting(self._bot.name, game, self._settings.opponent, listing))]

    def _erred(self, error: messages.Error) -> list[Effect]:
        line = Say(progress_report.error(self._bot.name, error, welcome=self.connected), trouble=True)
        if error.fatal:
            self._parting = error.message
            return [line, Stop(1)] if error.code in HOPELESS else []
        game = self._seeks.get(error.ref or "")
        if error.ref is None or game is None:
            return [line]
        self._forget(error.ref)
        if error.code not in PASSING:
            return [line, Stop(1)]
        if game in self._held:
            return []
        told = [] if self._held else [line]
        self._held.add(game)
        return [*told, SeekLater(self._backoffs[game].delay(), game)]

    def _go_on(self) -> list[Effect]:
        """Seek matches for the free slots; stop when everything was played."""
        if self._settings.assigned or not self.connected:
            return []
        playing = len(self._seats) + len(self._awaited)
        under_way = playing + len(self._seeks)
        room = self._slots - under_way + len(self._away & self._seats.keys())
        all_told = not under_way and not (self._waits and self._finishing)
        if self._failing:
            return [Stop(1)] if all_told else self._withdraw()
        if self._settings.matches is not None:
            left = self._settings.matches - self.played
            if left <= 0 and all_told:
                return [Stop(0)]
            if self._settings.open and left <= playing:
                return self._withdraw()
            if not self._settings.open:  # open seeks are for different games, and most may wait for long
                room = min(room, left - under_way)
        return self._seek(room) if room > 0 else []

    def _seek(self, count: int) -> list[Effect]:
        games = [game for game in self._wanted if game in self._games]
        if not games:
            wanted = ", ".join(self._wanted)
            return [self.trouble(f"the arena does not play {wanted}; it plays {', '.join(self._games)}"), Stop(1)]
        if self._settings.open:
            taken = {*self._seeks.values(), *self._cold, *self._held}
            return self._seek_openly([game for game in games if game not in taken], count)
        if games[0] in self._held:
            return []
        config, rated, opponent = dict(self._settings.config), self._settings.rated, self._settings.opponent
        names = [self._new_seek(games[0]) for _ in range(count)]
        seeks = [messages.Seek(id=name, game=games[0], config=config, rated=rated, opponent=opponent) for name in names]
        return [*seeks, *self._look_later()]

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
                self._wanted.remove(game)
                troubles.append(self.trouble(f"it does not play {game}: {fault}"))
                continue
            seeks.append(messages.Seek(id=self._new_seek(game), game=game, open=True, presets=presets))
        plays = not set(self._wanted).isdisjoint(self._games)
        return [*troubles, *seeks, *([] if plays else [Stop(1)])]

    def _presets_of(self, game: str) -> list[str]:
        """Return the presets that the bot plays; empty if it plays all. Raises its `UsageFault` if it plays none."""
        if game not in self._presets:
            known = games.game_class(game).presets
            plays, faults = [], []
            for preset in known:
                try:
                    self._bot.check_game(games.load(game, {"preset": preset}))
                    plays.append(preset)
                except UsageFault as fault:
                    faults.append(fault)
            if faults and not plays:
                raise faults[0]
            self._presets[game] = plays if faults else []
        return self._presets[game]

    def _withdraw(self) -> list[Effect]:
        """Withdraw all seeks: there is enough to play."""
        withdrawn = [messages.Unseek(id=name) for name in self._seeks if name not in self._withdrawn]
        self._withdrawn.update(self._seeks)
        return [*withdrawn]

    def _forget(self, seek: str) -> None:
        self._seeks.pop(seek, None)
        self._withdrawn.discard(seek)

    def _new_seek(self, game: str) -> str:
        self._seeks_made += 1
        name = f"s{self._seeks_made}"
        self._seeks[name] = game
        return name

    def _rules_of(self, start: messages.Start) -> Game[Any, Any]:
        """Return the game of a match: one object for all matches of a config, so that what it computes is shared."""
        key = (start.game, _rules_key(start.config))
        rules = self._rules.get(key)
        if rules is None:
            if len(self._rules) >= MOST_CACHED:
                self._rules.clear()
            rules = games.load(start.game, start.config)
            if self._settings.open:  # others chose its config, so it is new to the bot
                self._bot.check_game(rules)
            self._rules[key] = rules
        return rules

    def trouble(self, text: str) -> Say:
        return Say(f"{self._bot.name}: {text}", trouble=True)

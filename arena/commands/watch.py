"""`arena watch`: shows a running match live."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.commands.match_view import format_clocks, format_outcome
from arena.commands.output import redraw, terminal_columns
from arena.operator import credentials
from arena.operator.client import no_server
from arena.replay.transcript import describe_line
from machine.client.client import ClientBase
from machine.client.client_protocol import ClientProtocol, Effect, PrintLine, ScheduleListing, Stop
from machine.client.nodes import NodeRouter
from machine.client.timeouts import ClientTimeouts
from machine.host_names import split_address
from machine.terminal import say
from machine.timeouts import scale_timeouts
from protocol.close_codes import RESTARTING
from protocol.display import escape_unprintable, format_count, short_repr
from protocol.errors import ArenaFault, Fault, UsageFault
from protocol.games.base import Game
from protocol.games.wire_game import load_started_game
from protocol.messages import End, Error, Event, Hello, List, Listing, Start, Turn, Watch, Welcome
from protocol.names import is_match_id
from referee.record import Header, Ply, RecordedSeat

POLL_INTERVAL_S = 1.0
"""Seconds between two checks for a new match, and at most between two attempts to reconnect to a node."""
RECONNECT_TIMEOUT_S = 30.0
"""Seconds for which a spectator tries to reconnect to an arena."""


def watch(data: Path, url: str | None, match: str | None, *, follow: bool) -> None:
    """Show the match with an id, or the newest match, until it is over. Raise `Fault` if it cannot be shown.

    With `follow`, then show the next match.
    """
    if match is not None and not is_match_id(match):
        raise UsageFault(f"{short_repr(match)} is no id of a match: `arena status` lists those under way")
    where = url or _url_of(data)
    try:
        asyncio.run(_watch(where, match, follow))
    finally:
        if sys.stdout.isatty():  # output continues below the board
            say()


def _url_of(data: Path) -> str:
    found = credentials.running_credentials(data)
    if found is None or not found.public:
        raise no_server(data, "--url names one elsewhere, like wss://arena.example.org:8765")
    return found.public


async def _watch(url: str, named: str | None, follow: bool) -> None:
    if split_address(url, "ws", "wss") is None:
        raise UsageFault(f"{url!r} is no URL of an arena: it is like wss://arena.example.org:8765")
    protocol = SpectatorProtocol(url, named, follow=follow)
    await SpectatorClient(protocol).play()
    if protocol.fault is not None:
        raise protocol.fault


@dataclass(frozen=True, slots=True)
class Show:
    """An effect: show what a message tells about the watched match."""

    message: Start | Turn | End


class SpectatorProtocol(ClientProtocol):
    """The conversation of a spectator, who has no name. It watches the match `named`, or the newest one, to its end.
    With `follow`, it then watches the next match.

    It gives up if the first connection fails or is lost. While it watches a match, it tries to reconnect.
    """

    is_spectator = True

    def __init__(self, url: str, named: str | None, *, follow: bool) -> None:
        super().__init__("", "", url, patience=0.0)
        self.fault: Fault | None = None
        """The reason why the spectator has given up; None if it has not."""
        self._named = named
        """The match that has to be shown; None if any match may be."""
        self._follow = follow
        self._match = named
        """The match that is watched; None while the spectator waits for one."""
        self._is_requested = False
        self._previous: str | None = None
        self._listings: dict[str, Listing] = {}
        """The last listing of each node, by URL, while the spectator waits for a match."""
        self._is_polling = False
        """True if a `ScheduleListing` is scheduled."""
        self._reports_waiting = True

    def _make_hello(self) -> Hello:
        self.patience = None  # an arena that has just started answers when its matches are restored
        return Hello(client="arena watch")

    def request_listing(self) -> list[Effect]:
        self._is_polling = False
        return [] if self._match is not None else [List()]

    def handle_lost(self, code: int) -> list[Effect]:
        self._is_requested, self.patience = False, RECONNECT_TIMEOUT_S
        if self._match is None or not self.games:
            return self.give_up(self.describe_end(code))
        return super().handle_lost(code)

    def give_up(self, reason: str) -> list[Effect]:
        return self._fail(ArenaFault(escape_unprintable(reason)))

    def _fail(self, fault: Fault) -> list[Effect]:
        self.fault = fault
        return [Stop(1)]

    def describe_end(self, code: int) -> str:
        if self._close_reason:
            return super().describe_end(code)
        why = "was stopped or restarts" if code == RESTARTING else f"ended the connection ({code})"
        return f"the arena at {self.url} {why}"

    def make_error_line(self, text: str) -> PrintLine:
        return PrintLine(text, is_error=True)

    def _on_welcome(self, welcome: Welcome) -> list[Effect]:
        self.games, self.patience = welcome.games, RECONNECT_TIMEOUT_S
        if self._match is None:
            return [List()]
        return [] if self._is_requested else self._watch(self._match)

    def _watch(self, match: str) -> list[Effect]:
        self._match, self._is_requested = match, True
        return [Watch(match=match)]

    def _wait_after(self, match: str) -> list[Effect]:
        self._match, self._previous, self._is_requested, self._reports_waiting = None, match, False, True
        self._listings.clear()
        return [List()]

    def _on_listing(self, listing: Listing) -> list[Effect]:
        if self._match is not None:
            return []
        found = next((one.match for one in listing.matches if one.match != self._previous), None)
        if found is not None:
            return self._watch(found)
        effects: list[Effect] = [] if self._is_polling else [ScheduleListing(POLL_INTERVAL_S)]
        is_repeated = self.url in self._listings
        self._is_polling = True
        self._listings[self.url] = listing
        if self._reports_waiting and (is_repeated or self._listings.keys() >= {*listing.elsewhere}):
            self._reports_waiting = False
            bots = len({bot.bot for one in self._listings.values() for bot in one.bots})
            bots += sum(one.more_bots for one in self._listings.values())
            effects.append(
                self.make_error_line(f"waiting for a match to begin; {format_count(bots, 'bot', 'bots')} online")
            )
        return effects

    def _on_start(self, start: Start) -> list[Effect]:
        if start.match != self._match:
            return []
        if not self._follow:
            self._named = start.match
        return [Show(start)]

    def _on_turn(self, turn: Turn, now: float) -> list[Effect]:
        return [Show(turn)] if turn.match == self._match else []

    def _on_end(self, end: End) -> list[Effect]:
        if end.match != self._match:
            return []
        self._named = None
        return [Show(end), *(self._wait_after(end.match) if self._follow else [Stop(0)])]

    def _on_error(self, error: Error, line: PrintLine) -> list[Effect]:
        if error.ref is None or error.ref != self._match:
            return []
        if self._named is None:  # the listing may be a second old
            return self._wait_after(error.ref)
        over = f"if it is over, `arena replay show {error.ref} --boards` tells it"
        return self._fail(UsageFault(f"{escape_unprintable(error.message)}: {over}"))


class SpectatorClient(ClientBase):
    """A spectator's connections to the nodes of an arena, and the display of the match."""

    def __init__(self, protocol: SpectatorProtocol) -> None:
        self._display: MatchDisplay | None = None
        timeouts = scale_timeouts(ClientTimeouts(max_retry_delay_s=POLL_INTERVAL_S))
        super().__init__(NodeRouter(protocol), timeouts, time.monotonic)

    def _perform_other(self, effect: Effect) -> None:
        assert isinstance(effect, Show)
        message = effect.message
        if isinstance(message, Start):
            self._display = MatchDisplay(message)
        elif self._display is not None and isinstance(message, Turn):
            self._display.show_turn(message)
        elif self._display is not None and isinstance(message, End):
            self._display.show_end(message)


class MatchDisplay:
    """The display of a running match: on a terminal each board replaces the last, else boards are printed."""

    def __init__(self, start: Start) -> None:
        self._game: Game[Any, Any] = load_started_game(start)
        self._header = Header(
            format=0,
            version="",
            match=start.match,
            game=start.game,
            config=start.config,
            seats=[RecordedSeat(bot=seat.bot, version=seat.version) for seat in start.seats],
            commitment=start.commitment,
            rated=start.rated,
            clock=start.clock,
            started="",
        )
        self._clock = [start.clock.bank_ms] * len(start.seats)
        self._terminal = sys.stdout.isatty()
        seats = ", ".join(f"{seat.bot} {seat.version}".rstrip() for seat in start.seats)
        self._title = f"{start.match}: {start.game}, {'rated' if start.rated else 'unrated'}, {seats}"
        if not self._terminal:
            say(self._title, flush=True)

    def show_turn(self, turn: Turn) -> None:
        """Show the events since the last turn, and the board."""
        self._clock = turn.clock
        movers = [self._header.seats[seat].bot for seat in turn.movers]
        waits = f"{' and '.join(movers)} {'is' if len(movers) == 1 else 'are'} to move"
        self._show(turn.events, turn.state, turn.digest, [waits])

    def show_end(self, end: End) -> None:
        """Show the last events, the board and the result."""
        seats = [(seat.rank, seat.bot, seat.reason, seat.payoff) for seat in end.seats]
        lines = format_outcome(self._header.game, end.reason, end.ply, seats)
        lines.append(f"`arena replay show {end.match} --step` shows it again")
        self._show(end.events, end.state, end.digest, lines)

    def _show(self, events: Sequence[Event], state: dict[str, Any], digest: str, below: Sequence[str]) -> None:
        told = [
            describe_line(Ply(event=event, clock=self._clock, digest=digest), self._game, self._header, {}).sentence()
            for event in events
        ]
        board = self._game.draw_board(self._game.decode_state(state)) if state else ""
        if self._terminal:
            left = format_clocks(self._header, self._clock, terminal_columns())
            redraw([*board.split("\n"), "", self._title, *told[-1:], *left, *below])
        else:
            say("\n".join(["", *told, board, *below]), flush=True)

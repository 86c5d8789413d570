"""The agent's side of the arena's protocol, without sockets or clocks: it is given messages and decisions, and returns
effects. An agent plays one match at a time, in a seat like any bot's. It may decide on its moves at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from bots.client import progress_report
from bots.client.bot import Bot, Choice, Turn
from bots.client.seat import Seat, make_resignation
from bots.client.worker_threads import Choose, Conclude, Prepare, WorkResult, read_choice
from machine.client.client_protocol import ClientProtocol, Effect, PrintLine
from protocol import messages
from protocol.errors import Fault
from protocol.games.base import Game
from protocol.games.wire_game import load_started_game

CLIENT_NAME = "bot-arena/mcp"
"""The name of this client program, which it gives the arena."""


class Agent(Bot):
    """The bot in the agent's seat. Its `choose` is never called, because the agent chooses moves through tools."""

    def choose(self, turn: Turn) -> NoReturn:
        raise AssertionError("an agent's moves come from its client")


@dataclass
class AgentMatch:
    """The agent's current match, or its last one."""

    start: messages.Start
    seat: Seat
    rules: Game[Any, Any]
    turn: messages.Turn | None = None
    """The latest turn, whichever seat is to move."""
    turn_received: float = 0.0
    """The time at which the latest turn arrived."""
    open_choice: Choose | None = None
    """The choice of a move that the agent has to make now, if there is one."""
    rejected: messages.Rejected | None = None
    """The arena's rejection of the agent's last move in this turn, if it was rejected."""
    end: messages.End | None = None
    ended_unseen: bool = False
    """True if the match ended while the connection was down."""
    new_events: list[messages.Event] = field(default_factory=list)
    """The events that have not been shown to the agent yet."""
    shown_position: Any = None
    """The position that was last shown to the agent."""
    _known: set[tuple[int, int, str | None]] = field(default_factory=set)

    @property
    def own_seat(self) -> int:
        """The agent's seat."""
        assert self.start.seat is not None
        return self.start.seat

    @property
    def is_over(self) -> bool:
        return self.end is not None or self.ended_unseen

    @property
    def position(self) -> Any:
        """The latest position of the match; None before the first turn, and in a void match."""
        told = self.turn if self.end is None else self.end
        return self.rules.decode_state(told.state) if told is not None and told.state else None

    def clock_ms(self, now: float) -> list[int]:
        """Return the milliseconds that each seat has left now."""
        if self.turn is None:
            return [self.start.clock.bank_ms] * len(self.start.seats)
        left = list(self.turn.clock)
        if not self.is_over:
            for seat in self.turn.movers:
                left[seat] = max(0, left[seat] - round((now - self.turn_received) * 1000))
        return left

    def add_events(self, events: list[messages.Event]) -> None:
        """Store new events. Events that the arena repeats after a lost connection are dropped."""
        for event in events:
            key = event.ply, event.seat, event.out
            if key not in self._known:
                self._known.add(key)
                self.new_events.append(event)


class AgentProtocol(ClientProtocol):
    """The conversation of an agent called `name` with an arena. Tools read its attributes `seek`, `seek_refusal`,
    `match`, `listing` and `notice`.
    """

    credential_option = "--token-file"

    def __init__(self, name: str, token: str, url: str, seed: str, patience: float | None = None) -> None:
        super().__init__(name, token, url, patience)
        self.seek: messages.Seek | None = None
        """The agent's open seek, if there is one."""
        self.seek_refusal = ""
        """The reason why the last seek failed; empty if it did not fail."""
        self.match: AgentMatch | None = None
        self.listing: messages.Listing | None = None
        """The answer to the last request for a listing, once it has arrived."""
        self.notice = ""
        """The text of the arena's last error that was not about a seek."""
        self._bot = Agent(name)
        self._seed = seed

    @property
    def current_match(self) -> AgentMatch | None:
        """The match in progress, if there is one."""
        return self.match if self.match is not None and not self.match.is_over else None

    def _make_hello(self) -> messages.Hello:
        return messages.Hello(bot=self._name, token=self._token, client=CLIENT_NAME, follow=True)

    def _on_unseeked(self, seek: str) -> list[Effect]:
        if self.seek is not None and self.seek.id == seek:
            self.seek = None
        return []

    def _on_listing(self, listing: messages.Listing) -> list[Effect]:
        self.listing = listing
        return []

    def handle_lost(self, code: int) -> list[Effect]:
        if self.seek is not None:
            self.seek, self.seek_refusal = None, "the connection to the arena was lost: seek again"
        return super().handle_lost(code)

    def seek_match(
        self, game: str, config: dict[str, Any], *, rated: bool, opponent: str | None, slow: bool
    ) -> list[Effect]:
        self._seeks_made += 1
        self.seek_refusal, self.listing = "", None
        self.seek = messages.Seek(
            id=f"s{self._seeks_made}", game=game, config=config, rated=rated, opponent=opponent, slow=slow
        )
        return [self.seek]

    def withdraw_seek(self) -> list[Effect]:
        """Withdraw the open seek. If a match begins before the arena has withdrawn it, the agent has to play."""
        return [] if self.seek is None else [messages.Unseek(id=self.seek.id)]

    def request_listing(self) -> list[Effect]:
        """Request a listing of the connected bots and the matches in progress."""
        self.listing = None
        return [messages.List()]

    def move(self, choice: Choice) -> list[Effect]:
        """Make a move in the open turn. Raise `UnsendableMove` if the move can't be sent."""
        match = self.current_match
        assert match is not None
        assert match.open_choice is not None
        work = match.open_choice
        answer, left_out = read_choice(work.turn, choice)
        match.open_choice = match.rejected = None
        return match.seat.handle_result(WorkResult(work, answer, discarded=left_out))

    def resign(self) -> list[Effect]:
        """Resign the match in progress, if there is one."""
        match = self.current_match
        return [] if match is None else match.seat.resign()

    def _on_welcome(self, welcome: messages.Welcome) -> list[Effect]:
        self.games = welcome.games
        match = self.current_match
        if match is not None and match.start.match not in {*welcome.resumed, *self.matches_elsewhere}:
            match.ended_unseen = True
        return [self.make_error_line(f"connected to {self.url}")]

    def _on_start(self, start: messages.Start) -> list[Effect]:
        if self.seek is not None and start.seek == self.seek.id:
            self.seek = None
        match = self.current_match
        if match is not None and match.start.match == start.match:
            return match.seat.handle_repeated_start()
        if start.seat is None:
            return []
        try:
            rules = load_started_game(start)
        except Fault as exc:
            return [
                self.make_error_line(f"{start.match} cannot be played here, so it is resigned: {exc}"),
                make_resignation(start.match, str(exc)),
            ]
        self.notice = ""
        self.match = AgentMatch(start, Seat(self._bot, start, start.seat, rules, self._seed), rules)
        return self.match.seat.handle_start()

    def _on_turn(self, turn: messages.Turn, now: float) -> list[Effect]:
        match = self._find_match(turn.match)
        if match is None:
            return []
        match.turn, match.turn_received = turn, now
        match.add_events(turn.events)
        return self._store_choice(match, match.seat.handle_turn(turn, now))

    def _on_rejected(self, rejected: messages.Rejected, now: float) -> list[Effect]:
        match = self._find_match(rejected.match)
        if match is None:
            return []
        match.rejected = rejected
        return self._store_choice(match, match.seat.handle_rejection(rejected, now))

    def _on_end(self, end: messages.End) -> list[Effect]:
        match = self._find_match(end.match)
        if match is None:
            return []
        match.end, match.open_choice = end, None
        match.add_events(end.events)
        line = progress_report.format_result(match.start, match.own_seat, end)
        return [PrintLine(line, is_error=True)]

    def _on_error(self, error: messages.Error, line: PrintLine) -> list[Effect]:
        if self.seek is not None and error.ref == self.seek.id:
            self.seek, self.seek_refusal = None, error.message
        else:
            self.notice = error.message
        return [line]

    def _store_choice(self, match: AgentMatch, effects: list[Effect]) -> list[Effect]:
        """Store the effect that asks the agent for a move, if there is one, as the match's open choice. Return the
        other effects, without those that call a bot's code: an agent has none.
        """
        rest: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Choose):
                match.open_choice = effect
            elif not isinstance(effect, (Prepare, Conclude)):
                rest.append(effect)
        return rest

    def _find_match(self, match: str) -> AgentMatch | None:
        return (
            self.current_match if self.current_match is not None and self.current_match.start.match == match else None
        )

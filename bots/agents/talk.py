"""The agent's side of the protocol, without sockets or clocks: messages and decisions in, effects out.

It plays one match at a time, in a seat like any bot's. Its moves come from outside, at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from bots.client import progress_report
from bots.client.bot import Bot, Choice, Turn
from bots.client.conversation import HOPELESS
from bots.client.seat import Seat, resignation
from bots.client.talk import Effect, Say, Stop, Talk
from bots.client.worker_threads import Choose, Conclude, Prepare, Thought, read_choice
from protocol import games, messages
from protocol.errors import Fault
from protocol.games.base import Game

CLIENT = "bot-arena/mcp"
"""The client's name in listings."""


class Agent(Bot):
    """The bot of an agent's seat. It is never asked, as tools make the choices."""

    def choose(self, turn: Turn) -> NoReturn:
        raise AssertionError("an agent's moves come from outside")


@dataclass
class AgentMatch:
    """The current match, or the last one."""

    start: messages.Start
    seat: Seat
    rules: Game[Any, Any]
    turn: messages.Turn | None = None
    """The latest turn, whichever seat is to move."""
    heard: float = 0.0
    """When it arrived."""
    asked: Choose | None = None
    """The choice that is open, if any."""
    rejected: messages.Rejected | None = None
    """The rejection of the last answer, if any."""
    end: messages.End | None = None
    missed: bool = False
    """True if it ended while the connection was down."""
    news: list[messages.Event] = field(default_factory=list)
    """Events that have not been shown yet."""
    shown: Any = None
    """The position that was shown last."""
    _known: set[tuple[int, int, str | None]] = field(default_factory=set)

    @property
    def own(self) -> int:
        """The agent's seat."""
        assert self.start.seat is not None
        return self.start.seat

    @property
    def over(self) -> bool:
        return self.end is not None or self.missed

    @property
    def position(self) -> Any:
        """The latest state, decoded; None before the first turn, and in a void match."""
        told = self.turn if self.end is None else self.end
        return self.rules.decode_state(told.state) if told is not None and told.state else None

    def clock_ms(self, now: float) -> list[int]:
        """Return the milliseconds that each seat has left now."""
        if self.turn is None:
            return [self.start.clock.bank_ms] * len(self.start.seats)
        left = list(self.turn.clock)
        if not self.over:
            for seat in self.turn.movers:
                left[seat] = max(0, left[seat] - round((now - self.heard) * 1000))
        return left

    def hear(self, events: list[messages.Event]) -> None:
        """Store new events. After a lost connection the arena repeats some, which are dropped."""
        for event in events:
            key = event.ply, event.seat, event.out
            if key not in self._known:
                self._known.add(key)
                self.news.append(event)


class AgentTalk(Talk):
    """The protocol of one agent under `name`. The results are in `seek`, `refused`, `match` and `listing`."""

    def __init__(self, name: str, token: str, url: str, seed: str) -> None:
        self.connected = False
        self.games: list[str] = []
        """The games that the arena plays; none before the first welcome."""
        self.awaited: set[str] = set()
        """Matches under way that the welcome named and whose `start` is still missing."""
        self.seek: messages.Seek | None = None
        """The seek in force."""
        self.refused = ""
        """The reason for which the last seek failed, or empty."""
        self.match: AgentMatch | None = None
        self.listing: messages.Listing | None = None
        """The answer to the last `list`, once it has arrived."""
        self.notice = ""
        """The arena's last message about the match or in general."""
        self._bot = Agent(name)
        self._token = token
        self.at = url
        self._seed = seed
        self._seeks_made = 0
        self._parting = ""

    @property
    def playing(self) -> AgentMatch | None:
        """The match under way."""
        return self.match if self.match is not None and not self.match.over else None

    def hello(self) -> messages.Hello:
        self._parting = ""
        return messages.Hello(bot=self._bot.name, token=self._token, client=CLIENT, follow=True)

    def _unseeked(self, seek: str) -> list[Effect]:
        if self.seek is not None and self.seek.id == seek:
            self.seek = None
        return []

    def _listed(self, listing: messages.Listing) -> list[Effect]:
        self.listing = listing
        return []

    def lost(self, code: int) -> list[Effect]:
        self.connected = False
        self.awaited.clear()
        if self.seek is not None:
            self.seek, self.refused = None, "the connection to the arena was lost: seek again"
        why = progress_report.STOPPING.get(code)
        return [self.trouble(why), Stop(1)] if why else []

    def ended(self, code: int) -> str:
        return progress_report.ended(self.at, code, self._parting)

    def ask(self, game: str, config: dict[str, Any], *, rated: bool, opponent: str | None, slow: bool) -> list[Effect]:
        self._seeks_made += 1
        self.refused, self.listing = "", None
        self.seek = messages.Seek(
            id=f"s{self._seeks_made}", game=game, config=config, rated=rated, opponent=opponent, slow=slow
        )
        return [self.seek]

    def withdraw(self) -> list[Effect]:
        """Withdraw the seek in force. A match that begins meanwhile has to be played."""
        return [] if self.seek is None else [messages.Unseek(id=self.seek.id)]

    def inquire(self) -> list[Effect]:
        """Request a listing of bots and matches."""
        self.listing = None
        return [messages.List()]

    def move(self, move: Choice) -> list[Effect]:
        """Answer the open turn. Raises `NoMove` for what can't be sent."""
        match = self.playing
        assert match is not None
        assert match.asked is not None
        work = match.asked
        answer, left_out = read_choice(work.turn, move)
        match.asked = match.rejected = None
        return self._sendable(match.seat.thought(Thought(work, answer, left_out=left_out)))

    def resign(self) -> list[Effect]:
        """Resign the match under way."""
        match = self.playing
        return [] if match is None else self._sendable(match.seat.resign())

    def _sendable(self, effects: list[Effect]) -> list[Effect]:
        """Drop messages while the connection is down; the seat repeats them on the next one."""
        return [effect for effect in effects if self.connected or isinstance(effect, Say)]

    def _welcomed(self, welcome: messages.Welcome) -> list[Effect]:
        self.connected = True
        self.games = welcome.games
        self.awaited = self.awaited & {*self.kept} | {*welcome.resumed}
        match = self.playing
        if match is not None and match.start.match not in {*welcome.resumed, *self.kept}:
            match.missed = True
        return [self.trouble(f"connected to {self.at}")]

    def _started(self, start: messages.Start) -> list[Effect]:
        self.awaited.discard(start.match)
        if self.seek is not None and start.seek == self.seek.id:
            self.seek = None
        match = self.playing
        if match is not None and match.start.match == start.match:
            return match.seat.resume()
        if start.seat is None:
            return []
        try:
            rules = games.rules_of(start.game, start.config)
        except Fault as exc:
            return [self.trouble(f"{start.match} is lost: {exc}"), resignation(start.match, str(exc))]
        self.notice = ""
        self.match = AgentMatch(start, Seat(self._bot, start, start.seat, rules, self._seed), rules)
        return self.match.seat.begin()

    def _turned(self, turn: messages.Turn, now: float) -> list[Effect]:
        match = self._of(turn.match)
        if match is None:
            return []
        match.turn, match.heard = turn, now
        match.hear(turn.events)
        return self._asked(match, match.seat.turned(turn, now))

    def _rejected(self, rejected: messages.Rejected, now: float) -> list[Effect]:
        match = self._of(rejected.match)
        if match is None:
            return []
        match.rejected = rejected
        return self._asked(match, match.seat.rejected(rejected, now))

    def _ended(self, end: messages.End) -> list[Effect]:
        match = self._of(end.match)
        if match is None:
            return []
        match.end, match.asked = end, None
        match.hear(end.events)
        line = progress_report.result(match.start, match.own, end)
        return [Say(line, trouble=True)]

    def _erred(self, error: messages.Error) -> list[Effect]:
        told = progress_report.error(self._bot.name, error, welcome=self.connected, flag="--token-file")
        line = Say(told, trouble=True)
        if error.fatal:
            self._parting = error.message
            return [line, Stop(1)] if error.code in HOPELESS else []
        if self.seek is not None and error.ref == self.seek.id:
            self.seek, self.refused = None, error.message
        else:
            self.notice = error.message
        return [line]

    def _asked(self, match: AgentMatch, effects: list[Effect]) -> list[Effect]:
        """Store a choice for the agent to make, and return the other effects, without calls of the bot's code."""
        rest: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Choose):
                match.asked = effect
            elif not isinstance(effect, (Prepare, Conclude)):
                rest.append(effect)
        return rest

    def _of(self, match: str) -> AgentMatch | None:
        return self.playing if self.playing is not None and self.playing.start.match == match else None

    def trouble(self, text: str) -> Say:
        """Return a line for standard error, as standard output belongs to the protocol."""
        return Say(f"{self._bot.name}: {text}", trouble=True)

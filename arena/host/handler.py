"""Who uses a host: what it decides for it, what it is told and handed, and the faults that are known to both."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from arena.host.journal import Journal, JournalFault
from arena.host.runner import Runner
from arena.host.session import Session
from arena.ratings.rating_system import INITIAL
from arena.store.registry import Incident
from machine.log_output import about
from machine.timestamps import utc
from protocol import error_codes
from protocol.errors import BotFault, Fault
from protocol.messages import ClientMessage, Error, Hello, ListedSeek, Player
from referee.footer import Closed
from referee.record import Header
from referee.result import Ratings

log = logging.getLogger("arena.host")


class NotAllowed(BotFault):
    """Something that this client may not do."""

    code = error_codes.NOT_ALLOWED


class Unavailable(BotFault):
    """Something that is not there now."""

    code = error_codes.UNAVAILABLE


class Elsewhere(BotFault):
    """Something that is done by another node, at `url`."""

    code = error_codes.ELSEWHERE

    def __init__(self, message: str, url: str) -> None:
        super().__init__(f"{message}: connect to {url}")
        self.url = url


class NotUnderWay(Unavailable):
    """A match that was to be watched."""

    def __init__(self, match: str) -> None:
        super().__init__(f"watch: no match {match!r} is under way")


class TooOften(Unavailable):
    """An address that has to wait before it may try again."""


class AuthFailed(BotFault):
    """The token is not the name's."""

    code = error_codes.AUTH_FAILED


class FinishedMatch:
    """What `HostHandler.finalize` has to keep, to `tell` once, and to `forget` when it is kept."""

    def __init__(self, runner: Runner, journal: Journal, tell: Callable[[Ratings | None], None]) -> None:
        self.result = runner.result(utc())
        self.failures = runner.failures
        """By seat, why the programs of bots failed, as their clients said."""
        self.tell = tell
        """Tells everyone the end, with ratings or without; once."""
        self.size = 0
        """The bytes of its record, once that was made."""
        self._runner = runner
        self._journal = journal

    def closed(self) -> Closed:
        """The match with its record. Raises `JournalFault`."""
        return self._runner.closed(self.result)

    def record(self, ratings: Ratings | None) -> bytes:
        """Its record, with ratings or without. Raises `JournalFault`."""
        record = self.closed().record(ratings)
        self.size = len(record)
        return record

    def announce_wait(self) -> None:
        """Tell the seats why they hear nothing."""
        text = "the arena can't store the result of this match now: its end is told when it can"
        self._runner.announce(Error(code=error_codes.UNAVAILABLE, message=text, ref=self.result.match))

    def forget(self) -> None:
        """Remove the journal of a match that is kept; one that stays is removed at the next start."""
        try:
            self._journal.forget(self.result.match)
        except JournalFault as fault:
            match = self.result.match
            log.error("match %s is stored, but %s", match, fault, extra=about(match=match))


class Identity(NamedTuple):
    """The name of a bot as registered, None for a spectator, a token that was made for it just now, the URLs of other
    nodes where it has matches, the hash of the token that it brought, where others may take that away, whether the
    name is a person's, and what people call who plays.
    """

    bot: str | None
    token: str | None = None
    elsewhere: Sequence[str] = ()
    token_hash: str | None = None
    person: bool = False
    display: str | None = None


class HostHandler(ABC):
    """The one interface between a host and who has matches played on it: a ladder, or a tournament's worker."""

    url: str | None = None
    """Where clients connect to this host, where there are others for the same matches."""

    @abstractmethod
    async def authenticate(self, hello: Hello, address: str) -> Identity:
        """Who a client is. Raises `BotFault` for one that must stay out, `ArenaFault` where that can't be known."""

    @abstractmethod
    def request(self, session: Session, message: ClientMessage) -> None:
        """Do what a client asks for beside playing, watching and listing: seeks. Raises `BotFault`."""

    @abstractmethod
    async def finalize(self, match: FinishedMatch) -> None:
        """Have a match that is over kept and told. What is raised leaves it in the journal."""

    async def note(self, bot: str, incident: Incident) -> None:
        """Keep what went wrong with a bot by its own doing. Raises `ArenaFault`."""

    async def resumes(self, header: Header, seed: bytes) -> bool:
        """Whether a match of the journal goes on; else its journal is removed. Raises `ArenaFault`."""
        return False

    def seeks(self, bot: str) -> tuple[list[ListedSeek], int]:
        """What a bot (its folded name) seeks, for a listing, and for how many seconds it may begin none of that."""
        return [], 0

    def players(self, header: Header) -> list[Player]:
        """Who sits at a match, with the ratings they bring to it. Raises `BotFault`."""
        return [Player(bot=seat.bot, version=seat.version, mu=INITIAL.mu, sigma=INITIAL.sigma) for seat in header.seats]

    def unready(self) -> str | None:
        """Why nobody should be sent to this host now, in a line; None where nothing speaks against it."""
        return None

    def others(self) -> list[str]:
        """The URLs of other hosts with matches of the same arena."""
        return []

    def watch_elsewhere(self, session: Session, match: str) -> None:
        """Tell who wants to watch a match that is not here where it is, soon, if it is under way on another host."""

    def before_start(self, header: Header, seed: bytes) -> asyncio.Future[None] | None:
        """What has to be done before anybody is told that a match begins; None: nothing."""
        return None

    def not_begun(self, match: str, fault: Fault) -> None:
        """A match does not begin after all, as what had to be done before says: there is nothing left of it."""

    def match_added(self, runner: Runner) -> None:
        """A match is about to begin, or to go on after a restart."""

    def connected(self, session: Session) -> None:
        """A bot came in, and is about to be welcomed."""

    def disconnected(self, session: Session) -> None:
        """The connection of a bot ended, or a newer one took its place. Its matches go on."""

    def seated(self, session: Session) -> None:
        """A bot that is connected got a seat in a match."""

    def seat_ready(self, session: Session) -> None:
        """A bot said that it is ready for a match."""

    def room_again(self) -> None:
        """A client of an address that had as much as it may may begin a match again."""

    def seat_released(self, runner: Runner, seat: int) -> None:
        """A seat plays no more in a match, which may go on: its bot has the slot back."""

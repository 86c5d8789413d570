"""The interface between a host and the owner of its matches (a ladder or a tournament), with their common errors."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from arena.host.finished_match import FinishedMatch
from arena.host.runner import MatchRunner
from arena.host.session import ClientSession
from arena.ratings.rating_system import INITIAL_RATING
from arena.store.incident import Incident
from arena.store.stored_match import StoredMatch
from protocol import error_codes
from protocol.errors import BotFault, Fault
from protocol.messages import ClientMessage, Hello, ListedSeek, Player
from referee.record import Header


class NotAllowed(BotFault):
    """Raised if a client asks for something that is not allowed."""

    code = error_codes.NOT_ALLOWED


class Unavailable(BotFault):
    """Raised if a client asks for something that is not available now."""

    code = error_codes.UNAVAILABLE


class OnAnotherNode(BotFault):
    """Raised if another node of the arena, at `url`, handles what the client asks for."""

    code = error_codes.ELSEWHERE

    def __init__(self, message: str, url: str) -> None:
        super().__init__(f"{message}: connect to {url}")
        self.url = url


class NotRunning(Unavailable):
    """Raised if a client asks to watch a match that is not running."""

    def __init__(self, match: str) -> None:
        super().__init__(f"watch: no match {match!r} is under way")


class TooOften(Unavailable):
    """Raised if a client has to wait before its next attempt to log in or register."""


class AuthFailed(BotFault):
    """Raised if a client has sent a token that does not belong to the bot's name."""

    code = error_codes.AUTH_FAILED


class Identity(NamedTuple):
    """The identity of an authenticated client. `bot` is the registered name, or None for a spectator.

    `token` is the bot's token if it was generated just now. `elsewhere` has the URLs of other nodes where the bot has
    matches. `token_hash` is the hash of the bot's token if it can be revoked. `person` is true if the name is a
    person's. `display` is the display name. `registered` is true if the name was registered just now.
    """

    bot: str | None
    token: str | None = None
    elsewhere: Sequence[str] = ()
    token_hash: str | None = None
    person: bool = False
    display: str | None = None
    registered: bool = False


class HostHandler(ABC):
    """The interface between a host and the owner of its matches: a ladder, or a worker of a tournament."""

    url: str | None = None
    """The URL where clients connect to this host, if it is one of several hosts; else None."""

    @abstractmethod
    async def authenticate(self, hello: Hello, address: str) -> Identity:
        """Return a client's identity. Raise `BotFault` to refuse the client, `ArenaFault` if the look-up fails."""

    @abstractmethod
    def handle_message(self, session: ClientSession, message: ClientMessage) -> None:
        """Handle a message that the host does not handle itself, like a seek. Raise `BotFault` if it is wrong."""

    @abstractmethod
    async def store_match(self, match: FinishedMatch) -> StoredMatch:
        """Store a finished match, or hand it to its owner, and return the outcome. The host then removes the journal
        and sends `end`.

        If this raises an error, the match stays in its journal. After a `Fault`, no `end` is sent.
        """

    async def record_incident(self, bot: str, incident: Incident) -> None:
        """Record an incident that a bot caused. Raise `ArenaFault` if that fails."""

    async def should_resume(self, header: Header, seed: bytes) -> bool:
        """Return whether to resume a match that was found in its journal. If not, the host removes the journal. Raise
        `ArenaFault` if this can't be decided.
        """
        return False

    def seeks_of(self, bot: str) -> tuple[list[ListedSeek], int]:
        """Return a bot's seeks, for a listing, and the seconds for which the rate limit delays the bot's next match.
        `bot` is the folded name.
        """
        return [], 0

    def players_of(self, header: Header) -> list[Player]:
        """Return the players of a match with their current ratings. Raise `BotFault` if the header is wrong."""
        return [
            Player(bot=seat.bot, version=seat.version, mu=INITIAL_RATING.mu, sigma=INITIAL_RATING.sigma)
            for seat in header.seats
        ]

    def unready_reason(self) -> str | None:
        """Return one line that says why clients should not connect now; None if they may."""
        return None

    def other_hosts(self) -> list[str]:
        """Return the URLs of the other hosts of this arena."""
        return []

    def redirect_spectator(self, session: ClientSession, match: str) -> None:
        """Send a client, now or later, the URL of the host that runs a match, or an error if none does."""

    def prepare_start(self, header: Header, seed: bytes) -> asyncio.Future[None] | None:
        """Return a future for the work that must be done before a match begins, or None if there is none."""
        return None

    def begun(self, match: str) -> None:
        """Handle the beginning of a match, just before its seats get `start`."""

    def not_begun(self, match: str, fault: Fault) -> None:
        """Handle a match that does not begin because the work before it failed. The host has removed the match."""

    def on_match_added(self, runner: MatchRunner) -> None:
        """Handle a match that is about to start, or to resume after a restart."""

    def on_game_closed(self, game: str, message: str) -> None:
        """Handle that a game gets no new matches, because its rules hold up the host. `message` says so."""

    def on_connected(self, session: ClientSession) -> None:
        """Handle a bot that has connected and is about to be welcomed."""

    def on_disconnected(self, session: ClientSession) -> None:
        """Handle the end of a bot's connection, or its replacement by a newer one. The bot's matches continue."""

    def on_seat_ready(self, session: ClientSession) -> None:
        """Handle a bot's report that it is ready for a match."""

    def on_capacity_available(self) -> None:
        """Handle an address that may start a match again, after it had used up its quota."""

    def on_seat_released(self, runner: MatchRunner, seat: int) -> None:
        """Handle the release of a seat, after which its bot has the slot back. The match may continue."""

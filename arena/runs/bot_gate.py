"""The entrance of a tournament's bots: lets them in, answers their messages, and learns how their match ends."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Sequence

from arena.host.finished_match import FinishedMatch
from arena.host.handler import AuthFailed, HostHandler, Identity, NotAllowed
from arena.host.runner import MatchRunner
from arena.host.session import ClientSession
from arena.runs.waiting_room import WaitingRoom
from arena.store.incident import Incident
from arena.store.stored_match import StoredMatch
from protocol.errors import ArenaFault
from protocol.messages import ClientMessage, Hello, Unseek, Unseeked
from referee.footer import ClosedMatch


class BotGate(HostHandler):
    """Lets the bots of a tournament in, each by its own token, and has them play one match at a time.

    `fail` ends the match with a fault, and play with it.
    """

    def __init__(self, names: Sequence[str], room: WaitingRoom) -> None:
        self.tokens = {name: secrets.token_hex(32) for name in names}
        self.changed = asyncio.Event()
        """The event that is set when a bot may be ready to play, or when play has failed."""
        self._room = room
        self._match_end: asyncio.Future[ClosedMatch] | None = None
        self._failure: BaseException | None = None
        self._incidents: list[tuple[str, Incident]] = []

    @property
    def is_free(self) -> bool:
        """True if another match can be played: play has not failed, and the last match has ended."""
        return self._failure is None and self._match_end is None

    async def wait_for_end(self) -> ClosedMatch:
        """Wait for the end of the match that has just been started, and return it. Raise the fault if play fails."""
        self._match_end = asyncio.get_running_loop().create_future()
        return await self._match_end

    def take_incidents(self) -> tuple[tuple[str, Incident], ...]:
        """Return the incidents of the match that has ended, each with the bot's name, and be free for the next one."""
        self._match_end = None
        incidents, self._incidents = tuple(self._incidents), []
        return incidents

    def fail(self, fault: BaseException) -> None:
        """End play with a fault, unless it has failed already."""
        self._failure = self._failure or fault
        self.changed.set()
        if self._match_end is not None and not self._match_end.done():
            self._match_end.set_exception(self._failure)

    def raise_failure(self) -> None:
        """Raise the fault that ended play, if any."""
        if self._failure is not None:
            raise self._failure

    async def authenticate(self, hello: Hello, address: str) -> Identity:
        """Accept only the tournament's bots, each with its own token, and spectators."""
        if hello.bot is None:
            return Identity(None)
        token = self.tokens.get(hello.bot)
        if token is None or hello.token is None or not hmac.compare_digest(token.encode(), hello.token.encode()):
            raise AuthFailed(f"{hello.bot} is not one of this tournament's bots, or that is not its token")
        return Identity(hello.bot)

    def handle_message(self, session: ClientSession, message: ClientMessage) -> None:
        """Answer the withdrawal of a seek, and reject any other message: the tournament assigns matches."""
        if isinstance(message, Unseek):
            session.send(Unseeked(id=message.id))
        else:
            raise NotAllowed("seek: this server assigns matches: wait for start")

    def on_connected(self, session: ClientSession) -> None:
        if session.bot is not None:
            self._room.on_connected(session.bot, asyncio.get_running_loop().time())
        self.changed.set()

    def on_seat_released(self, runner: MatchRunner, seat: int) -> None:
        self.changed.set()

    async def store_match(self, match: FinishedMatch) -> StoredMatch:
        """Pass on the match with its record. It has no ratings, because these may depend on other matches."""
        try:
            closed = match.close()
        except ArenaFault as fault:
            self.fail(fault)
        else:
            if self._match_end is not None and not self._match_end.done():
                self._match_end.set_result(closed)
        return StoredMatch()

    async def record_incident(self, bot: str, incident: Incident) -> None:
        self._incidents.append((bot, incident))

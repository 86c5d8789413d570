"""The clients of a host and its running matches: who is connected, who plays where, and who watches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from itertools import islice

from arena.host.broadcast import Broadcaster, EncodedMessages, Peer
from arena.host.handler import HostHandler
from arena.host.quotas import Quotas
from arena.host.runner import MatchRunner
from arena.host.session import ClientSession
from protocol.close_codes import NOT_AUTHENTICATED, PEER_LOSS, SUPERSEDED
from protocol.error_codes import AUTH_FAILED
from protocol.messages import Error, ListedBot, Listing
from protocol.names import fold_name
from referee.effects import Forfeit, RunnerLost

RELEASE_BATCH_SIZE = 8
"""Number of seats or watched matches that are released in one piece of work after a client has disconnected."""
LISTING_CACHE_TTL_S = 1.0
"""Seconds for which a listing is cached, so that all clients get the same one."""
MAX_LISTED_BOTS = 200
"""Maximum number of bots in a listing."""
MAX_LISTED_MATCHES = 256
"""Maximum number of matches in a listing. The largest listing takes 0.92 MB (eight seeks per bot), which fits a
frame.
"""


class ClientRegistry:
    """The sessions of connected bots, and the running matches with their seats. Reports changes to `handler`."""

    def __init__(self, handler: HostHandler, quotas: Quotas, broadcaster: Broadcaster) -> None:
        self.handler = handler
        self.quotas = quotas
        """The quotas per address, charged for seats."""
        self._loop = asyncio.get_running_loop()
        self.sessions: dict[str, ClientSession] = {}
        """The sessions of connected bots, by folded name."""
        self.runners: dict[str, MatchRunner] = {}
        """The running matches, newest last."""
        self.subscribers = broadcaster.subscribers
        """The peers that get the start and the end of every match."""
        self._watched_by_client: dict[Peer, dict[str, MatchRunner]] = {}
        """The matches that each client watches."""
        self._seats_by_bot: dict[str, dict[str, tuple[MatchRunner, int]]] = {}
        """The seats in running matches, by folded bot name and match id."""
        self._match_removed = asyncio.Event()
        """The event that is set when a match is removed. A new event then replaces it."""
        self._listing = EncodedMessages([])
        self._listing_made_at: float | None = None
        """The time at which `_listing` was made, in seconds of the event loop."""

    def add_session(self, session: ClientSession) -> list[str]:
        """Register a bot's session, and close the bot's older session if there is one. Return the ids of the bot's
        running matches. Call `restore_seats` to give the bot its seats in them.
        """
        assert session.bot is not None
        older = self.sessions.get(session.key)
        if older is not None:
            self.remove_session(older)
            older.close(SUPERSEDED, "superseded by a newer connection of the same bot")
        self.sessions[session.key] = session
        self.handler.on_connected(session)
        return list(self._seats_by_bot.get(session.key, ()))

    def restore_seats(self, session: ClientSession) -> None:
        """Give a newly connected bot its seats in running matches back, one in each turn of the fair scheduler."""
        places = list(self._seats_by_bot.get(session.key, {}).values())
        if places:
            session.connection.run_in_turns(self._restore_seats(session, places))

    def _restore_seats(self, session: ClientSession, seats: list[tuple[MatchRunner, int]]) -> Iterator[None]:
        for runner, seat in seats:
            if self.sessions.get(session.key) is not session:
                return
            if self.find_seat(session, runner.id) is None:
                runner.send_missed_end(seat, session)
            else:
                self.quotas.charge_seat(runner.id, seat, session.connection.address)
                runner.return_seat(seat, session, follow=session.follow)
            yield

    def remove_session(self, session: ClientSession) -> None:
        """Remove the session of a closed connection. The bot's matches continue. Its seats are vacated a few at a time,
        in the client's turns of the fair scheduler.
        """
        self.subscribers.pop(session, None)
        watched = list(self._watched_by_client.pop(session, {}).values())
        places: list[tuple[MatchRunner, int]] = []
        if session.bot is not None and self.sessions.get(session.key) is session:
            del self.sessions[session.key]
            self.handler.on_disconnected(session)
            places = list(self._seats_by_bot.get(session.key, {}).values())
        if watched or places:
            session.connection.run_in_turns(_vacate(session, watched, places))

    def disconnect_bot(self, bot: str, message: str, close_reason: str) -> bool:
        """Disconnect a bot whose token is no longer valid. Return whether it was connected. Its matches continue."""
        session = self.session_of(bot)
        if session is None:
            return False
        session.send(Error(code=AUTH_FAILED, message=message.format(bot=session.bot), fatal=True))
        self.remove_session(session)
        session.close(NOT_AUTHENTICATED, close_reason)
        return True

    def add_match(self, runner: MatchRunner) -> None:
        """Add a match that is about to start or resume, and seat the connected bots."""
        self.runners[runner.id] = runner
        self.quotas.add_match(runner.id, runner.config_bytes)
        for seat, bot in enumerate(runner.bots):
            self._seats_by_bot.setdefault(fold_name(bot), {})[runner.id] = runner, seat
            session = self.session_of(bot)
            if session is not None:
                self.quotas.charge_seat(runner.id, seat, session.connection.address)
                runner.seat_peer(seat, session, follow=session.follow)

    def remove_match(self, runner: MatchRunner) -> None:
        """Remove a finished match, just before its end is sent."""
        del self.runners[runner.id]
        for peer in runner.audience.spectators:
            self._watched_by_client.get(peer, {}).pop(runner.id, None)
        if self.quotas.remove_match(runner.id):
            self.handler.on_capacity_available()
        self._match_removed.set()
        self._match_removed = asyncio.Event()
        for seat in range(len(runner.bots)):
            self.release_seat(runner, seat)

    def release_seat(self, runner: MatchRunner, seat: int) -> None:
        """Release a seat that no longer plays. Its bot has the slot back, even if the match continues."""
        bot = fold_name(runner.bots[seat])
        playing = self._seats_by_bot.get(bot, {})
        if playing.pop(runner.id, None) is None:
            return
        if not playing:
            del self._seats_by_bot[bot]
        self.handler.on_seat_released(runner, seat)

    def seats_of(self, session: ClientSession) -> list[tuple[MatchRunner, int]]:
        """Return the running matches of a session's bot, each with the bot's seat; none for an older session."""
        if self.sessions.get(session.key) is not session:
            return []
        return list(self._seats_by_bot.get(session.key, {}).values())

    def close(self) -> None:
        """Stop the running matches. Their journals stay, so that they can resume."""
        for runner in self.runners.values():
            runner.stop()

    def is_online(self, bot: str) -> bool:
        return fold_name(bot) in self.sessions

    def session_of(self, bot: str) -> ClientSession | None:
        return self.sessions.get(fold_name(bot))

    def matches_of(self, bot: str) -> Mapping[str, tuple[MatchRunner, int]]:
        """Return the running matches of a bot by id, each with the bot's seat."""
        return self._seats_by_bot.get(fold_name(bot), {})

    def version_of(self, bot: str) -> str:
        """Return the version that a connected bot announced; "" if it is not connected."""
        session = self.session_of(bot)
        return "" if session is None else session.version

    def free_slots_of(self, bot: str) -> int:
        """Return how many slots of a bot hold no match; 0 while the bot is disconnected."""
        session = self.session_of(bot)
        return 0 if session is None else session.slots - len(self._seats_by_bot.get(session.key, ()))

    def forfeit_matches(self, bot: str) -> None:
        """Forfeit all running matches of a bot that will not come back."""
        for runner, seat in list(self.matches_of(bot).values()):
            runner.receive(Forfeit(seat))

    def on_runner_lost(self, bot: str) -> None:
        """Let all running matches of a bot wait until it is started elsewhere. Close its connection, which may outlive
        the runner, so that no match begins meanwhile.
        """
        for runner, seat in list(self.matches_of(bot).values()):
            runner.receive(RunnerLost(seat))
        if session := self.session_of(bot):
            self.remove_session(session)
            session.close(PEER_LOSS, "the runner of the bot was lost")

    def matches_with(self, bot: str) -> list[MatchRunner]:
        """Return the running matches that have a bot among their players, even if it has left its seat."""
        return [runner for runner in self.runners.values() if fold_name(bot) in map(fold_name, runner.bots)]

    async def wait_until_idle(self, bot: str | None = None) -> None:
        """Wait until a bot has no running match. If `bot` is None, wait until no match is running."""
        while self.runners if bot is None else self.matches_with(bot):
            await self._match_removed.wait()

    def find_seat(self, session: ClientSession, match: str) -> tuple[MatchRunner, int] | None:
        """Return a running match and the seat of a client's bot in it, or None if the bot does not play in it."""
        playing = self._seats_by_bot.get(session.key)
        return None if playing is None else playing.get(match)

    def now(self) -> float:
        return self._loop.time()

    def get_listing(self) -> EncodedMessages:
        """Return the listing of bots and matches. It is made at most once in `LISTING_CACHE_TTL_S` seconds."""
        now = self._loop.time()
        if self._listing_made_at is None or now - self._listing_made_at >= LISTING_CACHE_TTL_S:
            self._listing, self._listing_made_at = EncodedMessages([self._make_listing()]), now
        return self._listing

    def _make_listing(self) -> Listing:
        return Listing(
            bots=[
                ListedBot(
                    bot=session.bot or "",
                    display=session.display or "",
                    person=session.is_person,
                    version=session.version,
                    client=session.client,
                    playing=len(self._seats_by_bot.get(session.key, ())),
                    seeks=seeks,
                    pace_s=pace_s,
                    warming=session.warming,
                    warming_s=int(self.now() - session.warming_since) if session.warming else 0,
                )
                for session in islice(self.sessions.values(), MAX_LISTED_BOTS)
                for seeks, pace_s in [self.handler.seeks_of(session.key)]
            ],
            matches=[runner.make_listing() for runner in islice(reversed(self.runners.values()), MAX_LISTED_MATCHES)],
            more_bots=max(0, len(self.sessions) - MAX_LISTED_BOTS),
            more_matches=max(0, len(self.runners) - MAX_LISTED_MATCHES),
            elsewhere=self.handler.other_hosts(),
        )

    def watch(self, session: ClientSession, runner: MatchRunner) -> None:
        """Send a client the state of a match, and its turns from now on."""
        self._watched_by_client.setdefault(session, {})[runner.id] = runner
        runner.watch(session)

    def unwatch(self, session: ClientSession, match: str) -> None:
        runner = self._watched_by_client.get(session, {}).pop(match, None)
        if runner is not None:
            runner.unwatch(session)


def _vacate(session: ClientSession, watched: list[MatchRunner], seats: list[tuple[MatchRunner, int]]) -> Iterator[None]:
    """Remove a disconnected client from the matches that it watched and from its seats. Yield after each
    `RELEASE_BATCH_SIZE` of them.
    """
    for number, runner in enumerate(watched, 1):
        runner.unwatch(session)
        if number % RELEASE_BATCH_SIZE == 0:
            yield
    for number, (runner, seat) in enumerate(seats, 1):
        runner.remove_peer(seat, session)
        if number % RELEASE_BATCH_SIZE == 0:
            yield

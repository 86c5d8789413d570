"""Runs the lobby of a server: feeds it events and performs its effects."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from random import Random, SystemRandom
from typing import Any, BinaryIO

from arena.host.actions import require_bot
from arena.host.host import MatchHost
from arena.host.journal import Journal, JournalFault
from arena.host.session import ClientSession
from arena.lobby import events
from arena.lobby.effects import (
    CallBots,
    ChargeSeek,
    LoadBot,
    LobbyEffect,
    LookUpNames,
    NoteMissedMatch,
    RejectMessage,
    StartAssigned,
    StartMatch,
    StopServer,
    Tell,
    WakeAt,
)
from arena.lobby.events import LobbyEvent
from arena.lobby.lobby import Lobby
from arena.lobby.log import LobbyLogEntry, encode_line
from arena.server.bot_loader import BotLoader
from arena.server.match_headers import MatchHeaders
from arena.server.nodes import SingleNode
from machine.event_loop import BackgroundTasks
from machine.log_output import log_fields
from protocol.dice import SEED_BYTES
from protocol.error_codes import UNAVAILABLE
from protocol.errors import ArenaFault, BotFault, MalformedMessage, RulesFault
from protocol.games import shared_game
from protocol.messages import ClientMessage, Error, Seek, Unseek, Unseeked

MAX_LOOKUPS = 16
"""Maximum number of names that are looked up at the same time. Further names count as registered."""

MAX_LOG_BYTES = 2**28
"""Maximum size of the entries in a pairing log."""

log = logging.getLogger("arena.server")


class LobbyRunner:
    """The lobby of a server, with its timer and its source of randomness. Seeks start no match while the host has a
    fault or the node drains. `drained` is set when the server has drained and must stop.
    The events are written to `log_file` (see arena/lobby/log.py) if it is given, until it has `MAX_LOG_BYTES`.
    """

    def __init__(
        self,
        lobby: Lobby,
        host: MatchHost,
        headers: MatchHeaders,
        loader: BotLoader,
        journal: Journal,
        nodes: SingleNode,
        drained: asyncio.Event,
        retry_delay_s: float,
        log_file: BinaryIO | None = None,
    ) -> None:
        self._drained = drained
        self._log = log_file
        self._log_bytes = 0
        self.lobby = lobby
        self._host = host
        self._headers = headers
        self._loader = loader
        self._journal = journal
        self._nodes = nodes
        self._retry_delay_s = retry_delay_s
        self._loop = asyncio.get_running_loop()
        self._rng: Random = SystemRandom()
        self._timer: asyncio.Handle | None = None
        self._is_closed = False
        self._used_up: set[str] = set()
        """The addresses whose quotas the lobby was told to be used up."""
        self._assigned: dict[str, Callable[[Sequence[int]], None]] = {}
        """The functions that start the assigned matches that wait for their bots, by match id."""
        self._unprepared: dict[tuple[str, str], ClientSession] = {}
        """The sessions of the seeks whose configs isolated games are asked about, by folded bot name and seek id."""
        self._lookups = BackgroundTasks()
        self._background = BackgroundTasks()

    def feed(self, event: LobbyEvent) -> None:
        """Let the lobby handle an event, and perform the effects. Raise `MalformedMessage` if the lobby rejects the
        message of a client.
        """
        now, rng = self._loop.time(), self._rng
        if self._log is not None:
            entry = LobbyLogEntry(now, secrets.randbits(64), event)
            self._append_to_log(entry)
            rng = entry.make_rng()
        for effect in self.lobby.receive(event, now, rng):
            _PERFORMERS[type(effect)](self, effect)

    def _append_to_log(self, entry: LobbyLogEntry) -> None:
        """Write an entry to the log. End the log if it is full or can't be written."""
        assert self._log is not None
        line = encode_line(entry)
        self._log_bytes += len(line)
        if self._log_bytes > MAX_LOG_BYTES:
            log.warning("the pairing log is full: it ends here, and a new one begins with the next start")
            self._log = None
            return
        try:
            self._log.write(line)
        except OSError as exc:
            log.warning("the pairing log can't be written, and ends here: %s", exc.strerror)
            self._log = None

    def handle(self, session: ClientSession, message: ClientMessage) -> None:
        """Handle a `seek` or `unseek` message. Raise a `BotFault` if the client must not send it."""
        if isinstance(message, Seek):
            bot = require_bot(session)
            if self._host.rules.must_prepare(message.game, message.config):
                self._unprepared[bot, message.id] = session
                self._background.start(self._prepare_seek(session, message))
                return
            refusal = self._host.quotas.refusal_reason(session.connection.address)
            refusal = refusal or self._host.rules.refusal_reason(message.game, message.config)
            self.feed(events.SeekPlaced(bot, message, refusal))
        elif isinstance(message, Unseek):
            is_unprepared = self._unprepared.pop((session.key, message.id), None) is not None
            if session.bot is None or is_unprepared:
                session.send(Unseeked(id=message.id))
            else:
                self.feed(events.SeekWithdrawn(session.key, message.id))

    async def _prepare_seek(self, session: ClientSession, seek: Seek) -> None:
        """Handle a seek under a config that an isolated game has to be asked about, unless the bot takes it back."""
        rules, fault = self._host.rules, None
        try:
            await rules.prepare(seek.game, seek.config)
        except (BotFault, RulesFault) as exc:
            fault = exc
        if self._unprepared.get((session.key, seek.id)) is not session:
            return
        del self._unprepared[session.key, seek.id]
        if self._host.clients.sessions.get(session.key) is not session:
            return
        if isinstance(fault, BotFault):
            session.send_error(fault, seek.id)
        elif fault is not None:
            session.send(Error(code=UNAVAILABLE, message=f"seek: {rules.explain_refusal(fault)}", ref=seek.id))
        else:
            try:
                self.handle(session, seek)
            except BotFault as exc:
                session.send_error(exc, seek.id)

    def assign(self, event: events.MatchAssigned, on_bots_free: Callable[[Sequence[int]], None]) -> None:
        """Let a match wait for its bots. `on_bots_free` must then start it, with these seats absent."""
        self._assigned[event.match] = on_bots_free
        self.feed(event)

    def withdraw(self, match: str) -> bool:
        """Let an assigned match wait no longer for its bots. Return False if it does not wait."""
        if self._assigned.pop(match, None) is None:
            return False
        self.feed(events.AssignmentWithdrawn(match))
        return True

    def update_quotas(self) -> None:
        """Tell the lobby which addresses may start matches again."""
        for address in [address for address in self._used_up if self._host.quotas.can_start_match(address)]:
            self._used_up.remove(address)
            self.feed(events.QuotaChanged(address, is_used_up=False))

    async def close(self) -> None:
        """Pair no more seeks, and read no more from the store."""
        self._is_closed = True
        self._cancel_timer()
        await self._background.cancel()
        await self._lookups.cancel()

    async def load(self, bot: str) -> None:
        """Load a bot's ratings and approval, and the first time its past matches. Raise `StoreError` if that fails."""
        self.feed(await self._loader.load(bot))

    async def reload(self) -> None:
        """Reload the ratings and rated matches of all known bots. Raise `StoreError` if reading fails."""
        async for event in self._loader.reload():
            self.feed(event)

    async def _load_quietly(self, bot: str) -> None:
        try:
            await self.load(bot)
        except ArenaFault as fault:
            log.warning("the history of %s can't be read now: %s", bot, fault)

    async def _look_up(self, name: str) -> None:
        try:
            is_registered = await self._loader.is_registered(name)
        except ArenaFault as fault:
            log.warning("the name %s can't be looked up: %s", name, fault, extra=log_fields(bot=name))
            return
        if not is_registered:
            self.feed(events.NameUnknown(name))

    def _wake(self) -> None:
        self._timer = None
        self.update_quotas()
        is_paused = self._host.health.reason is not None or self._nodes.is_draining
        match = f"{datetime.now(UTC):%y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        self.feed(events.Tick(match, is_paused))

    def _set_timer(self, effect: WakeAt) -> None:
        self._cancel_timer()
        if effect.time is None or self._is_closed:
            return
        if effect.time <= self._loop.time():
            self._timer = self._loop.call_soon(self._wake)
        else:
            self._timer = self._loop.call_at(effect.time, self._wake)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_match(self, effect: StartMatch) -> None:
        """Start a match, with seats drawn at random. If an address has no quota left for it, the match does not begin,
        and the lobby is told.
        """
        if self._find_used_up(effect.bots):
            self.feed(events.MatchNotBegun(effect.match, seeks_again=True))
            return
        seats = list(zip(effect.bots, effect.seeks, strict=True))
        self._rng.shuffle(seats)
        seed = secrets.token_bytes(SEED_BYTES)
        clock = self._headers.slow_clock if effect.is_slow else None
        bots = [bot for bot, _ in seats]
        try:
            rules = shared_game(effect.spec.game, effect.spec.config)  # cached until the match uses them
            header = self._headers.make(effect.match, rules, bots, seed, pool=effect.pool, clock=clock)
            self._host.start_match(header, seed, [seek for _, seek in seats])
        except ArenaFault as fault:
            self.feed(events.MatchNotBegun(effect.match, seeks_again=True))
            self._pause(fault)
        except RulesFault as fault:
            self._refuse_failed_rules(effect, fault)
        except BaseException:
            self.feed(events.MatchNotBegun(effect.match))
            raise

    def _refuse_failed_rules(self, effect: StartMatch, fault: RulesFault) -> None:
        """End the seeks of a match that can't begin because its rules fail, and send its bots an error."""
        log.error("match %s can't begin: %s", effect.match, fault, extra=log_fields(match=effect.match))
        self._host.rules.on_rules_fault(fault)
        self.feed(events.MatchNotBegun(effect.match))
        text = f"this seek has ended: the rules of {fault.game} failed, which is no bot's fault"
        for bot, seek in zip(effect.bots, effect.seeks, strict=True):
            self._tell(Tell(bot, Error(code=UNAVAILABLE, message=text, ref=seek)))

    async def _announce_call(self, bots: list[str]) -> None:
        try:
            await self._nodes.call_bots(bots)
        except ArenaFault as fault:
            log.warning("%s can't be asked to connect to this node: %s", ", ".join(bots), fault)

    def _find_used_up(self, bots: Iterable[str]) -> bool:
        """Return whether the quotas of one of the bots allow no match now, and tell the lobby which."""
        sessions = [session for bot in bots if (session := self._host.clients.session_of(bot)) is not None]
        addresses = {session.connection.address for session in sessions}
        used_up = [address for address in addresses if not self._host.quotas.can_start_match(address)]
        for address in used_up:
            self._used_up.add(address)
            self.feed(events.QuotaChanged(address, is_used_up=True))
        return bool(used_up)

    def _pause(self, fault: ArenaFault) -> None:
        """Pause pairing because of a fault, until a journal can be written again."""
        self._host.health.set_problem("seeks", str(fault))
        self._loop.call_later(self._retry_delay_s, self._try_to_resume)

    def _try_to_resume(self) -> None:
        try:
            self._journal.probe()
        except JournalFault as fault:
            self._pause(fault)
        else:
            self._host.health.set_problem("seeks", None)

    def _reject_message(self, effect: RejectMessage) -> None:
        raise MalformedMessage(effect.reason)

    def _tell(self, effect: Tell) -> None:
        session = self._host.clients.session_of(effect.bot)
        if session is not None and effect.is_greeting:
            self._loop.call_soon(session.send, effect.message)
        elif session is not None:
            session.send(effect.message)

    def _look_up_names(self, effect: LookUpNames) -> None:
        for name in effect.names:
            if len(self._lookups) < MAX_LOOKUPS:
                self._lookups.start(self._look_up(name))


_PERFORMERS: dict[type[LobbyEffect], Callable[[LobbyRunner, Any], object]] = {
    WakeAt: LobbyRunner._set_timer,
    StartMatch: LobbyRunner._start_match,
    StartAssigned: lambda runner, effect: runner._assigned.pop(effect.match)(effect.absent),
    CallBots: lambda runner, effect: runner._background.start(runner._announce_call(list(effect.bots))),
    StopServer: lambda runner, effect: runner._drained.set(),
    RejectMessage: LobbyRunner._reject_message,
    Tell: LobbyRunner._tell,
    ChargeSeek: lambda runner, effect: runner._host.quotas.charge_seek(
        effect.address, effect.config_bytes, refund=effect.refund
    ),
    LoadBot: lambda runner, effect: runner._background.start(runner._load_quietly(effect.bot)),
    LookUpNames: LobbyRunner._look_up_names,
    NoteMissedMatch: lambda runner, effect: runner._host.events.note_missed_match(
        effect.bot, effect.match, effect.pause_s
    ),
}
"""The performer of each type of effect."""

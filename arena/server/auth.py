"""Authentication of bots by their tokens, and registration of names. A name that was not used for a long time can be
registered again.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

from msgspec import Struct

from arena.host.handler import AuthFailed, Identity, NotAllowed, TooOften
from arena.server.guess_limits import GuessLimits
from arena.store.async_store import AsyncStore
from arena.store.registry import (
    NameInUse,
    RegisteredBot,
    claim_person,
    find_registered_bot,
    register_newcomer,
    update_last_seen,
)
from arena.store.tokens import generate_token, hash_token
from machine.event_loop import wait_within
from machine.keyed_limiter import KeyedLimiter, TokenBucket
from machine.timestamps import utc_now
from protocol import error_codes
from protocol.display_names import normalize_display
from protocol.errors import ArenaFault, BotFault, MalformedMessage, UsageFault
from protocol.messages import Hello
from protocol.names import fold_name
from protocol.secret_text import strip_invisible

WRITE_DELAY_S = 5.0
"""Seconds for which the times when bots were last seen are collected, before they are stored together."""

LAST_SEEN_REFRESH_S = 3600.0
"""Seconds between two updates of the stored times at which connected bots were last seen. If the server is killed, the
stored times are about this old at most.
"""

TICKET_PREFIX = "run."
"""The beginning of the tickets of runners, so that a ticket that is over registers no bot."""

log = logging.getLogger("arena.server.auth")


class NameTaken(BotFault):
    """Raised if a name belongs to another bot, whose token was not sent."""

    code = error_codes.NAME_TAKEN


class Revoked(BotFault):
    """Raised if the operator has revoked the bot, so that its token is no longer valid."""

    code = error_codes.AUTH_FAILED

    def __init__(self, bot: str) -> None:
        super().__init__(f"{bot} was revoked by the operator, who alone can give it a new token")
        self.bot = bot


class Registration(Struct, frozen=True, kw_only=True):
    """Rules of registration: whether new names are accepted, how many per hour and address, and when names expire."""

    open: bool = True
    per_hour: int = 100
    free_after_days: int = 30
    """Days without use after which a name can be registered again; 0 means never."""


class LastSeen:
    """Stores when bots were last seen, for many bots in one transaction, so that frequent reconnects cost little."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._seen: dict[str, str] = {}
        """The last-seen times that are not stored yet, by folded name of the bot."""
        self._connections: Counter[str] = Counter()
        """The number of connections of each bot, by folded name. It is 2 for a moment while a new connection replaces
        the old one.
        """
        self._refresh_timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def on_connected(self, bot: str) -> None:
        name = fold_name(bot)
        self._connections[name] += 1
        self._mark_seen([name])
        if self._refresh_timer is None:
            self._refresh()

    def on_disconnected(self, bot: str) -> None:
        name = fold_name(bot)
        self._connections[name] -= 1
        if not self._connections[name]:
            del self._connections[name]
        self._mark_seen([name])

    def is_connected(self, bot: str) -> bool:
        return fold_name(bot) in self._connections

    async def close(self) -> None:
        """Store the last-seen times that are not stored yet."""
        if self._refresh_timer is not None:
            self._refresh_timer.cancel()
        self._closing.set()
        if self._writing is not None:
            await self._writing

    def _refresh(self) -> None:
        self._mark_seen(self._connections)
        self._refresh_timer = asyncio.get_running_loop().call_later(LAST_SEEN_REFRESH_S, self._refresh)

    def _mark_seen(self, bots: Iterable[str]) -> None:
        self._seen.update(dict.fromkeys(bots, utc_now()))
        if self._seen and self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._seen:
                await wait_within(self._closing.wait(), WRITE_DELAY_S)
                seen, self._seen = self._seen, {}
                try:
                    await self._store.write(update_last_seen, seen)
                except ArenaFault as fault:
                    log.warning("the last connection times of bots can't be stored: %s", fault)
                except Exception:
                    log.exception("the last connection times of bots can't be stored")
        finally:
            self._writing = None


class Tickets:
    """The tickets by which runners log in as hosted bots, so that they never have the bots' tokens. A bot has one at a
    time, by folded name; only its hash is kept.
    """

    def __init__(self) -> None:
        self._hashes: dict[str, str] = {}

    def issue(self, bot: str) -> str:
        """Return a new ticket for a bot, in place of an earlier one."""
        ticket = f"{TICKET_PREFIX}{generate_token()}"
        self._hashes[fold_name(bot)] = hash_token(ticket)
        return ticket

    def revoke(self, bot: str) -> None:
        """Make the ticket of a bot invalid, if it has one."""
        self._hashes.pop(fold_name(bot), None)

    def is_valid(self, ticket: str, bot: str) -> bool:
        return hmac.compare_digest(hash_token(ticket), self._hashes.get(fold_name(bot), ""))


class Authenticator:
    """Identifies bots by their tokens. It also registers new names, if registration is open."""

    def __init__(
        self, store: AsyncStore, registration: Registration, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._registration = registration
        self._clock = clock
        self._registrations = KeyedLimiter(TokenBucket(registration.per_hour, registration.per_hour / 3600))
        self._guesses = GuessLimits()
        self.last_seen = LastSeen(store)
        """The store of the times when bots were last seen."""
        self.tickets = Tickets()
        """The tickets of hosted bots."""

    async def identify(self, hello: Hello, address: str) -> Identity:
        """Return a client's identity. Raise a `BotFault` to refuse it, and `StoreError` if the store fails."""
        if hello.bot is None:
            return Identity(None)
        is_ticket = hello.token is not None and hello.token.startswith(TICKET_PREFIX)
        if hello.token is not None and not is_ticket:
            self._check_guesses(hello.bot, address)
        known = await self._store.read(find_registered_bot, hello.bot)
        if known is None or (self._is_unused(known) and not self._is_known_token(hello.token, known)):
            registered = await self._register(hello, address)
            if registered is not None:
                return self._let_in(hello, registered, address)
            known = await self._store.read(find_registered_bot, hello.bot)
            if known is None:
                text = f"the name {hello.bot} has ratings from tournaments: choose another name"
                token = f"`arena bot add {hello.bot}` on the arena's machine gives its token"
                raise NameTaken(f"{text}, or {token}")
        if known.revoked:
            raise Revoked(known.name)
        if hello.token is None:
            raise NameTaken(_name_taken_message(hello.bot))
        if self.tickets.is_valid(hello.token, known.name):
            identity = Identity(known.name, person=known.person, display=known.display)
            return identity._replace(token_hash=known.token_hash)
        if is_ticket:  # no guess, but the ticket of a runner that was lost
            raise AuthFailed(f"{known.name} runs elsewhere now, or its token begins with {TICKET_PREFIX}")
        self._check_guesses(hello.bot, address)  # again, because others may have guessed during the lookup
        if not _is_valid_token(hello.token, known):
            self._guesses.record_failure(address, hello.bot, self._clock())
            raise AuthFailed(_name_taken_message(hello.bot, ", not by this token"))
        person = known.person
        if person != hello.person and await self._store.write(partial(claim_person, person=hello.person), known.name):
            person = hello.person
        return self._let_in(hello, Identity(known.name, person=person, display=known.display), address)

    def _let_in(self, hello: Hello, identity: Identity, address: str) -> Identity:
        assert identity.bot is not None
        self._guesses.record_login(address, identity.bot)
        return identity._replace(token_hash=hash_token(identity.token or hello.token or ""))

    def _check_guesses(self, bot: str, address: str) -> None:
        """Raise `TooOften` if this address must wait, after wrong tokens, before it may try a token for the bot."""
        wait = self._guesses.wait_s(address, bot, self._clock())
        if wait:
            seconds = math.ceil(wait)
            raise TooOften(f"too many wrong tokens for {bot} came from {address}: try again in {seconds} s")

    def _is_known_token(self, token: str | None, bot: RegisteredBot) -> bool:
        """Return whether a token is that of a bot, or the ticket of a runner that logs it in."""
        return _is_valid_token(token, bot) or (token is not None and self.tickets.is_valid(token, bot.name))

    def _is_unused(self, bot: RegisteredBot) -> bool:
        """Return whether a name was unused long enough to expire. The store checks that its bot finished no match."""
        days = self._registration.free_after_days
        if not self._registration.open or not days or self.last_seen.is_connected(bot.name):
            return False
        return bot.seen is not None and bot.seen < utc_now(days_ago=days)

    async def _register(self, hello: Hello, address: str) -> Identity | None:
        """Register the name in a `hello`. Return None if the name is taken, which means neither new nor expired."""
        assert hello.bot is not None
        bot, token = hello.bot, hello.token
        if token is not None and token.startswith(TICKET_PREFIX):
            raise AuthFailed(f"{bot} was renamed or deleted while a runner ran it, or its token begins with run.")
        if token is not None and strip_invisible(token) != token:
            raise AuthFailed(f"the token for {bot} begins or ends with what is not seen, like a blank: leave that out")
        if not self._registration.open:
            raise NotAllowed(f"{bot} is not registered, and registration is closed: ask the operator")
        wait = self._registrations.take(address, self._clock())
        if wait:
            raise TooOften(f"too many registrations from {address}: try again in {math.ceil(wait)} s")
        display = _display(hello)
        made = token or generate_token()
        days = self._registration.free_after_days
        try:
            register = partial(register_newcomer, person=hello.person, display=display)
            await self._store.write(register, bot, hash_token(made), days)
        except NameInUse:  # another connection, maybe of the same bot, was faster
            return None
        return Identity(bot, None if token else made, person=hello.person, display=display, registered=True)


def _display(hello: Hello) -> str | None:
    """Return the normalized display name in a `hello`, if any. Raise `MalformedMessage` if it is invalid."""
    if not hello.display:
        return None
    try:
        return normalize_display(hello.display)
    except UsageFault as fault:
        raise MalformedMessage(f"hello: display: {fault}") from fault


def _name_taken_message(bot: str, by: str = "") -> str:
    """Return the message for a missing or wrong token. Most clients that get it have chosen a name that is taken."""
    return f"{bot} is taken here{by}; choose another name, or give its token"


def _is_valid_token(token: str | None, bot: RegisteredBot) -> bool:
    if token is None or bot.revoked or bot.token_hash is None:
        return False
    return hmac.compare_digest(hash_token(token), bot.token_hash)

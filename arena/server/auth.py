"""Who may come in under which name: bots are known by the store, by their tokens, and free again when nobody was seen
under them for long.
"""

from __future__ import annotations

import asyncio
import contextlib
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
    register_newcomer,
    registered_bot,
    update_last_seen,
)
from arena.store.tokens import hash_token, new_token
from machine.timestamps import utc
from machine.token_bucket import TokenBucket
from protocol import error_codes
from protocol.display_names import normalize_display
from protocol.errors import ArenaFault, BotFault, MalformedMessage, UsageFault
from protocol.messages import Hello
from protocol.names import folded
from protocol.secret_text import strip_invisible

WRITE_EVERY = 5.0
"""Seconds that a sighting waits for others at most."""

STILL_HERE = 3600.0
"""Seconds after which those that are here are noted again: also a server that is killed knows who was here of late."""

log = logging.getLogger("arena.server.auth")


class NameTaken(BotFault):
    """The name belongs to somebody whose token was not shown."""

    code = error_codes.NAME_TAKEN


class Revoked(BotFault):
    """The operator took the name's token away."""

    code = error_codes.AUTH_FAILED

    def __init__(self, bot: str) -> None:
        super().__init__(f"{bot} was revoked by the operator, who alone can give it a new token")
        self.bot = bot


class Registration(Struct, frozen=True, kw_only=True):
    """Whether a new name is registered as it comes, how many an address has in an hour, and when one is free again."""

    open: bool = True
    per_hour: int = 100
    free_after_days: int = 30
    """Since the name was seen last; 0: never."""


class LastSeen:
    """Notes in the store when bots were seen last: many in one write, so that whoever comes often costs no more, and at
    the latest when it is closed.
    """

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._seen: dict[str, str] = {}
        """By folded name, what is not written yet."""
        self._here: Counter[str] = Counter()
        """By folded name, how many connections a bot has: an older one ends after the newer came."""
        self._again: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    def came(self, bot: str) -> None:
        """A connection of a bot began."""
        name = folded(bot)
        self._here[name] += 1
        self._saw([name])
        if self._again is None:
            self._note_again()

    def left(self, bot: str) -> None:
        """One of them ended."""
        name = folded(bot)
        self._here[name] -= 1
        if not self._here[name]:
            del self._here[name]
        self._saw([name])

    def here(self, bot: str) -> bool:
        """Whether a bot has a connection."""
        return folded(bot) in self._here

    async def close(self) -> None:
        """Write what is not written yet."""
        if self._again is not None:
            self._again.cancel()
        self._hurry.set()
        if self._writing is not None:
            await self._writing

    def _note_again(self) -> None:
        self._saw(self._here)
        self._again = asyncio.get_running_loop().call_later(STILL_HERE, self._note_again)

    def _saw(self, bots: Iterable[str]) -> None:
        self._seen.update(dict.fromkeys(bots, utc()))
        if self._seen and self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._seen:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(WRITE_EVERY):
                        await self._hurry.wait()
                seen, self._seen = self._seen, {}
                try:
                    await self._store.write(update_last_seen, seen)
                except ArenaFault as fault:
                    log.warning("when bots were seen last can't be noted: %s", fault)
                except Exception:
                    log.exception("when bots were seen last can't be noted")
        finally:
            self._writing = None


class Authenticator:
    """Bots are known by the store; with open registration a new name is registered as it comes."""

    def __init__(
        self, store: AsyncStore, registration: Registration, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._registration = registration
        self._clock = clock
        self._registrations = TokenBucket(registration.per_hour, registration.per_hour / 3600)
        self._guesses = GuessLimits()
        self.last_seen = LastSeen(store)
        """To be told of the connections of bots that were let in."""
        self.registered: Callable[[str, str], None] = lambda bot, address: None
        """Told of every name that was registered, and from where."""

    async def identify(self, hello: Hello, address: str) -> Identity:
        """Who a client is. Raises `BotFault` for one that must stay out, and `StoreError`."""
        if hello.bot is None:
            return Identity(None)
        if hello.token is not None:
            self._check_guesses(hello.bot, address)
        known = await self._store.read(registered_bot, hello.bot)
        if known is None or (self._is_unused(known) and not _fits(hello.token, known)):
            registered = await self._register(hello, address)
            if registered is not None:
                return self._let_in(hello, registered, address)
            known = await self._store.read(registered_bot, hello.bot)
            if known is None:
                text = f"the name {hello.bot} has ratings from tournaments: choose another name"
                token = f"`arena bot add {hello.bot}` on the arena's machine gives its token"
                raise NameTaken(f"{text}, or {token}")
        if known.revoked:
            raise Revoked(known.name)
        if hello.token is None:
            raise NameTaken(_taken(hello.bot))
        self._check_guesses(hello.bot, address)  # again: others may have come while this one was looked up
        if not _fits(hello.token, known):
            self._guesses.fail(address, hello.bot, self._clock())
            raise AuthFailed(_taken(hello.bot, ", not by this token"))
        person = known.person
        if person != hello.person and await self._store.write(partial(claim_person, person=hello.person), known.name):
            person = hello.person
        return self._let_in(hello, Identity(known.name, person=person, display=known.display), address)

    def _let_in(self, hello: Hello, identity: Identity, address: str) -> Identity:
        assert identity.bot is not None
        self._guesses.let_in(address, identity.bot)
        return identity._replace(token_hash=hash_token(identity.token or hello.token or ""))

    def _check_guesses(self, bot: str, address: str) -> None:
        """Raises `TooOften` if no token for a bot is compared that comes from an address now."""
        wait = self._guesses.wait(address, bot, self._clock())
        if wait:
            seconds = math.ceil(wait)
            raise TooOften(f"too many wrong tokens for {bot} came from {address}: come back in {seconds} s")

    def _is_unused(self, known: RegisteredBot) -> bool:
        """Whether a name may be free again, for all that is known without a look at the matches."""
        days = self._registration.free_after_days
        if not self._registration.open or not days or self.last_seen.here(known.name):
            return False
        return known.seen is not None and known.seen < utc(days_ago=days)

    async def _register(self, hello: Hello, address: str) -> Identity | None:
        """Register a name that is new or free again, if it is; None if it is neither."""
        assert hello.bot is not None
        bot, token = hello.bot, hello.token
        if token is not None and strip_invisible(token) != token:
            raise AuthFailed(f"the token for {bot} begins or ends with what is not seen, like a blank: leave that out")
        if not self._registration.open:
            raise NotAllowed(f"{bot} is not registered, and registration is closed: ask the operator")
        wait = self._registrations.take(address, self._clock())
        if wait:
            raise TooOften(f"too many registrations from {address}: come back in {math.ceil(wait)} s")
        display = _display(hello)
        made = token or new_token()
        days = self._registration.free_after_days
        try:
            register = partial(register_newcomer, person=hello.person, display=display)
            await self._store.write(register, bot, hash_token(made), days)
        except NameInUse:  # maybe a moment ago, by another connection, which may be the same bot's
            return None
        self.registered(bot, address)
        return Identity(bot, None if token else made, person=hello.person, display=display)


def _display(hello: Hello) -> str | None:
    """Return the display name that a newcomer brings, as it is kept. Raises `MalformedMessage`."""
    if not hello.display:
        return None
    try:
        return normalize_display(hello.display)
    except UsageFault as fault:
        raise MalformedMessage(f"hello: display: {fault}") from fault


def _taken(bot: str, by: str = "") -> str:
    """What who has no token of a bot is told, or another one: most have chosen a name that somebody has."""
    return f"{bot} is taken here{by}; choose another name, or give its token"


def _fits(token: str | None, known: RegisteredBot) -> bool:
    """Whether a token is the bot's."""
    if token is None or known.revoked or known.token_hash is None:
        return False
    return hmac.compare_digest(hash_token(token), known.token_hash)

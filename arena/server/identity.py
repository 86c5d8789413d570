"""Who may come in under which name: what a door is, and the one that knows the bots of the store by their token."""

from __future__ import annotations

import hmac
from typing import Protocol

from arena.store.archive import Archive
from arena.store.store import NameInUse
from arena.store.tokens import hash_token, new_token
from protocol import error_codes
from protocol.errors import BotFault
from protocol.messages import Hello


class NameTaken(BotFault):
    """The name belongs to somebody whose token was not shown."""

    code = error_codes.NAME_TAKEN


class AuthFailed(BotFault):
    """The token is not the name's."""

    code = error_codes.AUTH_FAILED


class RegistrationClosed(BotFault):
    """Nobody registers over the wire here."""

    code = error_codes.NOT_ALLOWED


class Door(Protocol):
    """Lets clients in."""

    async def identify(self, hello: Hello) -> tuple[str | None, str | None]:
        """The bot's name as registered (None for a watcher) and a token that the arena made for it just now.

        Raises `BotFault` for a client that must stay out.
        """


class StoreDoor:
    """Bots are known by the store; with open registration a new name is registered as it comes."""

    def __init__(self, archive: Archive, *, registration: str) -> None:
        self._archive = archive
        self._open = registration == "open"

    async def identify(self, hello: Hello) -> tuple[str | None, str | None]:
        if hello.bot is None:
            return None, None
        store = self._archive.store
        known = await self._archive.ask(store.bot, hello.bot)
        if known is None:
            if not self._open:
                raise RegistrationClosed(f"{hello.bot} is not registered, and registration is closed: ask the operator")
            token = hello.token or new_token()
            try:
                await self._archive.ask(store.add_bot, hello.bot, hash_token(token))
                return hello.bot, None if hello.token else token
            except NameInUse as exc:  # a moment ago, by another connection, which may be the same bot's
                known = await self._archive.ask(store.bot, hello.bot)
                if known is None:
                    raise NameTaken(f"the name {hello.bot} is taken: choose another name") from exc
        if hello.token is None:
            raise NameTaken(f"the name {hello.bot} is taken: bring its token, or choose another name")
        if (
            known.revoked
            or known.token_hash is None
            or not hmac.compare_digest(hash_token(hello.token), known.token_hash)
        ):
            raise AuthFailed(f"that is not the token of {hello.bot}")
        return known.name, None

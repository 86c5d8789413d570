"""Who may come in to a tournament's arena: the bots that it started itself."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from arena.server.auth import AuthFailed
from protocol.messages import Hello


class FixedDoor:
    """Only these bots, each with its own token; and watchers."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = tokens

    async def identify(self, hello: Hello, address: str) -> tuple[str | None, str | None]:
        if hello.bot is None:
            return None, None
        token = self._tokens.get(hello.bot)
        if token is None or hello.token is None or not hmac.compare_digest(token.encode(), hello.token.encode()):
            raise AuthFailed(f"{hello.bot} is not one of this tournament's bots, or that is not its token")
        return hello.bot, None

    def came(self, bot: str) -> None:
        """Nobody asks who is here."""

    def left(self, bot: str) -> None:
        """Nobody asks when these were seen."""

    async def close(self) -> None:
        """There is nothing to be brought to an end."""

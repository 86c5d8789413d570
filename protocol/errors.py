"""Every failure, split by whose fault it is: a `BotFault` costs the bot, an `ArenaFault` is the arena's own.

A message is one line that names the value, the place and what would be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from protocol import error_codes


class Fault(Exception):
    """Any failure with a message fit to be shown as it is."""


class UsageFault(Fault):
    """A command was given what it cannot work with: exit code 2."""


class BotFault(Fault):
    """The other side of the wire did something wrong. `code` travels with the message."""

    code: ClassVar[str]


class MalformedMessage(BotFault):
    """A frame that is no message of the protocol. `ref` is its id, where that much could be read."""

    code = error_codes.BAD_MESSAGE
    ref: str | None = None


class UnknownGame(BotFault):
    """A game that is not in the registry."""

    code = error_codes.UNKNOWN_GAME


class BadConfig(BotFault):
    """A game config with an unknown key or a value out of range."""

    code = error_codes.BAD_CONFIG


class MalformedMove(BotFault):
    """A move that is not of the game's form."""

    code = error_codes.MALFORMED_MOVE


class IllegalMove(BotFault):
    """A well-formed move that the rules forbid here."""

    code = error_codes.ILLEGAL_MOVE


class ArenaFault(Fault):
    """The arena, its data or its operator is at fault; no bot pays for it."""


class BadRecord(ArenaFault):
    """A match record that is truncated, foreign, of a newer format, or does not verify."""


@contextmanager
def os_errors_as(kind: type[Fault], what: str) -> Iterator[None]:
    """Raise a fault of this kind where the system refuses what is done inside: `what` failed, and the reason."""
    try:
        yield
    except OSError as exc:
        raise kind(f"{what}: {exc.strerror}") from exc

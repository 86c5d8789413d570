"""Why a client is refused: faults that a host and its handler share, each with its error code."""

from __future__ import annotations

from protocol import error_codes
from protocol.errors import BotFault


class NotAllowed(BotFault):
    """Something that this client may not do."""

    code = error_codes.NOT_ALLOWED


class Unavailable(BotFault):
    """Something that is not there now."""

    code = error_codes.UNAVAILABLE


class TooOften(Unavailable):
    """An address that has to wait before it may try again."""


class AuthFailed(BotFault):
    """The token is not the name's."""

    code = error_codes.AUTH_FAILED

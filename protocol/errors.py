"""The exceptions of the project, by who is at fault: a `BotFault` counts against the bot, an `ArenaFault` does not. A
message is one line that names the value, the place and what would be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from protocol import error_codes


class Fault(Exception):
    """A failure whose message can be shown to users unchanged."""


class UsageFault(Fault):
    """A command cannot use its input, such as an option. The command ends with exit code 2."""


class BotFault(Fault):
    """The client did something wrong. `code` is sent with the message."""

    code: ClassVar[str]


class MalformedMessage(BotFault):
    """A frame that is no message of the protocol. `ref` is the id in the frame, if it could be read."""

    code = error_codes.BAD_MESSAGE
    ref: str | None = None


class UnknownGame(BotFault):
    """No game has the name that a client or a user gave."""

    code = error_codes.UNKNOWN_GAME


class BadConfig(BotFault):
    """A game config has an unknown key or a value out of range."""

    code = error_codes.BAD_CONFIG


class MalformedMove(BotFault):
    """A move does not have the form of the game's moves."""

    code = error_codes.MALFORMED_MOVE


class IllegalMove(BotFault):
    """The rules forbid a well-formed move in this state."""

    code = error_codes.ILLEGAL_MOVE


class ArenaFault(Fault):
    """The arena, its data or its operator is at fault; no bot is penalised."""


class BadRecord(ArenaFault):
    """A match record is truncated, foreign, of a newer format, or fails verification."""


class MissingRules(BadRecord):
    """A record cannot be replayed, because this arena does not have the rules of its game."""


class RulesUnavailable(Fault):
    """Code asked for something that only the rules of a game know, and this machine does not have them."""

    def __init__(self, game: str, what: str) -> None:
        super().__init__(
            f"{what} needs the arena's rules of {game}, which this machine does not have: choose from turn.legal by "
            "turn.state, or fetch the rules with arena-bot game get"
        )


class RulesError(TypeError):
    """Rules do not keep the contract of a game. The message says what is wrong or missing, and what would be right.
    `method` is the method of the `TurnGame` that returned something wrong; "" if another one may have.
    """

    def __init__(self, problem: str, method: str = "") -> None:
        super().__init__(problem)
        self.method = method


class RulesFault(Fault):
    """The rules of a game failed, or returned what no match can go on with. No bot is penalised. `game` is the name of
    the game, and `reason` has the file, the line and the error.
    """

    def __init__(self, game: str, reason: str) -> None:
        super().__init__(game, reason)
        self.game, self.reason = game, reason

    def __str__(self) -> str:
        return f"the rules of {self.game} failed: {self.reason}"


@contextmanager
def os_errors_as(fault_class: type[Fault], what: str) -> Iterator[None]:
    """Turn an `OSError` in the block into a `fault_class`, whose message says that `what` failed, and why."""
    try:
        yield
    except OSError as exc:
        raise fault_class(f"{what}: {exc.strerror}") from exc

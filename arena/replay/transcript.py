"""The lines of a record in words: what happened at a ply, the dice, what luck gave, and the time left."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from arena.replay.luck_report import LuckTextByMove
from protocol.display import escape_unprintable
from protocol.games.base import Game
from protocol.messages import CHANCE
from protocol.reasons import FAILED
from referee.record import EventLine, Header, Ply, Sealed, Strike

MAX_DEAL_CHARS = 40
"""The maximum number of characters of a deal in a transcript. The board shows the whole deal."""


class TranscriptLine(NamedTuple):
    """A line of a record in words. Unprintable characters that bots sent are escaped."""

    ply: str
    bot: str
    move: str
    luck: str = ""
    left: str = ""
    back: str = ""
    value: str = ""
    note: str = ""

    def sentence(self) -> str:
        """Return all fields as one line of text, for use above a picture of the board."""
        parts = (
            f"{self.ply}  {self.bot}: {self.move}",
            self.luck and f"luck {self.luck}",
            self.left and f"{self.left} s left",
            self.back and f"{self.back} s given back",
            self.value and f"value {self.value}",
            self.note,
        )
        return ", ".join(filter(None, parts))


def describe_line(line: EventLine, game: Game[Any, Any], header: Header, luck: LuckTextByMove) -> TranscriptLine:
    """Describe a line of a record in words, with the luck of its dice from `luck`."""
    return TranscriptLine(*map(escape_unprintable, _describe_line(line, game, header, luck)))


def _describe_line(line: EventLine, game: Game[Any, Any], header: Header, luck: LuckTextByMove) -> TranscriptLine:
    if isinstance(line, Strike):
        return TranscriptLine(str(line.ply), header.seats[line.seat].bot, f"strike: {line.message}")
    if isinstance(line, Sealed):
        return _describe_action(line, line.ply, line.seat, game.notation(game.decode_move(line.move)), header)
    event = line.event
    ply = str(event.ply)
    gave = luck.get((event.ply, event.seat), "")
    if event.moves is not None:
        moves = ", ".join("-" if move is None else game.notation(game.decode_move(move)) for move in event.moves)
        return TranscriptLine(ply, "all", ": ".join(filter(None, (moves, game.describe_event(event)))), gave)
    if event.seat == CHANCE:
        return TranscriptLine(ply, "chance", game.describe_event(event) or _format_deal(event.move), gave)
    if event.out is not None:
        left_by = "its program failed" if event.out == FAILED else f"out: {event.out}"
        return _describe_action(line, event.ply, event.seat, left_by, header)
    told = game.describe_event(event)
    move = game.notation_of_event(event.move) + (f": {told}" if told else "")
    return _describe_action(line, event.ply, event.seat, move, header, gave)


def _describe_action(
    line: Ply | Sealed, ply: int, seat: int, move: str, header: Header, gave: str = ""
) -> TranscriptLine:
    bot, info = header.seats[seat].bot, line.info
    left = f"{line.clock[seat] / 1000:.1f}"
    back = f"{line.given / 1000:g}" if line.given else ""
    if info is None:
        return TranscriptLine(str(ply), bot, move, gave, left, back)
    value = "" if info.value is None else f"{info.value:.7g}"
    return TranscriptLine(str(ply), bot, move, gave, left, back, value, info.note or "")


def _format_deal(move: Any) -> str:
    """Return a deal as JSON, cut to `MAX_DEAL_CHARS`. It is for games that do not describe deals in words."""
    dealt = msgspec.json.encode(move).decode()
    return dealt if len(dealt) <= MAX_DEAL_CHARS else f"{dealt[:MAX_DEAL_CHARS]}…"

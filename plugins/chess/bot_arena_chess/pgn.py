"""Records of chess matches as PGN, the format that other chess programs read."""

from __future__ import annotations

from datetime import datetime

import chess.engine
import chess.pgn

from protocol.errors import UsageFault
from protocol.reasons import DISCONNECTED, DRAW, FAILED, ILLEGAL, NO_SHOW, RESIGNED, TIMEOUT, VOID, WIN
from referee.record import Record

TERMINATIONS = {
    WIN: "normal",
    DRAW: "normal",
    RESIGNED: "normal",
    TIMEOUT: "time forfeit",
    ILLEGAL: "rules infraction",
    DISCONNECTED: "abandoned",
    NO_SHOW: "abandoned",
    FAILED: "abandoned",
    VOID: "unterminated",
}
"""PGN's words for the reasons for which a match ends."""


def write_pgn(record: Record) -> str:
    """Return a match as a game in PGN, with clocks, evaluations and notes. Raise `UsageFault` if it is not chess."""
    header, footer = record.header, record.footer
    if header.game != "chess":
        raise UsageFault(f"{header.match} is a match of {header.game}: PGN is for chess")
    game = chess.pgn.Game()
    started = datetime.fromisoformat(header.started)
    game.headers["Event"] = header.tournament or ("Rated match" if header.rated else "Match")
    game.headers["Site"] = "Bot Arena"
    game.headers["Date"] = f"{started:%Y.%m.%d}"
    game.headers["Round"] = "-" if header.place is None else str(header.place + 1)
    game.headers["White"], game.headers["Black"] = (seat.bot for seat in header.seats)
    game.headers["Result"] = _result(record)
    game.headers["TimeControl"] = f"{_seconds(header.clock.bank_ms)}+{_seconds(header.clock.increment_ms)}"
    game.headers["Termination"] = TERMINATIONS[footer.reason]
    game.headers["MatchId"] = header.match
    node: chess.pgn.GameNode = game
    for line in record.plies:
        event, info = line.event, line.info
        if event.move is None:
            continue
        move = node.board().parse_uci(event.move["move"])
        node = node.add_variation(move)
        node.set_clock(line.clock[event.seat] / 1000)
        if info is not None and info.value is not None:
            score = round(100 * info.value)
            node.set_eval(chess.engine.PovScore(chess.engine.Cp(score), event.seat == 0), info.depth)
        if info is not None and info.note:
            node.comment = f"{node.comment} {info.note}".strip()
    return str(game)


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:g}"


def _result(record: Record) -> str:
    if record.footer.reason == VOID:
        return "*"
    white, black = record.footer.ranks
    return "1/2-1/2" if white == black else "1-0" if white < black else "0-1"

"""Writes a match as one HTML file that plays offline, with the viewer of the pages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from arena.replay.grading import Grades, grade_match
from arena.replay.match_document import ReplayedMatch, iter_document_json
from arena.web import bundle
from arena.web.formatting import moment, result_sentence, script_safe
from arena.web.rendering import render_in_pieces, viewer_sheets
from arena.web.room_files import describe_games, script_paths
from arena.web.site import static_file
from arena.web.titles import match_title
from protocol.errors import UsageFault
from protocol.games import game_names
from referee.record import Record
from referee.result import SeatResult

ENTRY_MODULE = "viewer/offline.js"
"""The script that the HTML file of a match runs."""


def offline_page(record: Record) -> bytes:
    """Return the HTML file of a match. A forged record is accepted: the viewer shows its first error."""
    return b"".join(offline_page_in_pieces(record, grades_of))


def offline_page_in_pieces(record: Record, grade: Callable[[Record], Grades | None]) -> Iterator[bytes]:
    """Yield the HTML file of a match in pieces, with only one ply of the match in memory. `grade` computes the grades.

    The nonce for scripts and styles is a hash of the match, so the same match always gives the same bytes.
    """
    match = ReplayedMatch(record)
    seats = _seats(record)
    game = record.header.game
    values = {
        "header": record.header,
        "footer": record.footer,
        "title": match_title(game, record.header.config),
        "seats": seats,
        "finished": _format_finished(record.footer.finished),
        "told": result_sentence(record.footer.reason, record.footer.plies, seats),
        "entry": ENTRY_MODULE,
        "modules": {"imports": list_modules(game)},
        "games": describe_games(str, game) if game in game_names() else {},
        "theme": bundle.data_url("text/javascript", static_file("theme.js").read_text(encoding="utf-8")),
        "style": "\n".join(static_file(path).read_text(encoding="utf-8") for path in list_sheets(game)),
    }
    nonce = hashlib.sha256(repr(values).encode()).hexdigest()[:32]
    document = (script_safe(piece) for piece in iter_document_json(match))
    for piece in render_in_pieces(
        "offline.html",
        nonce=nonce,
        document=document,
        match=match,
        grades=lambda: None if match.fault else grade(record),
        **values,
    ):
        yield piece.encode()


def list_sheets(game: str) -> list[str]:
    """Return the paths of the style sheets that the HTML file of a match of this game contains."""
    return ["style.css", *viewer_sheets(game)]


def list_modules(game: str) -> dict[str, str]:
    """Return the `data:` URLs of the modules that the HTML file of a match of this game contains, by path."""
    entries = [ENTRY_MODULE, *script_paths(game, "board", "check")]
    return {path: url for entry in entries for path, url in bundle.modules(entry).items()}


def _format_finished(time: str) -> str:
    """Format the time at which a match ended, as pages do. Return an invalid time, from a forged record, unchanged."""
    try:
        return f"{moment(time)} UTC"
    except ValueError:
        return time


def grades_of(record: Record) -> Grades | None:
    """Return the grades of a match; None if the game is not solved."""
    try:
        return grade_match(record)
    except UsageFault:
        return None


def _seats(record: Record) -> list[SeatResult]:
    return [
        SeatResult(bot=seat.bot, version=seat.version, rank=rank, reason=reason, payoff=payoff, rounds=rounds)
        for seat, rank, reason, (payoff, rounds) in zip(
            record.header.seats, record.footer.ranks, record.footer.reasons, record.payoffs, strict=True
        )
    ]

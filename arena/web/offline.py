"""Writes a match as one HTML file that plays offline, with the viewer of the pages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from arena.replay.grading import Grades, grade_match
from arena.replay.match_document import ReplayedMatch, iter_document_json
from arena.web import bundle
from arena.web.formatting import moment, result_sentence, script_safe
from arena.web.rendering import VIEWER_STYLE_SHEETS, render_in_pieces
from arena.web.site import STATIC_FOLDER
from arena.web.titles import match_title
from protocol.errors import UsageFault
from referee.record import Record
from referee.result import SeatResult

ENTRY_MODULE = "viewer/offline.js"
"""The script that the HTML file of a match runs."""
STYLE_SHEETS = ("style.css", *VIEWER_STYLE_SHEETS)
"""The style sheets that the HTML file of a match contains."""


def offline_page(record: Record) -> bytes:
    """Return the HTML file of a match. A forged record is accepted: the viewer shows its first error."""
    return b"".join(offline_page_in_pieces(record, grades_of))


def offline_page_in_pieces(record: Record, grade: Callable[[Record], Grades | None]) -> Iterator[bytes]:
    """Yield the HTML file of a match in pieces, with only one ply of the match in memory. `grade` computes the grades.

    The nonce for scripts and styles is a hash of the match, so the same match always gives the same bytes.
    """
    match = ReplayedMatch(record)
    seats = _seats(record)
    values = {
        "header": record.header,
        "footer": record.footer,
        "title": match_title(record.header.game, record.header.config),
        "seats": seats,
        "finished": _format_finished(record.footer.finished),
        "told": result_sentence(record.footer.reason, record.footer.plies, seats),
        "entry": ENTRY_MODULE,
        "modules": {"imports": bundle.modules(ENTRY_MODULE)},
        "theme": bundle.data_url("text/javascript", STATIC_FOLDER.joinpath("theme.js").read_text(encoding="utf-8")),
        "style": "\n".join(STATIC_FOLDER.joinpath(path).read_text(encoding="utf-8") for path in STYLE_SHEETS),
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

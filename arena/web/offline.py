"""A match as one HTML file that plays offline: the viewer of the pages, and the match itself."""

from __future__ import annotations

import hashlib

from arena.replay.grading import Grades, grade
from arena.replay.match_document import Document, document
from arena.web import bundle
from arena.web.formatting import moment, result_sentence
from arena.web.rendering import VIEWER_SHEETS, render_template
from arena.web.site import STATIC
from protocol.errors import UsageFault
from referee.record import Record
from referee.result import SeatResult

ENTRY = "viewer/offline.js"
SHEETS = ("style.css", *VIEWER_SHEETS)


def offline_page(record: Record) -> bytes:
    """The file; of a forged record too, as it shows where it goes wrong.

    The nonce that lets its scripts and styles in follows from the rest: the same match, the same bytes.
    """
    match = document(record)
    seats = _seats(match)
    values = {
        "match": match,
        "seats": seats,
        "finished": _finished(match.footer.finished),
        "told": result_sentence(match.footer.reason, match.footer.plies, seats),
        "grades": None if match.fault else _grades(record),
        "entry": ENTRY,
        "modules": {"imports": bundle.modules(ENTRY)},
        "theme": bundle.data_url("text/javascript", STATIC.joinpath("theme.js").read_text(encoding="utf-8")),
        "style": "\n".join(STATIC.joinpath(path).read_text(encoding="utf-8") for path in SHEETS),
    }
    nonce = hashlib.sha256(repr(values).encode()).hexdigest()[:32]
    return render_template("offline.html", nonce=nonce, **values).encode()


def _finished(time: str) -> str:
    """When it ended, as pages write it; what a forged record has there as it is."""
    try:
        return f"{moment(time)} UTC"
    except ValueError:
        return time


def _grades(record: Record) -> Grades | None:
    """What each move gave away; None where the game is not solved."""
    try:
        return grade(record)
    except UsageFault:
        return None


def _seats(match: Document) -> list[SeatResult]:
    return [
        SeatResult(bot=seat.bot, version=seat.version, rank=rank, reason=reason)
        for seat, rank, reason in zip(match.header.seats, match.footer.ranks, match.footer.reasons, strict=True)
    ]

"""What a header says of a match, and what is left of it when it is over, field by field."""

from __future__ import annotations

import pytest

from arena.referee.closing import is_rated
from arena.referee.effects import Resigned
from arena.referee.record import FORMAT, Header, RecordedSeat, header_of
from arena.referee.result import Result, SeatResult
from protocol import VERSION
from protocol.dice import commitment
from protocol.messages import Clock
from referee_table import A_MOVE, SEED, Table

SEATS = [RecordedSeat(bot="ann", version="1"), RecordedSeat(bot="bob", version="2")]
CLOCK = Clock(bank_ms=1000, increment_ms=0)
CONFIG = {"heaps": [3, 5, 7], "take": None, "misere": False, "start": "given"}


def tournament_header() -> Header:
    return header_of(
        match="m-9",
        game="nim",
        config=CONFIG,
        seats=SEATS,
        seed=SEED,
        rated=True,
        clock=CLOCK,
        started="2026-01-01T00:00:00.000Z",
        tournament="spring",
        place=4,
    )


def test_a_header_says_what_was_fixed_before_the_first_event() -> None:
    assert tournament_header() == Header(
        format=FORMAT,
        version=VERSION,
        match="m-9",
        game="nim",
        config=CONFIG,
        seats=SEATS,
        commitment=commitment("m-9", SEED).hex(),
        rated=True,
        clock=CLOCK,
        started="2026-01-01T00:00:00.000Z",
        tournament="spring",
        place=4,
    )


def test_a_result_says_what_was_played_by_whom_and_how_it_ended() -> None:
    table = Table(header=tournament_header()).begin()
    table.play(A_MOVE)
    table.send(Resigned(1))
    assert table.match.result("2026-01-01T00:01:00.000Z") == Result(
        match="m-9",
        game="nim",
        config=CONFIG,
        rated=True,
        seats=(
            SeatResult(bot="ann", version="1", rank=1, reason="win"),
            SeatResult(bot="bob", version="1", rank=2, reason="resigned"),
        ),
        reason="resigned",
        plies=1,
        digest=table.match.standing.playing.digest.hex(),
        started="2026-01-01T00:00:00.000Z",
        finished="2026-01-01T00:01:00.000Z",
        tournament="spring",
        place=4,
    )


@pytest.mark.parametrize(
    ("reason", "reasons", "rated"),
    [
        ("win", ["win", "win"], True),
        ("timeout", ["win", "timeout"], True),
        ("void", ["void", "void"], False),
        ("no_show", ["win", "no_show"], False),
        ("resigned", ["no_show", "resigned", "win"], False),
    ],
)
def test_what_was_called_off_or_not_shown_up_for_is_not_rated(reason: str, reasons: list[str], rated: bool) -> None:
    assert is_rated(tournament_header(), reason, reasons) is rated

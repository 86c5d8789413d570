"""What a header says of a match, and what is left of it when it is over, field by field."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from protocol import VERSION
from protocol.dice import commitment
from protocol.games import load_game
from protocol.messages import Clock
from referee.effects import Resignation
from referee.footer import rating_pool
from referee.record import FORMAT, Header, RecordedSeat, make_header
from referee.result import Result, SeatResult
from referee_table import A_MOVE, SEED, Table

SEATS = [RecordedSeat(bot="ann", version="1"), RecordedSeat(bot="bob", version="2")]
CLOCK = Clock(bank_ms=1000, increment_ms=0)
CONFIG = {"heaps": [3, 5, 7], "take": None, "misere": False, "start": "given"}


def tournament_header() -> Header:
    return make_header(
        match="m-9",
        game=load_game("nim", CONFIG),
        seats=SEATS,
        seed=SEED,
        pool="nim/classic",
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
        pool="nim/classic",
        clock=CLOCK,
        started="2026-01-01T00:00:00.000Z",
        tournament="spring",
        place=4,
    )


def test_a_result_says_what_was_played_by_whom_and_how_it_ended() -> None:
    table = Table(header=tournament_header()).begin()
    table.play(A_MOVE)
    table.send(Resignation(1))
    assert table.match.result("2026-01-01T00:01:00.000Z") == Result(
        match="m-9",
        game="nim",
        config=CONFIG,
        rated=True,
        pool="nim/classic",
        seats=(
            SeatResult(bot="ann", version="1", rank=1, reason="win", moves=1, thought_ms=0),
            SeatResult(bot="bob", version="1", rank=2, reason="resigned", moves=0, thought_ms=0),
        ),
        reason="resigned",
        plies=1,
        digest=table.match.standing.current_course.digest.hex(),
        started="2026-01-01T00:00:00.000Z",
        finished="2026-01-01T00:01:00.000Z",
        tournament="spring",
        place=4,
    )


@pytest.mark.parametrize(
    ("reason", "pool"),
    [("win", "nim/classic"), ("timeout", "nim/classic"), ("no_show", "nim/classic"), ("void", None)],
)
def test_a_match_is_rated_in_the_pool_of_its_header_unless_it_was_called_off(reason: str, pool: str | None) -> None:
    header = tournament_header()
    assert rating_pool(header, reason) == pool
    assert rating_pool(replace(header, rated=False, pool=None), reason) is None

"""Makes the golden records beside it, or those named: `python tests/golden/make.py [NAME ...]`. All of it is seeded.

Every event takes a quarter of a second; moves are drawn from those that a turn lists.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from protocol.games import load_game
from protocol.messages import Clock, Player
from referee import record as records
from referee import record_reader
from referee.effects import (
    DeadlineReached,
    Effect,
    MatchEvent,
    MoveReceived,
    Resignation,
    SeatReady,
    SetDeadline,
    WriteLine,
)
from referee.match import Match
from referee.record import Header, RecordedSeat
from referee.state import Phase

HERE = Path(__file__).parent
THINKING = 0.25
FINISHED = "2026-01-01T00:01:00.000Z"


class Golden(NamedTuple):
    """What a record is made of; at the ply `leaves` the seat `leaver` resigns, at the ply `late` time runs out, at each
    of the plies `refused` the seat to move first sends what is no move.
    """

    game: str
    config: dict[str, Any]
    seats: int = 2
    leaves: int | None = None
    leaver: int = 0
    late: int | None = None
    refused: Sequence[int] = ()


GOLDEN = {
    "nim-classic": Golden("nim", {}),
    "nim-dealt": Golden("nim", {"preset": "min-nim", "start": "p-position"}),
    "duel-south-america": Golden("risk-duel", {"max_troops": 5}),
    "duel-africa": Golden("risk-duel", {"preset": "africa"}),
    "duel-ply-limit": Golden("risk-duel", {"map": "europe", "max_plies": 30}),
    "duel-late": Golden("risk-duel", {}, late=3),
    "campaign-dice": Golden("risk-campaign", {"map": "africa", "draft": "classic"}),
    "campaign-late": Golden("risk-campaign", {"map": "asia", "players": 4, "max_rounds": 3}, seats=4, late=8),
    "campaign-deterministic": Golden(
        "risk-campaign", {"map": "australia", "battle": "deterministic", "max_rounds": 8, "deal": "0f" * 16}
    ),
    "dilemma-open-end": Golden("dilemma", {"preset": "open-end", "go_on": "0.9", "noise": "0.2"}),
    "dilemma-late": Golden("dilemma", {"preset": "rock-paper-scissors"}, late=3),
    "kuhn-short": Golden("kuhn", {"preset": "short"}),
    "leduc-short": Golden("leduc", {"preset": "short"}),
    "leduc-resigned": Golden("leduc", {}, leaves=12),
    "campaign-drop-out": Golden("risk-campaign", {"map": "europe", "players": 3}, seats=3, leaves=9, leaver=1),
    "dilemma-prison": Golden("dilemma", {"preset": "prison", "rounds": 10}),
    "duel-strikes": Golden("risk-duel", {"max_troops": 3}, refused=(0, 4, 5, 5)),
    "dilemma-strikes": Golden("dilemma", {"preset": "prison", "rounds": 4}, refused=(1, 1, 2)),
    "nim-strikes": Golden("nim", {"preset": "min-nim", "start": "p-position"}, refused=(2, 2, 2)),
}


def refereed(
    header: Header,
    seed: bytes,
    nonces: Iterable[bytes],
    choose: Callable[[Match], MatchEvent],
    think: Callable[[Match], float],
) -> tuple[Match, list[bytes], float]:
    """Referee a match in which `choose` says what happens next, and `think` after how many seconds: the match, the
    lines of its record, and the seconds it took.
    """
    match = Match(header, seed, [Player(bot=seat.bot, version=seat.version) for seat in header.seats])
    lines: list[bytes] = []
    now = deadline = 0.0

    def perform(effects: list[Effect]) -> None:
        nonlocal deadline
        for effect in effects:
            if isinstance(effect, WriteLine):
                lines.append(records.write_line(effect.line))
            elif isinstance(effect, SetDeadline) and effect.time is not None:
                deadline = effect.time

    perform(match.start_match(now))
    for seat, nonce in enumerate(nonces):
        perform(match.receive(SeatReady(seat, nonce), now))
    while match.standing.phase is not Phase.OVER:
        event = choose(match)
        now = deadline if isinstance(event, DeadlineReached) else now + think(match)
        perform(match.receive(event, now))
    return match, [line for line in lines if records.is_public(line)], now


def referee(header: Header, seed: bytes, nonces: Sequence[bytes], choose: Callable[[Match], MatchEvent]) -> bytes:
    """The lines of the record of a match in which `choose` says what happens next."""
    match, lines, _ = refereed(header, seed, nonces, choose, lambda _: THINKING)
    footer = match.footer(match.result(FINISHED), None)
    return record_reader.unpack(records.pack_record(lines, footer), header.match)


def make(name: str, golden: Golden) -> bytes:
    """The record of the match called `name`, from which everything random follows."""
    game, chooser = load_game(golden.game, golden.config), random.Random(name)
    seed = hashlib.sha256(f"seed of {name}".encode()).digest()
    nonces = [chooser.randbytes(16) if seat else b"" for seat in range(golden.seats)]
    header = records.make_header(
        match=name,
        game=game,
        seats=[RecordedSeat(bot=bot) for bot in ("ann", "bob", "cas", "dan")[: golden.seats]],
        seed=seed,
        pool=None,
        clock=Clock(bank_ms=5000, increment_ms=100),
        started="2026-01-01T00:00:00.000Z",
    )
    refused = list(golden.refused)

    def choose(match: Match) -> MatchEvent:
        course = match.standing.course
        assert course is not None
        assert course.to_move is not None
        if course.ply == golden.leaves and golden.leaver not in course.dropped_out:
            return Resignation(golden.leaver)
        if course.ply == golden.late and not course.dropped_out and len(course.awaited_seats) == 1:
            return DeadlineReached()
        seat = course.awaited_seats[0] if len(course.awaited_seats) == 1 else chooser.choice(course.awaited_seats)
        if course.ply in refused:
            refused.remove(course.ply)
            return MoveReceived(seat, course.ply, None)
        return MoveReceived(seat, course.ply, chooser.choice(course.legal_moves(seat)[0]))

    return referee(header, seed, nonces, choose)


if __name__ == "__main__":
    for name in sys.argv[1:] or GOLDEN:
        HERE.joinpath(f"{name}.jsonl").write_bytes(make(name, GOLDEN[name]))

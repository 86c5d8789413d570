"""Closing a match: its result, the pool that rates it, and the last line of its record."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from protocol.messages import Event, Player
from protocol.reasons import VOID
from referee.course import Course
from referee.record import (
    GZIP_WINDOW_BITS,
    RECORD_COMPRESSION_LEVEL,
    Footer,
    Header,
    compress_lines,
    pack_record,
    write_line,
)
from referee.result import Ratings, Result, SeatResult

MAX_UNPACKED_BYTES = 64 * 1024
"""Maximum size of the lines that `UnratedRecord` keeps unpacked. Packing them takes about 1 ms."""


class UnratedRecord:
    """A complete record that still lacks the ratings in its footer. `pack` adds them in about 1 ms, however long the
    record is: the lines of a long record are packed at once, those of a short one only then, because that takes less
    memory.
    """

    def __init__(self, lines: Iterable[bytes], footer: Footer) -> None:
        self._footer = footer
        self._text = b"".join(lines)
        """The lines of the record. If there is a compressor, its output for them."""
        self._compressor = None
        if len(self._text) > MAX_UNPACKED_BYTES:
            self._compressor = zlib.compressobj(RECORD_COMPRESSION_LEVEL, zlib.DEFLATED, GZIP_WINDOW_BITS)
            self._text = self._compressor.compress(self._text)

    def pack(self, ratings: Ratings | None) -> bytes:
        """Return the gzipped record with these ratings, byte for byte as `pack_record` builds it."""
        last_line = write_line(replace(self._footer, ratings=ratings))
        if self._compressor is None:
            return compress_lines(self._text + last_line)
        compressor = self._compressor.copy()
        return b"".join((self._text, compressor.compress(last_line), compressor.flush()))


class ClosedMatch(Struct, frozen=True):
    """A finished match that is not rated yet, in the form in which one process passes it to another."""

    result: Result
    lines: tuple[bytes, ...]
    """The lines of the match's record from the header to the last event, each with its line feed."""
    footer: Footer
    failures: Mapping[int, str] = {}
    """The reasons why the programs of bots failed, by seat, as their clients reported them."""

    def pack_record(self, ratings: Ratings | None = None) -> bytes:
        """Build the gzipped record of the match, with the ratings that the match led to."""
        return pack_record(self.lines, replace(self.footer, ratings=ratings))


def rating_pool(header: Header, reason: str) -> str | None:
    """Return the pool that rates a match that ended for this `reason`; None if the match is unrated or void."""
    return None if reason == VOID else header.pool


def count_moves(events: Iterable[Event]) -> Counter[int]:
    """Return the number of moves of each seat among some events."""
    made: Counter[int] = Counter()
    for event in events:
        if event.moves is not None:
            made.update(seat for seat, move in enumerate(event.moves) if move is not None)
        elif event.out is None:
            made[event.seat] += 1
    return made


def thinking_times(header: Header, moves: Mapping[int, int], left_ms: Sequence[int]) -> list[tuple[int, int]]:
    """Return each seat's number of moves and its thinking time in milliseconds. `moves` has the number of moves by
    seat, `left_ms` the time left on each seat's clock.
    """
    bank, increment = header.clock.bank_ms, header.clock.increment_ms
    made = [moves.get(seat, 0) for seat in range(len(left_ms))]
    return [(many, max(0, bank + increment * many - left)) for many, left in zip(made, left_ms, strict=True)]


def make_result(
    header: Header,
    course: Course,
    players: Sequence[Player],
    finished: str,
    thinking_times: Sequence[tuple[int, int]],
) -> Result:
    """Return the result of a match that is over. `course` is the match after its last event. `thinking_times` comes
    from the function of that name.
    """
    noted = [(None, None)] * len(players) if course.reason == VOID else thinking_times
    reasons = [course.seat_reason(seat) for seat in range(len(players))]
    pool = rating_pool(header, course.reason)
    paid = course.payoffs or [None] * len(players)
    return Result(
        match=header.match,
        game=course.game.name,
        config=course.game.config,
        rated=pool is not None,
        pool=pool,
        seats=tuple(
            SeatResult(
                bot=player.bot,
                version=player.version,
                rank=rank,
                reason=reason,
                moves=moves,
                thought_ms=thought_ms,
                payoff=payoff and payoff.mean,
                rounds=payoff and payoff.rounds,
            )
            for player, rank, reason, (moves, thought_ms), payoff in zip(
                players, course.ranks, reasons, noted, paid, strict=True
            )
        ),
        reason=course.reason,
        plies=course.ply,
        digest=course.digest.hex(),
        started=header.started,
        finished=finished,
        tournament=header.tournament,
        place=header.place,
    )


def make_footer(result: Result, seed: bytes, nonces: list[str], ratings: Ratings | None) -> Footer:
    """Build the last line of a record. `seed` and `nonces` reveal the dice."""
    rounds = [seat.rounds for seat in result.seats if seat.rounds is not None]
    return Footer(
        ranks=[seat.rank for seat in result.seats],
        reason=result.reason,
        reasons=[seat.reason for seat in result.seats],
        payoffs=[seat.payoff for seat in result.seats] if rounds else None,
        rounds=rounds or None,
        plies=result.plies,
        digest=result.digest,
        seed=seed.hex(),
        nonces=nonces,
        finished=result.finished,
        ratings=ratings,
    )

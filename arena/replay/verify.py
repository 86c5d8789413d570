"""Verification of a record: replay its match, rate it, and compare it with its footer and with the stored result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from arena.ratings import rating_system
from protocol.digest import encode_canonical
from protocol.display import format_count, short_repr
from protocol.errors import BadRecord
from protocol.games.base import Game
from protocol.messages import CHANCE
from protocol.names import fold_name
from protocol.pools import is_rules_version, with_version
from protocol.reasons import ILLEGAL, VOID
from referee.clock import max_compensation_ms
from referee.course import Course
from referee.footer import count_moves, rating_pool, thinking_times
from referee.record import Ply, Record, Sealed, Strike, describe_other_rules, describe_rules
from referee.recorded_game import RecordedGame
from referee.replay import lacks_rules, replay
from referee.result import Result, SeatRating, SeatResult

CLOCK_TOLERANCE_MS = 1
"""The maximum difference, in milliseconds, between a stored thinking time and the record's. A clock that was read back
from a journal may differ from the one written there.
"""


class Verification(NamedTuple):
    """The way in which a record was verified. All texts are empty if it was refereed by the rules of the match."""

    other_rules: str = ""
    """The rules by which it was refereed and those by which it was made, if these are others."""
    missing_rules: str = ""
    """The sentence that no move was refereed, if the rules are missing."""
    checked: str = ""
    """The checks that were made without the rules."""


class OtherRulesDiffer(BadRecord):
    """A record does not follow from the rules that are here, which are others than those that it was made with."""


def verify_record(record: Record, *, awaits_rating: bool = False) -> Verification:
    """Replay the match of a record, and compare it with the record. With `awaits_rating`, ratings may be missing. Raise
    `BadRecord` if the record is wrong; its message names the ply.

    If the rules of the game are missing, check what the states in the record allow: the seed, the digests, whose turn
    it was, draws and ratings. Raise `MissingRules` if the record has no states.
    """
    header = record.header
    if header.rules is None:
        _verify(record, awaits_rating)
        return Verification()
    if lacks_rules(header):
        return verify_by_states(record, awaits_rating=awaits_rating)
    other_rules = describe_other_rules(header)
    if not other_rules:
        _verify(record, awaits_rating)
        return Verification()
    try:
        _verify(record, awaits_rating, has_rules=False)
    except BadRecord as exc:
        raise OtherRulesDiffer(f"{exc}; it was refereed {other_rules}") from exc
    return Verification(other_rules=other_rules)


def verify_by_states(record: Record, *, awaits_rating: bool = False) -> Verification:
    """Check what the states in a record allow, without the rules of its game. No move is refereed. Raise `BadRecord` if
    the record is wrong. Its header must have `rules`.
    """
    header = record.header
    game = _verify(record, awaits_rating, has_rules=False, by_states=True)
    assert isinstance(game, RecordedGame)
    digests = format_count(sum(1 for _ in record.plies), "digest", "digests")
    checked = ["the seed", digests, "whose turn it was"]
    checked += [format_count(game.draws, "draw", "draws")] if game.draws else []
    checked += ["the ratings"] if record.footer.ratings is not None else []
    more = format_count(game.unchecked_draws, "event", "events")
    unchecked = f", but not the dice of {more}" if game.unchecked_draws else ""
    rules = f"the rules of {header.game} ({describe_rules(header.rules)})"
    return Verification(
        missing_rules=f"no move was refereed: {rules} are not here",
        checked=f"{', '.join(checked)}{unchecked}",
    )


def _verify(record: Record, awaits_rating: bool, *, has_rules: bool = True, by_states: bool = False) -> Game[Any, Any]:
    """Replay the match of a record, and compare it with the record. Return its game. Raise `BadRecord`. `has_rules` is
    false if the rules here are not those that the match was made with, or if they are missing.
    """
    header, footer = record.header, record.footer
    course, last = _replay_to_end(record, by_states=by_states)
    end = f"{header.match}: after ply {last}"
    if footer.reason == VOID:
        if record.lines and course.is_over:
            raise BadRecord(f"{end}: the match was over by {course.reason!r}, but the footer says {VOID!r}")
        course = course.call_off()
    if not course.is_over:
        raise BadRecord(f"{end}: seat {course.to_move} is to move, but the footer says {footer.reason!r}")
    if header.rules is not None:
        course = course.bind_result()
    reasons = [course.seat_reason(seat) for seat in range(len(header.seats))]
    paid = course.payoffs
    for what, said, found in (
        ("ranks", footer.ranks, list(course.ranks)),
        ("payoffs", footer.payoffs, paid and [payoff.mean for payoff in paid]),
        ("rounds", footer.rounds, paid and [payoff.rounds for payoff in paid]),
        ("reason", footer.reason, course.reason),
        ("reasons", footer.reasons, reasons),
        ("plies", footer.plies, course.ply),
        ("digest", footer.digest, course.digest.hex()),
    ):
        if said != found:
            raise BadRecord(f"{end}: {what} should be {found}, the footer says {said}")
    if not awaits_rating or footer.ratings is not None:
        _verify_ratings(record, course.game, end, has_rules=has_rules)
    return course.game


def _replay_to_end(record: Record, *, by_states: bool) -> tuple[Course, int]:
    """Replay the whole match; return its course and its last ply. Raise `BadRecord` if the record is wrong."""
    header = record.header
    given = [0] * len(header.seats)
    most = max_compensation_ms(header.clock.bank_ms)
    lines = replay(record, by_states=by_states)
    _, course = next(lines)
    last = 0
    for line, after in lines:
        seat = line.seat if isinstance(line, Sealed) else course.to_move
        if isinstance(line, Ply):
            last = line.event.ply
            if header.rules is not None and encode_canonical(line.state) != encode_canonical(after.encoded_state):
                raise BadRecord(f"{header.match}: ply {last}: the record has another state than the rules give")
        if isinstance(line, (Ply, Sealed)) and isinstance(seat, int) and seat != CHANCE:
            given[seat] += line.given
            if given[seat] > most:
                back = f"seat {seat} was given back {given[seat]} ms so far"
                raise BadRecord(f"{header.match}: ply {course.ply}: {back}: at most {most} are allowed")
        course = after
    return course, last


def _verify_ratings(record: Record, game: Game[Any, Any], end: str, *, has_rules: bool) -> None:
    header, footer, ratings = record.header, record.footer, record.footer.ratings
    pool = rating_pool(header, footer.reason)
    pools = game.pools
    if not has_rules and header.rules is not None and is_rules_version(header.rules.version):
        # the rules here may have another version; that of a library, such as "open_spiel 1.6", is in no pool's name
        pools = [with_version(pool, header.rules.version) for pool in pools]
    if header.pool is not None and header.pool not in pools:
        raise BadRecord(f"{header.match}: its config is not rated in the header's pool {short_repr(header.pool)}")
    if ratings is None:
        if pool is not None:
            raise BadRecord(f"{end}: the match is rated, but the footer has no ratings")
        return
    if pool is None:
        raise BadRecord(f"{end}: the match is not rated, but the footer has ratings")
    try:
        rating_system.check_ratings(pool, ratings, footer.ranks, has_rules=has_rules)
    except BadRecord as exc:
        raise BadRecord(f"{end}: {exc}") from exc


def unverifiable_facts(record: Record) -> list[str]:
    """Name the facts in a verified record that rest on the arena's word alone.

    Nothing in a record shows whether a seat really ran out of time, whether it sent a move that was refused, or why a
    match was called off.
    """
    seats = record.header.seats
    events = [ply.event for ply in record.plies]
    told = [f"that {seats[event.seat].bot} left ({event.out})" for event in events if event.out not in (None, ILLEGAL)]
    if strikes := sum(isinstance(line, Strike) for line in record.lines):
        told.append(f"{format_count(strikes, 'strike', 'strikes')} for refused moves")
    if record.footer.reason == VOID:
        told.append("that the match was called off")
    return told


def iter_differences(record: Record, result: Result, ratings: Sequence[SeatRating]) -> Iterator[str]:
    """Describe in words where the stored result differs from the record.

    `ratings` has the stored ratings of all seats. It is empty if the match is unrated, or was rated again since. The
    record of an annulled match still has its ratings. A stored bot without a name (it was renamed) matches any name.
    """
    if result.annulled is not None:
        result = replace(result, rated=True, pool=result.annulled, annulled=None)
    recorded = _result_from_record(record)
    yield from _compare_fields(
        result, recorded, [name for name in Result.__struct_fields__ if name not in ("seats", "start")]
    )
    if len(result.seats) != len(recorded.seats):
        yield f"there are {len(result.seats)} seats, the record has {len(recorded.seats)}"
        return
    for at, (stored, seat) in enumerate(zip(result.seats, recorded.seats, strict=True)):
        # A name may be registered later with different capitalisation.
        if stored.bot and fold_name(stored.bot) != fold_name(seat.bot):
            yield f"seat {at}: bot is {stored.bot!r}, the record says {seat.bot!r}"
        names = ["version", "rank", "reason", "payoff", "rounds", "moves"]
        a, b = stored.thought_ms, seat.thought_ms
        if not (isinstance(a, int) and isinstance(b, int) and abs(a - b) <= CLOCK_TOLERANCE_MS):
            names.append("thought_ms")
        for difference in _compare_fields(stored, seat, names):
            yield f"seat {at}: {difference}"
    if record.footer.ratings is None:
        return
    said = record.footer.ratings.seats
    for at, (stored_rating, rating) in enumerate(zip(ratings, said, strict=False)):
        for name in SeatRating.__struct_fields__:
            a, b = getattr(stored_rating, name), getattr(rating, name)
            if not isinstance(a, float) or not rating_system.nearly_equal(a, b):
                yield f"seat {at}: {name} is {a!r}, the record says {b!r}"


def _compare_fields(stored: object, recorded: object, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        a, b = getattr(stored, name), getattr(recorded, name)
        if a != b:
            yield f"{name} is {a!r}, the record says {b!r}"


def _result_from_record(record: Record) -> Result:
    header, footer = record.header, record.footer
    rated = footer.ratings is not None
    plies = list(record.plies)
    thought: Sequence[tuple[int | None, int | None]] = [(None, None)] * len(header.seats)
    if footer.reason != VOID and plies:
        thought = thinking_times(header, count_moves(ply.event for ply in plies), plies[-1].clock)
    return Result(
        match=header.match,
        game=header.game,
        config=header.config,
        rated=rated,
        pool=header.pool if rated else None,
        seats=tuple(
            SeatResult(
                bot=seat.bot,
                version=seat.version,
                rank=rank,
                reason=reason,
                moves=moves,
                thought_ms=thought_ms,
                payoff=payoff,
                rounds=rounds,
            )
            for seat, rank, reason, (moves, thought_ms), (payoff, rounds) in zip(
                header.seats, footer.ranks, footer.reasons, thought, record.payoffs, strict=True
            )
        ),
        reason=footer.reason,
        plies=footer.plies,
        digest=footer.digest,
        started=header.started,
        finished=footer.finished,
        tournament=header.tournament,
        place=header.place,
    )

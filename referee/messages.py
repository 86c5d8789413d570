"""The referee's messages to seats and watchers, built from the standing of a match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from protocol.error_codes import BAD_MESSAGE, NO_SUCH_MATCH, NOT_YOUR_TURN, STALE_PLY
from protocol.errors import IllegalMove, MalformedMessage, MalformedMove
from protocol.games.base import Game
from protocol.messages import (
    CHANCE,
    MAX_STRIKES,
    End,
    Error,
    Event,
    ListedMatch,
    Outcome,
    Player,
    Rejected,
    Start,
    Turn,
)
from protocol.reasons import VOID
from referee.course import Course
from referee.record import Header, Ply, Record
from referee.replay import lacks_rules, replay
from referee.result import Ratings
from referee.state import MatchStanding, Phase

MAX_EVENT_BYTES = 512 * 1024
"""Maximum bytes of events, as JSON, in one message. A slow seat may have missed many events, and a frame is at most 1
MiB.
"""
_SAFE_EVENT_COUNT = 64
"""Number of events that always fit in a frame, so that their bytes need not be counted."""


def make_start(
    header: Header,
    game: Game[Any, Any],
    players: list[Player],
    seat: int | None,
    *,
    seek: str | None = None,
    resumed: bool = False,
) -> Start:
    """Build the `start` message for a seat, or for a watcher (None)."""
    return Start(
        match=header.match,
        seek=seek,
        game=game.name,
        preset=game.preset,
        config=game.config,
        seat=seat,
        seats=players,
        clock=header.clock,
        away_ms=header.away_ms,
        commitment=header.commitment,
        rated=header.rated,
        resumed=resumed,
        rules=header.rules,
    )


def make_listed_match(header: Header, game: Game[Any, Any], standing: MatchStanding, watchers: int) -> ListedMatch:
    """Build the entry of a match for the message `listing`."""
    return ListedMatch(
        match=header.match,
        game=game.name,
        preset=game.preset,
        seats=[seat.bot for seat in header.seats],
        ply=0 if standing.course is None else standing.course.ply,
        started=header.started,
        rated=header.rated,
        watchers=watchers,
    )


def make_turn(
    match: str,
    standing: MatchStanding,
    events: list[Event],
    clock_ms: list[int],
    digest: str,
    seat: int | None = None,
    states: Sequence[dict[str, Any]] = (),
) -> Turn:
    """Build the `turn` message for a seat, or for a watcher (None). A seat that is to move gets the legal moves. A seat
    that has made no move yet gets the nonces. A watcher gets `states`, those before the last events, as far as it may
    see them. The message keeps references to the lists `events` and `clock_ms`.
    """
    course = standing.course
    assert course is not None
    game, to_move, state = course.game, course.to_move, course.encoded_state
    assert to_move is not None
    if len(events) > _SAFE_EVENT_COUNT:
        events = latest_that_fit(events)
    if game.hidden:
        state, events = _visible_to(game, state, events, seat)
    legal: list[dict[str, Any]] | None
    if seat == to_move:
        legal, options = game.legal_moves_for_turn(course.state)
    elif seat is not None and course.is_awaited(seat):
        legal, options = course.legal_moves(seat)
    else:
        legal = options = None
    return Turn(
        match=match,
        ply=course.ply,
        to_move=to_move,
        state=state,
        events=events,
        clock=clock_ms,
        legal=legal,
        options=options,
        digest=digest,
        nonces=None if seat is None or seat in standing.events_before_last_move else standing.nonces_in_hex,
        states=[game.view(past, seat) if game.hidden else past for past in states[-len(events) :]] or None,
    )


def _visible_to(
    game: Game[Any, Any], state: dict[str, Any], events: list[Event], seat: int | None
) -> tuple[dict[str, Any], list[Event]]:
    """Return the parts of a state and of events that a seat, or a spectator (None), may see."""
    return game.view(state, seat), [game.view_event(event, seat) for event in events]


def make_end(
    match: str,
    players: Sequence[Player],
    standing: MatchStanding,
    seat: int | None,
    seed: bytes,
    ratings: Ratings | None,
) -> End:
    """Build the `end` message for a seat that has not been sent one, or for a watcher (None). The message has the seed
    once the match is over for all seats.
    """
    course, over = standing.current_course, standing.phase is Phase.OVER
    state, events = course.encoded_state, latest_that_fit(standing.unsent_events(seat))
    if course.game.hidden and not over:
        state, events = _visible_to(course.game, state, events, seat)
    bots = [player.bot for player in players]
    reasons = [course.seat_reason(at) for at in range(len(bots))]
    paid = [(payoff.mean, payoff.rounds) for payoff in course.payoffs or ()] if over else None
    return End(
        match=match,
        ply=course.ply,
        events=events,
        state=state,
        digest=course.digest.hex(),
        ranks=list(course.ranks),
        reason=course.reason if over or seat is None else course.seat_reason(seat),
        seats=_make_outcomes(bots, course.ranks, reasons, paid, ratings),
        seed=seed.hex() if over else None,
        nonces=standing.nonces_in_hex,
        record=f"{match}.jsonl.gz",
        strikes=list(course.unreported_strikes) if course.is_void and course.unreported_strikes else None,
    )


def make_end_from_record(record: Record) -> End:
    """Build the `end` message for a watcher from the record of a match. Raise `BadRecord` if the record is wrong.

    The message has all events after the last move. If that move ended the match, the message has it, too, and all
    events after the move before it. The state in the message is empty if the match has no event.
    """
    header, footer = record.header, record.footer
    news: list[Event] = []
    course = None
    for line, course in replay(record, by_states=lacks_rules(header)):
        if isinstance(line, Ply):
            news.append(line.event)
            if line.event.out is None and (line.event.seat != CHANCE or line.event.moves) and not course.is_over:
                news = []
    assert course is not None
    bots = [seat.bot for seat in header.seats]
    return End(
        match=header.match,
        ply=course.ply,
        events=latest_that_fit(news),
        state=course.encoded_state,
        digest=footer.digest,
        ranks=footer.ranks,
        reason=footer.reason,
        seats=_make_outcomes(bots, footer.ranks, footer.reasons, record.payoffs, footer.ratings),
        seed=footer.seed,
        nonces=footer.nonces,
        record=f"{header.match}.jsonl.gz",
        strikes=list(course.unreported_strikes) if footer.reason == VOID and course.unreported_strikes else None,
    )


def _make_outcomes(
    bots: Sequence[str],
    ranks: Sequence[int],
    reasons: Sequence[str],
    payoffs: Sequence[tuple[float | None, int | None]] | None,
    ratings: Ratings | None,
) -> list[Outcome]:
    """Return each seat's outcome. For each seat, `payoffs` has the mean payoff per round and the number of rounds."""
    outcomes = []
    for at, (bot, rank, reason) in enumerate(zip(bots, ranks, reasons, strict=True)):
        rated = msgspec.structs.asdict(ratings.seats[at]) if ratings else {}
        payoff, rounds = payoffs[at] if payoffs else (None, None)
        outcomes.append(Outcome(bot=bot, rank=rank, reason=reason, payoff=payoff, rounds=rounds, **rated))
    return outcomes


def reject_bad_move(match: str, ply: int, fault: MalformedMove | IllegalMove, strikes: int, left_ms: int) -> Rejected:
    """Build the message that rejects a malformed or illegal move. The message has the seat's strikes and the
    milliseconds left on its clock.
    """
    return Rejected(
        match=match,
        ply=ply,
        code=fault.code,
        message=str(fault),
        strikes_left=MAX_STRIKES - strikes,
        clock_ms=left_ms,
    )


def reject_misplaced(match: str, seat: int, ply: int, course: Course) -> Rejected:
    """Build the message that rejects a move at `ply` because it answers no turn of its seat."""
    if ply == course.ply and seat in course.sealed:
        code, message = NOT_YOUR_TURN, f"you have already moved at ply {ply}: the others still have to move"
    elif ply == course.ply:
        code, message = NOT_YOUR_TURN, f"{_describe_movers(course.to_move)} to move at ply {ply}"
    elif ply < course.ply:
        code, message = STALE_PLY, f"ply {ply} has passed: the match is at ply {course.ply}"
    else:
        code, message = STALE_PLY, f"ply {ply} has not been reached: the match is at ply {course.ply}"
    return Rejected(match=match, ply=ply, code=code, message=message)


def _describe_movers(to_move: int | tuple[int, ...] | None) -> str:
    """Name the seats to move. In a simultaneous round, name all its seats: it is secret which have moved."""
    if not isinstance(to_move, tuple):
        return f"seat {to_move} is"
    return f"seats {' and '.join(map(str, to_move))} are" if len(to_move) > 1 else f"seat {to_move[0]} is"


def reject_early(match: str, ply: int) -> Rejected:
    """Build the message that rejects a move before the first turn."""
    message = "the match has not begun: it begins when every seat has sent ready"
    return Rejected(match=match, ply=ply, code=NOT_YOUR_TURN, message=message)


def reject_late(match: str, ply: int) -> Rejected:
    """Build the message that rejects a move after the end."""
    return Rejected(match=match, ply=ply, code=NO_SUCH_MATCH, message="the match is over")


def report_bad_info(match: str, ply: int, fault: MalformedMessage) -> Error:
    """Build the message that says that a move counts, but its `info` is dropped."""
    return Error(code=BAD_MESSAGE, message=f"{fault}; the move at ply {ply} counts", ref=match)


def latest_that_fit(events: list[Event]) -> list[Event]:
    """Return the last of the events: as many as fit in a frame. If all fit, return the list `events` itself."""
    if len(events) > _SAFE_EVENT_COUNT:
        size = 0
        for at in range(len(events) - 1, -1, -1):
            size += len(msgspec.json.encode(events[at]))
            if size > MAX_EVENT_BYTES:
                return events[at + 1 :]
    return events

"""Replaying a match from its record or journal, with a check that each line follows from the rules and the dice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from protocol.dice import commitment
from protocol.errors import BadRecord, BotFault, MissingRules, RulesFault
from protocol.games import guard_game, is_known_game, load_game, missing_rules_message
from protocol.games.base import Game
from protocol.messages import CHANCE, MAX_STRIKES, Event
from protocol.reasons import DROP_OUT_REASONS, ILLEGAL, VOID
from referee.course import Course
from referee.record import AnyLine, Begun, EventLine, Header, Ply, Record, Sealed, Strike, Void, rules_digest
from referee.recorded_game import RecordedGame
from referee.state import MatchStanding


def make_course(header: Header, game: Game[Any, Any], seed: bytes, nonces: Sequence[bytes]) -> Course:
    """Return the `Course` of a match before its first state, ready for `Course.begin`. Raise `BadRecord` if header,
    seed and nonces do not agree.
    """
    if commitment(header.match, seed).hex() != header.commitment:
        raise BadRecord(f"{header.match}: the seed does not match the commitment in the header")
    for what, count in (("seats", len(header.seats)), ("nonces", len(nonces))):
        if count != game.seats:
            raise BadRecord(f"{header.match}: {count} {what}, but {header.game} has {game.seats} seats")
    names = [seat.bot for seat in header.seats]
    return Course.new(header.match, game, names, bytes.fromhex(header.commitment), seed, nonces, header.rules)


def lacks_rules(header: Header) -> bool:
    """Return whether a match can only be replayed by the states in its record: the rules of its game are missing."""
    return header.rules is not None and not is_known_game(header.game)


def replay(record: Record, *, by_states: bool = False) -> Iterator[tuple[EventLine | None, Course]]:
    """Replay the match of a record. Yield (None, the course before the first event), then each line with the course
    after the line.

    Raise `BadRecord`, which names the ply, if an event or digest in the record does not follow from the rules and the
    dice, or if the rules fail. Raise `MissingRules` for an unknown game. With `by_states`, follow the states in the
    record instead of the rules; a record has states if its header has `rules`. The game of the courses is then a
    `RecordedGame`.
    """
    if not by_states and not is_known_game(record.header.game):
        raise MissingRules(f"{record.header.match}: {missing_rules_message(record.header.game)}")
    try:
        yield from _replay(record, by_states)
    except RulesFault as fault:
        raise BadRecord(f"{record.header.match}: {fault}") from fault


def _replay(record: Record, by_states: bool) -> Iterator[tuple[EventLine | None, Course]]:
    header, footer = record.header, record.footer
    game: Game[Any, Any]
    if by_states:
        game = RecordedGame(record)
    else:
        try:
            game = guard_game(load_game(header.game, header.config, rules_digest(header)))
        except BotFault as exc:
            raise BadRecord(f"{header.match}: the header: {exc}") from exc
    course = make_course(header, game, bytes.fromhex(footer.seed), [bytes.fromhex(nonce) for nonce in footer.nonces])
    lines: Iterable[EventLine] = record.lines
    if isinstance(game, RecordedGame):
        game.find_salt(course.digest, course.key)
        lines = game.follow(lines)
    deal = None
    if record.lines or footer.reason != VOID:
        course, deal = course.begin()
    yield None, course
    yield from replay_courses(course, deal, lines, header.match)


def replay_courses(
    course: Course, deal: Event | None, lines: Iterable[EventLine], match: str
) -> Iterator[tuple[EventLine, Course]]:
    """Apply lines of a record to the `Course` of a match that has just begun. Yield each line with the course after the
    line. `deal` is the event of a deal at the start of the match, if there was one.

    Raise `BadRecord`, which names the ply, if a line does not follow from the rules and the dice.
    """
    strikes = [0] * course.game.seats
    followed = False
    for line in lines:
        if deal is not None and not isinstance(line, Ply):
            raise BadRecord(f"{match}: ply {line.ply}: a line before the deal with which the match begins")
        if isinstance(line, Strike):
            course = _replay_strike(course, line, strikes, match)
        elif isinstance(line, Sealed):
            course = _replay_sealed(course, line, strikes, f"{match}: ply {line.ply}")
        else:
            where = f"{match}: ply {line.event.ply}"
            event, deal = deal, None
            if event is None and course.is_due:
                course, event = course.play_due()
            elif event is None:
                course, event = _replay_event(course, line.event, strikes, where)
            if event != line.event:
                raise BadRecord(f"{where}: {_describe_difference(line.event, event)}")
            if course.digest.hex() != line.digest:
                changed = ["this move", "a bot", "the config", "a nonce"][: 1 if followed else None]
                if isinstance(course.game, RecordedGame):
                    changed += ["the state after it"] if followed else ["the rules", "the state after it"]
                said = " or ".join(filter(None, (", ".join(changed[:-1]), changed[-1])))
                raise BadRecord(f"{where}: the digest does not follow: {said} was changed")
            followed = True
        yield line, course


class ReplayedMove(NamedTuple):
    """A seat's move, as its event and as the rules decode it, with the states before and after it."""

    event: Event
    before: Any
    move: Any
    after: Any


def iter_moves(course: Course, lines: Iterable[tuple[EventLine | None, Course]]) -> Iterator[ReplayedMove]:
    """Yield the moves of seats among `lines`, which come from `replay`. `course` is the match just before the first of
    these lines.
    """
    before = course.state
    for line, course in lines:
        if isinstance(line, Ply) and line.event.out is None and line.event.seat != CHANCE:
            yield ReplayedMove(line.event, before, course.game.decode_move(line.event.move), course.state)
        before = course.state


class JournalSummary(NamedTuple):
    """Facts from the journal of a match that are not part of the match's standing."""

    begun: bool
    is_void: bool
    released_seats: Sequence[int] = ()
    """The seats that dropped out although the match goes on."""
    deal: Event | None = None
    """The event of the deal at the start of the match, if the journal was cut off before the line of this event; else
    None.
    """
    fault: RulesFault | None = None
    """The failure of the rules because of which the journal could not be applied to its end; else None."""


def apply_journal(
    standing: MatchStanding, lines: Iterable[AnyLine], make_course: Callable[[], Course], match: str
) -> JournalSummary:
    """Apply the lines of a journal to a new standing. `make_course` returns a new `Course` for the match, ready for
    `Course.begin`; it is called after the nonces have been read. Raise `BadRecord` if a line does not follow from the
    rules and the dice.
    """
    lines = list(lines)
    begun = next((line for line in lines if isinstance(line, Begun)), None)
    events = [line for line in lines if isinstance(line, (Ply, Sealed, Strike))]
    called_off = any(isinstance(line, Void) for line in lines)
    if begun is None:
        if events:
            raise BadRecord(f"{match}: the journal holds events of a match that had not begun")
        return JournalSummary(begun=False, is_void=called_off)
    standing.nonces = {seat: bytes.fromhex(nonce) for seat, nonce in enumerate(begun.nonces)}
    standing.early_quits = begun.out
    try:
        deal = standing.begin(make_course())
        free = apply_lines(standing, deal, events, match)
    except RulesFault as fault:
        standing.course = _skip_to_end(standing.course or make_course(), events)
        return JournalSummary(begun=True, is_void=called_off, fault=fault)
    return JournalSummary(begun=True, is_void=called_off, released_seats=free, deal=None if standing.events else deal)


def _skip_to_end(course: Course, lines: Sequence[EventLine]) -> Course:
    """Return the course of a match whose rules failed on the way, with the digest and the ply that the last of these
    lines records, so that the match can be called off there.
    """
    if not any(isinstance(line, Ply) for line in lines):
        return course
    at = max(number for number, line in enumerate(lines) if isinstance(line, Ply))
    last, strikes = lines[at], tuple(sorted(line.seat for line in lines[at + 1 :] if isinstance(line, Strike)))
    assert isinstance(last, Ply)
    return replace(
        course,
        digest=bytes.fromhex(last.digest),
        ply=last.event.ply + (last.event.out is None),
        unreported_strikes=strikes or None,
    )


def apply_lines(standing: MatchStanding, deal: Event | None, lines: Iterable[EventLine], match: str) -> list[int]:
    """Apply all lines to the standing of a match that has just begun. Return the seats that dropped out although the
    match went on. Raise `BadRecord` as `replay_courses` does.
    """
    return [
        line.event.seat
        for line in iter_apply_lines(standing, deal, lines, match)
        if isinstance(line, Ply) and line.event.out is not None and not standing.current_course.is_over
    ]


def iter_apply_lines(
    standing: MatchStanding, deal: Event | None, lines: Iterable[EventLine], match: str
) -> Iterator[EventLine]:
    """Apply lines of a record or journal, one by one, to the standing of a match that has just begun. Yield each line
    after it has been applied. Raise `BadRecord` if a line does not follow from the rules and the dice.
    """
    for line, course in replay_courses(standing.current_course, deal, lines, match):
        was_to_move, standing.course = standing.current_course.to_move, course
        if isinstance(line, Strike):
            standing.add_strike(line.seat)
        elif isinstance(line, Sealed):  # the other clocks would reveal when this seat chose
            clock_ms = standing.clock.milliseconds_left(0.0)
            clock_ms[line.seat] = line.clock[line.seat]
            standing.clock = standing.clock.with_milliseconds(clock_ms)
            standing.note_sealed_move(line.seat)
            standing.mark_unsent(line.seat)
            standing.note_line(line.seat, line.given, line.info)
        else:
            _apply_ply(standing, line, was_to_move)
        yield line


def _apply_ply(standing: MatchStanding, line: Ply, was_to_move: int | tuple[int, ...] | None) -> None:
    event, standing.clock = line.event, standing.clock.with_milliseconds(line.clock)
    if event.out is None or not isinstance(was_to_move, tuple):
        standing.round_start_ms = line.clock
    if isinstance(was_to_move, int):
        standing.note_line(was_to_move, line.given, line.info)
    if event.out is None and event.seat != CHANCE:
        standing.note_move(event)
        standing.mark_unsent(event.seat)
    else:
        standing.events.append(event)


def _replay_sealed(course: Course, line: Sealed, strikes: Sequence[int], where: str) -> Course:
    _check_mover(course, line.seat, strikes, where)
    if line.ply != course.ply:
        raise BadRecord(f"{where}: a sealed move, but the match is at ply {course.ply}")
    try:
        after, event = course.play(line.seat, course.game.decode_move(line.move))
    except BotFault as exc:
        raise BadRecord(f"{where}: {exc}") from exc
    if event is not None:
        raise BadRecord(f"{where}: a sealed move of seat {line.seat}, which moves alone")
    return after


def _check_mover(course: Course, seat: int, strikes: Sequence[int], where: str) -> None:
    """Raise `BadRecord` if it is not the moving seat's turn, or if this seat already has the maximum of strikes."""
    if course.is_over:
        raise BadRecord(f"{where}: the match was over before this event")
    if not course.is_awaited(seat):
        if seat in course.sealed:
            raise BadRecord(f"{where}: seat {seat} moves twice in one round")
        movers = " and ".join(f"seat {mover}" for mover in course.awaited_seats)
        raise BadRecord(
            f"{where}: seat {seat} moves, but {movers} {'is' if len(course.awaited_seats) == 1 else 'are'} to move"
        )
    if strikes[seat] >= MAX_STRIKES:
        raise BadRecord(f"{where}: seat {seat} moves after {MAX_STRIKES} strikes")


def _replay_strike(course: Course, line: Strike, strikes: list[int], match: str) -> Course:
    if course.is_over or line.ply != course.ply or not course.is_awaited(line.seat):
        raise BadRecord(f"{match}: ply {line.ply}: a strike of seat {line.seat}, which was not to move")
    if strikes[line.seat] >= MAX_STRIKES:
        where = f"{match}: ply {line.ply}"
        raise BadRecord(f"{where}: a strike of seat {line.seat} after {MAX_STRIKES} strikes")
    strikes[line.seat] += 1
    return course.add_strike(line.seat)


def _replay_event(course: Course, event: Event, strikes: Sequence[int], where: str) -> tuple[Course, Event]:
    seat = event.seat
    if course.is_over:
        raise BadRecord(f"{where}: the match was over before this event")
    if event.moves is not None and course.awaited_seats:
        raise BadRecord(f"{where}: the round is incomplete: seat {course.awaited_seats[0]} has not moved")
    if event.out is None:
        _check_mover(course, seat, strikes, where)
        try:
            course, made = course.play(seat, course.game.decode_move(event.move))
        except BotFault as exc:
            raise BadRecord(f"{where}: {exc}") from exc
        if made is None:
            raise BadRecord(f"{where}: a single move of seat {seat} in a round in which several seats move")
        return course, made
    if seat in course.dropped_out or not 0 <= seat < course.game.seats:
        raise BadRecord(f"{where}: seat {seat} is not in the match and cannot leave it")
    if event.out not in DROP_OUT_REASONS:
        raise BadRecord(f"{where}: seat {seat} leaves by {event.out!r}: one of {', '.join(DROP_OUT_REASONS)}")
    if (event.out == ILLEGAL) != (strikes[seat] >= MAX_STRIKES):
        raise BadRecord(f"{where}: seat {seat} leaves by {event.out!r} after {strikes[seat]} strikes of {MAX_STRIKES}")
    return course.drop_out(seat, event.out)


def _describe_difference(recorded: Event, replayed: Event) -> str:
    field = next(field for field in Event.__struct_fields__ if getattr(recorded, field) != getattr(replayed, field))
    return f"{field} should be {getattr(replayed, field)}, the record says {getattr(recorded, field)}"

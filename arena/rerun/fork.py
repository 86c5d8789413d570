"""Replaying a match with another bot in a seat: find where the bot first differs from the record, then continue the
match many times after the recorded action and after the new one, with the same dice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from measuring.luck import luck_after
from measuring.position_kinds import classifier_of
from measuring.value_function import ValueFunction
from protocol.dice import match_key
from protocol.errors import IllegalMove, MalformedMove
from protocol.games.base import Game
from protocol.messages import CHANCE, MAX_STRIKES, FromClient, Move, Player, Ready, Resign
from protocol.reasons import FAILED, FORFEITS, ILLEGAL, RESIGNED
from referee import messages
from referee.effects import Forfeit, MatchEvent, MoveReceived, Resignation
from referee.in_process import InProcessPlayers, SeatPlayer
from referee.match import Match
from referee.record import EventLine, Header, Ply, Record, Sealed
from referee.replay import iter_apply_lines, make_course
from referee.result import Result, match_points
from referee.state import MatchStanding

CONTINUATION_ID_PREFIX = "rerun-"
"""The prefix of the match id of each continuation."""


class SeatAction(NamedTuple):
    """The action of a seat: a `move`, or leaving the match for the reason `out`."""

    move: Any = None
    out: str | None = None


class Fork(NamedTuple):
    """The position of a match in which the new bot first acts differently from the recorded bot. `recorded_action` and
    `new_action` are the two actions. `new_action` is None if the recorded bot left the match when it was not its turn,
    and the new bot stays.

    `kinds` has the kind of the position in each classification, by the name of the classification.
    """

    header: Header
    seat: int
    standing: MatchStanding
    recorded_action: SeatAction
    new_action: SeatAction | None
    other_moves: tuple[MatchEvent, ...]
    """The recorded moves of the other seats in the same simultaneous round, or none in other positions. Both actions
    are played with these moves.
    """
    strikes: int
    """The number of illegal moves that the new bot has made in the match so far (strikes)."""
    kinds: Mapping[str, str]

    @property
    def game(self) -> Game[Any, Any]:
        """The game of the match."""
        return self.standing.current_course.game

    @property
    def ply(self) -> int:
        """The ply at which the bot differs from the record."""
        return self.standing.current_course.ply


class RecordAgreement(NamedTuple):
    """The agreement of a bot with a record: how many `moves` are as recorded, and the first difference (`fork`)."""

    moves: int
    fork: Fork | None
    has_recorded_randomness: bool
    """True if the bot gives the same nonce as the recorded bot. This shows that both use the same random numbers."""


class Continuation(NamedTuple):
    """The results and the luck of one seat when the match is played on twice with the same dice: after the recorded
    action (`old`) and after the new one (`new`). `forfeits` names the bots that forfeited in either.
    """

    old: float
    new: float
    old_luck: float
    new_luck: float
    forfeits: tuple[str, ...] = ()


class BranchPlayers(NamedTuple):
    """The bots that continue a match after the recorded action or after the new action. `bot` is the name under which
    the bot in the replayed seat is reported.
    """

    players: InProcessPlayers
    bot: str


class BranchOutcome(NamedTuple):
    """The result of playing on after an action: points and luck of the replayed seat, and the bots that forfeited."""

    points: float
    luck: float
    forfeits: tuple[str, ...]


def follow_record(
    record: Record, seat: int, join_seat: Callable[[str], SeatPlayer], seeds: Sequence[str], until: int | None = None
) -> RecordAgreement:
    """Play a seat of a record with a bot as long as the bot's moves are those of the record, at most up to the ply
    `until`.

    `join_seat` makes the bot from a seed. The `seeds` are tried in turn until the bot has the recorded nonce; if no
    seed leads to it, the last is used. Raise `ValueError` if there are no seeds, and `BadRecord` if the record is
    wrong.
    """
    if not seeds:
        raise ValueError(f"seat {seat} has no seed: its bot needs one")
    header, footer = record.header, record.footer
    secret, nonces = bytes.fromhex(footer.seed), [bytes.fromhex(nonce) for nonce in footer.nonces]
    match = Match(header, secret, [Player(bot=each.bot, version=each.version) for each in header.seats])
    bot, same_chance = _seat_bot(match, seat, join_seat, seeds, footer.nonces[seat])
    standing, lines, kinds = match.standing, list(record.lines), classifier_of(match.game)
    standing.nonces = dict(enumerate(nonces))
    deal = standing.begin(make_course(header, match.game, secret, nonces))
    behind = iter_apply_lines(standing, deal, lines, header.match)
    moves = 0
    for at, line in enumerate(lines):
        if until is not None and standing.current_course.ply >= until:
            break
        recorded = _action_in_line(match.game, line, seat)
        made = None if isinstance(line, Ply) and line.event.seat == CHANCE else bot.act()
        if recorded is not None and not _is_same_action(recorded, made):
            course = standing.current_course
            of_position = kinds(course.state) if course.to_move == seat else {}
            others = tuple(_iter_other_moves(lines[at:], seat)) if isinstance(course.to_move, tuple) else ()
            fork = Fork(header, seat, standing, recorded, made, others, bot.strikes, of_position)
            return RecordAgreement(moves, fork, same_chance)
        moves += recorded is not None and recorded.out is None
        next(behind)
    return RecordAgreement(moves, None, same_chance)


def _seat_bot(
    match: Match, seat: int, listen: Callable[[str], SeatPlayer], seeds: Sequence[str], nonce: str
) -> tuple[_SeatedBot, bool]:
    """Make a bot and put it into its seat. Return the bot, and whether it gives the recorded nonce."""
    for seed in seeds:
        listener = listen(seed)
        said = listener(match.start_message(seat))
        if same := any(isinstance(word, Ready) and word.nonce == nonce for word in said):
            break
    return _SeatedBot(match, seat, listener, said), same


class _SeatedBot:
    """A bot in a seat of a match whose other events come from a record. At each of its turns, the bot has to move."""

    def __init__(self, match: Match, seat: int, listener: SeatPlayer, said: Sequence[FromClient]) -> None:
        self.strikes = 0
        self._match = match
        self._seat = seat
        self._listener = listener
        self._leaving_action = next(filter(None, map(_leaving_action, said)), None)
        self._asked_ply = -1
        self._action: SeatAction | None = None

    def act(self) -> SeatAction | None:
        """Return the bot's action at the current ply, asked for only once; None if it is not the bot's turn."""
        course = self._match.standing.current_course
        if course.is_over or not course.is_awaited(self._seat):
            return None
        if self._asked_ply != course.ply:
            self._asked_ply, self._action = course.ply, self._leaving_action or self._choose()
        return self._action

    def _choose(self) -> SeatAction:
        match, seat = self._match, self._seat
        standing, course = match.standing, match.standing.current_course
        clock_ms = standing.clock.milliseconds_left(0.0)
        turn = messages.make_turn(
            match.id, standing, standing.take_unsent_events(seat), clock_ms, course.digest.hex(), seat
        )
        said = self._listener(turn)
        while self.strikes < MAX_STRIKES:
            for word in said:
                if isinstance(word, Move):
                    break
                if left := _leaving_action(word):
                    self._leaving_action = left
                    return left
            else:
                return SeatAction(out=FAILED)
            try:
                move = match.game.decode_move(word.move)
                course.play(seat, move)
            except (MalformedMove, IllegalMove) as fault:
                self.strikes += 1
                said = self._listener(
                    messages.reject_bad_move(match.id, course.ply, fault, self.strikes, clock_ms[seat])
                )
            else:
                return SeatAction(move)
        self._leaving_action = SeatAction(out=ILLEGAL)
        return self._leaving_action


def _leaving_action(message: FromClient) -> SeatAction | None:
    if not isinstance(message, Resign):
        return None
    return SeatAction(out=RESIGNED if message.failure is None else FAILED)


def _action_in_line(game: Game[Any, Any], line: EventLine, seat: int) -> SeatAction | None:
    if isinstance(line, Sealed):
        return SeatAction(game.decode_move(line.move)) if line.seat == seat else None
    if not isinstance(line, Ply) or line.event.seat != seat:
        return None
    event = line.event
    return SeatAction(game.decode_move(event.move)) if event.out is None else SeatAction(out=event.out)


def _is_same_action(recorded: SeatAction, new: SeatAction | None) -> bool:
    """Return whether two actions are the same move, or both leave the match. Leaving loses whatever the reason is."""
    if new is None or (recorded.out is None) != (new.out is None):
        return False
    return recorded.out is not None or recorded.move == new.move


def _iter_other_moves(lines: Sequence[EventLine], seat: int) -> Iterator[MoveReceived]:
    for line in lines:
        if isinstance(line, Ply):
            return
        if isinstance(line, Sealed) and line.seat != seat:
            yield MoveReceived(line.seat, line.ply, line.move)


def play_continuation(
    fork: Fork, number: int, seed: str, old: BranchPlayers, new: BranchPlayers, value: ValueFunction
) -> Continuation:
    """Play one continuation of the match after each action: the `old` players continue after the recorded action, the
    `new` ones after the new action. The dice and the bots' randomness derive from the seed, the match and the number of
    the continuation.
    """
    told = f"{seed}/{fork.header.match}/{fork.seat}/{number}"
    secret = hashlib.sha256(told.encode()).digest()
    was, now = fork.standing.copy_for_branch(), fork.standing.copy_for_branch()
    now.strikes = {**now.strikes, fork.seat: fork.strikes}
    then = _play_branch(fork, was, fork.recorded_action, secret, old, value)
    instead = _play_branch(fork, now, fork.new_action, secret, new, value)
    return Continuation(then.points, instead.points, then.luck, instead.luck, then.forfeits + instead.forfeits)


def _play_branch(
    fork: Fork,
    standing: MatchStanding,
    action: SeatAction | None,
    secret: bytes,
    branch: BranchPlayers,
    value: ValueFunction,
) -> BranchOutcome:
    """Continue the match after an action of the replayed seat, with dice from `secret`."""
    game, seat, before = fork.game, fork.seat, standing.current_course
    header = replace(fork.header, match=f"{CONTINUATION_ID_PREFIX}{secret.hex()[:32]}")
    standing.course = replace(before, key=match_key(header.match, secret, ()))
    standing.events_sent = {}
    lines: list[tuple[Any, Any]] = []
    events = (*fork.other_moves, *_action_events(fork, action))
    closed = branch.players.play_on(header, secret, standing, events, lambda line, state: lines.append((line, state)))
    luck = luck_after(game, value, before.state, lines)
    ended = enumerate(closed.result.seats)
    forfeiting = [at for at, sat in ended if sat.reason in FORFEITS and at not in before.dropped_out]
    if action is fork.recorded_action and action.out is not None:
        # the recorded bot forfeited, not the one that plays on
        forfeiting = [at for at in forfeiting if at != seat]
    forfeits = tuple(branch.bot if at == seat else header.seats[at].bot for at in forfeiting)
    return BranchOutcome(_points(closed.result, seat, game), luck.total[seat], forfeits)


def _action_events(fork: Fork, action: SeatAction | None) -> Iterator[MatchEvent]:
    if action is None:
        return
    if action.out is None:
        yield MoveReceived(fork.seat, fork.ply, fork.game.encode_move(action.move))
    elif action.out == RESIGNED:
        yield Resignation(fork.seat)
    else:
        yield Forfeit(fork.seat)


def _points(result: Result, seat: int, game: Game[Any, Any]) -> float:
    """Return the points of a seat in a finished match or, in games whose result is a payoff, its total payoff."""
    if not game.payoff_unit:
        return match_points(result)[seat]
    sat = result.seats[seat]
    return (sat.payoff or 0.0) * (sat.rounds or 0)

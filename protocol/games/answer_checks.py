"""Checks of what rules that are not built in answer. A bot must be able to read a turn and to play each move of it;
otherwise it would pay for a fault of the rules. Each check raises `RulesError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from protocol.codec import check_limits
from protocol.dice import Dice
from protocol.display import short_repr
from protocol.errors import IllegalMove, MalformedMessage, MalformedMove
from protocol.games.base import Game
from protocol.games.turn_game import RulesError, TurnRules
from protocol.messages import CHANCE, MAX_CLIENT_FRAME_BYTES

CHANGED_STATE_REASON = "a state changed after it was returned: make a new state instead"
"""The reason of a fault of rules that change a state in place."""
MAX_LEGAL_BYTES = 256 * 1024
"""Maximum bytes of the legal moves in a turn. With a state and events, they have to fit into a frame."""
UNSENDABLE_ADVICE = "whole numbers of 64 bits, texts, and tuples of these can be sent"
"""The advice to an author whose states or moves can't be sent."""
MAX_MOVE_BYTES = MAX_CLIENT_FRAME_BYTES // 2
"""Maximum bytes of a move, which a bot sends with search info."""
MAX_TRIED_MOVES = 100
"""Maximum number of legal moves of a turn that `check_moves` plays."""

_pack = msgspec.msgpack.Encoder(order="deterministic").encode
_unpack = msgspec.msgpack.Decoder().decode


def pack_answer(value: Any, what: str, method: str = "") -> bytes:
    """Return the packed form of a value for a message."""
    try:
        return _pack(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as exc:
        reason = f"{exc}; {UNSENDABLE_ADVICE}"
        raise RulesError(f"{what} can't be sent: {reason}, not {short_repr(value)}", method) from None


def check_to_move(game: Game[Any, Any], wire: Mapping[str, Any]) -> None:
    """Check the keys `to_move` and `ply` of an encoded state."""
    to_move, ply, seats = wire["to_move"], wire["ply"], game.seats
    if type(to_move) is list:
        is_right = bool(to_move) and all(type(seat) is int and 0 <= seat < seats for seat in to_move)
    else:
        is_right = to_move is None or (type(to_move) is int and (0 <= to_move < seats or to_move == CHANCE))
    if not is_right:
        raise RulesError(
            f"the seat to move is {short_repr(to_move)}: it is a number from 0 to {seats - 1}, CHANCE, or "
            "None once the game is over",
            "turn",
        )
    if type(ply) is not int or ply < 0:
        raise RulesError(f"ply is {short_repr(ply)}: it is a whole number from 0")


def check_readable(game: Game[Any, Any], state: Any, wire: Mapping[str, Any]) -> None:
    """Check that a bot that knows the rules can read an encoded state and look it up in a search."""
    again = _travel(game, wire, "the state")
    if again != state and _pack(read := game.encode_state(again)) != _pack(wire):
        key = next((key for key in wire if _pack(read.get(key)) != _pack(wire[key])), "")
        raise RulesError(
            f"a bot reads another state than it was told: {key} is {short_repr(wire.get(key))}, but "
            f"{short_repr(read.get(key))} once it was read; the types of a state's fields say what is sent"
        )
    _check_hashable(again, "a state")


def check_view(game: Game[Any, Any], seen: Mapping[str, Any], seat: int | None) -> None:
    """Check that the part of a state that a seat, or a spectator (None), may see can be sent and read."""
    what = f"what {'a spectator' if seat is None else f'seat {seat}'} sees"
    if isinstance(game, TurnRules):
        _travel(game, seen, what, "seen")
    else:
        pack_answer(seen, what, "view")


def _travel(game: Game[Any, Any], wire: Mapping[str, Any], what: str, method: str = "") -> Any:
    """Return the state that a bot reads from an encoded one."""
    packed = pack_answer(wire, what, method)
    try:
        return game.decode_state(_unpack(packed))
    except (KeyError, TypeError, ValueError, OverflowError) as exc:
        raise RulesError(
            f"{what} does not fit the type of a state, so no bot could read it: {exc}, in {short_repr(dict(wire))}",
            method,
        ) from None


def _check_hashable(value: Any, what: str) -> None:
    try:
        hash(value)
    except TypeError as exc:
        raise RulesError(f"{what} can't be hashed: {exc}; tuples can, lists can't") from None


def check_legal(legal: Sequence[Any], options: Any = None) -> None:
    """Check the legal moves that a seat is told."""
    if not legal:
        raise RulesError(
            "moves returns no move, although a seat is to move: turn returns None once the game is over", "moves"
        )
    size = len(pack_answer((legal, options), "a legal move", "moves"))
    if size > MAX_LEGAL_BYTES:
        raise RulesError(
            f"the {len(legal):,} legal moves take {size:,} bytes: at most {MAX_LEGAL_BYTES:,} fit in a turn", "moves"
        )


def check_ranks(game: Game[Any, Any], ranks: Sequence[Any]) -> None:
    seats = game.seats
    if len(ranks) != seats or any(type(rank) is not int or not 1 <= rank <= seats for rank in ranks):
        raise RulesError(f"the ranks are {short_repr(ranks)}: each seat has one, a number from 1 to {seats}", "ranks")
    if min(ranks) != 1:
        raise RulesError(f"the ranks are {short_repr(ranks)}, but the best rank is 1", "ranks")


def check_returns(game: Game[Any, Any], payoffs: Sequence[Any] | None) -> None:
    if payoffs is None and not game.payoff_unit:
        return
    if payoffs is None or len(payoffs) != game.seats or any(type(payoff) is not int for payoff in payoffs):
        raise RulesError(f"the payoffs are {short_repr(payoffs)}: each seat has one, a whole number", "returns")


def check_event(method: str, before: Mapping[str, Any], event: Any) -> None:
    """Check an event that the method `method` returned for a state. `before` is that state, encoded."""
    if event.ply != before["ply"]:
        raise RulesError(f"the event at ply {before['ply']} has the ply {short_repr(event.ply)}")
    if method == "apply" and event.seat != before["to_move"]:
        raise _changed_turn(before["to_move"], event.seat)


def check_unchanged(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Check that a state that was encoded before is still the same."""
    if before == now:
        return
    if {**before, "to_move": now["to_move"]} == now:
        raise _changed_turn(before["to_move"], now["to_move"])
    raise RulesError(CHANGED_STATE_REASON)


def _changed_turn(before: Any, now: Any) -> RulesError:
    return RulesError(
        f"turn returns {short_repr(now)} for a state for which it returned {short_repr(before)} before: it must return "
        "the same each time",
        "turn",
    )


def check_moves(game: Game[Any, Any], state: Any, call: Callable[..., Any]) -> None:
    """Check that the legal moves of the seat to move are the same at each call, and that each can be sent, read and
    played. Calls of the rules go through `call(method, function, *arguments)`.
    """
    moves = call("legal_moves", game.legal_moves, state)
    if not isinstance(moves, Sequence):
        raise RulesError(f"moves returns {short_repr(moves)}: a list or a tuple, in a fixed order", "moves")
    legal, options = call("legal_moves_for_turn", game.legal_moves_for_turn, state)
    check_legal(legal, options)
    if call("legal_moves_for_turn", game.legal_moves_for_turn, state) != (legal, options):
        raise RulesError("moves returns other moves at a second call for the same state", "moves")
    for wire in legal[:MAX_TRIED_MOVES]:
        check_move_fits(wire)
        try:
            move = game.decode_move(_unpack(_pack(wire)))
            _check_hashable(move, f"the move {short_repr(move)}")
            call("apply", game.apply, state, move, Dice(b"", 0))
        except (IllegalMove, MalformedMove) as refusal:
            raise _wrong_refusal(wire, refusal) from refusal


def refused_move(wire: Any, legal: Sequence[Any], refusal: IllegalMove | MalformedMove) -> RulesError | None:
    """Return the fault of rules that refuse an encoded move which they list as legal; None if they do not list it."""
    try:
        packed = _pack(wire)
        is_listed = any(_pack(move) == packed for move in legal)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return _wrong_refusal(wire, refusal) if is_listed else None


def check_move_fits(wire: Mapping[str, Any]) -> None:
    """Check that a bot can send an encoded move."""
    try:
        check_limits(wire, 2)
    except MalformedMessage as exc:
        raise RulesError(f"the move {short_repr(wire)} can't be sent: it has {exc}", "moves") from None
    size = len(_pack(wire))
    if size > MAX_MOVE_BYTES:
        raise RulesError(f"the move {short_repr(wire)} takes {size:,} bytes: at most {MAX_MOVE_BYTES:,}", "moves")


def _wrong_refusal(wire: Any, refusal: IllegalMove | MalformedMove) -> RulesError:
    return RulesError(
        f"the move {short_repr(wire)} is refused, although it is among the legal moves: {refusal}", "moves"
    )

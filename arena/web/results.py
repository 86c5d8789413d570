"""Results in words: who came before whom, how a match ended, and what it was for one bot. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from arena.store.result_queries import DRAWN, LOST, VOIDED, WON, group_of, outcome_of
from arena.web.formatting import plural
from protocol import reasons
from protocol.names import folded
from referee.result import Result, SeatResult

WORDS = {
    reasons.WIN: "played out",
    reasons.DRAW: "draw",
    reasons.PLY_LIMIT: "ply limit",
    reasons.ROUND_LIMIT: "round limit",
    reasons.RESIGNED: "resigned",
    reasons.TIMEOUT: "time",
    reasons.ILLEGAL: "illegal moves",
    reasons.DISCONNECTED: "lost connection",
    reasons.NO_SHOW: "no show",
    reasons.VOID: "called off",
}
"""Why matches and seats end, for people."""
_LEFT = {
    reasons.RESIGNED: "resigned",
    reasons.TIMEOUT: "ran out of time",
    reasons.ILLEGAL: "made three illegal moves",
    reasons.DISCONNECTED: "lost its connection",
    reasons.NO_SHOW: "never came",
}
"""What a seat did that left before the end."""
OUTCOME_WORDS = {WON: "won", DRAWN: "drawn", LOST: "lost", VOIDED: "called off"}


def reason_words(reason: str) -> str:
    """A reason of the protocol's for people; one that this version does not know as it is."""
    return WORDS.get(reason, reason.replace("_", " "))


def seat_words(rank: int, reason: str) -> str:
    """How a match ended for one of its seats: one that left nothing to say but its rank has won or lost."""
    if reason == reasons.WIN:
        return OUTCOME_WORDS[WON if rank == 1 else LOST]
    return reason_words(reason)


def sentence(reason: str, plies: int, seats: Sequence[SeatResult]) -> str:
    """How a match ended, for people: `ann won after 9 plies: bob ran out of time`."""
    if reason == reasons.VOID:
        return "called off by the arena, void"
    first = [seat.bot for seat in seats if seat.rank == 1]
    ended = f"{' and '.join(first)} {'won' if len(first) == 1 else 'tied'}" if reason != reasons.DRAW else "a draw"
    left = ", ".join(f"{seat.bot} {_LEFT[seat.reason]}" for seat in seats if seat.reason in _LEFT)
    limit = f" by the {WORDS[reason]}" if reason in (reasons.PLY_LIMIT, reasons.ROUND_LIMIT) else ""
    return f"{ended} after {plural(plies, 'ply', 'plies')}{limit}" + (f": {left}" if left else "")


def places(result: Result) -> list[list[SeatResult]]:
    """The seats, best first; those that tie together. All together, where the match was called off."""
    if result.reason == reasons.VOID:
        return [list(result.seats)]
    ranked = sorted(result.seats, key=lambda seat: seat.rank)
    return [list(tied) for _, tied in groupby(ranked, key=lambda seat: seat.rank)]


def seat_of(result: Result, bot: str) -> SeatResult | None:
    """The seat of a bot, named in any case."""
    return next((seat for seat in result.seats if folded(seat.bot) == folded(bot)), None)


FILTERS = {
    "reason": reason_words,
    "of_seat": seat_words,
    "places": places,
    "seat_of": seat_of,
    "outcome_of": outcome_of,
    "group": group_of,
    "outcome": lambda outcome: OUTCOME_WORDS[outcome],
}

"""Formats numbers, times, addresses and results for pages. All functions are pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from urllib.parse import quote, urlencode

import msgspec
from jinja2.utils import htmlsafe_json_dumps

from arena.ratings.tournament_pairing import TEST_FORMAT
from arena.store.result_queries import DRAWN, LOST, VOID_OUTCOME, WON, outcome_of, pool_or_unrated
from machine.arguments import read_clock
from measuring.payoffs import MeanPayoff
from measuring.share_intervals import ShareInterval
from protocol import reasons
from protocol.games import payoff_unit
from protocol.names import fold_name
from referee.result import Result, SeatResult

MINUS_SIGN = "\u2212"
"""The typographic minus sign, which pages show before negative numbers."""
THIN_SPACE = "\u202f"
"""A narrow space without a line break. It is put between groups of three digits, and between a number and its unit."""
REASON_WORDS = {
    reasons.WIN: "played to the end",
    reasons.DRAW: "draw",
    reasons.PLY_LIMIT: "ply limit",
    reasons.ROUND_LIMIT: "round limit",
    reasons.RESIGNED: "resigned",
    reasons.TIMEOUT: "time",
    reasons.ILLEGAL: "illegal moves",
    reasons.DISCONNECTED: "lost connection",
    reasons.NO_SHOW: "no show",
    reasons.FAILED: "program failed",
    reasons.VOID: "called off",
}
"""The words that pages show for the reasons why matches and seats end."""
_LEAVING_WORDS = {
    reasons.RESIGNED: "resigned",
    reasons.TIMEOUT: "ran out of time",
    reasons.ILLEGAL: "made three illegal moves",
    reasons.DISCONNECTED: "lost its connection",
    reasons.NO_SHOW: "did not show up",
    reasons.FAILED: "stopped because its program failed",
}
"""The words that pages show for the reasons why a seat left a match early."""
_FORMAT_WORDS = {"round-robin": "round robin", "swiss": "Swiss system", TEST_FORMAT: "test of two bots"}
"""The words that pages show for tournament formats."""
OUTCOME_WORDS = {WON: "won", DRAWN: "drawn", LOST: "lost", VOID_OUTCOME: "called off"}
"""The words that pages show for a seat's outcome of a match."""


def segment(text: object) -> str:
    """Escape text as one segment of a URL's path."""
    return quote(str(text), safe="")


def query(values: Mapping[str, object], **changes: object) -> str:
    """Return a URL's query with its `?`: the values, updated with the changes. It omits values that are None or ""."""
    said = {name: value for name, value in {**values, **changes}.items() if value not in (None, "")}
    return f"?{urlencode(said)}" if said else ""


def decimal(value: float, places: int = 1) -> str:
    """Format a number with these decimal places, separated thousands, and U+2212 as minus sign."""
    text = f"{abs(value):,.{places}f}".replace(",", THIN_SPACE)
    return MINUS_SIGN + text if value < 0 and float(f"{value:.{places}f}") != 0 else text


def grouped(value: int) -> str:
    return decimal(value, 0)


def percent(share: float) -> str:
    return f"{decimal(100 * share)}{THIN_SPACE}%"


def payoff(value: float) -> str:
    """Format a payoff per round: with three decimals below 1000, and with one from there on."""
    return decimal(value, 3 if abs(value) < 1000 else 1)


def payoff_interval(mean_payoff: MeanPayoff) -> str:
    """Format the 95 % interval of a mean payoff; return "" if there is none."""
    if mean_payoff.low is None or mean_payoff.high is None:
        return ""
    low, high = payoff(mean_payoff.low), payoff(mean_payoff.high)
    return f"{low} to {high}" if low.startswith(MINUS_SIGN) else f"{low}–{high}"


def share_interval(interval: ShareInterval) -> str:
    """Format a share of points with its confidence interval in percent, like `75.0 % (46.8–91.1)`."""
    return f"{percent(interval.score)} ({decimal(100 * interval.low)}–{decimal(100 * interval.high)})"


def gain_interval(interval: ShareInterval) -> str:
    """Format a difference of shares with its confidence interval in percent, like `+58.3 % (+13.1 to +82.7)`."""
    return f"{_signed(interval.score)}{THIN_SPACE}% ({_signed(interval.low)} to {_signed(interval.high)})"


def _signed(share: float) -> str:
    return ("" if share < 0 and decimal(100 * share).startswith(MINUS_SIGN) else "+") + decimal(100 * share)


def rating(mu: float, sigma: float) -> str:
    """Format a rating as its mean ± 3 sigma."""
    return f"{decimal(mu)} ± {decimal(3 * sigma)}"


def moment(time: str) -> str:
    """Format a time from the store as date, hour and minute in UTC."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M")


def day(time: str) -> str:
    """Format a time from the store as date in UTC."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d")


def thinking(ms: float | None) -> str:
    """Format a thinking time in ms or s; return a dash for None."""
    if ms is None:
        return "–"
    if ms < 999.5:
        return f"{decimal(ms, 1 if ms < 9.95 else 0)}{THIN_SPACE}ms"
    return f"{decimal(ms / 1000, 1)}{THIN_SPACE}s"


def clock(text: str) -> str:
    """Describe a tournament's clock, whose text looks like `60+0.5`, in words."""
    asked = read_clock(text)
    added = f" + {asked.increment_ms / 1000:g}{THIN_SPACE}s a move" if asked.increment_ms else ""
    return f"{asked.bank_ms / 1000:g}{THIN_SPACE}s{added}"


def plural(number: int, one: str, many: str) -> str:
    return f"{grouped(number)} {one if number == 1 else many}"


def ordinal(number: int) -> str:
    """Format a number as 1st, 2nd, 3rd, 4th."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{grouped(number)}{ending}"


def capital(sentence: str) -> str:
    """Return a sentence with a capital first letter and a full stop at the end."""
    return f"{sentence[:1].upper()}{sentence[1:]}" + ("" if sentence.endswith((".", "?")) else ".")


def data(value: object) -> str:
    """Encode a value as JSON for a script element of type application/json."""
    return script_safe(msgspec.json.encode(value))


def script_safe(json: bytes) -> str:
    """Escape JSON so that it can stand in a script element."""
    return htmlsafe_json_dumps(json, dumps=bytes.decode)


def reason_words(reason: str) -> str:
    """Describe a reason of the protocol in words. Return an unknown reason unchanged."""
    return REASON_WORDS.get(reason, reason.replace("_", " "))


def tournament_format(name: str) -> str:
    return _FORMAT_WORDS.get(name, name.replace("-", " "))


def seat_words(rank: int, reason: str) -> str:
    """Describe how a match ended for a seat."""
    if reason == reasons.WIN:
        return OUTCOME_WORDS[WON if rank == 1 else LOST]
    return reason_words(reason)


def result_sentence(reason: str, plies: int, seats: Sequence[SeatResult]) -> str:
    """Describe how a match ended, like `ann won after 9 moves: bob ran out of time`."""
    if reason == reasons.VOID:
        return "called off by the arena (void)"
    first = [seat.bot for seat in seats if seat.rank == 1]
    ended = f"{' and '.join(first)} {'won' if len(first) == 1 else 'tied'}" if reason != reasons.DRAW else "a draw"
    left = ", ".join(f"{seat.bot} {_LEAVING_WORDS[seat.reason]}" for seat in seats if seat.reason in _LEAVING_WORDS)
    limit = f" by the {REASON_WORDS[reason]}" if reason in (reasons.PLY_LIMIT, reasons.ROUND_LIMIT) else ""
    return f"{ended} after {plural(plies, 'move', 'moves')}{limit}" + (f": {left}" if left else "")


def summarise_result(result: Result) -> str:
    """Summarise a result, like `greedy beat lucky`, or with more seats `greedy won against lucky, random`."""
    names = [seat.bot for seat in result.seats]
    if result.reason == reasons.VOID:
        return f"{' against '.join(names) if len(names) == 2 else ', '.join(names)}: called off"
    first, *others = group_by_place(result)
    best, rest = [seat.bot for seat in first], ", ".join(seat.bot for tied in others for seat in tied)
    if not rest:
        return f"{best[0]} drew with {', '.join(best[1:])}"
    if len(best) > 1:
        return f"{listed(best)} drew ahead of {rest}"
    return f"{best[0]} {'beat' if len(names) == 2 else 'won against'} {rest}"


def listed(names: Sequence[str]) -> str:
    """Join names for a sentence, like `ann, bob and cid`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def group_by_place(result: Result) -> list[list[SeatResult]]:
    """Group a match's seats by rank, best first. A void match has a single group."""
    if result.reason == reasons.VOID:
        return [list(result.seats)]
    ranked = sorted(result.seats, key=lambda seat: seat.rank)
    return [list(tied) for _, tied in groupby(ranked, key=lambda seat: seat.rank)]


def seat_of(result: Result, bot: str) -> SeatResult | None:
    """Return the seat of a bot in a match, regardless of the case of its name; None if it has none."""
    return next((seat for seat in result.seats if fold_name(seat.bot) == fold_name(bot)), None)


FILTERS = {
    **{
        function.__name__: function
        for function in (
            segment,
            decimal,
            grouped,
            percent,
            payoff,
            payoff_interval,
            share_interval,
            gain_interval,
            payoff_unit,
            rating,
            moment,
            day,
            thinking,
            clock,
            listed,
            ordinal,
            plural,
            capital,
            data,
        )
    },
    "reason": reason_words,
    "of_seat": seat_words,
    "tournament_format": tournament_format,
    "story": summarise_result,
    "places": group_by_place,
    "seat_of": seat_of,
    "outcome_of": outcome_of,
    "group": pool_or_unrated,
    "outcome": OUTCOME_WORDS.__getitem__,
}
"""The filters of templates for values of all kinds, such as numbers, times and results: functions by name."""

"""The client's messages for the author: one plain line for each event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from protocol.display import format_count, format_rating
from protocol.games import payoff_unit
from protocol.messages import End, ListedBot, ListedSeek, Listing, Move, Outcome, Player, Rejected, Start
from protocol.names import fold_name
from protocol.reasons import DRAW, FAILED, VOID, WIN

MAX_NAMED_BOTS = 3
"""The maximum number of bots that a line about waiting lists by name."""


def format_welcome(bot: str, url: str, resumed: Sequence[str]) -> str:
    """Return the line for a new connection."""
    going_on = f", resuming {', '.join(resumed)}" if resumed else ""
    return f"{bot}: connected to {url}{going_on}"


def format_waiting(bot: str, game: str, opponent: str | None, listing: Listing) -> str:
    """Return the line that says what a seek waits for: `mine: waiting for bob at nim, which never connected`."""
    own = next((one for one in listing.bots if fold_name(one.bot) == fold_name(bot)), ListedBot(bot=bot))
    others = {fold_name(other.bot): other for other in listing.bots if fold_name(other.bot) != fold_name(bot)}
    if opponent is not None:
        found = others.get(fold_name(opponent))
        stranger = any(fold_name(opponent) in seek.unknown for seek in own.seeks)
        absent = "" if listing.more_bots else ", which never connected" if stranger else ", which is not connected"
        return f"{bot}: waiting for {opponent} at {game}{_describe_opponent(found, game) if found else absent}"
    if own.pace_s:
        return f"{bot}: waiting {own.pace_s} s: it has reached this arena's limit of matches an hour"
    told = [f"{other.bot} seeks it {ways}" for other in others.values() if (ways := _format_seeks(other, game))]
    more = [f"so do {len(told) - MAX_NAMED_BOTS} more"] if len(told) > MAX_NAMED_BOTS else []
    late = [f"{other.bot} is getting ready for it" for other in others.values() if game in other.warming]
    nobody = [] if told or late or listing.more_bots else ["nobody else seeks it"]
    seeking = "; ".join(told[:MAX_NAMED_BOTS] + more + late[:MAX_NAMED_BOTS] + nobody)
    return f"{bot}: waiting for an opponent at {game}" + (f": {seeking}" if seeking else "")


def _describe_opponent(other: ListedBot, game: str) -> str:
    seeks = [seek for seek in other.seeks if seek.game == game]
    if not seeks and game in other.warming:
        return f", which has been getting ready for it for {other.warming_s} s"
    if not seeks:
        return ", which is playing now" if other.playing else ", which is connected but does not seek it now"
    if all(seek.rated for seek in seeks):
        return ", which seeks rated matches: a seek that names its opponent is unrated"
    return f", which seeks it {_format_seeks(other, game)}"


def _format_seeks(other: ListedBot, game: str) -> str:
    return ", ".join(_format_seek(seek) for seek in other.seeks if seek.game == game)


def _format_seek(seek: ListedSeek) -> str:
    """Return in words what an opponent's seek must have in common with this seek, like `rated (classic)`."""
    if seek.open:
        return f"openly ({', '.join(seek.presets)})" if seek.presets else "openly"
    named = f" against {', '.join(seek.opponents)}" if seek.opponents else ""
    if seek.private:
        named = " against bots that name it"
    return f"{'rated' if seek.rated else 'unrated'}{named} ({seek.preset or 'custom config'})"


def format_result(start: Start, seat: int, end: End, failure: str | None = None) -> str:
    """Return the line for a result: `mine: won m-12 against random, rating 25.0 ± 25.0 -> 29.4 ± 21.5`.

    In games that count payoffs, the line includes them. `failure` is how the bot's program failed; None if it did not.
    """
    own = end.seats[seat]
    rivals = format_opponents(start.seats, seat)
    why = _format_reason(end, seat, failure)
    by = "" if why in (WIN, DRAW) else f" ({why})"
    came = f"{own.bot}: {_format_place(end, seat)} {start.match} against {rivals}{by}"
    return came + _format_payoffs(start.game, end, seat) + _rating(end, own)


def _format_place(end: End, seat: int) -> str:
    rank, ranks = end.ranks[seat], end.ranks
    if end.reason == VOID:
        return "had no result in"
    if ranks.count(rank) == len(ranks):
        return "drew"
    if rank == 1:
        return "won" if ranks.count(1) == 1 else "shared first place in"
    return "lost" if len(ranks) == 2 else f"came {_ordinal(rank)} of {len(ranks)} in"


def _ordinal(rank: int) -> str:
    return f"{rank}{ {2: 'nd', 3: 'rd'}.get(rank, 'th') }"


def _format_reason(end: End, seat: int, failure: str | None) -> str:
    """Return the reason for which the seat lost. If it did not lose, return the reason for which the match ended."""
    if end.ranks[seat] != 1 and end.reason != VOID:
        own = end.seats[seat].reason
        return failure or "its program failed" if own == FAILED else own
    failed = [one.bot for one in end.seats if one.reason == FAILED]
    return end.reason if end.reason != FAILED else f"the program of {', '.join(failed)} failed"


def _format_payoffs(game: str, end: End, seat: int) -> str:
    """Return the mean payoffs of a round or hand, the seat's own first; empty text in games without payoffs."""
    paid = [
        one.payoff for one in (end.seats[seat], *end.seats[:seat], *end.seats[seat + 1 :]) if one.payoff is not None
    ]
    if len(paid) < len(end.seats):
        return ""
    unit = payoff_unit(game)
    return f", {' to '.join(f'{payoff:.3f}' for payoff in paid)}{f' a {unit}' if unit else ''}"


def _rating(end: End, own: Outcome) -> str:
    if end.seed is None:
        return ", the others are still playing"
    if own.mu_before is None or own.sigma_before is None or own.mu_after is None or own.sigma_after is None:
        return ", unrated"
    return (
        f", rating {format_rating(own.mu_before, own.sigma_before)} -> {format_rating(own.mu_after, own.sigma_after)}"
    )


def format_left_matches(matches: int, away_ms: int) -> str:
    """Return the line about unfinished matches. The bot may be away for `away_ms`; 0 means until its clock ends."""
    it = "it" if matches == 1 else "them"
    until = f"within {away_ms / 1000:g} s" if away_ms else "before its clock ends"
    return f"{format_count(matches, 'match', 'matches')} unfinished: restart the bot {until} to resume {it}"


def format_rejection(bot: str, rejected: Rejected, move: Move | None) -> str:
    """Return the line for a rejected move: `mine: move {"heap": 0, …} rejected at ply 4 of m-12: heap 0 holds 5 …`."""
    moved = f"move {format_json(move.move)}" if move is not None and move.ply == rejected.ply else "a move"
    left = rejected.strikes_left
    strikes = "" if left is None else f" ({left} strike{'' if left == 1 else 's'} left)"
    return f"{bot}: {moved} rejected at ply {rejected.ply} of {rejected.match}: {rejected.message}{strikes}"


def format_opponents(seats: Sequence[Player], seat: int) -> str:
    """Return the names of the other seats' bots, in seat order."""
    return ", ".join(player.bot for i, player in enumerate(seats) if i != seat)


def format_json(value: Any) -> str:
    """Return a value as JSON text with spaces, as the documents write moves. Long text is cut."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
    return text if len(text) <= 120 else text[:117] + "..."

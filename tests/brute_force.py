"""What pages ask of the store, answered the plain way: every match is looked at."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from arena.store.leaderboards import (
    LATEST_MATCHES_PER_ENDING,
    Ending,
    EndingMatch,
    HistoryPoint,
    OpponentRow,
    SeatRow,
    VersionRow,
)
from arena.store.match_search import Search
from arena.store.result_queries import DRAWN, LOST, OUTCOMES, VOID_OUTCOME, WON
from protocol.names import fold_name
from protocol.reasons import VOID
from referee.result import Ratings, Result, SeatRating


class BruteForce:
    """Results in the order in which they were stored, with their ratings."""

    def __init__(self, results: Sequence[Result], ratings: Sequence[Ratings | None]) -> None:
        self._played = list(zip(results, ratings, strict=True))

    def history(self, name: str, pool: str) -> list[HistoryPoint]:
        return [
            HistoryPoint(
                played=played,
                mu=rating.mu_after,
                sigma=rating.sigma_after,
                finished=result.finished,
                match=result.match,
            )
            for played, (result, _, rating) in enumerate(self._sat(name, pool), 1)
            if rating is not None
        ]

    def opponents(self, name: str, pool: str) -> list[OpponentRow]:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        paid: Counter[str] = Counter()
        rounds: Counter[str] = Counter()
        for result, at, _ in self._sat(name, pool):
            for other_at, other in enumerate(result.seats):
                if other_at != at and result.reason != VOID:
                    mine, seat = result.seats[at].rank, result.seats[at]
                    if seat.payoff is not None and seat.rounds and result.pool is not None:
                        paid[other.bot] += round(seat.payoff * seat.rounds)
                        rounds[other.bot] += seat.rounds
                    counts[other.bot][WON if mine < other.rank else LOST if mine > other.rank else DRAWN] += 1
        rows = [
            OpponentRow(
                opponent=other,
                played=count.total(),
                wins=count[WON],
                draws=count[DRAWN],
                losses=count[LOST],
                share=(count[WON] + count[DRAWN] / 2) / count.total(),
                payoff=paid[other] / rounds[other] if rounds[other] else None,
            )
            for other, count in counts.items()
        ]
        return sorted(rows, key=lambda row: (-row.played, fold_name(row.opponent)))

    def by_seat(self, name: str, pool: str) -> list[SeatRow]:
        found: dict[int, list[tuple[Result, int]]] = defaultdict(list)
        for result, at, _ in self._sat(name, pool):
            found[at].append((result, at))
        return [SeatRow(seat=seat, ms_per_move=thinking(sat), **counted(sat)) for seat, sat in sorted(found.items())]

    def by_version(self, name: str, pool: str) -> list[VersionRow]:
        found: dict[str, list[tuple[Result, int]]] = {}
        for result, at, _ in self._sat(name, pool):
            version = result.seats[at].version
            found[version] = [*found.pop(version, []), (result, at)]
        return [
            VersionRow(
                version=version,
                match=sat[-1][0].match,
                finished=sat[-1][0].finished,
                ms_per_move=thinking(sat),
                **counted(sat),
            )
            for version, sat in reversed(found.items())
        ]

    def endings(self, name: str, pool: str) -> list[Ending]:
        found: dict[tuple[str, str], list[Result]] = defaultdict(list)
        for result, at, _ in self._sat(name, pool):
            found[outcome(result, at), result.seats[at].reason].append(result)
        endings = [
            Ending(
                outcome=how,
                reason=reason,
                played=len(results),
                latest=[
                    EndingMatch(match=result.match, plies=result.plies, finished=result.finished)
                    for result in reversed(results[-LATEST_MATCHES_PER_ENDING:])
                ],
            )
            for (how, reason), results in found.items()
        ]
        return sorted(endings, key=lambda ending: (OUTCOMES.index(ending.outcome), -ending.played, ending.reason))

    def search(self, search: Search) -> list[Result]:
        return [result for result, _ in reversed(self._played) if fits(result, search)]

    def _sat(self, name: str, pool: str) -> Iterator[tuple[Result, int, SeatRating | None]]:
        """The matches of a bot in a pool: the result, its seat, and that seat's rating."""
        for result, ratings in self._played:
            if pool == (result.pool or f"{result.game}/unrated"):
                for at, seat in enumerate(result.seats):
                    if fold_name(seat.bot) == fold_name(name):
                        yield result, at, ratings.seats[at] if ratings else None


def outcome(result: Result, seat: int) -> str:
    if result.reason == VOID:
        return VOID_OUTCOME
    ranks = [other.rank for other in result.seats]
    return LOST if ranks[seat] != 1 else WON if ranks.count(1) == 1 else DRAWN


def counted(sat: Iterable[tuple[Result, int]]) -> dict[str, int]:
    """How matches ended for their seats."""
    count = Counter(outcome(result, at) for result, at in sat)
    wins, draws, losses = count[WON], count[DRAWN], count[LOST]
    return {"played": wins + draws + losses, "wins": wins, "draws": draws, "losses": losses}


def thinking(sat: Iterable[tuple[Result, int]]) -> float | None:
    """Milliseconds a move."""
    seats = [result.seats[at] for result, at in sat if result.seats[at].thought_ms is not None]
    moves = sum(seat.moves or 0 for seat in seats)
    return sum(seat.thought_ms or 0 for seat in seats) / moves if moves else None


def fits(result: Result, search: Search) -> bool:
    """Whether a match is one of those that are looked for."""
    names = [fold_name(seat.bot) for seat in result.seats]
    at = names.index(fold_name(search.bot)) if search.bot is not None and fold_name(search.bot) in names else None
    if search.bot is not None and at is None:
        return False
    return (
        (search.opponent is None or fold_name(search.opponent) in names)
        and search.game in (None, result.game)
        and search.pool in (None, result.pool or f"{result.game}/unrated")
        and search.reason in (None, result.reason if at is None else result.seats[at].reason)
        and (search.outcome is None or at is None or search.outcome == outcome(result, at))
        and search.tournament in (None, result.tournament)
        and (search.since is None or result.finished >= search.since)
        and (search.until is None or result.finished[: len(search.until)] <= search.until)
    )

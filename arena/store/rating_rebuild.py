"""The ratings computed once more from the results, to be compared with what is stored, or to replace it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator

from sqlalchemy import Connection, bindparam, delete, select, update

from arena.ratings import rating_system
from arena.store import finish, result_queries, seasons, summaries
from arena.store.finish import Tallies, Tally
from arena.store.schema import matches, ratings, seats
from referee.result import SeatRating

_NUMBERS = SeatRating.__struct_fields__


def rebuild_ratings(connection: Connection) -> int:
    """Replace all ratings by those that follow from the results. Returns how many rows were different."""
    tallies, wrong = _recompute(connection)
    stale = _count_differences(connection, tallies)
    _correct(connection, wrong)
    if stale:
        connection.execute(delete(ratings))
        finish.save_tallies(connection, tallies)
    return len(wrong) + stale + summaries.rebuild(connection)


def rerate_from(connection: Connection, first: int, pools: Collection[str]) -> None:
    """Rate the matches of these pools anew from a number on, as which are rated was changed; what else follows, too.

    Those that come to other ratings than their records say are marked.
    """
    tallies, wrong = _recompute(connection, first, pools)
    _correct(connection, wrong)
    changed = [{"at": number} for number in {number for number, _ in wrong}]
    if changed:
        connection.execute(update(matches).where(matches.c.number == bindparam("at")).values(rerated=True), changed)
    connection.execute(delete(ratings).where(ratings.c.pool.in_(pools)))
    finish.save_tallies(connection, tallies)
    summaries.renew(connection)


def _correct(connection: Connection, wrong: dict[tuple[int, int], SeatRating]) -> None:
    if wrong:
        connection.execute(
            update(seats).where(seats.c.match == bindparam("at"), seats.c.seat == bindparam("on")),
            [
                {"at": number, "on": seat, **{name: getattr(rating, name) for name in _NUMBERS}}
                for (number, seat), rating in wrong.items()
            ],
        )


def find_problems(connection: Connection) -> Iterator[str]:
    """Which ratings are not what follows from the results, a line each."""
    tallies, wrong = _recompute(connection)
    names = {row.number: row.id for row in connection.execute(select(matches.c.number, matches.c.id))} if wrong else {}
    for number, seat in wrong:
        yield f"match {names[number]}, seat {seat}: the rating is not what follows from the results"
    stale = _count_differences(connection, tallies)
    if stale:
        yield f"{stale} standings are not what follows from the results: run `arena db rebuild-ratings`"
    yield from summaries.find_problems(connection)


def _recompute(
    connection: Connection, first: int = 0, pools: Collection[str] | None = None
) -> tuple[Tallies, dict[tuple[int, int], SeatRating]]:
    """The matches from a number on, of these pools or all, rated once more; and the seats, by match number and seat,
    whose stored ratings differ. With every season the tallies are empty.
    """
    season_starts = seasons.season_starts(connection)
    current = season_starts[-1] if season_starts else 0
    tallies: Tallies = {}
    if first > current:
        before = finish.load_tallies_before(connection, first)
        tallies = {place: tally for place, tally in before.items() if pools is None or place[1] in pools}
    else:
        first = max((begin for begin in season_starts if begin <= first), default=0)
    ahead = deque(begin for begin in season_starts if begin > first)
    wrong: dict[tuple[int, int], SeatRating] = {}
    chosen = select(matches.c.number).where(matches.c.pool.is_not(None), matches.c.number >= first)
    if pools is not None:
        chosen = chosen.where(matches.c.pool.in_(pools))
    for number, result, rows in result_queries.iter_results_with_seats(connection, chosen):
        while ahead and number >= ahead[0]:
            ahead.popleft()
            tallies = {}
        rated = finish.rate(tallies, rows[0].pool, result, [row.bot for row in rows])
        for row, rating in zip(rows, rated.seats, strict=True):
            if not all(_same(getattr(row, name), getattr(rating, name)) for name in _NUMBERS):
                wrong[number, row.seat] = rating
    return {} if ahead else tallies, wrong


def _count_differences(connection: Connection, tallies: Tallies) -> int:
    """How many standings are missing, superfluous or different."""
    stored = finish.load_tallies(connection)
    return sum(not _equal(stored.get(place), tallies.get(place)) for place in stored.keys() | tallies.keys())


def _equal(a: Tally | None, b: Tally | None) -> bool:
    if a is None or b is None:
        return False
    counts = a.standing[2:] == b.standing[2:] and a[1:] == b[1:]
    return counts and all(_same(x, y) for x, y in zip(a.standing[:2], b.standing[:2], strict=True))


def _same(a: float | None, b: float) -> bool:
    return a is not None and rating_system.nearly_equal(a, b)

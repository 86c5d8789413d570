"""The leaderboard of a pool: sorted, searched, in pages of fifty."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from arena.ratings.rating_system import PROVISIONAL_MATCHES, game_of
from arena.store.leaderboards import leaderboard_page, order_of, pools_with_results
from arena.store.pool_payoffs import MIN_RANKED_OPPONENTS, MIN_RANKED_ROUNDS
from arena.store.seasons import list_seasons
from arena.web import lookups
from arena.web.charts import payoff_scale, scale
from arena.web.errors import NotFound
from arena.web.rendering import render_page, site_of
from measuring.payoffs import MAX_WEIGHT_ROUNDS
from protocol.games import payoff_unit
from protocol.pools import is_of_people, people_pool, without_people

ROWS = 50
BAR = 180
"""The width of the rating scale, in CSS pixels."""


def leaderboard(request: Request) -> Response:
    """The leaderboard of a game's preset, of bots or of people; of the first that has rated matches, where none is
    named.
    """
    reader = site_of(request).reader
    asked = {name: request.query_params.get(name) or None for name in ("season", "search", "sort", "order", "after")}
    pools = sorted(reader.read(pools_with_results, season=asked["season"]), key=_pool_order)
    game, preset = request.path_params.get("game"), request.path_params.get("preset")
    pool = _chosen(pools, game, preset)
    sort, order = asked["sort"] or order_of(pool or ""), asked["order"] or "desc"
    board, drawn, unit = None, None, ""
    if pool:
        board = reader.read(
            leaderboard_page,
            pool,
            sort=sort,
            descending=order != "asc",
            search=asked["search"],
            after=asked["after"],
            limit=ROWS,
            season=asked["season"],
        )
        ends = [end for row in board.rows for end in (row.mu - 3 * row.sigma, row.mu + 3 * row.sigma)]
        unit = payoff_unit(game_of(pool))
        drawn = payoff_scale((row.payoff for row in board.rows), BAR) if unit else scale(ends, BAR)
    return render_page(
        request,
        "leaderboard.html",
        played=list(dict.fromkeys(map(game_of, pools))),
        presets=[other for other in pools if pool and _is_alike(other, pool)],
        pool=pool,
        people=is_of_people(pool or ""),
        beside=_beside(pool, pools),
        game=game_of(pool) if pool else game,
        asked=asked,
        seasons=[season.season for season in reader.read(list_seasons)],
        sort=sort,
        order=order,
        board=board,
        scale=drawn,
        unit=unit,
        few=PROVISIONAL_MATCHES,
        weight_rounds=MAX_WEIGHT_ROUNDS,
        ranked_opponents=MIN_RANKED_OPPONENTS,
        ranked_rounds=MIN_RANKED_ROUNDS,
    )


def _pool_order(pool: str) -> tuple[int, bool, str]:
    """Pools in the order of the games, then bots before people, then by their names."""
    return lookups.game_order(game_of(pool)), is_of_people(pool), pool


def _is_alike(one: str, other: str) -> bool:
    """Whether two pools are of one game, and both of bots or both of people."""
    return game_of(one) == game_of(other) and is_of_people(one) == is_of_people(other)


def _beside(pool: str | None, pools: list[str]) -> str | None:
    """Where people stand, beside the pool of bots, or bots beside that of people: at the same preset, or at another one
    of the game; None where nothing is rated there.
    """
    if pool is None:
        return None
    same = without_people(pool) if is_of_people(pool) else people_pool(pool)
    others = [other for other in pools if game_of(other) == game_of(pool) and not _is_alike(other, pool)]
    return same if same in others else next(iter(others), None)


def _chosen(pools: list[str], game: str | None, preset: str | None) -> str | None:
    """The pool that an address names; None where there is nothing rated, of that game or at all."""
    if game is not None and preset is not None:
        if f"{game}/{preset}" not in pools:
            raise NotFound(lookups.no_leaderboard_message(game, preset, pools))
        return f"{game}/{preset}"
    fitting = [pool for pool in pools if game in (None, game_of(pool))]
    if game is not None and not fitting and (wrong := lookups.unknown_game_message(game)):
        raise NotFound(wrong)
    return fitting[0] if fitting else None

"""The leaderboard of a pool, with sorting, search and pages."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from arena.ratings.rating_system import PROVISIONAL_MATCHES, game_of
from arena.store.leaderboards import default_sort, leaderboard_page, pools_with_results
from arena.store.pool_payoffs import MIN_RANKED_OPPONENTS, MIN_RANKED_ROUNDS
from arena.store.seasons import list_seasons
from arena.store.store import Reader
from arena.web import lookups
from arena.web.charts import make_scale, payoff_scale
from arena.web.errors import NotFound
from arena.web.rendering import render_page, site_of
from measuring.payoffs import MAX_WEIGHT_ROUNDS
from protocol.games import payoff_unit
from protocol.pools import is_people_pool, people_pool, preset_pool

PAGE_ROWS = 50
"""The number of bots on a page of a leaderboard."""
SCALE_WIDTH_PX = 180
"""Width of the rating scale, in CSS pixels."""


def leaderboard(request: Request) -> Response:
    """Show the leaderboard of a pool; by default, that of the first pool with rated matches."""
    reader = site_of(request).reader
    asked = {name: request.query_params.get(name) or None for name in ("season", "search", "sort", "order", "after")}
    pools = sorted(reader.read(pools_with_results, season=asked["season"]), key=_pool_order)
    game, preset = request.path_params.get("game"), request.path_params.get("preset")
    pool = _choose_pool(reader, pools, game, preset)
    sort, order = asked["sort"] or default_sort(pool or ""), asked["order"] or "desc"
    board, drawn, unit = None, None, ""
    if pool:
        board = reader.read(
            leaderboard_page,
            pool,
            sort=sort,
            descending=order != "asc",
            search=asked["search"],
            after=asked["after"],
            limit=PAGE_ROWS,
            season=asked["season"],
        )
        ends = [end for row in board.rows for end in (row.mu - 3 * row.sigma, row.mu + 3 * row.sigma)]
        unit = payoff_unit(game_of(pool))
        drawn = (
            payoff_scale((row.payoff for row in board.rows), SCALE_WIDTH_PX)
            if unit
            else make_scale(ends, SCALE_WIDTH_PX)
        )
    return render_page(
        request,
        "leaderboard.html",
        played=list(dict.fromkeys(map(game_of, pools))),
        presets=[other for other in pools if pool and _has_same_kind(other, pool)],
        pool=pool,
        people=is_people_pool(pool or ""),
        beside=_find_counterpart(pool, pools),
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
    """Return the sort key of a pool: by game, bots before people, then by name."""
    return lookups.game_order(game_of(pool)), is_people_pool(pool), pool


def _has_same_kind(one: str, other: str) -> bool:
    return game_of(one) == game_of(other) and is_people_pool(one) == is_people_pool(other)


def _find_counterpart(pool: str | None, pools: list[str]) -> str | None:
    """Return the pool of people that corresponds to a pool of bots, or the pool of bots to a pool of people, if any.
    Its game is the same and, if possible, its preset.
    """
    if pool is None:
        return None
    same = preset_pool(pool) if is_people_pool(pool) else people_pool(pool)
    others = [other for other in pools if game_of(other) == game_of(pool) and not _has_same_kind(other, pool)]
    return same if same in others else next(iter(others), None)


def _choose_pool(reader: Reader, pools: list[str], game: str | None, preset: str | None) -> str | None:
    """Return the pool that the URL names. If it names only a game, or nothing, return the first pool that fits; None if
    none does.
    """
    if game is not None and preset is not None:
        if f"{game}/{preset}" not in pools:
            raise NotFound(lookups.no_leaderboard_message(game, preset, pools))
        return f"{game}/{preset}"
    fitting = [pool for pool in pools if game in (None, game_of(pool))]
    if game is not None and not fitting and (wrong := lookups.unknown_game_message(reader, game)):
        raise NotFound(wrong)
    return fitting[0] if fitting else None

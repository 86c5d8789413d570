"""The leaderboard of a pool, best first."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from arena.web.faults import NotFound
from arena.web.rendering import page, site_of


def leaderboard(request: Request) -> Response:
    """The leaderboard of a game's preset; of the first that has rated matches, where none is named."""
    reader = site_of(request).reader
    pools = reader.pools()
    game, preset = request.path_params.get("game"), request.path_params.get("preset")
    wanted = [pool for pool in pools if pool.split("/") == [game or pool.split("/")[0], preset or pool.split("/")[1]]]
    if game is not None and not wanted:
        raise NotFound(
            f"nothing rated of {game}{f'/{preset}' if preset else ''} yet: there is {', '.join(pools) or 'nothing'}"
        )
    pool = wanted[0] if wanted else None
    rows = reader.board(pool, limit=100).rows if pool else []
    return page(request, "leaderboard.html", pools=pools, pool=pool, rows=rows)

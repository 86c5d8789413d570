"""A bot: where it stands, its rating over time, against whom, in which seat and version, and how its matches ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from arena.ratings.rating_system import game_of
from arena.store.leaderboards import (
    HistoryPoint,
    PoolStanding,
    Profile,
    UnratedStanding,
    endings_of,
    next_opponent,
    opponents_page,
    rating_history,
    results_by_seat,
    versions_page,
)
from arena.store.match_search import Search, search_matches
from arena.store.registry import latest_incidents
from arena.store.result_queries import LOST, UNRATED
from arena.store.store import Reader
from arena.web import lookups
from arena.web.charts import RatingCurve, rating_curve, scale
from arena.web.errors import NotFound
from arena.web.formatting import day, grouped
from arena.web.rendering import render_page, site_of
from protocol.games import payoff_unit
from protocol.pools import without_people

BAR = 120
CURVE = (1000, 220)
"""Width and height of the drawn rating; the width is stretched to the page's."""
OPPONENTS = 25
VERSIONS = 10
RECENT = 10
FORM = 8
"""So many of the latest matches are its form."""
DAYS_FIT = (33, 67)
"""Percent of the drawing's width between which a day stands clear of those at both ends, on a phone too."""
ROWS_OF_CURVE = 12
"""So many points of the drawn rating are in its table, too."""


def bot(request: Request) -> Response:
    """The page of a bot, and more of it in one pool: the one asked for, or where most rated matches are."""
    reader = site_of(request).reader
    profile = lookups.profile(reader, request.path_params["name"])
    asked = {field: request.query_params.get(field) or None for field in ("pool", "after")}
    pool = _pool(profile, asked["pool"])
    shown: dict[str, Any] = {"form": [], "curve": None}
    if pool is not None:
        points = reader.read(rating_history, profile.name, pool)
        drawn = [(point.played, point.mu, point.sigma) for point in points]
        curve = rating_curve(drawn, *CURVE) if len(points) > 1 else None
        recent = reader.read(search_matches, Search(bot=profile.name, pool=pool), limit=RECENT)
        versions = reader.read(versions_page, profile.name, pool, limit=VERSIONS)
        shown = {
            "curve": curve,
            "labels": _labels(points, curve),
            "points": _some(points),
            "opponents": reader.read(opponents_page, profile.name, pool, after=asked["after"], limit=OPPONENTS),
            "seats": reader.read(results_by_seat, profile.name, pool),
            "versions": versions,
            "with_versions": any(row.version for row in versions.rows),
            "endings": sorted(
                reader.read(endings_of, profile.name, pool), key=lambda ending: (ending.outcome != LOST, -ending.played)
            ),
            "recent": recent,
            "form": recent.rows[:FORM],
        }
    return render_page(
        request,
        "bot.html",
        profile=profile,
        next=_next(reader, profile.name, pool),
        pool=pool,
        unit=payoff_unit(game_of(pool or "")),
        compared=_game_words(pool),
        standing=next((row for row in profile.standings if row.pool == pool), None),
        asked=asked,
        incidents=reader.read(latest_incidents, profile.name),
        scale=scale([end for row in profile.standings for end in (row.score, row.mu + 3 * row.sigma)], BAR),
        **shown,
    )


def _next(reader: Reader, bot: str, pool: str | None) -> str | None:
    """Whom to meet next, by the ratings of a pool, where these rank it."""
    return None if pool is None or payoff_unit(game_of(pool)) else reader.read(next_opponent, bot, pool)


def _game_words(pool: str | None) -> str:
    """The options of a bot's command line that name what is played in a pool."""
    if pool is None:
        return ""
    game, preset = without_people(pool).split("/", 1) if "/" in pool else (pool, UNRATED)
    return f"--game {game}" if preset == UNRATED else f"--game {game} --preset {preset}"


def _pool(profile: Profile, asked: str | None) -> str | None:
    """The pool to look at; None for a bot that never played."""
    standings: list[PoolStanding | UnratedStanding] = [
        *sorted(profile.standings, key=lambda row: -row.played),
        *sorted(profile.earlier, key=lambda row: -row.played),
        *sorted(profile.unrated, key=lambda row: -row.played),
    ]
    pools = [row.pool for row in standings]
    if asked and asked not in pools:
        raise NotFound(f"{profile.name} has no matches in {asked}: it has some in {', '.join(pools) or 'none'}")
    return asked or next(iter(pools), None)


def _labels(points: Sequence[HistoryPoint], drawn: RatingCurve | None) -> list[tuple[float, str, str]]:
    """What stands under the drawn rating: how far right in percent, which match, its day where that is new."""
    if drawn is None:
        return []
    labels = []
    said = ""
    for tick in drawn.across.ticks:
        at = drawn.across.at(tick) / CURVE[0] * 100
        nearest = min(points, key=lambda point: abs(point.played - tick))
        found = day(nearest.finished)
        fits = at in (0, 100) or DAYS_FIT[0] <= at <= DAYS_FIT[1]
        labels.append((at, f"match {grouped(int(tick))}", found if fits and found != said else ""))
        said = labels[-1][2] or said
    return labels


def _some(points: Sequence[HistoryPoint]) -> list[HistoryPoint]:
    """Points for a table, the newest first and the oldest last."""
    step = max(1, -(-len(points) // ROWS_OF_CURVE))
    chosen = list(points[::-1][::step])
    return chosen if not points or chosen[-1] == points[0] else [*chosen, points[0]]

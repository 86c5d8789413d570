"""The page of a bot: standings, rating over time, opponents, seats, versions, and how its matches ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from arena.ratings.rating_system import game_of
from arena.ratings.version_gains import version_gains
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
from arena.store.result_queries import LOST, UNRATED_SUFFIX
from arena.store.store import Reader
from arena.web import lookups
from arena.web.charts import RatingCurve, make_scale, rating_curve
from arena.web.errors import NotFound
from arena.web.formatting import day, grouped
from arena.web.hosted_sources import view_hosting
from arena.web.rendering import render_page, site_of
from protocol.games import payoff_unit
from protocol.pools import preset_of

SCALE_WIDTH_PX = 120
"""Width of the rating scale in the table of pools, in CSS pixels."""
CURVE_SIZE = (1000, 220)
"""Width and height of the rating curve, in SVG units. Browsers stretch the curve to the width of the page."""
OPPONENT_ROWS = 25
"""The number of opponents in the table on the page of a bot."""
VERSION_ROWS = 10
"""The number of versions in the table on the page of a bot."""
RECENT_MATCHES = 10
"""The number of latest matches on the page of a bot."""
FORM_MATCHES = 8
"""Number of latest matches whose results the page of a bot shows in a row."""
DATE_LABEL_RANGE = (33, 67)
"""The range of positions on the rating curve, in percent of its width, at which a date label does not touch the labels
at the ends, even on a phone.
"""
MAX_CURVE_ROWS = 12
"""Approximate maximum number of rows in the table of the rating curve's points."""


def bot(request: Request) -> Response:
    """Show a bot, with details in one pool: the requested one, or the one with most rated matches."""
    reader = site_of(request).reader
    profile = lookups.require_profile(reader, request.path_params["name"])
    asked = {field: request.query_params.get(field) or None for field in ("pool", "after")}
    pool = _pool(profile, asked["pool"])
    shown: dict[str, Any] = {"form": [], "curve": None}
    if pool is not None:
        points = reader.read(rating_history, profile.name, pool)
        drawn = [(point.played, point.mu, point.sigma) for point in points]
        curve = rating_curve(drawn, *CURVE_SIZE) if len(points) > 1 else None
        recent = reader.read(search_matches, Search(bot=profile.name, pool=pool), limit=RECENT_MATCHES)
        versions = reader.read(versions_page, profile.name, pool, limit=VERSION_ROWS)
        shown = {
            "curve": curve,
            "labels": _labels(points, curve),
            "points": _sample_points(points),
            "opponents": reader.read(opponents_page, profile.name, pool, after=asked["after"], limit=OPPONENT_ROWS),
            "seats": reader.read(results_by_seat, profile.name, pool),
            "versions": versions,
            "gains": version_gains(versions.rows),
            "with_versions": any(row.version for row in versions.rows),
            "endings": sorted(
                reader.read(endings_of, profile.name, pool), key=lambda ending: (ending.outcome != LOST, -ending.played)
            ),
            "recent": recent,
            "form": recent.rows[:FORM_MATCHES],
        }
    return render_page(
        request,
        "bot.html",
        profile=profile,
        next=_find_next_opponent(reader, profile.name, pool),
        pool=pool,
        unit=payoff_unit(game_of(pool or "")),
        compared=_game_words(pool),
        standing=next((row for row in profile.standings if row.pool == pool), None),
        asked=asked,
        incidents=reader.read(latest_incidents, profile.name),
        hosted=None if site_of(request).hosting is None else view_hosting(reader, profile.name),
        scale=make_scale(
            [end for row in profile.standings for end in (row.score, row.mu + 3 * row.sigma)], SCALE_WIDTH_PX
        ),
        **shown,
    )


def _find_next_opponent(reader: Reader, bot: str, pool: str | None) -> str | None:
    """Return the bot ranked next above this one; None if there is none, or if the pool is not ranked by rating."""
    return None if pool is None or payoff_unit(game_of(pool)) else reader.read(next_opponent, bot, pool)


def _game_words(pool: str | None) -> str:
    """Return the command-line options that select a pool's game and preset."""
    if pool is None:
        return ""
    game, preset = (game_of(pool), preset_of(pool)) if "/" in pool else (pool, UNRATED_SUFFIX)
    return f"--game {game}" if preset == UNRATED_SUFFIX else f"--game {game} --preset {preset}"


def _pool(profile: Profile, asked: str | None) -> str | None:
    """Return the pool whose details the page shows; None for a bot that never played."""
    standings: list[PoolStanding | UnratedStanding] = [
        *sorted(profile.standings, key=lambda row: -row.played),
        *sorted(profile.earlier, key=lambda row: -row.played),
        *sorted(profile.unrated, key=lambda row: -row.played),
    ]
    pools = [row.pool for row in standings]
    if asked and asked not in pools:
        raise NotFound(f"{profile.name} has no matches in {asked}: it has matches in {', '.join(pools) or 'none'}")
    return asked or next(iter(pools), None)


def _labels(points: Sequence[HistoryPoint], curve: RatingCurve | None) -> list[tuple[float, str, str]]:
    """Return the labels below the rating curve: the position in percent, the match number, and the date if it fits and
    differs from that of the label before.
    """
    if curve is None:
        return []
    labels = []
    said = ""
    for tick in curve.x_scale.ticks:
        at = curve.x_scale.at(tick) / CURVE_SIZE[0] * 100
        nearest = min(points, key=lambda point: abs(point.played - tick))
        found = day(nearest.finished)
        fits = at in (0, 100) or DATE_LABEL_RANGE[0] <= at <= DATE_LABEL_RANGE[1]
        labels.append((at, f"match {grouped(int(tick))}", found if fits and found != said else ""))
        said = labels[-1][2] or said
    return labels


def _sample_points(points: Sequence[HistoryPoint]) -> list[HistoryPoint]:
    """Return some of a rating curve's points for its table, newest first. The oldest is always included."""
    step = max(1, -(-len(points) // MAX_CURVE_ROWS))
    chosen = list(points[::-1][::step])
    return chosen if not points or chosen[-1] == points[0] else [*chosen, points[0]]

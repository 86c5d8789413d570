"""The pages of tournaments: a list of all, and a page for each with its table, cross table and matches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from arena.ratings.tournament_pairing import TEST_FORMAT
from arena.ratings.tournament_standings import ADJUSTED, chance_note, may_be_first
from arena.store.entrants import EnteredVersion, entered_versions
from arena.store.match_search import Search, search_matches
from arena.store.planned import WAITING, open_plans
from arena.store.tournaments import TournamentRow, TournamentTable, tournament_leaders, tournaments_page
from arena.web import lookups, titles
from arena.web.charts import AxisScale, payoff_scale
from arena.web.rendering import render_page, site_of
from protocol.errors import Fault
from protocol.games import load_game, payoff_unit

PAGE_ROWS = 50
"""The number of tournaments on a page of the list."""
RECENT_MATCHES = 10
"""The number of latest matches on the page of a tournament."""
MAX_CROSS_TABLE_BOTS = 32
"""Maximum number of bots in a cross table, so that it fits on a screen."""
SCORE_SCALE = AxisScale(0.0, 100.0, 120.0, (0.0, 50.0, 100.0))
"""The scale of scores in the table of a tournament, in percent."""
PAYOFF_SCALE_WIDTH = 180.0
"""The width of the payoff scale, in CSS pixels. It is wider than `SCORE_SCALE`, because its labels have decimals."""


def tournaments(request: Request) -> Response:
    """Show a page of all tournaments, newest first."""
    after = request.query_params.get("after") or None
    reader = site_of(request).reader
    found = reader.read(tournaments_page, after=after, limit=PAGE_ROWS)
    waiting = [plan for plan in reader.read(open_plans) if plan.state == WAITING] if after is None else []
    leaders = reader.read(tournament_leaders, [row.tournament for row in found.rows])
    return render_page(
        request,
        "tournaments.html",
        found=found,
        asked={"after": after},
        title_of=title_of_tournament,
        leaders=leaders,
        waiting=waiting,
    )


def tournament(request: Request) -> Response:
    site = site_of(request)
    shown = lookups.find_tournament(site, request.path_params["tournament"])
    config = shown.arguments.get("config") or {}
    first = [row.bot for row in shown.table if row.rank == 1]
    unit = payoff_unit(shown.game) or ("round" if shown.payoffs else "")  # without the rules, the unit is unknown
    return render_page(
        request,
        "tournament.html",
        shown=shown,
        title_of=title_of_tournament,
        pool=_pool(shown.game, config) if shown.format != TEST_FORMAT and shown.arguments.get("rated", True) else None,
        config={key: _format_value(value) for key, value in config.items()},
        settings=shown.arguments.get("settings") or {},
        first=first,
        versions=version_labels(site.reader.read(entered_versions, shown.tournament, shown.arguments)),
        doubted=[bot for bot in may_be_first(shown.table) if bot not in first],
        chance_note=chance_note(shown.standings),
        unit=unit,
        adjusted=shown.ranked_by == ADJUSTED,
        scale=payoff_scale((row.payoff for row in shown.table), PAYOFF_SCALE_WIDTH) if unit else SCORE_SCALE,
        cross=cross_table(shown) if 2 < len(shown.table) <= MAX_CROSS_TABLE_BOTS else None,
        recent=site.reader.read(search_matches, Search(tournament=shown.tournament), limit=RECENT_MATCHES),
    )


def title_of_tournament(row: TournamentRow) -> str:
    """Return the title of a tournament: its own, or that of its preset, or of its game if its config is no preset."""
    if title := row.arguments.get("title"):
        return str(title)
    pool = _pool(row.game, row.arguments.get("config") or {})
    return titles.pool_title(pool) if pool else titles.game_title(row.game)


def version_labels(versions: Mapping[str, EnteredVersion]) -> dict[str, str]:
    """Return the versions with which hosted bots entered, by bot, as tables have them."""
    return {bot: f"{version.number}{', late' if version.is_late else ''}" for bot, version in versions.items()}


def _pool(game: str, config: Mapping[str, Any]) -> str | None:
    """Return the pool in which matches of this config are rated; None if they are not."""
    try:
        return load_game(game, dict(config)).pool
    except Fault:  # a game or config of another version, or rules that fail
        return None


def _format_value(value: object) -> str:
    match value:
        case {"name": str(name)}:
            return name
        case dict():
            return f"{len(value)} entries"
        case list():
            return ", ".join(map(str, value))
        case bool():
            return "yes" if value else "no"
        case None:
            return "–"
    return str(value)


def cross_table(tournament: TournamentTable) -> list[tuple[str, list[tuple[str, float | None, float | None]]]]:
    """Return the rows of the cross table: a bot, and (opponent, value, shade) for each opponent.

    The value is the bot's mean payoff or score against the opponent. The shade is the value's position between the
    least and the greatest value, from 0 to 1. Both are None if the bots have not met.
    """
    names = [row.bot for row in tournament.table]
    shares = [[tournament.head_to_head.get(bot, {}).get(other) for other in names] for bot in names]
    if not tournament.payoffs:
        return [(bot, list(zip(names, row, row, strict=True))) for bot, row in zip(names, shares, strict=True)]
    paid = {bot: {other: found.mean for other, found in tournament.payoffs[bot].items() if found} for bot in names}
    known = [mean for against in paid.values() for mean in against.values()]
    low, span = min(known), (max(known) - min(known)) or 1.0
    heights = {bot: {other: (mean - low) / span for other, mean in against.items()} for bot, against in paid.items()}
    return [(bot, [(other, paid[bot].get(other), heights[bot].get(other)) for other in names]) for bot in names]

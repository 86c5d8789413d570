"""Writes the result of a tournament as one HTML file that needs no server."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from arena.ratings.tournament_standings import ADJUSTED, chance_note, may_be_first
from arena.store.entrants import EnteredVersion
from arena.store.tournaments import TournamentTable
from arena.web.pages.tournaments import MAX_CROSS_TABLE_BOTS, cross_table, title_of_tournament, version_labels
from arena.web.rendering import render_in_pieces
from arena.web.site import static_file
from arena.web.titles import game_title
from protocol.games import payoff_unit
from referee.result import Result

STYLE_SHEETS = ("style.css", "pages/tournament.css")
"""The style sheets that the file contains."""


def result_file(
    table: TournamentTable,
    matches: Sequence[Result],
    displays: Mapping[str, str],
    versions: Mapping[str, EnteredVersion],
    *,
    replays: bool,
) -> bytes:
    """Return the HTML file. `displays` has the display names of some bots. With `replays`, each match is a link to
    `matches/ID.html`. The same result always gives the same bytes.
    """
    first = [row.bot for row in table.table if row.rank == 1]
    values = {
        "shown": table,
        "title": title_of_tournament(table),
        "game": game_title(table.game),
        "first": first,
        "doubted": [bot for bot in may_be_first(table.table) if bot not in first],
        "versions": version_labels(versions),
        "displays": displays,
        "unit": payoff_unit(table.game) or ("round" if table.payoffs else ""),
        "adjusted": table.ranked_by == ADJUSTED,
        "chance_note": chance_note(table.standings),
        "cross": cross_table(table) if 2 < len(table.table) <= MAX_CROSS_TABLE_BOTS else None,
        "matches": matches,
        "replays": replays,
        "style": "\n".join(static_file(path).read_text(encoding="utf-8") for path in STYLE_SHEETS),
    }
    nonce = hashlib.sha256(repr(values).encode()).hexdigest()[:32]
    return "".join(render_in_pieces("result_file.html", nonce=nonce, **values)).encode()

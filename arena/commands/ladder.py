"""`arena match annul` and `arena season`: decide which matches count, and when ratings restart."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from arena.commands.matches import resolve_match_id
from arena.commands.output import format_minute, format_table, print_document, terminal_columns
from arena.commands.server_or_local import ask_server_or_run
from arena.operator.changes import Annul, StartSeason
from arena.store import seasons
from arena.store.annulment import AnnulmentOutcome, annul_matches
from arena.store.match_search import parse_time_bound
from arena.store.store import open_to_read
from machine.terminal import say
from protocol.errors import UsageFault


def start_season(where: str, data: Path, name: str) -> None:
    """Start a season: reset all ratings. Earlier leaderboards, records and tokens stay."""
    ask_server_or_run(
        where,
        data,
        StartSeason(name=name),
        type(None),
        lambda store: store.write(seasons.start_season, name),
        exclusive=True,
    )
    say(f"season {name} has started with new ratings; `arena leaderboard --season` shows those before")


def list_seasons(where: str, *, to_json: bool) -> None:
    """Print the seasons, oldest first."""
    with closing(open_to_read(where)) as reader:
        known = reader.read(seasons.list_seasons)
    if to_json:
        print_document(known)
        return
    rows = [(season.season, format_minute(season.started or "") or "the beginning", season.matches) for season in known]
    say(
        format_table(
            ("season", "since", "matches"), rows, wrapped_column=0, left_columns=(1,), width=terminal_columns()
        )
    )


def annul(where: str, data: Path, ids: Sequence[str], bot: str | None, since: str | None, *, undo: bool) -> None:
    """Annul the matches with these ids, or all matches of a bot, and recompute all ratings without them.

    With `undo`, count these matches again.
    """
    if not ids and bot is None:
        raise UsageFault("name the matches, as `arena matches` lists them, or a bot with --bot")
    if since is not None and bot is None:
        raise UsageFault("--since needs --bot: the matches of that bot that ended since then")
    request = Annul(
        ids=[resolve_match_id(where, match) for match in ids],
        bot=bot,
        since=None if since is None else parse_time_bound(since, "--since", days=0),
        undo=undo,
    )
    done = ask_server_or_run(
        where,
        data,
        request,
        AnnulmentOutcome,
        lambda store: store.write(annul_matches, request.ids, bot, request.since, undo=undo),
        exclusive=True,
    )
    say(done.describe(undo=undo))

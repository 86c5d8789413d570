"""`arena season`: ratings that begin anew, and the seasons there were."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from arena.commands.json_output import print_document
from arena.commands.server_or_local import by_server_or_alone
from arena.commands.text_tables import columns, table
from arena.operations.ladder import StartSeason
from arena.store.store import Store


def start_season(where: str, data: Path, name: str) -> None:
    """Begin ratings anew; earlier ladders, records and tokens stay."""
    by_server_or_alone(where, data, StartSeason(name=name), type(None), lambda store: store.start_season(name))
    print(f"season {name} has begun: ratings start anew; `arena leaderboard --season` shows those before")


def list_seasons(where: str, *, to_json: bool) -> None:
    """Print the seasons, the one that goes on last."""
    with closing(Store.open(where, create=False)) as store:
        seasons = store.seasons()
    if to_json:
        print_document(seasons)
        return
    rows = [
        (season.season, (season.started or "")[:16].replace("T", " ") or "the beginning", season.matches)
        for season in seasons
    ]
    print(table(("season", "since", "matches"), rows, elastic=0, left=(1,), width=columns()))

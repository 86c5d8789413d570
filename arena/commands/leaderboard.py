"""`arena leaderboard`: who stands where."""

from __future__ import annotations

from contextlib import closing

from arena.commands.documents import print_document
from arena.commands.tables import table
from arena.store.reading import LeaderboardRow
from arena.store.store import Store
from protocol.games import game_class


def leaderboard(where: str, game: str | None, *, to_json: bool) -> None:
    """Print the leaderboard of a game, or of every game with rated matches."""
    if game is not None:
        game_class(game)
    with closing(Store.open(where, create=False)) as store:
        boards = [(name, store.leaderboard(name)) for name in ([game] if game else store.games())]
    if to_json:
        print_document([{"game": name, "rows": rows} for name, rows in boards])
    elif not boards:
        print("no rated matches yet")
    else:
        print("\n\n".join(_board(name, rows) for name, rows in boards))


def _board(game: str, rows: list[LeaderboardRow]) -> str:
    headers = ("#", "bot", "score", "mu", "sigma", "played", "won", "drawn", "lost", "")
    cells = [
        (
            place,
            row.bot,
            *(f"{number:.2f}" for number in (row.score, row.mu, row.sigma)),
            *(row.played, row.wins, row.draws, row.losses),
            "*" if row.few else "",
        )
        for place, row in enumerate(rows, 1)
    ]
    lines = [f"{game}, by score = mu - 3 sigma", table(headers, cells, elastic=1)]
    if any(row.few for row in rows):
        lines.append("* too few matches to say much")
    return "\n".join(lines)

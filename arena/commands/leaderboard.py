"""`arena leaderboard`: prints the ranking of the bots or people in each pool."""

from __future__ import annotations

from contextlib import closing

from arena.commands.output import format_table, print_csv, print_document, terminal_columns
from arena.ratings.rating_system import game_of
from arena.store.export_rows import LADDER_COLUMNS
from arena.store.result_queries import LeaderboardRow, check_game, leaderboard_of, leaderboard_places, rated_pools
from arena.store.seasons import season_leaderboards
from arena.store.store import open_to_read
from machine.terminal import say
from measuring.payoffs import MeanPayoff, format_payoff, format_payoff_interval
from protocol.errors import UsageFault
from protocol.games import payoff_unit
from protocol.pools import is_people_pool


def leaderboard(where: str, game: str | None, season: str | None, *, people: bool, to_json: bool, to_csv: bool) -> None:
    """Print the leaderboards of a game, or of every game with rated matches: one for each pool, of bots or of people.

    `season` names an earlier season to print.
    """
    if to_json and to_csv:
        raise UsageFault("--json and --csv: choose one of them")
    with closing(open_to_read(where)) as reader:
        if game is not None:
            reader.read(check_game, game)
        if season is None:
            boards = [(pool, reader.read(leaderboard_of, pool)) for pool in reader.read(rated_pools, game)]
        else:
            boards = list(reader.read(season_leaderboards, season, game).items())
    boards = [(pool, rows) for pool, rows in boards if is_people_pool(pool) == people]
    if to_json:
        print_document([{"game": game_of(pool), "pool": pool, "rows": rows} for pool, rows in boards])
    elif to_csv:
        print_csv(
            LADDER_COLUMNS, (_leaderboard_row(pool, at, row) for pool, rows in boards for at, row in enumerate(rows, 1))
        )
    elif not boards:
        say(f"no rated matches{' of people' if people else ''}{' yet' if season is None else f' in season {season}'}")
    else:
        say("\n\n".join(_format_board(pool, rows) for pool, rows in boards))


def _leaderboard_row(pool: str, rank: int, row: LeaderboardRow) -> tuple[object, ...]:
    """Return a row of a leaderboard with the columns of the database view `ladder`."""
    return (
        *(pool, rank, row.bot, row.score, row.mu, row.sigma),
        *(row.played, row.wins, row.draws, row.losses, row.version, row.payoff and row.payoff.mean),
    )


def _format_board(pool: str, rows: list[LeaderboardRow]) -> str:
    unit = payoff_unit(game_of(pool))
    return _payoff_board(pool, rows, unit) if unit else _score_board(pool, rows)


def _payoff_board(pool: str, rows: list[LeaderboardRow], unit: str) -> str:
    headers = ("#", "bot", f"a {unit}", "95 %", "rivals", "score", "played", "won", "drawn", "lost", "")
    cells = [
        (
            place,
            _display_name(pool, row),
            *(_payoff_cells(row.payoff) if row.payoff else ("", "", "")),
            f"{row.score:.2f}",
            *(row.played, row.wins, row.draws, row.losses),
            "*" if row.few else "",
        )
        for place, row in zip(leaderboard_places(rows), rows, strict=True)
    ]
    lines = [
        f"{pool}, by the mean payoff a {unit}, opponents weighing by their rounds",
        format_table(headers, cells, wrapped_column=1, width=terminal_columns()),
        *_few_matches_note(rows),
    ]
    return "\n".join(lines)


def _payoff_cells(payoff: MeanPayoff) -> tuple[object, ...]:
    return format_payoff(payoff.mean), format_payoff_interval(payoff), payoff.opponents


def _display_name(pool: str, row: LeaderboardRow) -> str:
    """Return a bot's name as the leaderboard shows it: in a pool of people, a bot is marked as one."""
    return f"{row.bot} (bot)" if is_people_pool(pool) and not row.person else row.bot


def _few_matches_note(rows: list[LeaderboardRow]) -> list[str]:
    if not any(row.few for row in rows):
        return []
    by_payoff = any(row.payoff is not None for row in rows)
    return [f"* too few matches{', rounds or opponents' if by_payoff else ''} to say much"]


def _score_board(pool: str, rows: list[LeaderboardRow]) -> str:
    headers = ("#", "bot", "score", "mu", "sigma", "played", "won", "drawn", "lost", "")
    cells = [
        (
            place,
            _display_name(pool, row),
            *(f"{number:.2f}" for number in (row.score, row.mu, row.sigma)),
            *(row.played, row.wins, row.draws, row.losses),
            "*" if row.few else "",
        )
        for place, row in zip(leaderboard_places(rows), rows, strict=True)
    ]
    lines = [
        f"{pool}, by score = mu - 3 sigma",
        format_table(headers, cells, wrapped_column=1, width=terminal_columns()),
        *_few_matches_note(rows),
    ]
    return "\n".join(lines)

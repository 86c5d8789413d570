"""Tournaments for the pages: their progress, their tables, and the scores of their bots against each other."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs
from sqlalchemy import Connection

from arena.ratings import tournament_pairing
from arena.ratings.payoff_standings import MatchPayoffs, PairMeans, PayoffSummary
from arena.ratings.standings import HeadToHeadShares, MatchSample, PlayedMatch, PlayedSeat, TableRow, rounded
from arena.ratings.tournament_standings import TournamentStandings, compute_standings
from arena.store.database import StoreError
from arena.store.dialect import execute
from arena.store.paging import Page, read_page
from arena.store.planned import FAILED
from arena.store.rows import read_row
from measuring.payoffs import TotalPayoff
from measuring.value_function import NoLuck
from protocol.bot_launch import bot_name_of
from protocol.errors import BadConfig, BotFault, RulesFault
from protocol.games import clear_on_registration, game_spec, is_known_game, load_game
from protocol.names import fold_name
from protocol.reasons import VOID

_SELECT_TOURNAMENTS = f"""
SELECT tournaments.*,
    (SELECT coalesce(sum(matches), 0) FROM counts WHERE counts.tournament = tournaments.id) AS played,
    EXISTS (SELECT 1 FROM planned_tournaments AS plans
        WHERE plans.tournament = tournaments.id AND plans.state = '{FAILED}') AS ended_early,
    (SELECT count(*) FROM tournaments) AS total
FROM tournaments {{where}} ORDER BY started DESC, id LIMIT :limit
"""
"""The template of the query for tournaments that fulfil `where`, newest first, each with its number of matches played.
"""
_TOURNAMENTS_PAGE_SQL = _SELECT_TOURNAMENTS.format(
    where="WHERE :start OR started < :started OR (started = :started AND id > :id)"
)
_SELECT_TOURNAMENT = _SELECT_TOURNAMENTS.format(where="WHERE id = :id")
_MATCHES_SQL = """
SELECT matches.number, matches.place, matches.reason, matches.luck, matches.luck_by, bots.name, seats.rank,
    seats.reason AS ended, seats.payoff, seats.rounds
FROM matches
JOIN seats ON seats.match = matches.number JOIN bots ON bots.id = seats.bot
WHERE matches.tournament = :id ORDER BY matches.number, seats.seat
"""
_LEADERS_BY_SCORE = """
SELECT tournament, name FROM (
    SELECT tournament, bot, rank() OVER (
        PARTITION BY tournament ORDER BY CAST(sum(2 * wins + draws) AS float) / sum(wins + draws + losses) DESC
    ) AS place
    FROM opponents WHERE tournament IN (SELECT value FROM {each:names} AS told)
    GROUP BY tournament, bot HAVING sum(wins + draws + losses) > 0
) AS ranked JOIN bots ON bots.id = bot WHERE place = 1 ORDER BY tournament, name
"""
_LEADERS_BY_ADJUSTED_SCORE = """
SELECT tournament, name FROM (
    SELECT tournament, bot, min(known) OVER (PARTITION BY tournament) AS known,
        min(low_by) OVER (PARTITION BY tournament) AS low_by, max(high_by) OVER (PARTITION BY tournament) AS high_by,
        rank() OVER (
            PARTITION BY tournament
            ORDER BY round(CAST(CASE WHEN mean > 1 THEN 1 WHEN mean < 0 THEN 0 ELSE mean END AS numeric), 9) DESC
        ) AS place
    FROM (
        SELECT tournament, bot, avg(points - given) AS mean, min(luck_by) AS low_by, max(luck_by) AS high_by,
            CASE WHEN count(given) = count(*) AND count(DISTINCT start) > 1 THEN 1 ELSE 0 END AS known
        FROM (
            SELECT matches.tournament, seats.bot, matches.luck_by,
                CASE seats.outcome WHEN 'won' THEN 1.0 WHEN 'drawn' THEN 0.5 ELSE 0.0 END AS points,
                CASE seats.seat WHEN 0 THEN matches.luck ELSE -matches.luck END AS given,
                CASE WHEN {instr}(tournaments.arguments, '"paired":' || 'true') > 0 THEN matches.place / 2
                    ELSE matches.place END AS start
            FROM tournaments JOIN matches ON matches.tournament = tournaments.id
            JOIN seats ON seats.match = matches.number
            WHERE tournaments.id IN (SELECT value FROM {each:names} AS told) AND matches.reason <> 'void' AND (
                SELECT begun.luck_by FROM matches AS begun
                WHERE begun.tournament = tournaments.id AND begun.reason <> 'void' ORDER BY begun.place LIMIT 1
            ) <> :no_value
        ) AS played GROUP BY tournament, bot
    ) AS scored
) AS ranked JOIN bots ON bots.id = bot
WHERE place = 1 AND known = 1 AND low_by = high_by ORDER BY tournament, name
"""
"""The query for the leaders of the two-seat tournaments :names by luck-adjusted score. Mean scores are limited to 0 to
1.

As in the tables of tournaments, void matches do not count. The query skips a tournament if the luck of a match was not
measured, if matches use different value functions, or if a bot has only one start position.
"""
_PAYOFFS_BY_PAIR = """
SELECT tournament, bots.name, rivals.name AS rival, sum(total) AS total, sum(rounds) AS rounds
FROM payoffs JOIN bots ON bots.id = bot JOIN bots AS rivals ON rivals.id = opponent
WHERE tournament IN (SELECT value FROM {each:names} AS told) AND rounds > 0
GROUP BY tournament, bots.name, rivals.name ORDER BY tournament, bots.name
"""
"""The query for the payoffs of each pair of bots in the tournaments :names."""


class TournamentRow(Struct, frozen=True, kw_only=True):
    """A tournament of which `played` of `planned` matches are played. `planned` is None for a test without a fixed
    number, and for a game whose rules this arena does not have. `arguments` are those of the command, without the seed.
    The `seed` is None for readers who must not know it yet (`for_visitors`). A planned tournament has `ended_early` if
    it was stopped or failed before its last match.
    """

    tournament: str
    seed: str | None
    arguments: dict[str, Any]
    game: str
    format: str
    started: str
    finished: str | None
    ended_early: bool
    played: int
    planned: int | None

    @property
    def is_over(self) -> bool:
        """True if no more matches of it are to be played."""
        return self.finished is not None or self.ended_early


class TournamentTable(TournamentRow, frozen=True, kw_only=True):
    """A tournament with its table and head-to-head scores, as `arena tournament` shows them.

    `head_to_head` maps a bot, then an opponent, to the bot's share of points. `payoffs` has the mean payoffs in the
    same form, in games whose result is a payoff.
    """

    ranked_by: str
    """The measure by which the table is sorted: `adjusted`, `score` or `payoff`."""
    value: str | None
    """The value function that measures luck in all matches; None if there is none, or if matches have different ones.
    """
    table: list[TableRow]
    head_to_head: HeadToHeadShares
    payoffs: PairMeans

    @property
    def standings(self) -> TournamentStandings:
        """The standings alone: the table, the measure that sorts it, and the results of the bots against each other."""
        return TournamentStandings(
            ranked_by=self.ranked_by, table=self.table, head_to_head=self.head_to_head, payoffs=self.payoffs
        )


def tournaments_page(connection: Connection, *, after: str | None = None, limit: int = 50) -> Page[TournamentRow]:
    """Return a page of all tournaments, the most recently started first."""
    place = {"started": str, "id": str}
    return read_page(
        connection,
        _TOURNAMENTS_PAGE_SQL,
        {},
        place,
        _tournament,
        after=after,
        limit=limit,
    )


def tournament_leaders(connection: Connection, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the leaders of each tournament's table, by tournament id. Tournaments without a match that counts are left
    out. The order is by payoff in games whose result is a payoff, else by luck-adjusted score if known, else by score.
    """
    found: dict[str, list[str]] = {}
    given = {"names": msgspec.json.encode(names).decode(), "no_value": NoLuck.name}
    for query in (_LEADERS_BY_SCORE, _LEADERS_BY_ADJUSTED_SCORE):
        leaders: dict[str, list[str]] = {}
        for row in execute(connection, query, given):
            leaders.setdefault(row.tournament, []).append(row.name)
        found |= leaders
    for tournament, rows in itertools.groupby(execute(connection, _PAYOFFS_BY_PAIR, given), lambda row: row.tournament):
        found[tournament] = _best_paid(list(rows))
    return found


def _best_paid(rows: Sequence[Any]) -> list[str]:
    """Return the bots with the highest mean payoff in a tournament. `rows` are its rows from `_PAYOFFS_BY_PAIR`."""
    matches = [
        MatchPayoffs(((row.name, TotalPayoff(float(row.total), int(row.rounds))), (row.rival, None))) for row in rows
    ]
    means = PayoffSummary(list(dict.fromkeys(row.name for row in rows)), matches).means
    paid = {bot: rounded(mean.mean) for bot, mean in means.items() if mean is not None}
    return [bot for bot, payoff in paid.items() if payoff == max(paid.values())]


def tournament_exists(connection: Connection, name: str) -> bool:
    """Return whether a tournament with this id exists."""
    return execute(connection, "SELECT 1 FROM tournaments WHERE id = :id", {"id": name}).first() is not None


StandingsCache = dict[str, tuple[tuple[int, str | None], str | None, TournamentStandings]]
"""A cache of the standings of tournaments, by tournament id. An entry has the tournament's number of matches and its
end time, the name of the value function that measured luck, and the standings. The entry is computed again if the
number of matches or the end time has changed.
"""
_COMMAND_PATTERN = re.compile(r"[\s/\\]")
"""The pattern of what a command line or a path has, and no word for a built-in or connected bot."""
AnyTournament = TypeVar("AnyTournament", bound=TournamentRow)
MAX_CACHED_STANDINGS = 64
"""The maximum number of tournaments in a cache of standings."""


def for_visitors(tournament: AnyTournament) -> AnyTournament:
    """Return what everybody may know of a tournament: its seed once it is over, because the dice of matches to come
    follow from it, and of a bot that was started by a command line or a file, which may name secrets, the name alone.
    """
    words = tournament.arguments["bots"]
    arguments = {
        **tournament.arguments,
        "bots": [bot_name_of(word) if _COMMAND_PATTERN.search(word) else word for word in words],
    }
    return structs.replace(tournament, seed=tournament.seed if tournament.is_over else None, arguments=arguments)


def tournament_table(connection: Connection, name: str, cache: StandingsCache) -> TournamentTable | None:
    """Return a tournament with the table of all its bots; None if the tournament is unknown. Use and update `cache`."""
    row = execute(connection, _SELECT_TOURNAMENT, {"id": name, "limit": 1}).one_or_none()
    if row is None:
        return None
    told = _tournament(row)
    state = told.played, told.finished
    entry = cache.pop(name, None)
    if entry is None or entry[0] != state:
        words = told.arguments["bots"]
        planned = words if told.arguments.get("afar") else map(bot_name_of, words)
        matches = list(_matches(connection, name, paired=bool(told.arguments.get("paired"))))
        # In a finished tournament all bots have played, perhaps under a name that was changed since.
        names = {fold_name(bot): bot for bot in planned} if told.finished is None else {}
        names |= {fold_name(seat.bot): seat.bot for match, _ in matches for seat in match.result.seats}
        value = _common_value_function(matches)
        met = [match if value else match._replace(luck=None) for match, _ in matches]
        entry = state, value, compute_standings(list(names.values()), met)
    cache[name] = entry
    if len(cache) > MAX_CACHED_STANDINGS:
        cache.pop(next(iter(cache)), None)
    _, value, found = entry
    return TournamentTable(**structs.asdict(told), value=value, **structs.asdict(found))


def _matches(connection: Connection, name: str, *, paired: bool) -> Iterator[tuple[MatchSample, str | None]]:
    """Yield each match of a tournament, and the name of the value function that measured the match's luck."""
    for _, group in itertools.groupby(execute(connection, _MATCHES_SQL, {"id": name}), lambda row: row.number):
        sat = list(group)
        first = sat[0]
        seats = tuple(PlayedSeat(row.name, row.rank, row.ended, row.payoff, row.rounds) for row in sat)
        start = tournament_pairing.start_at(first.place, len(sat)) if paired else None
        yield MatchSample(PlayedMatch(first.reason, seats), first.luck, start), first.luck_by


def _common_value_function(matches: Iterable[tuple[MatchSample, str | None]]) -> str | None:
    """Return the value function that measured the luck of the matches that count; None if there are several or none."""
    values = {value for match, value in matches if match.result.reason != VOID and match.luck is not None}
    return values.pop() if len(values) == 1 and NoLuck.name not in values else None


@clear_on_registration
@functools.lru_cache(maxsize=1000)
def _planned_matches(arguments: str) -> int | None:
    """Return a tournament's planned number of matches; None if it is not fixed, or if this arena lacks the rules of the
    game, or has others, which refuse the config or fail. Loading the game may be slow.
    """
    read = msgspec.json.decode(arguments)
    if read["rounds"] is None or not is_known_game(read["game"]):
        return None
    try:
        seats = load_game(read["game"], read["config"]).seats
    except RulesFault:
        return None
    except BadConfig:
        if not game_spec(read["game"]).digest:
            raise
        return None
    return tournament_pairing.count_matches(
        read["format"], len(read["bots"]), read["rounds"], seats=seats, paired=read["paired"]
    )


def _tournament(row: Any) -> TournamentRow:
    try:
        arguments = msgspec.json.decode(row.arguments, type=dict[str, Any])
        planned = _planned_matches(row.arguments)
        named = {"game": arguments["game"], "format": arguments["format"]}
    except (BotFault, KeyError, TypeError, ValueError) as exc:
        raise StoreError(f"tournament {row.id} is damaged: its arguments can't be read") from exc
    return read_row(TournamentRow, row, tournament=row.id, arguments=arguments, planned=planned, **named)

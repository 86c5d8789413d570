"""`arena bot show`: prints what is known of one bot, with its versions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from msgspec import Struct
from msgspec.structs import asdict

from arena.commands.output import format_minute, format_table, print_document, terminal_columns
from arena.ratings.version_gains import version_gains
from arena.store.leaderboards import Profile, UnratedStanding, VersionRow, find_profile, versions_page
from arena.store.match_search import Search, search_matches
from arena.store.paging import Page
from arena.store.store import Reader
from machine.terminal import say
from measuring import score_format
from measuring.payoffs import format_payoff, format_payoff_interval
from measuring.share_intervals import ShareInterval
from protocol.errors import UsageFault
from protocol.names import fold_name
from referee.result import Result

MAX_VERSIONS = 10
"""Maximum number of a bot's versions that are shown per pool, newest first."""
MAX_LATEST_MATCHES = 10
"""Maximum number of a bot's matches that are shown, newest first."""


class VersionResults(VersionRow, frozen=True, kw_only=True):
    """The results of one version of a bot. `share` is its mean score, `gain` the difference from the mean score of the
    previous version.
    """

    share: ShareInterval | None
    gain: ShareInterval | None


class PoolVersions(Struct, frozen=True, kw_only=True):
    """The versions of a bot in a pool, or in its unrated matches of a game (`GAME/unrated`), most recently played
    first. `total` is the number of all versions.
    """

    pool: str
    versions: list[VersionResults]
    total: int | None


class BotRecord(Struct, frozen=True, kw_only=True):
    """Everything that `arena bot show` prints."""

    profile: Profile
    versions: list[PoolVersions]
    latest: list[Result]


def show_bot(where: str, name: str, *, to_json: bool) -> None:
    """Print a bot's record. Raise `UsageFault` if there is no bot of this name."""
    with closing(Reader.open(where)) as reader:
        profile = reader.read(find_profile, name)
        if profile is None:
            raise UsageFault(f"there is no bot called {name}: `arena bot list` names them")
        pools = [*(row.pool for row in profile.standings), *(row.pool for row in profile.unrated)]
        found = BotRecord(
            profile=profile,
            versions=[_versions(pool, reader.read(versions_page, name, pool, limit=MAX_VERSIONS)) for pool in pools],
            latest=reader.read(search_matches, Search(bot=name), limit=MAX_LATEST_MATCHES).rows,
        )
    if to_json:
        print_document(found)
    else:
        say("\n\n".join(_format_record(found)))


def _versions(pool: str, page: Page[VersionRow]) -> PoolVersions:
    versions = [
        VersionResults(**asdict(row), share=found.share, gain=found.gain)
        for row, found in zip(page.rows, version_gains(page.rows), strict=True)
    ]
    return PoolVersions(pool=pool, versions=versions, total=page.total)


def _format_record(record: BotRecord) -> list[str]:
    profile = record.profile
    seen = "never came in" if profile.seen is None else f"last came in {format_minute(profile.seen)}"
    approved = ", revoked" if profile.revoked else ", approved" if profile.approved else ""
    parts = [f"{profile.name}, registered {format_minute(profile.created)}, {seen}{approved}"]
    if profile.standings:
        parts.append(_format_standings(profile))
    parts += [_format_versions(pool, profile.unrated) for pool in record.versions if pool.versions]
    if record.latest:
        headers = ("latest matches", "game", "", "reason", "finished")
        rows = [_match(result, profile.name) for result in record.latest]
        parts.append(format_table(headers, rows, wrapped_column=2, left_columns=(0, 1, 3), width=terminal_columns()))
    else:
        parts.append("no matches yet")
    return parts


def _format_standings(profile: Profile) -> str:
    headers = ("pool", "#", "of", "score", "rating", "± 3 sigma", "played", "won", "drawn", "lost", "ms a move")
    rows = [
        (
            *(row.pool, row.rank, row.bots, f"{row.score:.2f}", f"{row.mu:.2f}", f"{3 * row.sigma:.2f}"),
            *(row.played, row.wins, row.draws, row.losses),
            "" if row.ms_per_move is None else f"{row.ms_per_move:.0f}",
        )
        for row in profile.standings
    ]
    told = format_table(headers, rows, wrapped_column=0, width=terminal_columns())
    paid = [
        (
            *(row.pool, format_payoff(row.payoff.mean), format_payoff_interval(row.payoff)),
            *(row.payoff.opponents, row.rank, row.bots),
        )
        for row in profile.standings
        if row.payoff is not None
    ]
    if paid:
        by_payoff = format_table(
            ("payoff", "a round", "95 %", "rivals", "#", "of"), paid, wrapped_column=0, width=terminal_columns()
        )
        told = f"{told}\n\n{by_payoff}"
    return told


def _format_versions(pool: PoolVersions, unrated: Sequence[UnratedStanding]) -> str:
    headers = ("version", "last match", "played", "won", "drawn", "lost", "share", "95 %", "more than before", "95 %")
    rows = [
        (
            *(row.version or "(none)", format_minute(row.finished), row.played, row.wins, row.draws, row.losses),
            *(_interval(row.share) + _interval(row.gain, sign="+")),
        )
        for row in pool.versions
    ]
    of = f", the last {len(rows)} of {pool.total}" if pool.total and pool.total > len(rows) else ""
    left = sum(row.void for row in unrated if row.pool == pool.pool)
    void = f"; {left} called off" if left else ""
    table = format_table(headers, rows, wrapped_column=0, left_columns=(1,), width=terminal_columns())
    return f"{pool.pool} by version{of}{void}\n{table}"


def _interval(interval: ShareInterval | None, sign: str = "") -> tuple[str, str]:
    if interval is None:
        return "", ""
    if sign:
        return f"{interval.score:+z.3f}", f"{interval.low:+z.3f} to {interval.high:+z.3f}"
    return score_format.format_score(interval.score), score_format.format_interval(interval)


def _match(result: Result, name: str) -> tuple[object, ...]:
    mine = next(seat for seat in result.seats if fold_name(seat.bot) == fold_name(name))
    others = ", ".join(seat.bot for seat in result.seats if seat is not mine)
    first = [seat for seat in result.seats if seat.rank == 1]
    outcome = "lost to" if mine.rank > 1 else "won against" if len(first) == 1 else "drew with"
    version = f" as version {mine.version}" if mine.version else ""
    reason = mine.reason if result.annulled is None else f"{mine.reason}, annulled"
    return result.match, result.game, f"{outcome} {others}{version}", reason, format_minute(result.finished)

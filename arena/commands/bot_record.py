"""`arena bot show`: prints what is known of one bot, with its versions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from msgspec import Struct
from msgspec.structs import asdict

from arena.commands.output import columns, minute, print_document, table
from arena.ratings.version_gains import version_gains
from arena.store.leaderboards import Profile, UnratedStanding, VersionRow, profile_of, versions_page
from arena.store.match_search import Search, search_matches
from arena.store.paging import Page
from arena.store.store import Reader
from machine.terminal import say
from measuring import score_format
from measuring.share_intervals import ShareInterval
from protocol.errors import UsageFault
from protocol.names import folded
from referee.result import Result

VERSIONS = 10
"""Maximum versions shown per pool, newest first."""
LATEST = 10


class VersionResults(VersionRow, frozen=True, kw_only=True):
    """The results of one version of a bot; `share` and `gain` are as in `VersionGain`."""

    share: ShareInterval | None
    gain: ShareInterval | None


class PoolVersions(Struct, frozen=True, kw_only=True):
    """The versions of a bot in a pool, or in `GAME/unrated`, last played first. `total` counts unlisted ones, too."""

    pool: str
    versions: list[VersionResults]
    total: int | None


class BotRecord(Struct, frozen=True, kw_only=True):
    """Everything that `arena bot show` prints."""

    profile: Profile
    versions: list[PoolVersions]
    latest: list[Result]


def show_bot(where: str, name: str, *, to_json: bool) -> None:
    """Print a bot's record. Raises `UsageFault` if there is no bot of this name."""
    with closing(Reader.open(where)) as reader:
        profile = reader.read(profile_of, name)
        if profile is None:
            raise UsageFault(f"there is no bot called {name}: `arena bot list` names them")
        pools = [*(row.pool for row in profile.standings), *(row.pool for row in profile.unrated)]
        found = BotRecord(
            profile=profile,
            versions=[_versions(pool, reader.read(versions_page, name, pool, limit=VERSIONS)) for pool in pools],
            latest=reader.read(search_matches, Search(bot=name), limit=LATEST).rows,
        )
    if to_json:
        print_document(found)
    else:
        say("\n\n".join(_told(found)))


def _versions(pool: str, page: Page[VersionRow]) -> PoolVersions:
    versions = [
        VersionResults(**asdict(row), share=found.share, gain=found.gain)
        for row, found in zip(page.rows, version_gains(page.rows), strict=True)
    ]
    return PoolVersions(pool=pool, versions=versions, total=page.total)


def _told(found: BotRecord) -> list[str]:
    profile = found.profile
    seen = "never came in" if profile.seen is None else f"last came in {minute(profile.seen)}"
    approved = ", revoked" if profile.revoked else ", approved" if profile.approved else ""
    parts = [f"{profile.name}, registered {minute(profile.created)}, {seen}{approved}"]
    if profile.standings:
        parts.append(_standings(profile))
    parts += [_by_version(pool, profile.unrated) for pool in found.versions if pool.versions]
    if found.latest:
        headers = ("latest matches", "game", "", "reason", "finished")
        rows = [_match(result, profile.name) for result in found.latest]
        parts.append(table(headers, rows, elastic=2, left=(0, 1, 3), width=columns()))
    else:
        parts.append("no matches yet")
    return parts


def _standings(profile: Profile) -> str:
    headers = ("pool", "#", "of", "score", "rating", "± 3 sigma", "played", "won", "drawn", "lost", "ms a move")
    rows = [
        (
            *(row.pool, row.rank, row.bots, f"{row.score:.2f}", f"{row.mu:.2f}", f"{3 * row.sigma:.2f}"),
            *(row.played, row.wins, row.draws, row.losses),
            "" if row.ms_per_move is None else f"{row.ms_per_move:.0f}",
        )
        for row in profile.standings
    ]
    told = table(headers, rows, elastic=0, width=columns())
    paid = [
        (
            *(row.pool, score_format.payoff(row.payoff.mean), score_format.payoff_interval(row.payoff)),
            *(row.payoff.opponents, row.rank, row.bots),
        )
        for row in profile.standings
        if row.payoff is not None
    ]
    if paid:
        by_payoff = table(("payoff", "a round", "95 %", "rivals", "#", "of"), paid, elastic=0, width=columns())
        told = f"{told}\n\n{by_payoff}"
    return told


def _by_version(pool: PoolVersions, unrated: Sequence[UnratedStanding]) -> str:
    headers = ("version", "last match", "played", "won", "drawn", "lost", "share", "95 %", "more than before", "95 %")
    rows = [
        (
            *(row.version or "(none)", minute(row.finished), row.played, row.wins, row.draws, row.losses),
            *(_interval(row.share) + _interval(row.gain, sign="+")),
        )
        for row in pool.versions
    ]
    of = f", the last {len(rows)} of {pool.total}" if pool.total and pool.total > len(rows) else ""
    left = sum(row.void for row in unrated if row.pool == pool.pool)
    void = f"; {left} called off" if left else ""
    return f"{pool.pool} by version{of}{void}\n{table(headers, rows, elastic=0, left=(1,), width=columns())}"


def _interval(found: ShareInterval | None, sign: str = "") -> tuple[str, str]:
    if found is None:
        return "", ""
    if sign:
        return f"{found.score:+z.3f}", f"{found.low:+z.3f} to {found.high:+z.3f}"
    return score_format.points(found.score), score_format.interval(found)


def _match(result: Result, name: str) -> tuple[object, ...]:
    mine = next(seat for seat in result.seats if folded(seat.bot) == folded(name))
    others = ", ".join(seat.bot for seat in result.seats if seat is not mine)
    first = [seat for seat in result.seats if seat.rank == 1]
    outcome = "lost to" if mine.rank > 1 else "won against" if len(first) == 1 else "drew with"
    version = f" as version {mine.version}" if mine.version else ""
    reason = mine.reason if result.annulled is None else f"{mine.reason}, annulled"
    return result.match, result.game, f"{outcome} {others}{version}", reason, minute(result.finished)

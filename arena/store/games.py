"""The games that the operator brought: the sources of all their versions, and which of them are offered.

Sources are never removed, because the records of old matches need them. Once a match was played by a version, its
source stays the same. Every command, node and page that opens the database loads the newest version of each game, see
`load_games`, and an older one when a record needs it.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.store.dialect import execute, insert_into
from arena.store.rows import read_row, read_rows
from machine.game_files import GameFiles, use_source
from machine.timestamps import utc_now
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault
from protocol.games import builtin_game_names, register_former_rules
from protocol.games.spec import GameSpec
from protocol.pools import version_of

STORED_GAMES_VARIABLE = "ARENA_STORED_GAMES"
"""The environment variable that is `0` if the code of games in databases must not run, because a database may be a
stranger's."""
_NEWEST_SQL = "id IN (SELECT max(id) FROM games GROUP BY game)"
"""The SQL condition for the newest version of each game, which was added last."""
_LIST_GAMES = f"SELECT game, version, digest, file, added, offered FROM games WHERE {_NEWEST_SQL} ORDER BY game"
_COUNT_MATCHES = "SELECT game, sum(matches) AS matches FROM counts WHERE tournament = '' GROUP BY game"
_SELECT_POOLS = "SELECT pool FROM counts WHERE tournament = '' AND game = :game AND matches > 0"
_UNRATED_SUFFIX = "/unrated"
"""The end of the name under which unrated matches of a game are counted."""
_SELECT_SOURCES = (
    f"SELECT game, digest, offered, file, source, beside, {_NEWEST_SQL} AS is_newest FROM games ORDER BY id"
)
_SELECT_NEWEST = f"SELECT version, digest, offered FROM games WHERE game = :game AND {_NEWEST_SQL}"
_UPDATE_FILES = """UPDATE games SET digest = :digest, file = :file, source = :source, beside = :beside, offered = true
WHERE game = :game AND version = :version"""

log = logging.getLogger("arena.store.games")


class StoredGame(Struct, frozen=True, kw_only=True):
    """The newest version of a brought game. `offered` is false if the operator removed the game."""

    game: str
    version: str
    digest: str
    file: str
    added: str
    offered: bool


class GameCode(Struct, frozen=True, kw_only=True):
    """The code of a version of a game, and the digest that its source had when it was stored."""

    game: str
    digest: str
    offered: bool
    is_newest: bool
    source: GameFiles


def check_version(connection: Connection, spec: GameSpec, file: str) -> None:
    """Raise `UsageFault` if the database has other rules under the name and version of a game, or a newer version.
    Other rules may replace those of a removed game by which no match was played.
    """
    newest = execute(connection, _SELECT_NEWEST, {"game": spec.name}).one_or_none()
    if newest is None:
        return
    if spec.version == newest.version and spec.digest != newest.digest:
        is_unplayed = _is_unplayed(connection, spec)
        if is_unplayed and not newest.offered:
            return
        advice = f"or `arena game remove {spec.name}` first: no match was played by it"
        raise UsageFault(
            f"{file}: the rules of {spec.name} differ from those of version {newest.version} that are stored: raise "
            f'version, as in version = "{_next_version(newest.version)}"; '
            f"{advice if is_unplayed else 'ratings of different versions are separate'}"
        )
    if _version_key(spec.version) < _version_key(newest.version):
        raise UsageFault(
            f"{file}: {spec.name} has version {spec.version}, but version {newest.version} is stored: raise version "
            f'above it, as in version = "{_next_version(newest.version)}"'
        )


def _is_unplayed(connection: Connection, spec: GameSpec) -> bool:
    """Return whether no match of a version of a game is stored. An unrated match may be of any version."""
    pools = [row.pool for row in execute(connection, _SELECT_POOLS, {"game": spec.name})]
    return not any(pool.endswith(_UNRATED_SUFFIX) or version_of(pool) == spec.version for pool in pools)


def add_games(connection: Connection, games: Iterable[tuple[GameSpec, GameFiles]]) -> None:
    """Store the sources of games, and offer these games. Raise `UsageFault` as `check_version` does.

    If a version is stored already, its files are replaced.
    """
    for spec, source in games:
        _add_game(connection, spec, source)


def _add_game(connection: Connection, spec: GameSpec, source: GameFiles) -> None:
    check_version(connection, spec, source.file)
    row = {
        "game": spec.name,
        "version": spec.version,
        "digest": spec.digest,
        "file": source.file,
        "source": source.source,
        "beside": msgspec.msgpack.encode(source.beside),
        "added": utc_now(),
        "offered": True,
    }
    if not execute(connection, _UPDATE_FILES, row).rowcount:
        execute(connection, insert_into("games", list(row)), row)


def remove_game(connection: Connection, game: str) -> None:
    """Offer a game no longer. Raise `UsageFault` if no such game is stored, or it is removed already."""
    if game in builtin_game_names():
        raise UsageFault(f"{game} is a built-in game: only games that were added can be removed")
    is_offered = {one.game: one.offered for one in list_games(connection)}
    if game not in is_offered:
        which = list_choices(is_offered) if is_offered else "there is none; `arena game add FILE.py` adds one"
        raise UsageFault(f"no game {short_repr(game)} was added: {which}")
    if not is_offered[game]:
        raise UsageFault(f"{game} is removed already")
    execute(connection, "UPDATE games SET offered = false WHERE game = :game", {"game": game})


def list_games(connection: Connection) -> list[StoredGame]:
    """Return the newest version of each game, in the order of their names."""
    return read_rows(StoredGame, execute(connection, _LIST_GAMES))


def match_counts(connection: Connection) -> dict[str, int]:
    """Return the number of stored matches of each game, also of games whose rules are not known."""
    return {row.game: int(row.matches) for row in execute(connection, _COUNT_MATCHES)}


def read_games(connection: Connection) -> list[GameCode]:
    """Return the code of all versions of all games, in the order in which they were added."""
    rows = execute(connection, _SELECT_SOURCES)
    return [read_row(GameCode, row, source=_source(row)) for row in rows]


def load_games(games: Iterable[GameCode]) -> None:
    """Register stored games: the newest version of each, and the older ones for records. Log which of them can't be
    loaded: the others, and all other data, can be used. Register none if `STORED_GAMES_VARIABLE` forbids it.
    """
    if not loads_stored_games():
        return
    for one in games:
        if not one.is_newest:
            register_former_rules(one.game, one.digest, cache(partial(_load_former, one)))
        elif _is_sound(one):
            try:
                use_source(one.source, one.game, offered=one.offered)
            except UsageFault as fault:
                log.warning("the stored game %s can't be loaded: %s", one.game, fault)


def loads_stored_games() -> bool:
    """Return whether the code of games in databases may run."""
    return os.environ.get(STORED_GAMES_VARIABLE) != "0"


def _load_former(code: GameCode) -> GameSpec | None:
    try:
        specs = code.source.load() if _is_sound(code) else []
    except UsageFault as fault:
        log.warning("an older version of the stored game %s can't be loaded: %s", code.game, fault)
        return None
    return next((spec for spec in specs if spec.name == code.game), None)


def _is_sound(code: GameCode) -> bool:
    if code.source.digest == code.digest:
        return True
    log.warning("the stored game %s is damaged, and is not loaded: restore a backup", code.game)
    return False


def find_problems(connection: Connection) -> Iterator[str]:
    """Yield a line for each stored game that is damaged."""
    for row in execute(connection, "SELECT game, version, digest, file, source, beside FROM games ORDER BY id"):
        if _source(row).digest != row.digest:
            yield f"game {row.game}, version {row.version}: the source does not have the digest {row.digest[:12]}"


def _source(row: Any) -> GameFiles:
    beside = msgspec.msgpack.decode(row.beside, type=dict[str, bytes])
    return GameFiles(file=row.file, source=row.source, beside=beside)


def _version_key(version: str) -> list[tuple[int, str]]:
    """Return a key that sorts versions: numbers by their value, 2 before 10, and before letters."""
    parts = re.findall(r"\d+|[A-Za-z]+", version)
    return [(int(part), "") if part.isdecimal() else (sys.maxsize, part) for part in parts]


def _next_version(version: str) -> str:
    """Return a version after another: its last number is higher, or it has one."""
    before, number, after = re.fullmatch(r"(.*?)(\d*)(\D*)", version).groups()  # type: ignore[union-attr]
    return f"{before}{int(number) + 1}{after}" if number else f"{version}2"

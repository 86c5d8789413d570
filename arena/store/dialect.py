"""Translation of SQL from SQLite to PostgreSQL. Most statements run on both; the few differences are rewritten."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, CursorResult, Table
from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

POOL_OR_UNRATED_SQL = "coalesce(matches.pool, matches.game || '/unrated')"
"""The SQL expression for a match's pool, or GAME/unrated for an unrated match. PostgreSQL has an index on this
expression, because an index on pools would not find nulls.
"""
_POSTGRESQL_REWRITES = (
    (r"matches\.pool IS nullif\(part\.pool, part\.game \|\| '/unrated'\)", f"{POOL_OR_UNRATED_SQL} = part.pool"),
    (r" INDEXED BY \w+", ""),
    (r"\bIS (?=\w+[.(])", "IS NOT DISTINCT FROM "),
    (r"\binstr\(", "strpos("),
    (r"\bgroup_concat\((\w+), ", r"string_agg(CAST(\1 AS text), "),
    (r"\bjson_each\(\(\s*SELECT json_group_array\((\w+)\) FROM", r"LATERAL ((SELECT \1 AS value FROM"),
    (r"\bjson_group_array\(", "json_agg("),
    (r"\bjson_array\(", "json_build_array("),
    (r"\bjson_object\(", "json_build_object("),
    (r"\bjson_each\((:\w+)\)", r"(SELECT value FROM json_array_elements_text(CAST(\1 AS json)))"),
)
"""Regular expressions for the SQL of SQLite and their replacements for PostgreSQL, in order of application."""


def execute(
    connection: Connection,
    statement: str,
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
) -> CursorResult[Any]:
    """Execute a statement in the SQL of SQLite, translated for PostgreSQL. Its parameters are named, like `:name`."""
    said = translate(statement) if is_postgresql(connection) else statement
    return connection.exec_driver_sql(said, parameters)


def is_postgresql(connection: Connection) -> bool:
    """Return whether a connection is to PostgreSQL rather than SQLite."""
    return connection.dialect.name == "postgresql"


@functools.lru_cache(maxsize=1000)
def translate(statement: str) -> str:
    """Translate a statement written for SQLite to the syntax of PostgreSQL and psycopg."""
    for found, said in _POSTGRESQL_REWRITES:
        statement = re.sub(found, said, statement)
    return re.sub(r"(?<!:):([a-z]\w*)", r"%(\1)s", statement.replace("%", "%%"))


def upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an insert statement to which an ON CONFLICT clause can be added."""
    if is_postgresql(connection):
        from sqlalchemy.dialects import postgresql  # loaded only if needed

        return postgresql.insert(table)
    return sqlite.insert(table)


def replace_nul(text: str) -> str:
    """Replace NUL characters, which PostgreSQL does not accept in text, by a visible symbol."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")

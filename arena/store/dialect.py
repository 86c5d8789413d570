"""What PostgreSQL says otherwise than SQLite: statements are written as SQLite takes them, in words that PostgreSQL
takes, too, but for the few that are translated here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, CursorResult, Table
from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

GROUP = "coalesce(matches.pool, matches.game || '/unrated')"
"""The pool of a match, or GAME/unrated: there an index has it, as none looks for rows that are null beside others."""
_IN_POSTGRESQL = (
    (r"matches\.pool IS nullif\(part\.pool, part\.game \|\| '/unrated'\)", f"{GROUP} = part.pool"),
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
"""What is said there in place of what is found, in this order."""


def execute(
    connection: Connection,
    statement: str,
    given: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
) -> CursorResult[Any]:
    """Carry out a statement, with `:name` for what is given by name."""
    said = translated(statement) if is_postgresql(connection) else statement
    return connection.exec_driver_sql(said, given)


def is_postgresql(connection: Connection) -> bool:
    """Whether it is PostgreSQL that is connected to, and not SQLite."""
    return connection.dialect.name == "postgresql"


@functools.lru_cache(maxsize=1000)
def translated(statement: str) -> str:
    """A statement as psycopg takes it."""
    for found, said in _IN_POSTGRESQL:
        statement = re.sub(found, said, statement)
    return re.sub(r"(?<!:):([a-z]\w*)", r"%(\1)s", statement.replace("%", "%%"))


def upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that can say what to do where a row is there already."""
    if is_postgresql(connection):
        from sqlalchemy.dialects import postgresql  # what no SQLite needs is not loaded for it

        return postgresql.insert(table)
    return sqlite.insert(table)


def without_nul(text: str) -> str:
    """Text as every database takes it: PostgreSQL has none with a NUL."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")

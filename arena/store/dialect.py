"""SQL for SQLite and PostgreSQL. Statements are strings in what both understand, with named parameters like `:name`.

Where the two differ, a statement has a word in braces, as in a format string: `{instr}(key, :search)`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import json
from sqlalchemy import Connection, CursorResult, text

MAX_PREPARED_STATEMENTS = 1000
"""The maximum number of statements of a database whose text is cached."""


class _Argument(NamedTuple):
    """A word that takes the name of a parameter or of an index: `{each:ids}`. `$` stands for the name."""

    template: str

    def __format__(self, name: str) -> str:
        return self.template.replace("$", name)


_SQLITE_WORDS = {
    "each": _Argument("json_each(:$)"),
    "each_number_of": "json_each((SELECT json_group_array(number) FROM",
    "group_concat": "group_concat",
    "instr": "instr",
    "is": "IS",
    "json_array": "json_array",
    "json_group_array": "json_group_array",
    "json_object": "json_object",
    "same_pool": "matches.pool IS nullif(part.pool, part.game || '/unrated')",
    "using": _Argument("INDEXED BY $"),
}
"""The words of SQLite, by name. `{each:ids}` is a table whose column `value` has the values of :ids, a JSON array.
`{each_number_of} (QUERY) AS q)) AS t` has in `t.value` the column `number` of a query on rows of the tables before it.
`{is}` compares values that may be null. `{same_pool}` compares the pool of `matches` with `part.pool`, which is
GAME/unrated for unrated matches, so that an index is used. `{using:NAME}` says which index to use.
"""
_POSTGRESQL_WORDS = {
    "each": _Argument("(SELECT value FROM json_array_elements_text(CAST(:$ AS json)))"),
    "each_number_of": "LATERAL ((SELECT number AS value FROM",
    "group_concat": "string_agg",
    "instr": "strpos",
    "is": "IS NOT DISTINCT FROM",
    "json_array": "json_build_array",
    "json_group_array": "json_agg",
    "json_object": "json_build_object",
    "same_pool": "coalesce(matches.pool, matches.game || '/unrated') = part.pool",
    "using": _Argument(""),
}
"""The words of PostgreSQL, by the same names."""


def execute(
    connection: Connection,
    statement: str,
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    *,
    stream: bool = False,
) -> CursorResult[Any]:
    """Execute a statement. With `stream`, rows are loaded as needed, which saves memory but takes more round trips."""
    prepare = prepare_for_postgresql if is_postgresql(connection) else prepare_for_sqlite
    options = {"stream_results": True} if stream else None
    return connection.exec_driver_sql(prepare(statement), parameters, options)


def is_postgresql(connection: Connection) -> bool:
    """Return whether a connection is to PostgreSQL rather than SQLite."""
    return connection.dialect.name == "postgresql"


@functools.lru_cache(MAX_PREPARED_STATEMENTS)
def prepare_for_sqlite(statement: str) -> str:
    """Return a statement as SQLite understands it."""
    return statement.format_map(_SQLITE_WORDS)


@functools.lru_cache(MAX_PREPARED_STATEMENTS)
def prepare_for_postgresql(statement: str) -> str:
    """Return a statement as PostgreSQL understands it, with the parameters of psycopg: `%(name)s`."""
    from sqlalchemy.dialects.postgresql.psycopg import dialect  # loaded only if needed

    return str(text(statement.format_map(_POSTGRESQL_WORDS)).compile(dialect=dialect()))  # type: ignore[no-untyped-call]


def list_parameter(name: str, values: Iterable[str | int]) -> dict[str, str]:
    """Return the parameter for `{each:NAME}` that has these values."""
    return {name: json.encode(list(values)).decode()}


def insert_into(table: str, columns: Sequence[str]) -> str:
    """Return the statement that inserts rows with these columns into a table."""
    return f"INSERT INTO {table} ({quote_names(columns)}) VALUES ({', '.join(f':{column}' for column in columns)})"


def quote_names(columns: Iterable[str]) -> str:
    """Return a list of columns. Their names are in quotes, because some are words of SQL."""
    return ", ".join(f'"{column}"' for column in columns)


def replace_nul(text: str) -> str:
    """Replace NUL characters, which PostgreSQL does not accept in text, by a visible symbol."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")

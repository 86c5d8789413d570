"""A cache of compiled SQL statements that all database engines of this process share.

SQLAlchemy gives each engine its own cache. A command opens several engines, for the schema, for writing and for
reading, and each would compile the same statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.util import LRUCache

MAX_CACHED_STATEMENTS = 1000
"""The maximum number of compiled statements in the cache."""


class _SharedCache(LRUCache[Any, Any]):
    """A cache of compiled statements for all engines. Its keys have the type of a dialect and the server's version,
    instead of the dialect object of one engine.
    """

    __slots__ = ()

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_shared_key(key), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_shared_key(key), value)


def _shared_key(key: tuple[Dialect, *tuple[Any, ...]]) -> tuple[Any, ...]:
    dialect, *rest = key
    return (type(dialect), dialect.server_version_info, *rest)


ENGINE_OPTIONS: Mapping[str, Any] = {"compiled_cache": _SharedCache(MAX_CACHED_STATEMENTS)}
"""The execution options with which a database engine uses the shared cache of compiled statements."""

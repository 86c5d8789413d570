"""A cache of compiled statements that all databases of this process share.

SQLAlchemy gives each engine a cache of its own. A command opens several engines, one to look at the schema, one to
write and one to read, and would compile the same statements for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.util import LRUCache

MAX_STATEMENTS = 1000


class _SharedCache(LRUCache[Any, Any]):
    """A cache whose keys contain the class of a dialect and the server's version, so that engines share entries."""

    __slots__ = ()

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_shared_key(key), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_shared_key(key), value)


def _shared_key(key: tuple[Dialect, *tuple[Any, ...]]) -> tuple[Any, ...]:
    dialect, *rest = key
    return (type(dialect), dialect.server_version_info, *rest)


ENGINE_OPTIONS: Mapping[str, Any] = {"compiled_cache": _SharedCache(MAX_STATEMENTS)}
"""The execution options of an engine that uses the shared cache."""

"""How many files a server may have open, raised as far as it needs, and shared out beforehand."""

from __future__ import annotations

import logging
import resource

from msgspec import Struct

from protocol.errors import ArenaFault
from protocol.messages import MAX_SLOTS

KEPT = 64
"""For the store, the log, records that are written, and what Python opens now and then."""
WAITING = 1024
LEAST = 128

log = logging.getLogger("arena")


class Shares(Struct, frozen=True, kw_only=True):
    """Files for connections, for those that have not said hello, and for the journals of matches under way."""

    connections: int
    waiting: int
    journals: int


def needed(connections: int) -> int:
    """Open files with which so many connections can play all the matches that their slots are good for."""
    return KEPT + WAITING + connections + connections * MAX_SLOTS // 2


def shares(limit: int, connections: int) -> Shares:
    """What `limit` open files are enough for, where so many connections are wanted: as many journals at least.

    So that strangers who hold all connections hold up no match, and those who play all matches nobody's connection.
    """
    rest = limit - KEPT
    waiting = min(WAITING, rest // 8)
    taken = min(connections, (rest - waiting) // 2)
    return Shares(connections=taken, waiting=waiting, journals=rest - waiting - taken)


def raise_fd_limit(connections: int) -> Shares:
    """Raise this process' limit as far as `connections` need it and it may be raised: what there is now, shared out.

    Fewer connections than wanted are said in the log. Raises `ArenaFault` where there is too little for anything.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = needed(connections)
    limit = soft
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        except (OSError, ValueError):
            limit = soft
    limit = wanted if limit == resource.RLIM_INFINITY else limit
    if limit < LEAST:
        raise ArenaFault(f"only {limit} files may be open: raise the limit (ulimit -n) to {LEAST} at least")
    found = shares(limit, connections)
    if found.connections < connections:
        log.warning(
            "only %d files may be open (ulimit -n): at most %d connections instead of %d, and %d matches",
            limit,
            found.connections,
            connections,
            found.journals,
        )
    return found

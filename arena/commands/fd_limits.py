"""Raises a server's limit of open files as far as needed, and divides it among connections and journals."""

from __future__ import annotations

import logging
import resource

from msgspec import Struct

from protocol.errors import ArenaFault
from protocol.messages import MAX_SLOTS

RESERVED_FILES = 64
"""Open files reserved for the store, the log, records being written, and Python itself."""
MAX_WAITING_CONNECTIONS = 1024
"""Maximum number of connections that have not sent their hello yet."""
MIN_OPEN_FILES = 128
"""The limit of open files below which a server does not start."""

log = logging.getLogger("arena")


class FileBudget(Struct, frozen=True, kw_only=True):
    """The open files that a server may use for each purpose.

    `connections` is for connections that have sent their hello, `waiting` for connections that have not, `journals` for
    the journals of running matches.
    """

    connections: int
    waiting: int
    journals: int


def files_needed(connections: int) -> int:
    """Return the number of open files that a server needs if `connections` bots play as many matches as they may."""
    return RESERVED_FILES + MAX_WAITING_CONNECTIONS + connections + connections * MAX_SLOTS // 2


def divide_files(limit: int, connections: int) -> FileBudget:
    """Divide `limit` open files among connections and journals, so that neither can use up the files of the other.

    Journals get at least as many files as connections.
    """
    rest = limit - RESERVED_FILES
    waiting = min(MAX_WAITING_CONNECTIONS, rest // 8)
    taken = min(connections, (rest - waiting) // 2)
    return FileBudget(connections=taken, waiting=waiting, journals=rest - waiting - taken)


def raise_fd_limit(connections: int) -> FileBudget:
    """Raise this process's open-file limit as far as `connections` need and the system allows. Return how many of the
    open files are for connections and how many for journals.

    Log a warning if the limit is too low for all `connections`. Raise `ArenaFault` if it is too low to run at all.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = files_needed(connections)
    limit = soft
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        except (OSError, ValueError):
            limit = soft
    limit = wanted if limit == resource.RLIM_INFINITY else limit
    if limit < MIN_OPEN_FILES:
        raise ArenaFault(f"only {limit} files may be open: raise the limit (ulimit -n) to {MIN_OPEN_FILES} at least")
    found = divide_files(limit, connections)
    if found.connections < connections:
        log.warning(
            "only %d files may be open (ulimit -n): at most %d connections instead of %d, and %d matches",
            limit,
            found.connections,
            connections,
            found.journals,
        )
    return found

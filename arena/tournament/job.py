"""What a tournament and its workers hand each other: the job, which holds for all matches, and a report of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from arena.store.match_luck import MatchLuck
from arena.store.registry import Incident
from arena.tournament.plan import Plan
from arena.tournament.sandbox import BotEnvironment
from protocol.errors import ArenaFault, Fault, os_errors_as
from referee.footer import Closed
from referee.result import Result

CONNECT_TIMEOUT = 180.0
"""Seconds that nothing happens for want of a bot before that bot is ended, as one that crashed.

They begin anew whenever a bot comes in, as bots warm up one after the other; a first compilation may take minutes.
"""


Words = tuple[tuple[str, bytes], ...]
"""Bots and what they have written since the last report, where that is handed in: the last `MAX_LOG_BYTES` of it."""
MAX_LOG_BYTES = 64 * 1024


class MatchJob(Struct, frozen=True, kw_only=True):
    """How the matches of a plan are refereed, wherever that is done.

    `key` tells one run of the command from another: bots are kept running for it. `logs` is where what they write
    goes. `value` names what luck is measured by, None where it is not. `in_process`: bots have no processes of their
    own. When `strict`, a bot that can't go on ends the run; else it forfeits its matches. `sources` are given where
    workers may be on other machines, `digest_of_all` of the command's: they refuse to play by others, and hand in what
    bots wrote, as its folder of logs is not theirs.
    """

    key: str
    plan: Plan
    environment: BotEnvironment
    logs: Path
    value: str | None = None
    connect_timeout: float = CONNECT_TIMEOUT
    in_process: bool = False
    strict: bool = True
    sources: str | None = None
    server: Server | None = None
    """Where the bots are connected that play, if they are not started here."""


class ServerAt(Struct, frozen=True):
    """A running server among whose bots matches are played: its URL, and the operator's token there."""

    url: str
    token: str


class ServerOn(Struct, frozen=True):
    """The same by its data folder, where it may be reached otherwise after every start."""

    folder: Path


Server: TypeAlias = ServerAt | ServerOn


class MatchReport(NamedTuple):
    """A match that is over, as it is handed in: closed but not rated, its luck, and what else happened up to then.

    `failures` says by seat why the programs of bots failed.
    """

    closed: Closed
    luck: MatchLuck | None = None
    failures: Mapping[int, str] = {}
    notes: tuple[str, ...] = ()
    incidents: tuple[tuple[str, Incident], ...] = ()
    words: Words = ()

    @property
    def result(self) -> Result:
        """What came of it."""
        return self.closed.result


class Aborted(NamedTuple):
    """Why no more matches can be played."""

    fault: Fault
    words: Words = ()


def write_down(logs: Path, bot: str, words: bytes) -> None:
    """Put what a bot had to say into its log. Raises `ArenaFault`."""
    log = logs / f"{bot}.log"
    with os_errors_as(ArenaFault, f"the log {log} can't be written"):
        logs.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            file.write(words)

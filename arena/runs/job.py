"""Messages between a tournament and its workers: the job, which all matches share, and a report of each match."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from arena.runs.plan import Plan
from arena.runs.sandbox import BotEnvironment
from arena.store.incident import Incident
from arena.store.luck_value import MatchLuck, storable_luck
from measuring.luck import luck_of
from protocol.errors import ArenaFault, Fault, os_errors_as
from protocol.reasons import VOID
from referee.footer import ClosedMatch
from referee.record import write_line
from referee.record_reader import read_record
from referee.result import Result

CONNECT_TIMEOUT_S = 180.0
"""Default seconds that a match waits for a bot. Then the bot is killed, which counts as a crash.

The time starts again whenever any bot connects for the first time. Bots compile code one after the other, which may
take minutes.
"""


BotOutput = tuple[tuple[str, bytes], ...]
"""The output of each bot since the last report; empty if the command and the worker share the folder of logs."""
MAX_LOG_BYTES = 64 * 1024
"""Maximum bytes of a bot's output in one report."""


class MatchJob(Struct, frozen=True, kw_only=True):
    """The settings to referee the matches of a plan, on any worker.
    - `key` identifies a run of the command. Bots keep running for that run.
    - `logs` is the folder for the output of bots.
    - `value` names the value function that measures luck. With None, luck is not measured.
    - `in_process`: bots have no processes of their own.
    - `strict`: a bot that cannot go on ends the run; otherwise it forfeits its matches.
    - `sources` is the command's `digest_of_all` if workers may be on other machines. Workers with different sources
      refuse to run. Reports contain the output of bots, because the machines do not share the folder of logs.
    """

    key: str
    plan: Plan
    environment: BotEnvironment
    logs: Path
    value: str | None = None
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    in_process: bool = False
    strict: bool = True
    sources: str | None = None


class MatchReport(NamedTuple):
    """The report of a finished match, which is not rated yet. `failures` maps a seat to why its program failed."""

    closed: ClosedMatch
    luck: MatchLuck | None = None
    failures: Mapping[int, str] = {}
    notes: tuple[str, ...] = ()
    incidents: tuple[tuple[str, Incident], ...] = ()
    output: BotOutput = ()

    @property
    def result(self) -> Result:
        """The result of the match."""
        return self.closed.result


def measure_luck(report: MatchReport, value: str | None) -> MatchReport:
    """Return a report with the luck of its match, measured by a value function. Void matches have no luck."""
    closed = report.closed
    if value is None or closed.result.reason == VOID:
        return report
    luck = luck_of(read_record(b"".join((*closed.lines, write_line(closed.footer))), closed.result.match), value)
    return report._replace(luck=storable_luck(luck))


class Aborted(NamedTuple):
    """The reply of a worker that can play no more matches, with the reason."""

    fault: Fault
    output: BotOutput = ()


def append_to_log(logs: Path, bot: str, output: bytes) -> None:
    """Append a bot's output to the bot's log in the folder `logs`. Raise `ArenaFault` if that fails."""
    log = logs / f"{bot}.log"
    with os_errors_as(ArenaFault, f"the log {log} can't be written"):
        logs.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            file.write(output)

"""What a worker does: it referees matches and measures their luck, with bots that it keeps for the next ones."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from socket import gethostname

from arena.ratings.tournament_pairing import Pairing
from arena.store.match_luck import MatchLuck
from arena.tournament import remote
from arena.tournament.host_pool import host_pool
from arena.tournament.in_process import InProcessHost
from arena.tournament.job import Aborted, MatchJob, MatchReport
from machine.source_digest import digest_of_all
from measuring.luck import luck_of
from protocol import VERSION
from protocol.errors import ArenaFault, Fault
from protocol.reasons import VOID
from referee.record import write_line
from referee.record_reader import read

PRINTED = "in-process.log"
"""Where what bots print goes that have no processes of their own: whose it is nobody can tell."""

_mine = threading.local()
_making = threading.Lock()
"""A bot's file is run as if alone in the process."""


def referee_elsewhere(sources: str, job: bytes, matches: Sequence[Pairing]) -> list[MatchReport | Aborted]:
    """`referee` on another machine, by pickled terms: only the same sources know how to read them."""
    if sources != digest_of_all():
        told = (
            f"the worker on {gethostname()} has another bot-arena ({VERSION}, sources {digest_of_all()}) than the one "
            f"here (sources {sources}): install the same on all machines"
        )
        return [Aborted(ArenaFault(told))]
    return referee(pickle.loads(job), matches)  # noqa: S301 - from the command, whose code it is that runs here


def referee(job: MatchJob, matches: Sequence[Pairing]) -> list[MatchReport | Aborted]:
    """The matches, refereed one after the other; up to the first that can't be played, and why."""
    done: list[MatchReport | Aborted] = []
    try:
        with _playing(job) as play:
            for match in matches:
                reply = play(match)
                done.append(_measured(reply, job.value) if isinstance(reply, MatchReport) else reply)
                if isinstance(reply, Aborted):
                    break
    except Fault as fault:
        done.append(Aborted(fault))
    return done


def leave(key: str) -> None:
    """Let go of the bots that are kept for a run, whatever they play."""
    remote.leave(key)
    if host_pool.cache_info().currsize:
        host_pool().leave(key)


@contextmanager
def _playing(job: MatchJob) -> Iterator[Callable[[Pairing], MatchReport | Aborted]]:
    """What plays a match, with nobody else's bots."""
    if job.server is not None:
        yield partial(remote.play, job.server, job)
        return
    if not job.in_process:
        with host_pool().host(job) as play:
            yield play
        return
    if getattr(_mine, "key", None) != job.key:
        with _making:
            _print_to(job.logs / PRINTED)
            _mine.key, _mine.host = job.key, InProcessHost(job)
    yield _mine.host.play


def _print_to(log: Path) -> None:
    """Have what is printed in a worker process written there; threads of others keep theirs. Raises `ArenaFault`."""
    if threading.current_thread() is threading.main_thread():
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            sys.stdout = sys.stderr = log.open("a", buffering=1)
        except OSError as exc:
            raise ArenaFault(f"the log {log} can't be written: {exc.strerror}") from exc


def _measured(report: MatchReport, value: str | None) -> MatchReport:
    """With its luck, where that is asked for."""
    closed = report.closed
    if value is None or closed.result.reason == VOID:
        return report
    luck = luck_of(read(b"".join((*closed.lines, write_line(closed.footer))), closed.result.match), value)
    return report._replace(luck=MatchLuck(luck.value, luck.total[0]))

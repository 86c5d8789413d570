"""Matches of a plan played by workers: handed out, and handed back closed in the order of the schedule.

What a worker does is here as well: it referees matches and measures their luck, with bots that it keeps for the next
ones.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from socket import gethostname

from arena.ratings.tournament_pairing import Pairing
from arena.store.match_luck import match_luck
from arena.tournament import remote
from arena.tournament.host import host_pool
from arena.tournament.in_process import InProcessHost
from arena.tournament.job import Aborted, MatchJob, MatchReport, write_down
from arena.tournament.plan import place_of
from machine import standard_streams
from machine.source_digest import digest_of_all
from machine.workers.local import WorkerPool, spread_chunks
from measuring.luck import luck_of
from protocol import VERSION
from protocol.errors import ArenaFault, Fault, os_errors_as
from protocol.reasons import VOID
from referee.record import write_line
from referee.record_reader import read

PRINTED = "in-process.log"
"""Where what bots print goes that have no processes of their own: whose it is nobody can tell."""

_mine = threading.local()
_making = threading.Lock()
"""A bot's file is run as if alone in the process."""


def play(
    job: MatchJob,
    matches: Sequence[Pairing],
    workers: WorkerPool,
    early: Iterable[MatchReport] = (),
    hold: Callable[[Sequence[MatchReport]], object] = lambda reports: None,
) -> Iterator[Sequence[MatchReport]]:
    """The matches, each once, in the order given: as many at a time as are there. Stop whenever you like.

    `early` were played before; `hold` is given those that come in before their turn, when they do. Raises `ArenaFault`
    when a bot can't go on, after all that could be handed back, and what `WorkerPool.run` raises.
    """
    waiting = {place_of(report.result): report for report in early}
    missing = [match for match in matches if match.place not in waiting]
    due = deque(match.place for match in matches)
    work: Callable[[Sequence[Pairing]], Sequence[MatchReport | Aborted]] = partial(referee, job)
    if job.sources is not None:
        work = partial(referee_elsewhere, job.sources, pickle.dumps(job))
    try:
        if ready := _due(due, waiting):
            yield ready
        for start, replies in spread_chunks(workers, work, missing, None if job.in_process else 1):
            for bot, words in (words for reply in replies for words in reply.words):
                write_down(job.logs, bot, words)
            reports = [reply for reply in replies if isinstance(reply, MatchReport)]
            waiting.update((match.place, report) for match, report in zip(missing[start:], reports, strict=False))
            ready = _due(due, waiting)
            if rest := [report for report in reports if place_of(report.result) in waiting]:
                hold(rest)
                for report in rest:  # without what was noted, which is told when it comes in
                    waiting[place_of(report.result)] = MatchReport(report.closed, report.luck, report.failures)
            if ready:
                yield ready
            for reply in replies:
                if isinstance(reply, Aborted):
                    raise reply.fault
    finally:
        workers.broadcast(partial(_leave, job.key))


def _due(due: deque[int], waiting: dict[int, MatchReport]) -> list[MatchReport]:
    """Those whose turn has come, taken from both."""
    ready = []
    while due and due[0] in waiting:
        ready.append(waiting.pop(due.popleft()))
    return ready


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
        with _playing(job) as play_match:
            for match in matches:
                reply = play_match(match)
                done.append(_measured(reply, job.value) if isinstance(reply, MatchReport) else reply)
                if isinstance(reply, Aborted):
                    break
    except Fault as fault:
        done.append(Aborted(fault))
    return done


def _leave(key: str) -> None:
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
        with host_pool().host(job) as play_match:
            yield play_match
        return
    if getattr(_mine, "key", None) != job.key:
        with _making:
            _print_to(job.logs / PRINTED)
            _mine.key, _mine.host = job.key, InProcessHost(job)
    yield _mine.host.play


def _print_to(log: Path) -> None:
    """Have what is printed in a worker process written there; threads of others keep theirs. Raises `ArenaFault`."""
    if threading.current_thread() is threading.main_thread():
        with os_errors_as(ArenaFault, f"the log {log} can't be written"):
            log.parent.mkdir(parents=True, exist_ok=True)
            sys.stdout = sys.stderr = log.open("a", buffering=1, encoding="utf-8", errors=standard_streams.ERRORS)


def _measured(report: MatchReport, value: str | None) -> MatchReport:
    """With its luck, where that is asked for."""
    closed = report.closed
    if value is None or closed.result.reason == VOID:
        return report
    luck = luck_of(read(b"".join((*closed.lines, write_line(closed.footer))), closed.result.match), value)
    return report._replace(luck=match_luck(luck))

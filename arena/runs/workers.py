"""Has workers play the matches of a run.

The code that a worker runs is here too. A worker referees matches, measures their luck, and keeps its bots for the next
matches.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from socket import gethostname

from arena.processes.warmup_notice import announce_warmups
from arena.ratings.tournament_pairing import Pairing
from arena.runs.host_pool import host_pool
from arena.runs.in_process import InProcessHost
from arena.runs.job import Aborted, MatchJob, MatchReport, append_to_log, measure_luck
from arena.runs.run import RunLedger, play_run, run_blocking
from machine import standard_streams
from machine.game_discovery import file_of_game, is_from_file
from machine.game_files import GameFiles
from machine.source_digest import digest_of_all
from machine.workers.local import WorkerPool, spread_chunks
from protocol import VERSION
from protocol.errors import ArenaFault, Fault, os_errors_as
from protocol.games import game_spec

IN_PROCESS_LOG_NAME = "in-process.log"
"""The name of the log of all in-process bots. They share it, because it is unknown which of them prints a line."""

_thread_state = threading.local()
_bot_import_lock = threading.Lock()
"""A lock held while files of bots are executed, because these may assume that nothing else runs in the process."""


class WorkerPlayers:
    """Plays the matches of a job by a pool of workers."""

    def __init__(self, job: MatchJob, pool: WorkerPool) -> None:
        self._job = job
        self._pool = pool

    def play_run(self, ledger: RunLedger) -> None:
        """Play a run, and block meanwhile."""
        run_blocking(play_run(self, ledger))

    async def play(self, matches: Sequence[Pairing]) -> AsyncGenerator[Sequence[MatchReport], None]:
        """Play matches, and yield their reports as they end (see `RunPlayers`). Block meanwhile.

        If a bot cannot go on, raise `ArenaFault` after the last reports. Also raise the errors of `WorkerPool.run`.
        """
        job = self._job
        work: Callable[[Sequence[Pairing]], Sequence[MatchReport | Aborted]] = partial(referee_matches, job)
        if job.sources is not None:
            game = job.plan.rules.name
            files = GameFiles.read(file_of_game(game)) if is_from_file(game_spec(game)) else None
            work = partial(referee_remotely, job.sources, files, pickle.dumps(job))
        try:
            with announce_warmups(job.logs) as end_watch:
                for _, replies in spread_chunks(self._pool, work, matches, None if job.in_process else 1):
                    end_watch()
                    for bot, words in (words for reply in replies for words in reply.output):
                        append_to_log(job.logs, bot, words)
                    yield [reply for reply in replies if isinstance(reply, MatchReport)]
                    for reply in replies:
                        if isinstance(reply, Aborted):
                            raise reply.fault
        finally:
            self._pool.broadcast(partial(_release_bots, job.key))


def referee_remotely(
    sources: str, files: GameFiles | None, job: bytes, matches: Sequence[Pairing]
) -> list[MatchReport | Aborted]:
    """Run `referee_matches` on this machine for a command on another machine, with a pickled job.

    `files` are those of the game, if it came from a file. If this machine's sources are not those of the command
    (`sources`), refuse to unpickle the job.
    """
    if sources != digest_of_all():
        told = (
            f"the worker on {gethostname()} has another bot-arena ({VERSION}, sources {digest_of_all()}) than the one "
            f"here (sources {sources}): install the same on all machines"
        )
        return [Aborted(ArenaFault(told))]
    if files is not None:
        files.register()
    return referee_matches(pickle.loads(job), matches)  # noqa: S301 - sent by our own command, with the same code


def referee_matches(job: MatchJob, matches: Sequence[Pairing]) -> list[MatchReport | Aborted]:
    """Referee matches in order, and return their reports.

    At the first match that cannot be played, stop, and return the reason as the last element.
    """
    done: list[MatchReport | Aborted] = []
    try:
        with _match_player(job) as play_match:
            for match in matches:
                reply = play_match(match)
                done.append(measure_luck(reply, job.value) if isinstance(reply, MatchReport) else reply)
                if isinstance(reply, Aborted):
                    break
    except Fault as fault:
        done.append(Aborted(fault))
    return done


def _release_bots(key: str) -> None:
    """Release the bots that this process keeps for a run of a tournament, even if they are playing."""
    if host_pool.cache_info().currsize:
        host_pool().close_run(key)


@contextmanager
def _match_player(job: MatchJob) -> Iterator[Callable[[Pairing], MatchReport | Aborted]]:
    """Yield a function that plays a match of a job, on a host that only this thread uses."""
    if not job.in_process:
        with host_pool().reserve_host(job) as play_match:
            yield play_match
        return
    if getattr(_thread_state, "key", None) != job.key:
        with _bot_import_lock:
            _redirect_output(job.logs / IN_PROCESS_LOG_NAME)
            _thread_state.key, _thread_state.host = job.key, InProcessHost(job)
    yield _thread_state.host.play


def _redirect_output(log: Path) -> None:
    """Redirect the output of this process to a log, unless the worker is a thread."""
    if threading.current_thread() is threading.main_thread():
        with os_errors_as(ArenaFault, f"the log {log} can't be written"):
            log.parent.mkdir(parents=True, exist_ok=True)
            sys.stdout = sys.stderr = log.open(
                "a", buffering=1, encoding="utf-8", errors=standard_streams.ENCODING_ERRORS
            )

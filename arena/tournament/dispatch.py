"""Matches of a plan played by workers, and handed back closed in the order of the schedule."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from arena.ratings.tournament_pairing import Pairing
from arena.tournament.job import Aborted, MatchJob, MatchReport, write_down
from arena.tournament.plan import place_of
from arena.tournament.worker import leave, referee, referee_elsewhere
from machine.workers.local import WorkerPool, spread_chunks


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
    try:
        if ready := _due(due, waiting):
            yield ready
        for start, replies in spread_chunks(workers, _work(job), missing, None if job.in_process else 1):
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
        workers.broadcast(partial(leave, job.key))


def _due(due: deque[int], waiting: dict[int, MatchReport]) -> list[MatchReport]:
    """Those whose turn has come, taken from both."""
    ready = []
    while due and due[0] in waiting:
        ready.append(waiting.pop(due.popleft()))
    return ready


def _work(job: MatchJob) -> Callable[[Sequence[Pairing]], Sequence[MatchReport | Aborted]]:
    """What workers are to do with matches."""
    if job.sources is None:
        return partial(referee, job)
    return partial(referee_elsewhere, job.sources, pickle.dumps(job))

"""Matches of a plan played by a crew, and handed back closed in the order of the schedule."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from arena.ratings.pairing import Pairing
from arena.tournament.terms import Halted, MatchReport, Terms, write_down
from arena.tournament.worker import leave, referee, referee_elsewhere
from machine.crew.workers import Crew, spread_chunks


def play(terms: Terms, matches: Sequence[Pairing], crew: Crew) -> Iterator[Sequence[MatchReport]]:
    """The matches, each once, in the order given: as many at a time as are there. Stop whenever you like.

    What was played beyond that is lost. Raises `ArenaFault` when a bot can't go on, after all that could be handed
    back, and what `Crew.run` raises.
    """
    early: dict[int, MatchReport] = {}
    due = 0
    try:
        for start, replies in spread_chunks(crew, _work(terms), matches):
            for bot, words in (words for reply in replies for words in reply.words):
                write_down(terms.logs, bot, words)
            reports = [reply for reply in replies if isinstance(reply, MatchReport)]
            early.update(enumerate(reports, start))
            ready = []
            while due in early:
                ready.append(early.pop(due))
                due += 1
            if ready:
                yield ready
            for reply in replies:
                if isinstance(reply, Halted):
                    raise reply.fault
    finally:
        crew.farewell(partial(leave, terms.key))


def _work(terms: Terms) -> Callable[[Sequence[Pairing]], Sequence[MatchReport | Halted]]:
    """What workers are to do with matches."""
    if terms.sources is None:
        return partial(referee, terms)
    return partial(referee_elsewhere, terms.sources, pickle.dumps(terms))

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

from arena.ratings.pairing import Pairing
from arena.store.luck import MatchLuck
from arena.tournament import afar
from arena.tournament.guests import Guests
from arena.tournament.hall import hall
from arena.tournament.terms import Halted, MatchReport, Terms
from machine.sources import digest_of_all
from measuring.luck import luck_of
from protocol import VERSION
from protocol.errors import ArenaFault, Fault
from protocol.reasons import VOID
from referee.reading import read
from referee.record import write_line

PRINTED = "in-process.log"
"""Where what bots print goes that have no processes of their own: whose it is nobody can tell."""

_mine = threading.local()
_making = threading.Lock()
"""A bot's file is run as if alone in the process."""


def referee_elsewhere(sources: str, terms: bytes, matches: Sequence[Pairing]) -> list[MatchReport | Halted]:
    """`referee` on another machine, by pickled terms: only the same sources know how to read them."""
    try:
        _check_sources(sources)
    except ArenaFault as fault:
        return [Halted(fault)]
    return referee(pickle.loads(terms), matches)  # noqa: S301 - from the head, whose code it is that runs here


def referee(terms: Terms, matches: Sequence[Pairing]) -> list[MatchReport | Halted]:
    """The matches, refereed one after the other; up to the first that can't be played, and why."""
    done: list[MatchReport | Halted] = []
    try:
        with _playing(terms) as play:
            for match in matches:
                reply = play(match)
                done.append(_measured(reply, terms.value) if isinstance(reply, MatchReport) else reply)
                if isinstance(reply, Halted):
                    break
    except Fault as fault:
        done.append(Halted(fault))
    return done


def leave(key: str) -> None:
    """Let go of the bots that are kept for a sitting, whatever they play."""
    afar.leave(key)
    if hall.cache_info().currsize:
        hall().leave(key)


def _check_sources(sources: str) -> None:
    """Raises `ArenaFault` where this is another bot-arena than that of the head."""
    if sources != digest_of_all():
        raise ArenaFault(
            f"the worker on {gethostname()} has another bot-arena ({VERSION}, sources {digest_of_all()}) than the one "
            f"here (sources {sources}): install the same on all machines"
        )


@contextmanager
def _playing(terms: Terms) -> Iterator[Callable[[Pairing], MatchReport | Halted]]:
    """What plays a match, with nobody else's bots."""
    if terms.server is not None:
        yield partial(afar.play, terms.server, terms)
        return
    if not terms.in_process:
        with hall().table(terms) as play:
            yield play
        return
    if getattr(_mine, "key", None) != terms.key:
        with _making:
            _print_to(terms.logs / PRINTED)
            _mine.key, _mine.guests = terms.key, Guests(terms)
    yield _mine.guests.play


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

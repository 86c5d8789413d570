"""What a tournament and its workers hand each other: the terms that hold for all matches, and the matches closed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from arena.store.finishing import Finished
from arena.store.luck import MatchLuck
from arena.tournament.plan import Plan
from arena.tournament.sandbox import Surroundings
from protocol.errors import Fault
from referee.record import with_ratings
from referee.result import Ratings, Result

HELLO_WITHIN = 180.0
"""Seconds that nothing happens for want of a bot before that bot is ended, as one that crashed.

They begin anew whenever a bot comes in, as bots warm up one after the other; a first compilation may take minutes.
"""


class Terms(Struct, frozen=True, kw_only=True):
    """How the matches of a plan are refereed, wherever that is done.

    `key` tells one sitting of the head from another: bots are kept running for it. `logs` is where what they write
    goes. `value` names what luck is measured by, None where it is not.
    """

    key: str
    plan: Plan
    surroundings: Surroundings
    logs: Path
    value: str | None = None
    hello_within: float = HELLO_WITHIN


class Closed(NamedTuple):
    """A match that is over: its result and its record (gzip) without ratings, its luck, and what else happened."""

    result: Result
    record: bytes
    luck: MatchLuck | None = None
    notes: tuple[str, ...] = ()

    def finished(self) -> Finished:
        """For the store, which rates it."""
        return Finished(self.result, _rated(self.record), self.luck)


class Failed(NamedTuple):
    """Why no more matches can be played."""

    fault: Fault


def _rated(record: bytes) -> Callable[[Ratings | None], bytes]:
    return partial(with_ratings, record)

"""`play` and `play_all`: matches between bots in this process, for programs that use the records of matches."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import count
from typing import Any

from bots.client.bot import Bot
from bots.client.loading import build_bot, make_bot
from bots.client.warm_up import warm_up_bot
from bots.playing.local_match import LocalClient, LocalMatch, make_local_header
from machine.cores import usable_cores
from machine.game_discovery import resolve_game
from machine.terminal import say
from machine.workers.cluster import cluster_pool
from machine.workers.local import WorkerPool, process_pool, spread
from measuring.luck import Luck, luck_of
from protocol.bot_launch import parse_bot_spec
from protocol.digest import encode_canonical
from protocol.display import short_repr
from protocol.errors import UsageFault
from protocol.games import load_game, shared_game
from protocol.messages import CHANCE, MAX_CLOCK_MS, Clock
from protocol.names import fold_name
from referee import record_reader
from referee.footer import ClosedMatch
from referee.record import Ply, Record
from referee.replay import replay
from referee.result import Result, match_points

_PLAIN_TYPES = (str, int, float, bool, type(None))
"""The types of attributes by which bots of the same class are told apart. Attributes of other types are ignored."""
UNTIMED_CLOCK = Clock(bank_ms=10_000, increment_ms=0)
"""The clock that bots see, unchanged, at every turn of an untimed match."""


@dataclass(frozen=True)
class Played:
    """A finished match. Playing again with `seed` gives the same match."""

    seed: str
    closed: ClosedMatch

    @property
    def result(self) -> Result:
        """The result of the match: its seats, their ranks, and why the match ended."""
        return self.closed.result

    @property
    def points(self) -> list[float]:
        """The points of each seat, from 0 to 1: the fraction of the other seats beaten. A tie counts half."""
        return match_points(self.result)

    @cached_property
    def record(self) -> Record:
        """The record of the match: header, a line for every event, footer."""
        return record_reader.read_record(self.packed, self.result.match)

    @property
    def packed(self) -> bytes:
        """The record as the bytes of a gzip file, which `arena replay show` reads if its name ends in `.jsonl.gz`."""
        return self.closed.pack_record()

    @property
    def states(self) -> list[Any]:
        """The states of the game: the initial one, then one after every move, round and departure of a seat."""
        return [
            course.state
            for line, course in replay(self.record)
            if line is None or (isinstance(line, Ply) and (line.event.seat != CHANCE or line.event.moves is not None))
        ]

    def luck(self, value: str | None = None) -> Luck:
        """Return the luck of each seat, measured by the value function `value`, by default the game's best one. Raise
        `UsageFault` if there is no such function.
        """
        return luck_of(self.record, value)


def play(
    bots: Sequence[Bot | type[Bot] | str],
    game: str,
    *,
    seed: str | int | None = None,
    config: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
    raises: bool = False,
    say: Callable[[str], None] | None = None,
) -> Played:
    """Play one match between `bots`, in seat order, in this process.

    A bot is an instance, a class whose constructor takes a name, or a word as for `arena tournament`: a reference bot
    (`"greedy"`, `"deep=alphabeta:depth=4"`) or a Python file (`"mine.py"`, `"mine.py:Mine"`). Dice, the bots'
    randomness and the match's id follow from `seed`, names, game and config; if two bots share a name, also from their
    words or classes. Without `seed` a random one is used.

    With a `clock`, each bot is charged for its thinking and may lose on time. A bot that fails loses the match, as in
    an arena, and the failure is passed to `say`, by default printed on standard error. With `raises`, exceptions of a
    bot's code are raised here. Raise `UsageFault` for bots that can't be made and for a bad clock, `UnknownGame` or
    `BadConfig` for a wrong game or config.
    """
    once = [os.urandom(16).hex() if seed is None else seed]
    return next(play_all(bots, game, once, config=config, clock=clock, raises=raises, say=say))


def play_all(
    bots: Sequence[Bot | type[Bot] | str],
    game: str,
    seeds: Iterable[str | int],
    *,
    config: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
    raises: bool = False,
    say: Callable[[str], None] | None = None,
    jobs: int | None = 1,
    dask: str | None = None,
) -> Iterator[Played]:
    """Play a match for every seed as `play` does. Yield the matches in the order of the seeds. Bots are made and warmed
    up once, at the call.

    With `jobs` other than 1, this number of processes plays; None means one process a core. With `dask`, the address of
    a Dask scheduler, the cluster's workers play. Each worker makes its own bots. They begin when the first match is
    requested and play all seeds in batches. The matches do not depend on the workers if bots keep nothing between
    matches. Raise what `play` raises, and `ArenaFault` if the workers are lost for good.
    """
    table = _Table(bots, game, config, clock, raises=raises)
    if jobs == 1 and dask is None:
        table.warm_up()
        return (table.play(str(seed), say or _print_to_author) for seed in seeds)
    if dask is not None and jobs != 1:
        raise UsageFault("jobs is for this machine, dask for a cluster: give one of them")
    if jobs is not None and jobs < 1:
        raise UsageFault(f"jobs is {jobs}: it must be 1 or more, or None for one per core")
    crew = process_pool(jobs or usable_cores()) if dask is None else cluster_pool(dask)
    work = partial(_play_batch, _pickle_arguments((bots, game, config, clock, raises, table.entrants)))
    return _yield_in_order(crew, work, [str(seed) for seed in seeds], say or _print_to_author)


class _Table:
    """The bots of one game in this process, which play matches one after the other."""

    def __init__(
        self,
        bots: Sequence[Bot | type[Bot] | str],
        game: str,
        config: Mapping[str, Any] | None,
        clock: Clock | None,
        *,
        raises: bool,
        entrants: tuple[Any, ...] | None = None,
    ) -> None:
        game = resolve_game(game)
        self._rules = shared_game(game, load_game(game, config).config)  # held here, so that they stay in the cache
        self._clock, self._timed = _check_clock(clock), clock is not None
        if len(bots) != self._rules.seats:
            raise UsageFault(f"{game} has {self._rules.seats} seats under this config, but {len(bots)} bots are given")
        self._bots = [_make_bot(bot) for bot in bots]
        for bot in self._bots:
            bot.check_game(self._rules)
        given = [bot.name for bot in self._bots]
        names = _number_names(given)
        if entrants is None:
            entrants = None if names == given else tuple(map(_identity, bots, self._bots))
        self.entrants = entrants
        """The data that tell apart bots that share a name, by seat; None if all names differ. They enter the match's
        id, so swapping such bots makes another match.
        """
        # A name is seed enough for a bot, as its choices and nonces follow from the match's id as well.
        self._guests = [
            LocalClient(bot, name, name, self._rules, self._tell, raises=raises)
            for bot, name in zip(self._bots, names, strict=True)
        ]
        self._say: Callable[[str], None] = _print_to_author

    def warm_up(self) -> None:
        for bot in self._bots:
            warm_up_bot(bot, self._rules)

    def play(self, seed: str, say: Callable[[str], None]) -> Played:
        """Play one match. Its id follows from the seed, the game, the config, the bots' names and `entrants`."""
        self._say = say
        what = [seed, self._rules.name, self._rules.config, [guest.name for guest in self._guests]]
        told = encode_canonical(what if self.entrants is None else [*what, list(self.entrants)])
        match = f"play-{hashlib.sha256(told).hexdigest()[:16]}"
        secret = hashlib.sha256(f"{seed}/{match}/dice".encode()).digest()
        header = make_local_header(match, secret, self._rules, self._guests, self._clock)
        return Played(seed, LocalMatch(header, secret, self._guests, timed=self._timed).play())

    def _tell(self, line: str) -> None:
        self._say(line)


def _pickle_arguments(arguments: tuple[Any, ...]) -> bytes:
    """Return the pickled arguments of `_Table`, for a worker. Raise `UsageFault` if they can't be pickled."""
    try:
        return pickle.dumps(arguments)
    except (AttributeError, TypeError, pickle.PicklingError) as exc:
        raise UsageFault(
            f"these bots can't be sent to other processes ({exc}): name them, or give their files or classes"
        ) from exc


@lru_cache(maxsize=1)
def _unpickle_table(packed: bytes) -> _Table:
    """Return a worker's `_Table`, made from pickled arguments. The worker keeps it for its next batches of seeds."""
    bots, game, config, clock, raises, entrants = pickle.loads(packed)  # noqa: S301  by this program's own `_pickle_arguments`
    table = _Table(bots, game, config, clock, raises=raises, entrants=entrants)
    table.warm_up()
    return table


def _play_batch(packed: bytes, seeds: Sequence[str]) -> list[tuple[Played, list[str]]]:
    """Play the matches of these seeds in a worker. Return each match with the lines for the bots' authors."""
    table = _unpickle_table(packed)
    done = []
    for seed in seeds:
        said: list[str] = []
        done.append((table.play(seed, said.append), said))
    return done


def _yield_in_order(
    pool: AbstractContextManager[WorkerPool],
    work: Callable[[Sequence[str]], list[tuple[Played, list[str]]]],
    seeds: Sequence[str],
    say: Callable[[str], None],
) -> Iterator[Played]:
    waiting: dict[int, tuple[Played, list[str]]] = {}
    following = 0
    with pool as workers:
        for number, result in spread(workers, work, seeds):
            waiting[number] = result
            while following in waiting:
                played, said = waiting.pop(following)
                for line in said:
                    say(line)
                yield played
                following += 1


def _check_clock(clock: Clock | None) -> Clock:
    """Return the clock that bots see: `clock`, by default `UNTIMED_CLOCK`. Raise `UsageFault` if it is invalid."""
    if clock is None:
        return UNTIMED_CLOCK
    if not isinstance(clock, Clock):
        raise UsageFault(
            f"clock is {short_repr(clock)}: it must be like Clock(bank_ms=10_000, increment_ms=100), or None"
        )
    for key, value, least in (("bank_ms", clock.bank_ms, 1), ("increment_ms", clock.increment_ms, 0)):
        if type(value) is not int or not least <= value <= MAX_CLOCK_MS:
            raise UsageFault(
                f"the clock's {key} is {short_repr(value)}: it must be an integer from {least} to {MAX_CLOCK_MS}"
            )
    return clock


def _make_bot(bot: Bot | type[Bot] | str) -> Bot:
    if isinstance(bot, str):
        return build_bot(parse_bot_spec(bot, ""))
    if isinstance(bot, type) and issubclass(bot, Bot):
        return make_bot(bot, bot.__name__.lower(), {}, {})
    if not isinstance(bot, Bot):
        raise UsageFault(
            f"{short_repr(bot)} is not a bot: give an instance or a subclass of Bot, a reference bot's name, "
            "or a Python file"
        )
    return bot


def _number_names(names: Sequence[str]) -> list[str]:
    """Return the names; repeated names get a number: `mine`, `mine-2`."""
    apart: list[str] = []
    for name in names:
        taken = {fold_name(other) for other in apart}
        choices = (name if number == 1 else f"{name}-{number}" for number in count(1))
        apart.append(next(choice for choice in choices if fold_name(choice) not in taken))
    return apart


def _identity(given: Bot | type[Bot] | str, bot: Bot) -> list[Any]:
    """Return the data that tell a bot from others of the same name: the text that chose the bot, or its class and its
    attributes of `_PLAIN_TYPES`.
    """
    if isinstance(given, str):
        return [given]
    plain = {key: repr(value) for key, value in sorted(vars(bot).items()) if isinstance(value, _PLAIN_TYPES)}
    made = type(bot)
    return [made.__module__, made.__qualname__, getattr(sys.modules.get(made.__module__), "__file__", None), plain]


def _print_to_author(line: str) -> None:
    say(line, err=True)

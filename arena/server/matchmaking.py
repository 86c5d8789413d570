"""Matchmaking: which active seeks are paired into matches."""

from __future__ import annotations

import asyncio
import functools
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from random import Random, SystemRandom
from typing import Any

from arena.host.session import Session
from arena.ratings import ladder_pairing
from arena.server.bot_cache import BotCache
from arena.server.seek_index import (
    ActiveSeek,
    FairQueue,
    MatchSpec,
    SeekIndex,
    agreed,
    match_spec_of,
    open_match_spec,
    people_in,
    pool_of,
    standing_pool,
    with_rating,
)
from machine.token_bucket import TokenBucket
from protocol.games.base import Game
from protocol.messages import MAX_SLOTS, Seek
from protocol.names import folded

BURST = 100
"""The burst allowance of the rate limit per bot, so that short experiments are never delayed."""


class MatchRate:
    """The rate limit of ladder matches per bot: `an_hour` (0: no limit), with a burst of `BURST` after a pause."""

    def __init__(self, an_hour: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = TokenBucket(min(BURST, an_hour), an_hour / 3600) if an_hour else None
        self._clock = clock

    def wait(self, bot: str) -> float:
        """Return the seconds until a bot may start its next match."""
        return 0.0 if self._rate is None else self._rate.wait(bot, self._clock())

    def begin(self, bot: str) -> None:
        """Count a match that a bot starts."""
        if self._rate is not None:
            self._rate.take(bot, self._clock())

    def take_back(self, bot: str) -> None:
        """Count a match less: one that a bot was to start does not begin."""
        if self._rate is not None:
            self._rate.give_back(bot)


MOST = 128
"""A sample of this many playing bots is enough to estimate which opponents will become free."""


class PoolMembers:
    """Bots by the kind of ladder match that each sought last. `plays` says whether a bot is in a match."""

    def __init__(self, plays: Callable[[str], bool], chance: Random) -> None:
        self._plays = plays
        self._chance = chance
        self._kind_of: dict[str, MatchSpec] = {}
        self._by_kind: dict[MatchSpec, dict[str, None]] = {}

    def note(self, bot: str, kind: MatchSpec) -> None:
        """Record the kind of match that a bot seeks."""
        if self._kind_of.get(bot) is not kind:
            self.leave(bot)
            self._kind_of[bot] = kind
            self._by_kind.setdefault(kind, {})[bot] = None

    def leave(self, bot: str) -> None:
        """Remove a disconnected bot."""
        kind = self._kind_of.pop(bot, None)
        if kind is not None:
            bots = self._by_kind[kind]
            del bots[bot]
            if not bots:
                del self._by_kind[kind]

    def playing(self, kind: MatchSpec) -> list[str]:
        """Return the bots of a kind that are in a match, or a sample if there are many."""
        bots = [bot for bot in self._by_kind.get(kind, ()) if self._plays(bot)]
        return bots if len(bots) <= MOST else self._chance.sample(bots, MOST)


GATHER = 0.02
"""The first new seek waits this long for others, in seconds. Later pairing rounds run every second."""
LOOK_AGAIN = 1.0
ALONE = 1.0
"""Seconds for which a seek without named opponents waits for similar seeks before it may pair with open ones."""
NOT_ALONE = ladder_pairing.FULL_WAIT + LOOK_AGAIN
"""The delay if enough similar seeks are active. Those that may meet have been paired by then."""
FILL_EVERY = 0.25
"""Seconds between two rounds of pairing with open seeks and with several named opponents."""
IN_VAIN = 8
"""A round gives up on a game after this many seeks without a full match, since hardly any bot is free then."""
AT_ONCE = 64
"""Seeks compared before the event loop continues, about 1 to 2 ms."""

Begin = Callable[[Sequence[ActiveSeek]], None]


def named(seek: Seek) -> list[str]:
    """Return the opponents that a seek names."""
    return seek.opponents if seek.opponent is None else [seek.opponent, *seek.opponents]


class Matchmaker:
    """Pairs active seeks in periodic rounds until `close`.

    `begin` starts a match of seeks that fit. `bots` has ratings, past encounters and rating permissions. `plays(bot)`
    says whether a bot is in a match. `rate` limits the ladder matches of each bot. While `held()` is true, pairing
    pauses.

    `most(bot)` is the number of matches that may start for a bot; call `again` when it rises from 0. `chance` draws
    among open seeks. `sated(bot, other)` says whether a bot may take no more open seeks of another. `count(sought,
    back)` is called for each seek that becomes active, or with `back` ends.
    """

    def __init__(
        self,
        begin: Begin,
        bots: BotCache,
        plays: Callable[[str], bool],
        held: Callable[[], bool] = lambda: False,
        most: Callable[[str], int] = lambda bot: MAX_SLOTS,
        chance: Random | None = None,
        sated: Callable[[str, str], bool] = lambda bot, other: False,
        rate: MatchRate | None = None,
        count: Callable[[ActiveSeek, bool], None] = lambda sought, back: None,
    ) -> None:
        self._begin = begin
        self._bots = bots
        self._rate = rate or MatchRate()
        self._held = held
        self._most = most
        self._chance = chance or SystemRandom()
        self._sated = sated
        self._waiting = SeekIndex(count)
        self._regulars = PoolMembers(plays, self._chance)
        self._new = FairQueue()
        """Seeks not examined yet. Among all others, no two that name each other could start a match."""
        self._put_off: dict[ActiveSeek, None] = {}
        """Seeks whose match could not start yet, although one names the other's bot."""
        self._alone: OrderedDict[ActiveSeek, None] = OrderedDict()
        """Examined seeks without named opponents, oldest first, that may not pair with open seeks yet."""
        self._wanting: defaultdict[str, FairQueue] = defaultdict(FairQueue)
        """Seeks that may pair with open ones, by game; under "", those that name some of several opponents."""
        self._filled = 0.0
        """The time of the last round for these."""
        self._looking: Iterator[None] | None = None
        """The rest of the current round."""
        self._began = False
        self._timer: asyncio.Handle | None = None
        self._due = 0.0
        self._loop = asyncio.get_running_loop()

    def add(self, session: Session, message: Seek, game: Game[Any, Any] | None) -> None:
        """Add a bot's seek. `game` has the rules, or is None for an open seek."""
        assert session.bot is not None
        opponents = frozenset(map(folded, named(message)))
        named_or_private = bool(opponents) or message.private
        # A person's seek for the slow clock is unrated in the bots' pool, since only unrated matches there can have it.
        slow_person = session.person and message.slow
        ratable = (
            game is not None and message.rated and not named_or_private and not slow_person and game.pool is not None
        )
        if game is None:
            kind = open_match_spec(message.game)
        else:
            kind = match_spec_of(game, rated=ratable and self._bots.may_be_rated(session.bot))
        now = self._loop.time()
        self._put(
            ActiveSeek(
                session,
                session.bot,
                message.id,
                kind,
                opponents,
                now,
                slow=message.slow,
                ratable=ratable,
                private=message.private,
                people_rated=message.rated and not message.private,
                presets=frozenset(message.presets),
            )
        )

    def reconsider(self, bot: str) -> None:
        """Update whether a bot's seeks are rated after its approval changed."""
        for sought in list(self._waiting.of(folded(bot))):
            rated = sought.ratable and self._bots.may_be_rated(bot)
            if rated != sought.kind.rated:
                self._take(sought)
                self._put(replace(sought, kind=with_rating(sought.kind, rated=rated)))

    def _put(self, sought: ActiveSeek) -> None:
        self._waiting.add(sought)
        self._new.add(sought)
        if sought.of_the_ladder and not sought.session.person:
            self._regulars.note(sought.key, sought.kind)
        self._look_in(GATHER)

    def of(self, bot: str) -> Collection[ActiveSeek]:
        """Return a bot's active seeks, oldest first."""
        return self._waiting.of(bot)

    def holds(self, bot: str, seek: str) -> bool:
        """Return whether a bot has an active seek with this id."""
        return self._waiting.find(bot, seek) is not None

    def withdraw(self, bot: str, seek: str) -> None:
        """Withdraw a seek, if it is active."""
        sought = self._waiting.find(bot, seek)
        if sought is not None:
            self._take(sought)

    def take_back(self, group: Sequence[ActiveSeek]) -> None:
        """Count a match of these seeks no more: it does not begin."""
        self._bots.take_back(_met_in(group), [sought.key for sought in group])
        for bot in self._paced_in(group):
            self._rate.take_back(bot)

    def put_back(self, group: Sequence[ActiveSeek]) -> None:
        """Reactivate seeks whose match could not start."""
        for sought in group:
            self._waiting.add(sought)
            self._new.add(sought)

    def leave(self, bot: str) -> list[ActiveSeek]:
        """Withdraw all seeks of a bot, and return them."""
        left = list(self._waiting.of(bot))
        for sought in left:
            self._take(sought)
        self._regulars.leave(bot)
        return left

    def paced(self, bot: str) -> float:
        """Return the seconds for which the rate limit delays a bot's ladder seeks."""
        return self._rate.wait(bot) if any(sought.of_the_ladder for sought in self.of(bot)) else 0.0

    def again(self) -> None:
        """Schedule another round: matches may be possible now that were not before."""
        for sought in self._put_off:
            self._new.add(sought)
        self._put_off.clear()
        if self._next_look() is not None:
            self._look_in(0.0)

    def close(self) -> None:
        """Stop pairing."""
        if self._timer is not None:
            self._timer.cancel()

    def _take(self, sought: ActiveSeek) -> None:
        self._waiting.remove(sought)
        self._new.discard(sought)
        self._put_off.pop(sought, None)
        self._alone.pop(sought, None)
        self._wanted_with(sought).discard(sought)

    def _wanted_with(self, sought: ActiveSeek) -> FairQueue:
        return self._wanting["" if sought.opponents else sought.kind.game]

    def _look_in(self, seconds: float) -> None:
        """Schedule a round after some seconds, unless one is running or due earlier."""
        at = self._loop.time() + seconds
        if self._looking is not None:
            return
        if self._timer is not None:
            if self._due <= at:
                return
            self._timer.cancel()
        self._due = at
        self._timer = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        """Run one step of a round and schedule the next, so that no step blocks the event loop for long."""
        if self._held():
            self._due = self._loop.time() + LOOK_AGAIN
            self._timer = self._loop.call_at(self._due, self._look)
            return
        looking = self._looking
        if looking is None:
            looking, self._began = self._pair(), False
        self._looking = self._timer = None
        if next(looking, self) is None:
            self._looking = looking
            self._timer = self._loop.call_soon(self._look)
        else:
            wait = self._next_look()
            if wait is not None:
                self._look_in(wait)

    def _next_look(self) -> float | None:
        """Return the seconds until the next round is useful; None until something changes."""
        if self._new or (self._began and self._waiting.ripe):
            return GATHER
        now = self._loop.time()
        due = [now + LOOK_AGAIN] if self._waiting.ripe else []
        if any(self._worth_while()):
            due.append(self._filled + FILL_EVERY)
        if self._alone:
            due.append(next(iter(self._alone)).since + ALONE)
        return max(GATHER, min(due) - now) if due else None

    def _worth_while(self) -> Iterator[FairQueue]:
        """Yield the queues that want open seeks or named opponents, and might find some."""
        return (turn for game, turn in self._wanting.items() if turn and (not game or self._waiting.open(game)))

    def _pair(self) -> Iterator[None]:
        """Start all matches that active seeks allow now, step by step, those with named opponents first."""
        for number in range(len(self._new)):  # a fixed count, since new seeks may arrive all the time
            sought = self._new.take()
            if sought is None:
                break
            if self._look_at(sought) or number % AT_ONCE == AT_ONCE - 1:
                yield
        for kind in list(self._waiting.ripe):
            for bots in self._near(kind):
                for group in self._ladder_groups(kind, bots):
                    self._together(group)
                    yield
                yield
        yield from self._fill()

    def _fill(self) -> Iterator[None]:
        """Start matches that take open seeks for missing seats, and matches of several bots that name each other."""
        now = self._loop.time()
        while self._alone and (first := next(iter(self._alone))).since + ALONE <= now:
            del self._alone[first]
            self._wanted_with(first).add(first)
        turns = list(self._worth_while())
        if not turns or now < self._filled + FILL_EVERY:
            return
        self._filled = now
        for turn in turns:
            in_vain = 0
            for _ in range(min(len(turn), AT_ONCE)):
                sought = turn.take() if in_vain < IN_VAIN else None
                if sought is None:
                    break
                company = self._company(sought) if self._has_waited(sought) else ()
                if not company or not self._together(company):
                    turn.add(sought)
                    in_vain += company is None
                yield

    def _has_waited(self, sought: ActiveSeek) -> bool:
        """Return whether a match may start for a seek that has waited long enough for similar ones."""
        still = sought.kind in self._waiting.ripe and self._loop.time() - sought.since < NOT_ALONE
        return self._may_begin(sought.key) and not still

    def _may_begin(self, bot: str) -> bool:
        """Return whether a ladder match may start for a bot."""
        return bool(self._most(bot)) and not self._rate.wait(bot)

    def _look_at(self, sought: ActiveSeek) -> bool:
        """Start the match of a new seek with one that it names or that names it. Return whether one was found."""
        if sought.opponents and sought.kind.seats > 2:
            self._wanted_with(sought).add(sought)
            return False
        other = self._waiting.partner(sought, functools.partial(self._may_meet, sought))
        begun = other is not None and self._together((sought, other))
        if not begun and sought.of_the_ladder:
            self._alone[sought] = None
        if not begun and other is not None:
            for one in (sought, other):
                if one.opponents and not self._may_take(one, sought, other):
                    self._wanted_with(one).add(one)
            self._put_off[sought] = None
        return other is not None

    def _may_meet(self, sought: ActiveSeek, other: str) -> bool:
        """Return whether a match may start for a bot, and with this seek if that is open."""
        return bool(self._most(other)) and not (sought.kind.open and self._sated(other, sought.key))

    def _may_take(self, sought: ActiveSeek, *others: ActiveSeek) -> bool:
        """Return whether a seek may take the open ones among others: no opponent gets all slots of an open bot."""
        return sought.kind.open or not any(other.kind.open and self._sated(sought.key, other.key) for other in others)

    def _together(self, group: Sequence[ActiveSeek]) -> bool:
        """Start a match, unless a seek was withdrawn or its bot may start none now. Return whether it started."""
        if not all(one in self._waiting and self._most(one.key) and self._may_take(one, *group) for one in group):
            return False
        paced = self._paced_in(group)
        if any(map(self._rate.wait, paced)):  # a bot with many slots may have used up its rate in this round
            return False
        for sought in group:
            self._take(sought)
        self._began = True
        self._bots.begin(_met_in(group), [sought.key for sought in group])
        for bot in paced:
            self._rate.begin(bot)
        self._begin(group)
        return True

    @staticmethod
    def _paced_in(group: Sequence[ActiveSeek]) -> list[str]:
        """Return the bots for whose rate limit a match between these seeks counts; none if an opponent is named."""
        return [] if any(one.opponents for one in group) else [one.key for one in group if one.of_the_ladder]

    def _company(self, sought: ActiveSeek) -> list[ActiveSeek] | None:
        """Return a seek with the ones it names, similar ones and open ones; None if they do not fill the seats."""
        kind, group = sought.kind, [sought]
        for opponent in sought.opponents:
            answer = self._waiting.answer(kind, opponent, frozenset((sought.key, *sought.opponents)))
            if answer is None:
                return None
            group.append(answer)
        group += self._drawn(group, kind, self._waiting.unnamed(kind))
        group += self._drawn(group, kind, self._waiting.open(kind.game))
        return group if len(group) == kind.seats else None

    def _drawn(
        self, group: Sequence[ActiveSeek], kind: MatchSpec, seeks: Mapping[str, Mapping[str, ActiveSeek]]
    ) -> list[ActiveSeek]:
        """Draw seeks for the free seats of a group from seeks by bot, among those that may be taken now."""
        seats = kind.seats - len(group)
        if not seats:
            return []
        looked_at = seeks if len(seeks) <= AT_ONCE else self._chance.sample(list(seeks), AT_ONCE)
        there = {sought.key for sought in group}
        fitting = {bot: next((one for one in seeks[bot].values() if one.takes(kind)), None) for bot in looked_at}
        first = {bot: one for bot, one in fitting.items() if one is not None and bot not in there and self._most(bot)}
        free = [
            self._seeker(bot, (*group, other))
            for bot, other in first.items()
            if self._may_take(group[0], other) and not any(map(self._rate.wait, self._paced_in((*group, other))))
        ]
        draw_opponents = ladder_pairing.draw_opponents(self._seeker(group[0].key, group), free, seats, self._chance)
        return [first[seeker.bot] for seeker in draw_opponents]

    def _seeker(self, bot: str, group: Sequence[ActiveSeek]) -> ladder_pairing.Seeker:
        """Return a bot's rating and history in the pool that a match between these seeks counts for."""
        mu, sigma = self._bots.rating(bot, standing_pool(group))
        pool = _met_in(group)
        met, played = self._bots.met(bot, pool), self._bots.encounters(bot, pool)
        spent = self._bots.spent(bot, pool_of(group))
        return ladder_pairing.Seeker(bot, mu, sigma, met=met, played=played, spent=spent)

    def _near(self, kind: MatchSpec) -> Iterator[list[str]]:
        """Return the bots with ladder seeks of a kind, sorted by rating and split into batches for comparison."""
        waiting = self._waiting.unnamed(kind)
        free = {bot: next(iter(seeks.values())) for bot, seeks in waiting.items() if self._may_begin(bot)}
        bots = sorted(free, key=lambda bot: self._bots.rating(bot, standing_pool((free[bot],))))
        parts = -(-len(bots) // AT_ONCE)
        return (bots[len(bots) * part // parts : len(bots) * (part + 1) // parts] for part in range(parts))

    def _ladder_groups(self, kind: MatchSpec, bots: Sequence[str]) -> list[tuple[ActiveSeek, ...]]:
        """Return groups for matches: first those with people, by their ratings among people, then those of bots."""
        waiting = self._waiting.unnamed(kind)
        seeks = [
            sought
            for bot in bots
            for sought in islice(waiting.get(bot, {}).values(), min(self._most(bot), AT_ONCE // len(bots)))
        ]
        people = people_in(seeks)
        if not people:
            return self._grouped(seeks, [])
        with_people = self._grouped(seeks, people)
        taken = {sought for group in with_people for sought in group}
        return with_people + self._grouped([one for one in seeks if one not in taken and one not in people], [])

    def _grouped(self, seeks: Sequence[ActiveSeek], people: Sequence[ActiveSeek]) -> list[tuple[ActiveSeek, ...]]:
        """Group seeks of one kind; if some are `people`, return only groups that include one of them."""
        if not seeks:
            return []
        seekers = [
            replace(self._seeker(sought.key, (sought, *people)), since=sought.since, key=sought) for sought in seeks
        ]
        if people:  # else frequent players would wait for bots to catch up, which seldom play with people
            seekers = [replace(seeker, played=0) for seeker in seekers]
        playing = [self._seeker(bot, (seeks[0], *people)) for bot in self._regulars.playing(seeks[0].kind)]
        groups = ladder_pairing.ladder_groups(
            seekers,
            self._loop.time(),
            seats=seeks[0].kind.seats,
            playing=playing,
            only={sought.key for sought in people} if people else None,
        )
        return [tuple(seeker.key for seeker in group) for group in groups]


def _met_in(group: Sequence[ActiveSeek]) -> str:
    """Return the pool, or GAME/unrated, under which the store counts meetings in such a match."""
    return pool_of(group) or f"{agreed(group).game}/unrated"

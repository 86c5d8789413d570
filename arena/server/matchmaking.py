"""Who plays whom: the matches that the seeks in force make."""

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
"""Matches that a bot may begin ahead of its pace: nobody waits who tries something out."""


class MatchRate:
    """So many matches `an_hour` for each bot, 0: any number; after a rest `BURST` of them one after another."""

    def __init__(self, an_hour: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = TokenBucket(min(BURST, an_hour), an_hour / 3600) if an_hour else None
        self._clock = clock

    def wait(self, bot: str) -> float:
        """Seconds until a bot may begin its next match."""
        return 0.0 if self._rate is None else self._rate.wait(bot, self._clock())

    def begin(self, bot: str) -> None:
        """A bot begins a match."""
        if self._rate is not None:
            self._rate.take(bot, self._clock())


MOST = 128
"""So many are told: it is an estimate of who else there is."""


class PoolMembers:
    """Bots by the kind of match that they sought last, naming nobody. `plays` says who is in a match."""

    def __init__(self, plays: Callable[[str], bool], chance: Random) -> None:
        self._plays = plays
        self._chance = chance
        self._kind_of: dict[str, MatchSpec] = {}
        self._by_kind: dict[MatchSpec, dict[str, None]] = {}

    def note(self, bot: str, kind: MatchSpec) -> None:
        """A bot seeks."""
        if self._kind_of.get(bot) is not kind:
            self.leave(bot)
            self._kind_of[bot] = kind
            self._by_kind.setdefault(kind, {})[bot] = None

    def leave(self, bot: str) -> None:
        """A bot is gone."""
        kind = self._kind_of.pop(bot, None)
        if kind is not None:
            bots = self._by_kind[kind]
            del bots[bot]
            if not bots:
                del self._by_kind[kind]

    def playing(self, kind: MatchSpec) -> list[str]:
        """Those of a kind that are in a match, or some of them where they are many."""
        bots = [bot for bot in self._by_kind.get(kind, ()) if self._plays(bot)]
        return bots if len(bots) <= MOST else self._chance.sample(bots, MOST)


GATHER = 0.02
"""How long the first new seek waits for company, in seconds; after that seeks are looked at every second."""
LOOK_AGAIN = 1.0
ALONE = 1.0
"""Seconds for which a seek that names nobody waits for others like it, before it takes open ones."""
NOT_ALONE = ladder_pairing.FULL_WAIT + LOOK_AGAIN
"""The same where there are enough others like it: by then they have met, if they may."""
FILL_EVERY = 0.25
"""Seconds between two looks at who wants open seeks, or somebody that it names."""
IN_VAIN = 8
"""How many of them may find too few, of each game, until the next such look: then hardly anybody is free."""
AT_ONCE = 64
"""Seeks that are compared before the loop goes on: a millisecond or two."""

Begin = Callable[[Sequence[ActiveSeek]], None]


def named(seek: Seek) -> list[str]:
    """The opponents that a seek names."""
    return seek.opponents if seek.opponent is None else [seek.opponent, *seek.opponents]


class Matchmaker:
    """The seeks in force, looked at now and then until `close`.

    `begin` starts a match of seeks that fit; `bots` knows ratings, who met whom how often and who may be rated;
    `plays(bot)`: whether it is in a match. No bot begins more matches of the ladder than its `rate` allows.
    While `held` says so, all of them wait. `most(bot)`: how many matches may begin for a bot that seeks; when it is not
    0 any more, `again` is called. `chance` draws among open seeks; `sated(bot, other)`: whether a bot plays as much
    with another one as it may take of its open seeks. `count(sought, back)` is told of each seek that is in force from
    now on, or, with `back`, no longer.
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
        """Those that were not looked at yet. No two of the others name each other and might begin."""
        self._put_off: dict[ActiveSeek, None] = {}
        """Those whose match might not begin yet; the partner names it, or is named."""
        self._alone: OrderedDict[ActiveSeek, None] = OrderedDict()
        """Those that name nobody and were looked at, as they came: they may not take open ones yet."""
        self._wanting: defaultdict[str, FairQueue] = defaultdict(FairQueue)
        """By game those that may, and under "" those that name some of several."""
        self._filled = 0.0
        """When these were looked at."""
        self._looking: Iterator[None] | None = None
        """What is left of the look that goes on now."""
        self._began = False
        self._timer: asyncio.Handle | None = None
        self._due = 0.0
        self._loop = asyncio.get_running_loop()

    def add(self, session: Session, message: Seek, game: Game[Any, Any] | None) -> None:
        """Put a bot's seek in force; without the game's rules one that is open."""
        assert session.bot is not None
        opponents = frozenset(map(folded, named(message)))
        named_or_private = bool(opponents) or message.private
        # Who asks for the slow clock finds it where matches are unrated, which a person's may be among bots alone.
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
        """Have the matches that a bot seeks be rated or not, as may be now."""
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
        """The seeks of a bot in force, in the order in which they came."""
        return self._waiting.of(bot)

    def holds(self, bot: str, seek: str) -> bool:
        """Whether a bot's seek is in force."""
        return self._waiting.find(bot, seek) is not None

    def withdraw(self, bot: str, seek: str) -> None:
        """Take a seek back, if it is in force."""
        sought = self._waiting.find(bot, seek)
        if sought is not None:
            self._take(sought)

    def put_back(self, group: Sequence[ActiveSeek]) -> None:
        """In force again: their match could not begin."""
        for sought in group:
            self._waiting.add(sought)
            self._new.add(sought)

    def leave(self, bot: str) -> list[ActiveSeek]:
        """Take all of a bot's seeks back: which they were."""
        left = list(self._waiting.of(bot))
        for sought in left:
            self._take(sought)
        self._regulars.leave(bot)
        return left

    def paced(self, bot: str) -> float:
        """Seconds for which the pace of the ladder holds a bot's seeks."""
        return self._rate.wait(bot) if any(sought.of_the_ladder for sought in self.of(bot)) else 0.0

    def again(self) -> None:
        """Look again, as matches may begin that could not before."""
        for sought in self._put_off:
            self._new.add(sought)
        self._put_off.clear()
        if self._next_look() is not None:
            self._look_in(0.0)

    def close(self) -> None:
        """Pair no more."""
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
        """Look again in so many seconds, unless that goes on now or is due before."""
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
        """Do one piece of a look and leave the others to the next turns of the loop: nobody waits for all of it."""
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
        """Seconds until it is worth while to look again; None: not before something changes."""
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
        """Those that want open seeks, or somebody they name, and might find them."""
        return (turn for game, turn in self._wanting.items() if turn and (not game or self._waiting.open(game)))

    def _pair(self) -> Iterator[None]:
        """Begin every match that the seeks in force allow now, those that name an opponent first, piece by piece."""
        for number in range(len(self._new)):  # and not until there are none: more may come all the time
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
        """Begin matches in which open seeks take the seats that are left, and those of several who name each other."""
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
        """Whether a match may begin for a seek, and there is no more to be hoped from others like it."""
        still = sought.kind in self._waiting.ripe and self._loop.time() - sought.since < NOT_ALONE
        return self._may_begin(sought.key) and not still

    def _may_begin(self, bot: str) -> bool:
        """Whether a match of the ladder may begin for a bot."""
        return bool(self._most(bot)) and not self._rate.wait(bot)

    def _look_at(self, sought: ActiveSeek) -> bool:
        """Begin the match of a new seek with one that it names, or that names it; whether there is one."""
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
        """Whether a match may begin for a bot, and with this seek if that is open."""
        return bool(self._most(other)) and not (sought.kind.open and self._sated(other, sought.key))

    def _may_take(self, sought: ActiveSeek, *others: ActiveSeek) -> bool:
        """Whether a seek may take those of the others that are open: nobody has all the matches of an open bot."""
        return sought.kind.open or not any(other.kind.open and self._sated(sought.key, other.key) for other in others)

    def _together(self, group: Sequence[ActiveSeek]) -> bool:
        """Begin a match, unless a seek was taken back since the group was made, or its bot may begin none now."""
        if not all(one in self._waiting and self._most(one.key) and self._may_take(one, *group) for one in group):
            return False
        paced = self._paced_in(group)
        if any(map(self._rate.wait, paced)):  # a bot of many slots may have used it up in this look
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
        """The bots to whose pace a match between these counts: where somebody is named, none."""
        return [] if any(one.opponents for one in group) else [one.key for one in group if one.of_the_ladder]

    def _company(self, sought: ActiveSeek) -> list[ActiveSeek] | None:
        """A seek with those it names, those like it, and open ones for the other seats; None: they are too few."""
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
        """Of seeks by bot as many as seats are left beside a group, or those that it may take now."""
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
        """A bot as a match between these would find it: by the pool that it counts in."""
        mu, sigma = self._bots.rating(bot, standing_pool(group))
        pool = _met_in(group)
        met, played = self._bots.met(bot, pool), self._bots.encounters(bot, pool)
        spent = self._bots.spent(bot, pool_of(group))
        return ladder_pairing.Seeker(bot, mu, sigma, met=met, played=played, spent=spent)

    def _near(self, kind: MatchSpec) -> Iterator[list[str]]:
        """The bots with seeks of a kind that name nobody, by rating, in parts small enough to be compared at once."""
        waiting = self._waiting.unnamed(kind)
        free = {bot: next(iter(seeks.values())) for bot, seeks in waiting.items() if self._may_begin(bot)}
        bots = sorted(free, key=lambda bot: self._bots.rating(bot, standing_pool((free[bot],))))
        parts = -(-len(bots) // AT_ONCE)
        return (bots[len(bots) * part // parts : len(bots) * (part + 1) // parts] for part in range(parts))

    def _ladder_groups(self, kind: MatchSpec, bots: Sequence[str]) -> list[tuple[ActiveSeek, ...]]:
        """Groups for matches: first those of people, by where they and bots stand among people, then those of bots."""
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
        """Groups of seeks of one kind; where there are `people` among them, only groups for these."""
        if not seeks:
            return []
        seekers = [
            replace(self._seeker(sought.key, (sought, *people)), since=sought.since, key=sought) for sought in seeks
        ]
        if people:  # who has played much waits for the others to catch up: bots hardly do among people
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
    """Where a meeting in a match between seeks that fit is counted, as the store does."""
    return pool_of(group) or f"{agreed(group).game}/unrated"

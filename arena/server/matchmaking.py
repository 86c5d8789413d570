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

from arena.host.session import ClientSession
from arena.ratings import ladder_pairing
from arena.server.bot_cache import BotCache
from arena.server.seek_index import (
    ActiveSeek,
    FairSeekQueue,
    MatchSpec,
    SeekIndex,
    agreed_spec,
    match_spec_of,
    open_match_spec,
    pool_of,
    seeks_of_people,
    standing_pool,
    with_rating,
)
from machine.token_bucket import TokenBucket
from protocol.games.base import Game
from protocol.messages import MAX_SLOTS, Seek
from protocol.names import fold_name

RATE_BURST_MATCHES = 100
"""The number of ladder matches that a bot may start in quick succession after a pause, before the rate limit delays it.
So short experiments are never delayed.
"""


class MatchRate:
    """The rate limit on ladder matches of each bot: `per_hour` (0: no limit), with a burst of `RATE_BURST_MATCHES`
    after a pause.
    """

    def __init__(self, per_hour: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = TokenBucket(min(RATE_BURST_MATCHES, per_hour), per_hour / 3600) if per_hour else None
        self._clock = clock

    def wait_s(self, bot: str) -> float:
        """Return the seconds until a bot may start its next ladder match; 0 if it may now."""
        return 0.0 if self._rate is None else self._rate.seconds_until_token(bot, self._clock())

    def begin(self, bot: str) -> None:
        """Count a match that a bot starts towards the bot's rate limit."""
        if self._rate is not None:
            self._rate.take(bot, self._clock())

    def uncount(self, bot: str) -> None:
        """Undo `begin` for a match that does not begin after all."""
        if self._rate is not None:
            self._rate.give_back(bot)


MAX_PLAYING_SAMPLE = 128
"""Maximum number of bots in matches that a pairing round considers. Such a sample is enough to estimate which opponents
will soon become free.
"""


class PoolMembers:
    """Bots grouped by the kind of ladder match that each last sought. `is_playing(bot)` says if it is in a match."""

    def __init__(self, is_playing: Callable[[str], bool], rng: Random) -> None:
        self._plays = is_playing
        self._chance = rng
        self._kind_of: dict[str, MatchSpec] = {}
        self._by_kind: dict[MatchSpec, dict[str, None]] = {}

    def record(self, bot: str, spec: MatchSpec) -> None:
        if self._kind_of.get(bot) is not spec:
            self.remove(bot)
            self._kind_of[bot] = spec
            self._by_kind.setdefault(spec, {})[bot] = None

    def remove(self, bot: str) -> None:
        spec = self._kind_of.pop(bot, None)
        if spec is not None:
            bots = self._by_kind[spec]
            del bots[bot]
            if not bots:
                del self._by_kind[spec]

    def playing(self, spec: MatchSpec) -> list[str]:
        """Return the bots that last sought this kind of match and now play; a sample if there are many of them."""
        bots = [bot for bot in self._by_kind.get(spec, ()) if self._plays(bot)]
        return bots if len(bots) <= MAX_PLAYING_SAMPLE else self._chance.sample(bots, MAX_PLAYING_SAMPLE)


NEW_SEEK_DELAY_S = 0.02
"""Seconds from a new seek to the next pairing round, so that seeks that arrive together are paired together."""
PAIRING_INTERVAL_S = 1.0
"""Seconds between two pairing rounds while no new seeks arrive."""
OPEN_FALLBACK_DELAY_S = 1.0
"""Seconds for which a seek without named opponents waits for similar seeks, before it may be paired with open seeks."""
OPEN_FALLBACK_DELAY_POPULATED_S = ladder_pairing.MEAN_MAX_WAIT_S + PAIRING_INTERVAL_S
"""Seconds for which a seek waits before it may be paired with open seeks, while enough similar seeks for a match are
active. Otherwise it waits for `OPEN_FALLBACK_DELAY_S`. In this time, similar seeks that may be paired are paired.
"""
OPEN_PAIRING_INTERVAL_S = 0.25
"""Minimum seconds between two pairing rounds that include open seeks and seeks with several named opponents."""
MAX_FAILED_FILLS = 8
"""Number of seeks without enough partners after which a pairing round leaves an open queue and tries the next one. So
many failures mean that few bots are free.
"""
PAIRING_BATCH_SIZE = 64
"""The number of seeks that are compared before the event loop does other work. Comparing them takes 1 to 2 ms."""

Begin = Callable[[Sequence[ActiveSeek]], None]


def named_opponents(seek: Seek) -> list[str]:
    return seek.opponents if seek.opponent is None else [seek.opponent, *seek.opponents]


class Matchmaker:
    """Pairs active seeks in periodic rounds until `close`. While `is_paused()` is true, pairing pauses.

    - `start_match` starts a match of seeks that fit together.
    - `bots` has ratings, past encounters, and whether a bot's matches may be rated.
    - `is_playing(bot)` says whether a bot is in a match. `rate` limits the ladder matches of each bot.
    - `capacity(bot)` is the number of matches that may start for a bot. Call `reschedule` when it rises from 0.
    - `is_at_open_limit(bot, other)` says whether `bot` may take no more open seeks of `other`.
    - `rng` draws among open seeks.
    - `on_seek_changed(seek, has_ended)` is called when a seek becomes active, and again when it ends.
    """

    def __init__(
        self,
        start_match: Begin,
        bots: BotCache,
        is_playing: Callable[[str], bool],
        is_paused: Callable[[], bool] = lambda: False,
        capacity: Callable[[str], int] = lambda bot: MAX_SLOTS,
        rng: Random | None = None,
        is_at_open_limit: Callable[[str, str], bool] = lambda bot, other: False,
        rate: MatchRate | None = None,
        on_seek_changed: Callable[[ActiveSeek, bool], None] = lambda sought, back: None,
    ) -> None:
        self._begin = start_match
        self._bots = bots
        self._rate = rate or MatchRate()
        self._held = is_paused
        self._most = capacity
        self._chance = rng or SystemRandom()
        self._sated = is_at_open_limit
        self._waiting = SeekIndex(on_seek_changed)
        self._pool_members = PoolMembers(is_playing, self._chance)
        self._new = FairSeekQueue()
        """Seeks that no pairing round has examined yet. A round looks for a partner by name for each of them (see
        `_pair_new`). Two examined seeks are not compared again: no match by name between them could start.
        """
        self._postponed: dict[ActiveSeek, None] = {}
        """Examined seeks that have a partner by name, but whose match could not start yet. Each names its partner's
        bot, or its partner names its bot. `reschedule` has them examined again.
        """
        self._waiting_for_similar: OrderedDict[ActiveSeek, None] = OrderedDict()
        """Examined ladder seeks that wait for similar seeks and may not be paired with open seeks yet, oldest first.
        After `OPEN_FALLBACK_DELAY_S`, they move to `_open_queues`.
        """
        self._open_queues: defaultdict[str, FairSeekQueue] = defaultdict(FairSeekQueue)
        """The seeks that wait to be paired with open seeks, by game. The key "" has the seeks that name opponents, and
        may wait for these instead.
        """
        self._last_fill = 0.0
        """The time of the last pairing round that examined the open queues."""
        self._round: Iterator[None] | None = None
        """The remaining steps of the current pairing round; None between two rounds."""
        self._began = False
        self._timer: asyncio.Handle | None = None
        self._due = 0.0
        self._loop = asyncio.get_running_loop()

    def add(self, session: ClientSession, message: Seek, game: Game[Any, Any] | None) -> None:
        """Make a bot's seek active. `game` has the rules of its game and config; None for an open seek."""
        assert session.bot is not None
        opponents = frozenset(map(fold_name, named_opponents(message)))
        named_or_private = bool(opponents) or message.private
        # A person's seek for the slow clock is unrated in the bots' pool, since only unrated matches there can have it.
        slow_person = session.is_person and message.slow
        ratable = (
            game is not None and message.rated and not named_or_private and not slow_person and game.pool is not None
        )
        if game is None:
            spec = open_match_spec(message.game)
        else:
            spec = match_spec_of(game, rated=ratable and self._bots.may_be_rated(session.bot))
        now = self._loop.time()
        self._activate(
            ActiveSeek(
                session,
                session.bot,
                message.id,
                spec,
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
        """Decide again whether a bot's seeks are for rated matches, because the bot's approval changed."""
        for seek in list(self._waiting.seeks_of(fold_name(bot))):
            rated = seek.ratable and self._bots.may_be_rated(bot)
            if rated != seek.spec.rated:
                self._remove(seek)
                self._activate(replace(seek, spec=with_rating(seek.spec, rated=rated)))

    def _activate(self, seek: ActiveSeek) -> None:
        self._waiting.add(seek)
        self._new.add(seek)
        if seek.is_ladder_seek and not seek.session.is_person:
            self._pool_members.record(seek.key, seek.spec)
        self._schedule(NEW_SEEK_DELAY_S)

    def seeks_of(self, bot: str) -> Collection[ActiveSeek]:
        """Return a bot's active seeks, oldest first."""
        return self._waiting.seeks_of(bot)

    def has_seek(self, bot: str, seek_id: str) -> bool:
        return self._waiting.find(bot, seek_id) is not None

    def withdraw(self, bot: str, seek_id: str) -> None:
        """Withdraw a seek. Do nothing if it is not active."""
        seek = self._waiting.find(bot, seek_id)
        if seek is not None:
            self._remove(seek)

    def uncount_match(self, group: Sequence[ActiveSeek]) -> None:
        """No longer count a match of these seeks in encounters and rate limits, because it does not begin after all."""
        self._bots.uncount_encounter(_met_in(group), [sought.key for sought in group])
        for bot in self._paced_in(group):
            self._rate.uncount(bot)

    def restore(self, group: Sequence[ActiveSeek]) -> None:
        """Make these seeks active again, because their match could not start."""
        for seek in group:
            self._waiting.add(seek)
            self._new.add(seek)

    def withdraw_all(self, bot: str) -> list[ActiveSeek]:
        """Withdraw all seeks of a bot, and return them."""
        left = list(self._waiting.seeks_of(bot))
        for seek in left:
            self._remove(seek)
        self._pool_members.remove(bot)
        return left

    def rate_delay_s(self, bot: str) -> float:
        """Return the seconds for which the rate limit delays a bot's ladder seeks; 0 if it has no such seeks."""
        return self._rate.wait_s(bot) if any(seek.is_ladder_seek for seek in self.seeks_of(bot)) else 0.0

    def reschedule(self) -> None:
        """Schedule another pairing round, because matches may have become possible."""
        for seek in self._postponed:
            self._new.add(seek)
        self._postponed.clear()
        if self._next_look() is not None:
            self._schedule(0.0)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _remove(self, seek: ActiveSeek) -> None:
        self._waiting.remove(seek)
        self._new.discard(seek)
        self._postponed.pop(seek, None)
        self._waiting_for_similar.pop(seek, None)
        self._wanted_with(seek).discard(seek)

    def _wanted_with(self, seek: ActiveSeek) -> FairSeekQueue:
        return self._open_queues["" if seek.opponents else seek.spec.game]

    def _schedule(self, seconds: float) -> None:
        """Schedule a pairing round after some seconds. Do nothing if a round is running or is due earlier."""
        at = self._loop.time() + seconds
        if self._round is not None:
            return
        if self._timer is not None:
            if self._due <= at:
                return
            self._timer.cancel()
        self._due = at
        self._timer = self._loop.call_at(at, self._run_round)

    def _run_round(self) -> None:
        """Run one step of a pairing round, and schedule the next step. So no round blocks the event loop for long."""
        if self._held():
            self._due = self._loop.time() + PAIRING_INTERVAL_S
            self._timer = self._loop.call_at(self._due, self._run_round)
            return
        looking = self._round
        if looking is None:
            looking, self._began = self._pair(), False
        self._round = self._timer = None
        if next(looking, self) is None:
            self._round = looking
            self._timer = self._loop.call_soon(self._run_round)
        else:
            wait = self._next_look()
            if wait is not None:
                self._schedule(wait)

    def _next_look(self) -> float | None:
        """Return the seconds until the next useful pairing round; None if it has to wait for something to change."""
        if self._new or (self._began and self._waiting.fillable_specs):
            return NEW_SEEK_DELAY_S
        now = self._loop.time()
        due = [now + PAIRING_INTERVAL_S] if self._waiting.fillable_specs else []
        if any(self._open_queues_with_candidates()):
            due.append(self._last_fill + OPEN_PAIRING_INTERVAL_S)
        if self._waiting_for_similar:
            due.append(next(iter(self._waiting_for_similar)).since + OPEN_FALLBACK_DELAY_S)
        return max(NEW_SEEK_DELAY_S, min(due) - now) if due else None

    def _open_queues_with_candidates(self) -> Iterator[FairSeekQueue]:
        """Yield the open queues with seeks that might be paired now. Leave out the queues of games that have no open
        seeks.
        """
        return (turn for game, turn in self._open_queues.items() if turn and (not game or self._waiting.open(game)))

    def _pair(self) -> Iterator[None]:
        """Start all matches that active seeks allow now, first those that name opponents. Yield after each step."""
        for number in range(len(self._new)):  # a fixed count, since new seeks may arrive all the time
            seek = self._new.take()
            if seek is None:
                break
            if self._pair_new(seek) or number % PAIRING_BATCH_SIZE == PAIRING_BATCH_SIZE - 1:
                yield
        for spec in list(self._waiting.fillable_specs):
            for bots in self._rating_buckets(spec):
                for group in self._ladder_groups(spec, bots):
                    self._try_start(group)
                    yield
                yield
        yield from self._fill()

    def _fill(self) -> Iterator[None]:
        """Start matches that need open seeks to fill seats, and matches of several bots that name each other. Yield
        after each step.
        """
        now = self._loop.time()
        while (
            self._waiting_for_similar
            and (first := next(iter(self._waiting_for_similar))).since + OPEN_FALLBACK_DELAY_S <= now
        ):
            del self._waiting_for_similar[first]
            self._wanted_with(first).add(first)
        turns = list(self._open_queues_with_candidates())
        if not turns or now < self._last_fill + OPEN_PAIRING_INTERVAL_S:
            return
        self._last_fill = now
        for turn in turns:
            in_vain = 0
            for _ in range(min(len(turn), PAIRING_BATCH_SIZE)):
                seek = turn.take() if in_vain < MAX_FAILED_FILLS else None
                if seek is None:
                    break
                company = self._find_group(seek) if self._has_waited(seek) else ()
                if not company or not self._try_start(company):
                    turn.add(seek)
                    in_vain += company is None
                yield

    def _has_waited(self, seek: ActiveSeek) -> bool:
        """Return true if the seek's bot may start a match now and the seek has waited long enough for similar seeks."""
        still = (
            seek.spec in self._waiting.fillable_specs
            and self._loop.time() - seek.since < OPEN_FALLBACK_DELAY_POPULATED_S
        )
        return self._may_begin(seek.key) and not still

    def _may_begin(self, bot: str) -> bool:
        """Return whether a ladder match may start for a bot now."""
        return bool(self._most(bot)) and not self._rate.wait_s(bot)

    def _pair_new(self, seek: ActiveSeek) -> bool:
        """Find a partner by name for a new seek: a seek that names its bot, or a seek of the bot that it names. Try to
        start their match. Return whether there is such a partner.
        """
        if seek.opponents and seek.spec.seats > 2:
            self._wanted_with(seek).add(seek)
            return False
        other = self._waiting.find_partner(seek, functools.partial(self._may_meet, seek))
        begun = other is not None and self._try_start((seek, other))
        if not begun and seek.is_ladder_seek:
            self._waiting_for_similar[seek] = None
        if not begun and other is not None:
            for one in (seek, other):
                if one.opponents and not self._may_take(one, seek, other):
                    self._wanted_with(one).add(one)
            self._postponed[seek] = None
        return other is not None

    def _may_meet(self, seek: ActiveSeek, other: str) -> bool:
        """Return whether the bot `other` may start a match with the bot of `seek` now. If `seek` is open, `other` must
        be allowed to take one more open seek of that bot.
        """
        return bool(self._most(other)) and not (seek.spec.open and self._sated(other, seek.key))

    def _may_take(self, seek: ActiveSeek, *others: ActiveSeek) -> bool:
        """Return whether a seek's bot may take the open seeks among `others`. It may not if it plays too many matches
        with one of their bots already.
        """
        return seek.spec.open or not any(other.spec.open and self._sated(seek.key, other.key) for other in others)

    def _try_start(self, group: Sequence[ActiveSeek]) -> bool:
        """Start a match of seeks and return True. Return False if a seek was withdrawn or its bot may not play now."""
        if not all(one in self._waiting and self._most(one.key) and self._may_take(one, *group) for one in group):
            return False
        paced = self._paced_in(group)
        if any(map(self._rate.wait_s, paced)):  # a bot with many slots may have used up its rate in this round
            return False
        for seek in group:
            self._remove(seek)
        self._began = True
        self._bots.count_encounter(_met_in(group), [sought.key for sought in group])
        for bot in paced:
            self._rate.begin(bot)
        self._begin(group)
        return True

    @staticmethod
    def _paced_in(group: Sequence[ActiveSeek]) -> list[str]:
        """Return the bots whose rate limits count a match of these seeks: none if a seek names an opponent."""
        return [] if any(one.opponents for one in group) else [one.key for one in group if one.is_ladder_seek]

    def _find_group(self, seek: ActiveSeek) -> list[ActiveSeek] | None:
        """Return seeks for all seats of a match: this seek, seeks of the bots that it names, similar seeks and open
        seeks. Return None if there are too few.
        """
        spec, group = seek.spec, [seek]
        for opponent in seek.opponents:
            answer = self._waiting.find_answer(spec, opponent, frozenset((seek.key, *seek.opponents)))
            if answer is None:
                return None
            group.append(answer)
        group += self._sample_seeks(group, spec, self._waiting.unnamed(spec))
        group += self._sample_seeks(group, spec, self._waiting.open(spec.game))
        return group if len(group) == spec.seats else None

    def _sample_seeks(
        self, group: Sequence[ActiveSeek], spec: MatchSpec, seeks: Mapping[str, Mapping[str, ActiveSeek]]
    ) -> list[ActiveSeek]:
        """Draw seeks for the free seats of a group, and return them. `seeks` are the candidates, by bot and id. Only
        seeks that fit the group and may start a match now are drawn, at most one of each bot.
        """
        seats = spec.seats - len(group)
        if not seats:
            return []
        looked_at = seeks if len(seeks) <= PAIRING_BATCH_SIZE else self._chance.sample(list(seeks), PAIRING_BATCH_SIZE)
        there = {seek.key for seek in group}
        fitting = {bot: next((one for one in seeks[bot].values() if one.accepts(spec)), None) for bot in looked_at}
        first = {bot: one for bot, one in fitting.items() if one is not None and bot not in there and self._most(bot)}
        free = [
            self._seeker(bot, (*group, other))
            for bot, other in first.items()
            if self._may_take(group[0], other) and not any(map(self._rate.wait_s, self._paced_in((*group, other))))
        ]
        draw_opponents = ladder_pairing.draw_opponents(self._seeker(group[0].key, group), free, seats, self._chance)
        return [first[seeker.bot] for seeker in draw_opponents]

    def _seeker(self, bot: str, group: Sequence[ActiveSeek]) -> ladder_pairing.Seeker:
        """Return a bot's entry for pairing: its rating, and its encounters with other bots. Both are those in the pool
        to which a match of the seeks in `group` would belong.
        """
        mu, sigma = self._bots.rating(bot, standing_pool(group))
        pool = _met_in(group)
        met, played = self._bots.encounter_counts(bot, pool), self._bots.total_encounters(bot, pool)
        spent = self._bots.opponents_at_limit(bot, pool_of(group))
        return ladder_pairing.Seeker(bot, mu, sigma, meetings=met, played=played, avoided=spent)

    def _rating_buckets(self, spec: MatchSpec) -> Iterator[list[str]]:
        """Return the bots with ladder seeks of one kind, in batches by rating. Only bots in one batch are compared."""
        waiting = self._waiting.unnamed(spec)
        free = {bot: next(iter(seeks.values())) for bot, seeks in waiting.items() if self._may_begin(bot)}
        bots = sorted(free, key=lambda bot: self._bots.rating(bot, standing_pool((free[bot],))))
        parts = -(-len(bots) // PAIRING_BATCH_SIZE)
        return (bots[len(bots) * part // parts : len(bots) * (part + 1) // parts] for part in range(parts))

    def _ladder_groups(self, spec: MatchSpec, bots: Sequence[str]) -> list[tuple[ActiveSeek, ...]]:
        """Return groups of seeks that can become matches. Groups with people come first, and are formed by the ratings
        in the pool of people. Groups without people come after them.
        """
        waiting = self._waiting.unnamed(spec)
        seeks = [
            seek
            for bot in bots
            for seek in islice(waiting.get(bot, {}).values(), min(self._most(bot), PAIRING_BATCH_SIZE // len(bots)))
        ]
        people = seeks_of_people(seeks)
        if not people:
            return self._grouped(seeks, [])
        with_people = self._grouped(seeks, people)
        taken = {sought for group in with_people for sought in group}
        return with_people + self._grouped([one for one in seeks if one not in taken and one not in people], [])

    def _grouped(self, seeks: Sequence[ActiveSeek], people: Sequence[ActiveSeek]) -> list[tuple[ActiveSeek, ...]]:
        """Group seeks for one kind of match into matches. If `people` has seeks, every group contains one of them."""
        if not seeks:
            return []
        seekers = [
            replace(self._seeker(seek.key, (seek, *people)), seeking_since=seek.since, key=seek) for seek in seeks
        ]
        if people:  # else frequent players would wait until bots, which seldom play with people, catch up
            seekers = [replace(seeker, played=0) for seeker in seekers]
        playing = [self._seeker(bot, (seeks[0], *people)) for bot in self._pool_members.playing(seeks[0].spec)]
        groups = ladder_pairing.group_seekers(
            seekers,
            self._loop.time(),
            seats=seeks[0].spec.seats,
            playing=playing,
            only={sought.key for sought in people} if people else None,
        )
        return [tuple(seeker.key for seeker in group) for group in groups]


def _met_in(group: Sequence[ActiveSeek]) -> str:
    """Return the pool in which a match of these seeks counts as an encounter of its bots; GAME/unrated if it is
    unrated.
    """
    return pool_of(group) or f"{agreed_spec(group).game}/unrated"

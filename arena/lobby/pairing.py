"""Pairing: which active seeks become matches, and when the next pairing round is due."""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

from msgspec import Struct

from arena.lobby import ladder_pairing
from arena.lobby.effects import ChargeSeek, LobbyEffect, StartMatch
from arena.lobby.known_bots import KnownBots
from arena.lobby.policy import LobbyPolicy
from arena.lobby.roster import Roster
from arena.lobby.seeks import (
    ActiveSeek,
    MatchSpec,
    SeekIndex,
    agreed_spec,
    pool_of,
    seeks_of_people,
    standing_pool,
    with_rating,
)
from machine.keyed_items import KeyedItems
from machine.keyed_limiter import KeyedLimiter, TokenBucket


class PendingMatch(Struct, frozen=True):
    """A match that was started and may still fail to begin: its seeks, and the bots whose rate limits count it."""

    group: tuple[ActiveSeek, ...]
    paced: tuple[str, ...]


class SeekPairing:
    """The active seeks, and the rounds that pair them.

    A round consists of many `step`s, each of which compares few seeks and starts at most one match. So no step takes
    long. `due` is the time of the next step.
    """

    def __init__(self, policy: LobbyPolicy, roster: Roster, known_bots: KnownBots) -> None:
        self._policy = policy
        self._roster = roster
        self._known = known_bots
        per_hour = policy.max_matches_per_hour
        rate = TokenBucket(min(policy.rate_burst_matches, per_hour), per_hour / 3600) if per_hour else None
        self._rate = None if rate is None else KeyedLimiter(rate)
        """The rate limit on ladder matches of each bot, if there is one."""
        self.due: float | None = None
        """The time of the next step; None while there is nothing to pair."""
        self.seeking: Counter[tuple[str, bool]] = Counter()
        """The number of active seeks, by game and whether they are open."""
        self.index = SeekIndex()
        """The active seeks."""
        self._pool_members: KeyedItems[MatchSpec, str] = KeyedItems()
        """The bots by the kind of ladder match that each last sought."""
        self._new: KeyedItems[str, ActiveSeek] = KeyedItems()
        """Seeks that no pairing round has examined yet. A round looks for a partner by name for each of them (see
        `_pair_new`). Two examined seeks are not compared again: no match by name between them could start.
        """
        self._postponed: dict[ActiveSeek, None] = {}
        """Examined seeks that have a partner by name, but whose match could not start yet. Each names its partner's
        bot, or its partner names its bot. `reschedule` has them examined again.
        """
        self._waiting_for_similar: OrderedDict[ActiveSeek, None] = OrderedDict()
        """Examined ladder seeks that wait for similar seeks and may not be paired with open seeks yet, oldest first.
        After `open_fallback_delay_s`, they move to `_open_queues`.
        """
        self._open_queues: defaultdict[str, KeyedItems[str, ActiveSeek]] = defaultdict(KeyedItems)
        """The seeks that wait to be paired with open seeks, by game. The key "" has the seeks that name opponents, and
        may wait for these instead.
        """
        self._last_fill = 0.0
        """The time of the last pairing round that examined the open queues."""
        self._round: Iterator[list[LobbyEffect]] | None = None
        """The remaining steps of the current pairing round; None between two rounds."""
        self._began = False
        """True if the current round has started a match."""
        self._pending: dict[str, PendingMatch] = {}
        """The matches that were started and may still fail to begin, by id."""
        self._now: float
        self._rng: Random
        self._match: str
        """`_now`, `_rng` and `_match` are the time, the source of randomness and the match id of the current step."""

    def activate(self, seek: ActiveSeek, now: float) -> list[LobbyEffect]:
        """Make a seek active."""
        self.index.add(seek)
        self.seeking[seek.spec.game, seek.spec.open] += 1
        self._new.add(seek.key, seek)
        if seek.is_ladder_seek and not seek.is_person:
            self._pool_members.add(seek.spec, seek.key)
        self._schedule(now + self._policy.new_seek_delay_s)
        return [_charge(seek)]

    def reconsider(self, bot: str, now: float) -> list[LobbyEffect]:
        """Decide again whether a bot's seeks are for rated matches, because the bot's approval changed."""
        effects: list[LobbyEffect] = []
        for seek in list(self.index.seeks_of(bot)):
            rated = seek.ratable and self._known.may_be_rated(bot)
            if rated != seek.spec.rated:
                effects += self.end(seek)
                effects += self.activate(replace(seek, spec=with_rating(seek.spec, rated=rated)), now)
        self.reschedule(now)
        return effects

    def end(self, seek: ActiveSeek) -> list[LobbyEffect]:
        """End an active seek."""
        self.index.remove(seek)
        self.seeking[seek.spec.game, seek.spec.open] -= 1
        self._new.discard(seek)
        self._postponed.pop(seek, None)
        self._waiting_for_similar.pop(seek, None)
        self._open_queue_of(seek).discard(seek)
        return [_charge(seek, refund=True)]

    def end_all(self, bot: str) -> list[LobbyEffect]:
        """End all seeks of a bot."""
        self._pool_members.discard(bot)
        return [effect for seek in list(self.index.seeks_of(bot)) for effect in self.end(seek)]

    def confirm(self, match: str) -> Sequence[ActiveSeek]:
        """Note that a match has begun. Return its seeks; none if the match is not one that a step started."""
        pending = self._pending.pop(match, None)
        return () if pending is None else pending.group

    def revoke(self, match: str, now: float, *, seeks_again: bool) -> list[LobbyEffect]:
        """No longer count a match in encounters and rate limits, because it does not begin after all. With
        `seeks_again`, make its seeks active again.
        """
        pending = self._pending.pop(match, None)
        if pending is None:
            return []
        self._known.uncount_encounter(_encounter_pool(pending.group), [seek.key for seek in pending.group])
        for bot in pending.paced:
            if self._rate is not None:
                self._rate.undo(bot)
        return [effect for seek in pending.group for effect in self.activate(seek, now)] if seeks_again else []

    def rate_delay_s(self, bot: str, now: float) -> float:
        """Return the seconds for which the rate limit delays a bot's ladder seeks; 0 if it has no such seeks."""
        return self.rate_wait_s(bot, now) if any(seek.is_ladder_seek for seek in self.index.seeks_of(bot)) else 0.0

    def rate_wait_s(self, bot: str, now: float) -> float:
        """Return the seconds until a bot may start its next ladder match; 0 if it may now."""
        return 0.0 if self._rate is None else self._rate.wait_s(bot, now)

    def reschedule(self, now: float) -> None:
        """Schedule another pairing round, because matches may have become possible."""
        for seek in self._postponed:
            self._new.add(seek.key, seek)
        self._postponed.clear()
        if self._next_round(now) is not None:
            self._schedule(now)

    def step(self, now: float, rng: Random, match: str, *, is_paused: bool) -> list[LobbyEffect]:
        """Take the next step of a pairing round, if one is due. A match that it starts gets the id `match`."""
        if self.due is None or now < self.due:
            return []
        if is_paused:
            self.due = now + self._policy.pairing_interval_s
            return []
        self._now, self._rng, self._match = now, rng, match
        steps = self._round
        if steps is None:
            steps, self._began = self._pair(), False
        self._round = self.due = None
        effects = next(steps, None)
        if effects is None:
            wait = self._next_round(now)
            if wait is not None:
                self._schedule(wait)
            return []
        self._round, self.due = steps, now
        return effects

    def _open_queue_of(self, seek: ActiveSeek) -> KeyedItems[str, ActiveSeek]:
        return self._open_queues["" if seek.opponents else seek.spec.game]

    def _schedule(self, at: float) -> None:
        """Schedule a pairing round. Do nothing if a round is running or is due earlier."""
        if self._round is None and (self.due is None or at < self.due):
            self.due = at

    def _next_round(self, now: float) -> float | None:
        """Return the time of the next useful pairing round; None if it has to wait for something to change."""
        policy = self._policy
        if self._new or (self._began and self.index.fillable_specs):
            return now + policy.new_seek_delay_s
        due = [now + policy.pairing_interval_s] if self.index.fillable_specs else []
        if any(self._open_queues_with_candidates()):
            due.append(self._last_fill + policy.open_pairing_interval_s)
        if self._waiting_for_similar:
            due.append(next(iter(self._waiting_for_similar)).since + policy.open_fallback_delay_s)
        return max(now + policy.new_seek_delay_s, min(due)) if due else None

    def _open_queues_with_candidates(self) -> Iterator[KeyedItems[str, ActiveSeek]]:
        """Yield the open queues with seeks that might be paired now. Leave out the queues of games that have no open
        seeks.
        """
        return (queue for game, queue in self._open_queues.items() if queue and (not game or self.index.open(game)))

    def _pair(self) -> Iterator[list[LobbyEffect]]:
        """Start all matches that active seeks allow now, first those that name opponents. Yield the effects of each
        step.
        """
        batch_size = self._policy.pairing_batch_size
        for number in range(len(self._new)):  # a fixed count, since new seeks may arrive all the time
            seek = self._new.take()
            if seek is None:
                break
            partner, effects = self._pair_new(seek)
            if partner is not None or number % batch_size == batch_size - 1:
                yield effects
        for spec in list(self.index.fillable_specs):
            for bots in self._rating_buckets(spec):
                for group in self._ladder_groups(spec, bots):
                    yield self._try_start(group)
                yield []
        yield from self._fill()

    def _fill(self) -> Iterator[list[LobbyEffect]]:
        """Start matches that need open seeks to fill seats, and matches of several bots that name each other. Yield the
        effects of each step.
        """
        now = self._now
        while (
            self._waiting_for_similar
            and (first := next(iter(self._waiting_for_similar))).since + self._policy.open_fallback_delay_s <= now
        ):
            del self._waiting_for_similar[first]
            self._open_queue_of(first).add(first.key, first)
        queues = list(self._open_queues_with_candidates())
        if not queues or now < self._last_fill + self._policy.open_pairing_interval_s:
            return
        self._last_fill = now
        for queue in queues:
            failed = 0
            for _ in range(min(len(queue), self._policy.pairing_batch_size)):
                seek = queue.take() if failed < self._policy.max_failed_fills else None
                if seek is None:
                    break
                group = self._find_group(seek) if self._has_waited(seek) else ()
                effects = self._try_start(group) if group else []
                if not effects:
                    queue.add(seek.key, seek)
                    failed += group is None
                yield effects

    def _has_waited(self, seek: ActiveSeek) -> bool:
        """Return true if the seek's bot may start a match now and the seek has waited long enough for similar seeks."""
        still = (
            seek.spec in self.index.fillable_specs
            and self._now - seek.since < self._policy.open_fallback_delay_populated_s
        )
        return self._may_begin(seek.key) and not still

    def _capacity(self, bot: str) -> int:
        return self._roster.capacity(bot, self._now)

    def _must_wait(self, bots: Iterable[str]) -> bool:
        """Return whether the rate limit delays one of the bots."""
        return self._rate is not None and any(self._rate.wait_s(bot, self._now) for bot in bots)

    def _may_begin(self, bot: str) -> bool:
        """Return whether a ladder match may start for a bot now."""
        return bool(self._capacity(bot)) and not self._must_wait((bot,))

    def _pair_new(self, seek: ActiveSeek) -> tuple[ActiveSeek | None, list[LobbyEffect]]:
        """Find a partner by name for a new seek: a seek that names its bot, or a seek of the bot that it names. Try to
        start their match. Return the partner, if there is one, and the effects.
        """
        if seek.opponents and seek.spec.seats > 2:
            self._open_queue_of(seek).add(seek.key, seek)
            return None, []
        other = self.index.find_partner(seek, functools.partial(self._may_meet, seek))
        effects = [] if other is None else self._try_start((seek, other))
        if not effects and seek.is_ladder_seek:
            self._waiting_for_similar[seek] = None
        if not effects and other is not None:
            for one in (seek, other):
                if one.opponents and not self._may_take(one, seek, other):
                    self._open_queue_of(one).add(one.key, one)
            self._postponed[seek] = None
        return other, effects

    def _may_meet(self, seek: ActiveSeek, other: str) -> bool:
        """Return whether the bot `other` may start a match with the bot of `seek` now. If `seek` is open, `other` must
        be allowed to take one more open seek of that bot.
        """
        return bool(self._capacity(other)) and not (seek.spec.open and self._roster.is_at_open_limit(other, seek.key))

    def _may_take(self, seek: ActiveSeek, *others: ActiveSeek) -> bool:
        """Return whether a seek's bot may take the open seeks among `others`. It may not if it plays too many matches
        with one of their bots already.
        """
        return seek.spec.open or not any(
            other.spec.open and self._roster.is_at_open_limit(seek.key, other.key) for other in others
        )

    def _try_start(self, group: Sequence[ActiveSeek]) -> list[LobbyEffect]:
        """Start a match of seeks, and return the effects. Return none if a seek has ended or its bot may not play
        now.
        """
        if not all(one in self.index and self._capacity(one.key) and self._may_take(one, *group) for one in group):
            return []
        paced = self._paced_in(group)
        if self._must_wait(paced):  # a bot with many slots may have used up its rate in this round
            return []
        effects = [effect for seek in group for effect in self.end(seek)]
        self._began = True
        bots = tuple(seek.key for seek in group)
        self._known.count_encounter(_encounter_pool(group), bots)
        if self._rate is not None:
            for bot in paced:
                self._rate.take(bot, self._now)
        self._pending[self._match] = PendingMatch(tuple(group), tuple(paced))
        self._roster.seat(self._match, bots)
        spec, pool = agreed_spec(group), pool_of(group)
        if pool is not None and self._known.is_rated(pool, bots, self._now):
            self._known.begin_rated(self._match, pool, bots)
        else:
            pool = None
        names, ids = tuple(seek.bot for seek in group), tuple(seek.id for seek in group)
        is_rated_among_bots = pool is not None and spec.rated
        is_slow = not is_rated_among_bots and any(seek.slow for seek in group)
        return [*effects, StartMatch(self._match, names, ids, spec, pool, is_slow)]

    @staticmethod
    def _paced_in(group: Sequence[ActiveSeek]) -> list[str]:
        """Return the bots whose rate limits count a match of these seeks: none if a seek names an opponent."""
        return [] if any(one.opponents for one in group) else [one.key for one in group if one.is_ladder_seek]

    def _find_group(self, seek: ActiveSeek) -> list[ActiveSeek] | None:
        """Return seeks for all seats of a match: this seek, seeks of the bots that it names, similar seeks and open
        seeks. Return None if there are too few.
        """
        spec, group = seek.spec, [seek]
        for opponent in sorted(seek.opponents):  # the order of a set differs between processes
            answer = self.index.find_answer(spec, opponent, frozenset((seek.key, *seek.opponents)))
            if answer is None:
                return None
            group.append(answer)
        group += self._sample_seeks(group, spec, self.index.unnamed(spec))
        group += self._sample_seeks(group, spec, self.index.open(spec.game))
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
        batch_size = self._policy.pairing_batch_size
        looked_at = seeks if len(seeks) <= batch_size else self._rng.sample(list(seeks), batch_size)
        there = {seek.key for seek in group}
        fitting = {bot: next((one for one in seeks[bot].values() if one.accepts(spec)), None) for bot in looked_at}
        first = {
            bot: one for bot, one in fitting.items() if one is not None and bot not in there and self._capacity(bot)
        }
        free = [
            self._seeker(bot, (*group, other))
            for bot, other in first.items()
            if self._may_take(group[0], other) and not self._must_wait(self._paced_in((*group, other)))
        ]
        draw_opponents = ladder_pairing.draw_opponents(self._seeker(group[0].key, group), free, seats, self._rng)
        return [first[seeker.bot] for seeker in draw_opponents]

    def _seeker(self, bot: str, group: Sequence[ActiveSeek]) -> ladder_pairing.Seeker:
        """Return a bot's entry for pairing: its rating, and its encounters with other bots. Both are those in the pool
        to which a match of the seeks in `group` would belong.
        """
        mu, sigma = self._known.rating(bot, standing_pool(group))
        pool = _encounter_pool(group)
        met, played = self._known.encounter_counts(bot, pool), self._known.total_encounters(bot, pool)
        spent = self._known.opponents_at_limit(bot, pool_of(group), self._now)
        return ladder_pairing.Seeker(bot, mu, sigma, meetings=met, played=played, avoided=spent)

    def _rating_buckets(self, spec: MatchSpec) -> Iterator[list[str]]:
        """Return the bots with ladder seeks of one kind, in batches by rating. Only bots in one batch are compared."""
        waiting = self.index.unnamed(spec)
        free = {bot: next(iter(seeks.values())) for bot, seeks in waiting.items() if self._may_begin(bot)}
        bots = sorted(free, key=lambda bot: self._known.rating(bot, standing_pool((free[bot],))))
        parts = -(-len(bots) // self._policy.pairing_batch_size)
        return (bots[len(bots) * part // parts : len(bots) * (part + 1) // parts] for part in range(parts))

    def _ladder_groups(self, spec: MatchSpec, bots: Sequence[str]) -> list[tuple[ActiveSeek, ...]]:
        """Return groups of seeks that can become matches. Groups with people come first, and are formed by the ratings
        in the pool of people. Groups without people come after them.
        """
        waiting = self.index.unnamed(spec)
        seeks = [
            seek
            for bot in bots
            for seek in islice(
                waiting.get(bot, {}).values(), min(self._capacity(bot), self._policy.pairing_batch_size // len(bots))
            )
        ]
        people = seeks_of_people(seeks)
        if not people:
            return self._grouped(seeks, [])
        with_people = self._grouped(seeks, people)
        taken = {sought for group in with_people for sought in group}
        return with_people + self._grouped([one for one in seeks if one not in taken and one not in people], [])

    def _playing(self, spec: MatchSpec) -> list[str]:
        """Return the bots that last sought this kind of match and now play; a sample if there are many of them."""
        bots = [bot for bot in self._pool_members.items(spec) if self._roster.is_playing(bot)]
        most = self._policy.max_playing_sample
        return bots if len(bots) <= most else self._rng.sample(bots, most)

    def _grouped(self, seeks: Sequence[ActiveSeek], people: Sequence[ActiveSeek]) -> list[tuple[ActiveSeek, ...]]:
        """Group seeks for one kind of match into matches. If `people` has seeks, every group contains one of them."""
        if not seeks:
            return []
        seekers = [
            replace(self._seeker(seek.key, (seek, *people)), seeking_since=seek.since, key=seek) for seek in seeks
        ]
        if people:  # else frequent players would wait until bots, which seldom play with people, catch up
            seekers = [replace(seeker, played=0) for seeker in seekers]
        playing = [self._seeker(bot, (seeks[0], *people)) for bot in self._playing(seeks[0].spec)]
        groups = ladder_pairing.group_seekers(
            seekers,
            self._now,
            seats=seeks[0].spec.seats,
            playing=playing,
            only={sought.key for sought in people} if people else None,
        )
        return [tuple(seeker.key for seeker in group) for group in groups]


def _charge(seek: ActiveSeek, *, refund: bool = False) -> ChargeSeek:
    """Return the charge for a seek's config. The config of a preset costs nothing, because all seeks share it."""
    return ChargeSeek(seek.address, 0 if seek.spec.pool is not None else len(seek.spec.packed), refund)


def _encounter_pool(group: Sequence[ActiveSeek]) -> str:
    """Return the pool in which a match of these seeks counts as an encounter of its bots; GAME/unrated if it is
    unrated.
    """
    return pool_of(group) or f"{agreed_spec(group).game}/unrated"

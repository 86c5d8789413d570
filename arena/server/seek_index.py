"""An index of active seeks by bot, by requested match and by named opponent, so that pairing never scans them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from arena.host.session import Session
from protocol.games.base import Game
from protocol.pools import people_pool

_pack = msgspec.msgpack.Encoder(order="deterministic").encode
_unpack = msgspec.msgpack.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class MatchSpec:
    """The properties of a match that all its seeks must share. Equal specs are the same object. `match_spec_of` and
    `open_match_spec` create them. The spec of open seeks has no config and fits every match of the game.
    """

    game: str
    packed: bytes
    """The config in msgpack. The rules object would take up to sixty times as much memory."""
    rated: bool
    seats: int
    pool: str | None
    """The pool for rated matches with this config, or None."""

    @property
    def preset(self) -> str | None:
        """The preset that the config equals, or None."""
        return None if self.pool is None else self.pool.partition("/")[2]

    @property
    def open(self) -> bool:
        """True for the spec of open seeks."""
        return not self.packed

    @property
    def config(self) -> dict[str, Any]:
        """The complete config."""
        config: dict[str, Any] = _unpack(self.packed)
        return config


_kinds: WeakValueDictionary[tuple[str, bytes, bool], MatchSpec] = WeakValueDictionary()


def match_spec_of(game: Game[Any, Any], *, rated: bool) -> MatchSpec:
    """Return the spec of matches with these rules."""
    key = (game.name, _pack(game.config), rated)
    return _kinds.setdefault(key, MatchSpec(*key, game.seats, game.pool))


def with_rating(kind: MatchSpec, *, rated: bool) -> MatchSpec:
    """Return the spec of the same matches, rated or not."""
    key = (kind.game, kind.packed, rated)
    return _kinds.setdefault(key, MatchSpec(*key, kind.seats, kind.pool))


def open_match_spec(game: str) -> MatchSpec:
    """Return the spec of the open seeks of a game."""
    key = (game, b"", False)
    return _kinds.setdefault(key, MatchSpec(*key, 0, None))


NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class ActiveSeek:
    """An active seek. `opponents` are folded names, and `since` is in seconds of the event loop's clock.

    An open one accepts only its `presets`, if it has any. `ratable`: its match is rated if its bot's matches may be.
    `private`: it only pairs with a seek that names its bot. `people_rated`: a person's match is rated among people.
    """

    session: Session
    bot: str
    id: str
    kind: MatchSpec
    opponents: frozenset[str]
    since: float
    slow: bool = False
    ratable: bool = False
    private: bool = False
    people_rated: bool = True
    presets: frozenset[str] = frozenset()

    def takes(self, kind: MatchSpec) -> bool:
        """Return whether an open seek accepts a match of this kind."""
        return not self.presets or kind.preset in self.presets

    @property
    def key(self) -> str:
        """The folded name of its bot."""
        return self.session.key

    @property
    def of_the_ladder(self) -> bool:
        """True if the arena chooses the opponents among similar seeks."""
        return not self.opponents and not self.kind.open and not self.private


ByBot = dict[str, dict[str, ActiveSeek]]
"""Seeks by folded bot name and id, each bot's oldest first."""


class SeekIndex:
    """The active seeks. Queries take constant time, except `partner`. `count(sought, back)` is called for each seek
    that becomes active, or with `back` ends.
    """

    def __init__(self, count: Callable[[ActiveSeek, bool], None]) -> None:
        self._count = count
        self._by_bot: ByBot = {}
        self._by_aim: dict[tuple[MatchSpec, frozenset[str]], ByBot] = {}
        """Seeks that are not private, by spec and named opponents."""
        self._by_rival: dict[tuple[str, str], ByBot] = {}
        """Two-seat seeks that name an opponent, by game and opponent."""
        self.ripe: dict[MatchSpec, None] = {}
        """The specs with ladder seeks of at least as many bots as seats."""

    def __contains__(self, sought: ActiveSeek) -> bool:
        return self.find(sought.key, sought.id) is sought

    def find(self, bot: str, seek: str) -> ActiveSeek | None:
        """Return a bot's seek with this id, or None."""
        return self._by_bot.get(bot, {}).get(seek)

    def of(self, bot: str) -> Collection[ActiveSeek]:
        """Return all seeks of a bot."""
        return self._by_bot.get(bot, {}).values()

    def add(self, sought: ActiveSeek) -> None:
        """Add a seek."""
        for seeks in self._indices(sought):
            seeks.setdefault(sought.key, {})[sought.id] = sought
        self._note_ripe(sought)
        self._count(sought, False)

    def remove(self, sought: ActiveSeek) -> None:
        """Remove an active seek."""
        for seeks in self._indices(sought):
            del seeks[sought.key][sought.id]
            if not seeks[sought.key]:
                del seeks[sought.key]
        for aim in _aim(sought):
            if not self._by_aim[aim]:
                del self._by_aim[aim]
        for rival in _rival(sought):
            if not self._by_rival[rival]:
                del self._by_rival[rival]
        self._note_ripe(sought)
        self._count(sought, True)

    def _indices(self, sought: ActiveSeek) -> list[ByBot]:
        aimed = (self._by_aim.setdefault(aim, {}) for aim in _aim(sought))
        return [self._by_bot, *aimed, *(self._by_rival.setdefault(rival, {}) for rival in _rival(sought))]

    def _note_ripe(self, sought: ActiveSeek) -> None:
        """Update whether the seek's spec has enough seeks for a match."""
        if not sought.of_the_ladder:
            return
        if len(self.unnamed(sought.kind)) >= sought.kind.seats:
            self.ripe[sought.kind] = None
        else:
            self.ripe.pop(sought.kind, None)

    def partner(self, sought: ActiveSeek, free: Callable[[str], object]) -> ActiveSeek | None:
        """Return a two-seat seek that this one names or that names its bot, the oldest of its bot; or None. If several
        bots name it, prefer the first that is `free`; each may be tested.
        """
        bot, kind = sought.key, sought.kind
        for opponent in sought.opponents:
            return self.answer(kind, opponent, frozenset((bot, opponent)))
        if kind.open:
            by_rival = self._by_rival.get((kind.game, bot), {})
            fitting = (
                (other, {name: one for name, one in seeks.items() if sought.takes(one.kind)})
                for other, seeks in by_rival.items()
            )
            named_by = {other: seeks for other, seeks in fitting if seeks}
        else:
            named_by = self._by_aim.get((kind, frozenset((bot,))), {}) if kind.seats == 2 else {}
        found = next((other for other in named_by if free(other)), None) or next(iter(named_by), None)
        return None if found is None else _first(named_by[found])

    def answer(self, kind: MatchSpec, bot: str, group: frozenset[str]) -> ActiveSeek | None:
        """Return a bot's seek that fits a match of this kind within a group, preferably one that names opponents."""
        found = None
        for sought in self.of(bot):
            if sought.kind is kind and sought.opponents <= group:
                if sought.opponents:
                    return sought
                found = found or sought
        return found or _first_that_takes(kind, self.open(kind.game).get(bot, {}))

    def unnamed(self, kind: MatchSpec) -> Mapping[str, Mapping[str, ActiveSeek]]:
        """Return the seeks of a kind without named opponents, by bot and id."""
        return self._by_aim.get((kind, NOBODY), {})

    def open(self, game: str) -> Mapping[str, Mapping[str, ActiveSeek]]:
        """Return the open seeks of a game, by bot and id."""
        return self.unnamed(open_match_spec(game))


def _first_that_takes(kind: MatchSpec, seeks: Mapping[str, ActiveSeek]) -> ActiveSeek | None:
    return next((sought for sought in seeks.values() if sought.takes(kind)), None)


class FairQueue:
    """A queue of seeks that serves bots in turn, so that a bot with many seeks delays only itself."""

    def __init__(self) -> None:
        self._by_bot: dict[str, dict[ActiveSeek, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_bot.values()))

    def __bool__(self) -> bool:
        return bool(self._by_bot)

    def add(self, sought: ActiveSeek) -> None:
        """Add a seek behind the others of its bot; a new bot comes last."""
        self._by_bot.setdefault(sought.key, {})[sought] = None

    def discard(self, sought: ActiveSeek) -> None:
        """Remove a seek, if it is queued."""
        seeks = self._by_bot.get(sought.key, {})
        seeks.pop(sought, None)
        if not seeks:
            self._by_bot.pop(sought.key, None)

    def take(self) -> ActiveSeek | None:
        """Remove and return the next seek, and move its bot to the end; None if the queue is empty."""
        for bot, seeks in self._by_bot.items():
            sought = next(iter(seeks))
            del seeks[sought], self._by_bot[bot]
            if seeks:
                self._by_bot[bot] = seeks
            return sought
        return None


def agreed(group: Iterable[ActiveSeek]) -> MatchSpec:
    """Return the spec of a match between seeks that fit: that of one that is not open."""
    return next(sought.kind for sought in group if not sought.kind.open)


def people_in(group: Iterable[ActiveSeek]) -> list[ActiveSeek]:
    """Return the seeks of people."""
    return [sought for sought in group if sought.session.person]


def standing_pool(group: Sequence[ActiveSeek]) -> str | None:
    """Return the pool whose ratings apply to a match between these seeks, rated or not: with a person, people's."""
    pool = agreed(group).pool
    return people_pool(pool) if pool is not None and people_in(group) else pool


def pool_of(group: Sequence[ActiveSeek]) -> str | None:
    """Return the pool in which a match between these seeks is rated if its bots may be, or None. With a person it is
    the pool of people, regardless of who chose whom, unless the person asked for an unrated match or invited a friend.
    """
    people = people_in(group)
    rated = all(sought.people_rated for sought in people) if people else agreed(group).rated
    return standing_pool(group) if rated else None


def _aim(sought: ActiveSeek) -> list[tuple[MatchSpec, frozenset[str]]]:
    """Return the key in the index by spec and opponents; none for private seeks, which are found by their bot alone."""
    return [] if sought.private else [(sought.kind, sought.opponents)]


def _rival(sought: ActiveSeek) -> list[tuple[str, str]]:
    """Return the game and the only opponent, for a two-seat seek that names one."""
    if sought.kind.seats != 2:
        return []
    return [(sought.kind.game, opponent) for opponent in sought.opponents]


def _first(seeks: Mapping[str, ActiveSeek]) -> ActiveSeek | None:
    return next(iter(seeks.values()), None)

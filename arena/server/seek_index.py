"""The seeks in force, found by their bot, by what they ask for and by whom they name: no seek is looked at in vain."""

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
    """What all sides of a match must agree on. Equal ones are the same object, made by `match_spec_of` and
    `open_match_spec`.

    That of open seeks has no config: it goes with every other of the game.
    """

    game: str
    packed: bytes
    """The config in msgpack. The rules themselves would take up to sixty times as much memory."""
    rated: bool
    seats: int
    pool: str | None
    """Where matches under this config are rated, if they are."""

    @property
    def preset(self) -> str | None:
        """The preset that the config is, if it is one."""
        return None if self.pool is None else self.pool.partition("/")[2]

    @property
    def open(self) -> bool:
        """Whether it is that of open seeks."""
        return not self.packed

    @property
    def config(self) -> dict[str, Any]:
        """The whole config."""
        config: dict[str, Any] = _unpack(self.packed)
        return config


_kinds: WeakValueDictionary[tuple[str, bytes, bool], MatchSpec] = WeakValueDictionary()


def match_spec_of(game: Game[Any, Any], *, rated: bool) -> MatchSpec:
    """The kind of the matches under these rules."""
    key = (game.name, _pack(game.config), rated)
    return _kinds.setdefault(key, MatchSpec(*key, game.seats, game.pool))


def with_rating(kind: MatchSpec, *, rated: bool) -> MatchSpec:
    """The kind of the same matches, rated or not."""
    key = (kind.game, kind.packed, rated)
    return _kinds.setdefault(key, MatchSpec(*key, kind.seats, kind.pool))


def open_match_spec(game: str) -> MatchSpec:
    """The kind of the open seeks of a game."""
    key = (game, b"", False)
    return _kinds.setdefault(key, MatchSpec(*key, 0, None))


NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class ActiveSeek:
    """A seek in force. An open one takes only matches of its `presets`, where it has some. `opponents` are folded
    names; `since` is in seconds of the loop's clock; `ratable`: its match is to be rated if that of its bot may be;
    `private`: it goes only with a seek that names its bot; `people_rated`: if it is a person's, its match is to be
    rated among people.
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
        """Whether a match of this kind is one that it wants, if it is open."""
        return not self.presets or kind.preset in self.presets

    @property
    def key(self) -> str:
        """Its bot, as bots are looked up."""
        return self.session.key

    @property
    def of_the_ladder(self) -> bool:
        """Whether the arena chooses its opponents, among all that seek the same."""
        return not self.opponents and not self.kind.open and not self.private


ByBot = dict[str, dict[str, ActiveSeek]]
"""Seeks by bot (its folded name) and id, each bot's in the order in which they came."""


class SeekIndex:
    """The seeks in force. What is asked costs the same however many there are, but for `partner`.

    `count(sought, back)` is told of each that is in force from now on, or, with `back`, no longer.
    """

    def __init__(self, count: Callable[[ActiveSeek, bool], None]) -> None:
        self._count = count
        self._by_bot: ByBot = {}
        self._by_aim: dict[tuple[MatchSpec, frozenset[str]], ByBot] = {}
        """By what is sought and the opponents that are named; without those that are private."""
        self._by_rival: dict[tuple[str, str], ByBot] = {}
        """Those for two seats that name an opponent, by game and by whom they name."""
        self.ripe: dict[MatchSpec, None] = {}
        """The kinds that as many bots seek on the ladder as a match has seats."""

    def __contains__(self, sought: ActiveSeek) -> bool:
        return self.find(sought.key, sought.id) is sought

    def find(self, bot: str, seek: str) -> ActiveSeek | None:
        """A bot's seek of this id."""
        return self._by_bot.get(bot, {}).get(seek)

    def of(self, bot: str) -> Collection[ActiveSeek]:
        """All seeks of a bot."""
        return self._by_bot.get(bot, {}).values()

    def add(self, sought: ActiveSeek) -> None:
        """Put a seek in force."""
        for seeks in self._indices(sought):
            seeks.setdefault(sought.key, {})[sought.id] = sought
        self._note_ripe(sought)
        self._count(sought, False)

    def remove(self, sought: ActiveSeek) -> None:
        """Take a seek that is in force back."""
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
        """Know whether its kind is ripe."""
        if not sought.of_the_ladder:
            return
        if len(self.unnamed(sought.kind)) >= sought.kind.seats:
            self.ripe[sought.kind] = None
        else:
            self.ripe.pop(sought.kind, None)

    def partner(self, sought: ActiveSeek, free: Callable[[str], object]) -> ActiveSeek | None:
        """A seek for two seats that goes with this one and is named by it, or names its bot; the oldest of a bot's.

        Of many bots that name it the first that is `free`, if there is one; each of them is asked.
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
        """A seek of a bot that fits into a match of this kind between those of a group, one that names some first."""
        found = None
        for sought in self.of(bot):
            if sought.kind is kind and sought.opponents <= group:
                if sought.opponents:
                    return sought
                found = found or sought
        return found or _first_that_takes(kind, self.open(kind.game).get(bot, {}))

    def unnamed(self, kind: MatchSpec) -> Mapping[str, Mapping[str, ActiveSeek]]:
        """By bot and id, the seeks of a kind that name nobody."""
        return self._by_aim.get((kind, NOBODY), {})

    def open(self, game: str) -> Mapping[str, Mapping[str, ActiveSeek]]:
        """By bot and id, the open seeks of a game."""
        return self.unnamed(open_match_spec(game))


def _first_that_takes(kind: MatchSpec, seeks: Mapping[str, ActiveSeek]) -> ActiveSeek | None:
    return next((sought for sought in seeks.values() if sought.takes(kind)), None)


class FairQueue:
    """Seeks to be looked at, one of each bot in turn: whoever has many is in nobody's way but its own."""

    def __init__(self) -> None:
        self._by_bot: dict[str, dict[ActiveSeek, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_bot.values()))

    def __bool__(self) -> bool:
        return bool(self._by_bot)

    def add(self, sought: ActiveSeek) -> None:
        """Behind the others of its bot; a bot that had none comes last."""
        self._by_bot.setdefault(sought.key, {})[sought] = None

    def discard(self, sought: ActiveSeek) -> None:
        """Look at it no more, if it was to be."""
        seeks = self._by_bot.get(sought.key, {})
        seeks.pop(sought, None)
        if not seeks:
            self._by_bot.pop(sought.key, None)

    def take(self) -> ActiveSeek | None:
        """The next, and now its bot comes last; None when there is none."""
        for bot, seeks in self._by_bot.items():
            sought = next(iter(seeks))
            del seeks[sought], self._by_bot[bot]
            if seeks:
                self._by_bot[bot] = seeks
            return sought
        return None


def agreed(group: Iterable[ActiveSeek]) -> MatchSpec:
    """The kind of the match between seeks that fit: at least one of them is not open."""
    return next(sought.kind for sought in group if not sought.kind.open)


def people_in(group: Iterable[ActiveSeek]) -> list[ActiveSeek]:
    """Those of the seeks that are people's."""
    return [sought for sought in group if sought.session.person]


def standing_pool(group: Sequence[ActiveSeek]) -> str | None:
    """Where those that play a match between seeks that fit stand, rated or not: with a person, among people."""
    pool = agreed(group).pool
    return people_pool(pool) if pool is not None and people_in(group) else pool


def pool_of(group: Sequence[ActiveSeek]) -> str | None:
    """Where a match between seeks that fit is rated, if its bots may be: with a person, among people, whoever chose
    whom, unless a person wants it otherwise or had a friend invited.
    """
    people = people_in(group)
    rated = all(sought.people_rated for sought in people) if people else agreed(group).rated
    return standing_pool(group) if rated else None


def _aim(sought: ActiveSeek) -> list[tuple[MatchSpec, frozenset[str]]]:
    """What is sought and who is named, but of a seek that is private: it is found by its bot alone."""
    return [] if sought.private else [(sought.kind, sought.opponents)]


def _rival(sought: ActiveSeek) -> list[tuple[str, str]]:
    """The game and the only opponent, where two play and one is named."""
    if sought.kind.seats != 2:
        return []
    return [(sought.kind.game, opponent) for opponent in sought.opponents]


def _first(seeks: Mapping[str, ActiveSeek]) -> ActiveSeek | None:
    return next(iter(seeks.values()), None)

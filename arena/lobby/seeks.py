"""An index of active seeks by bot, by requested match and by named opponent, so that pairing never scans them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from protocol.games.base import Game
from protocol.pools import people_pool, preset_of

_pack = msgspec.msgpack.Encoder(order="deterministic").encode
_unpack = msgspec.msgpack.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class MatchSpec:
    """The properties of a match that all its seeks must share. The spec of open seeks has no config, and fits every
    match of its game.

    `match_spec_of` and `open_match_spec` create specs. Equal specs are the same object.
    """

    game: str
    packed: bytes
    """The config in msgpack; empty for open seeks. The rules object would take up to sixty times as much memory."""
    rated: bool
    seats: int
    pool: str | None
    """The pool in which matches with this config can be rated, if any."""

    @property
    def preset(self) -> str | None:
        """The name of the preset with this config, if any."""
        return None if self.pool is None else preset_of(self.pool)

    @property
    def open(self) -> bool:
        """True if this is the spec of open seeks, which have no config of their own."""
        return not self.packed

    @property
    def config(self) -> dict[str, Any]:
        """The complete config of the match."""
        config: dict[str, Any] = _unpack(self.packed)
        return config


_specs: WeakValueDictionary[tuple[str, bytes, bool], MatchSpec] = WeakValueDictionary()


def match_spec_of(game: Game[Any, Any], *, rated: bool) -> MatchSpec:
    """Return the spec of matches under the rules `game`."""
    key = (game.name, _pack(game.config), rated)
    return _specs.setdefault(key, MatchSpec(*key, game.seats, game.pool))


def with_rating(spec: MatchSpec, *, rated: bool) -> MatchSpec:
    """Return a spec with the same game and config, but with the given `rated`."""
    key = (spec.game, spec.packed, rated)
    return _specs.setdefault(key, MatchSpec(*key, spec.seats, spec.pool))


def open_match_spec(game: str) -> MatchSpec:
    """Return the spec that all open seeks of a game share. It has no config."""
    key = (game, b"", False)
    return _specs.setdefault(key, MatchSpec(*key, 0, None))


NO_OPPONENTS: frozenset[str] = frozenset()
"""The set of named opponents of a seek that names none."""


@dataclass(frozen=True, eq=False, slots=True)
class ActiveSeek:
    """An active seek of a bot with the folded name `key` at an `address`. `opponents` are folded names, and `since` is
    when it began, in seconds.

    An open seek with `presets` accepts only matches of these presets. A `ratable` seek is for a rated match as long as
    the matches of its bot may be rated. A `private` seek only pairs with a seek that names its bot. `people_rated` is
    used only in seeks of people: if it is true, the match can be rated in the pool of people.
    """

    bot: str
    key: str
    address: str
    id: str
    spec: MatchSpec
    opponents: frozenset[str]
    since: float
    is_person: bool = False
    slow: bool = False
    ratable: bool = False
    private: bool = False
    people_rated: bool = True
    presets: frozenset[str] = frozenset()

    def accepts(self, spec: MatchSpec) -> bool:
        """Return whether this open seek accepts a match with this spec."""
        return not self.presets or spec.preset in self.presets

    @property
    def is_ladder_seek(self) -> bool:
        """True if the arena chooses the opponents among similar seeks."""
        return not self.opponents and not self.spec.open and not self.private


SeeksByBot = dict[str, dict[str, ActiveSeek]]
"""Active seeks, by folded bot name and then by seek id. A bot's oldest seek comes first."""
Aim = tuple[MatchSpec, frozenset[str]] | tuple[str, str]
"""The aim of a seek: a spec and the set of named opponents, or a game and the folded name of an opponent."""


class SeekIndex:
    """An index of the active seeks. Queries take constant time, except `find_partner`."""

    def __init__(self) -> None:
        self._by_bot: SeeksByBot = {}
        self._by_aim: dict[Aim, SeeksByBot] = {}
        """The seeks by their aims (see `_aims_of`)."""
        self.fillable_specs: dict[MatchSpec, None] = {}
        """The specs with enough ladder seeks for a match: seeks of at least as many bots as the match has seats."""

    def __contains__(self, seek: ActiveSeek) -> bool:
        return self.find(seek.key, seek.id) is seek

    def find(self, bot: str, seek_id: str) -> ActiveSeek | None:
        return self._by_bot.get(bot, {}).get(seek_id)

    def seeks_of(self, bot: str) -> Collection[ActiveSeek]:
        return self._by_bot.get(bot, {}).values()

    def add(self, seek: ActiveSeek) -> None:
        for seeks in (self._by_bot, *(self._by_aim.setdefault(aim, {}) for aim in _aims_of(seek))):
            seeks.setdefault(seek.key, {})[seek.id] = seek
        self._note_ripe(seek)

    def remove(self, seek: ActiveSeek) -> None:
        _remove(self._by_bot, seek)
        for aim in _aims_of(seek):
            _remove(self._by_aim[aim], seek)
            if not self._by_aim[aim]:
                del self._by_aim[aim]
        self._note_ripe(seek)

    def _note_ripe(self, seek: ActiveSeek) -> None:
        """Add the seek's spec to `fillable_specs` if enough bots for a match have such ladder seeks; else remove it."""
        if not seek.is_ladder_seek:
            return
        if len(self.unnamed(seek.spec)) >= seek.spec.seats:
            self.fillable_specs[seek.spec] = None
        else:
            self.fillable_specs.pop(seek.spec, None)

    def find_partner(self, seek: ActiveSeek, is_free: Callable[[str], object]) -> ActiveSeek | None:
        """Return a partner for a seek in a two-seat match, if any: a seek of the bot that this seek names, or a seek
        that names this seek's bot.

        If several bots name the seek's bot, choose the first for which `is_free` is true, or the first of all. Return
        the oldest fitting seek of the chosen bot.
        """
        bot, spec = seek.key, seek.spec
        for opponent in seek.opponents:
            return self.find_answer(spec, opponent, frozenset((bot, opponent)))
        if spec.open:
            by_rival = self._by_aim.get((spec.game, bot), {})
            fitting = (
                (other, {name: one for name, one in seeks.items() if seek.accepts(one.spec)})
                for other, seeks in by_rival.items()
            )
            named_by = {other: seeks for other, seeks in fitting if seeks}
        else:
            named_by = self._by_aim.get((spec, frozenset((bot,))), {}) if spec.seats == 2 else {}
        found = next((other for other in named_by if is_free(other)), None) or next(iter(named_by), None)
        return None if found is None else next(iter(named_by[found].values()))

    def find_answer(self, spec: MatchSpec, bot: str, group: frozenset[str]) -> ActiveSeek | None:
        """Return a seek of a bot that fits a match with this spec between the bots in `group`, if any. Prefer a seek
        that names opponents. Choose an open seek only if there is no other.
        """
        found = None
        for seek in self.seeks_of(bot):
            if seek.spec is spec and seek.opponents <= group:
                if seek.opponents:
                    return seek
                found = found or seek
        return found or _first_that_takes(spec, self.open(spec.game).get(bot, {}))

    def unnamed(self, spec: MatchSpec) -> Mapping[str, Mapping[str, ActiveSeek]]:
        """Return the seeks with this spec that name no opponents, by bot and seek id."""
        return self._by_aim.get((spec, NO_OPPONENTS), {})

    def open(self, game: str) -> Mapping[str, Mapping[str, ActiveSeek]]:
        """Return the open seeks of a game, by bot and seek id."""
        return self.unnamed(open_match_spec(game))


def _first_that_takes(spec: MatchSpec, seeks: Mapping[str, ActiveSeek]) -> ActiveSeek | None:
    return next((seek for seek in seeks.values() if seek.accepts(spec)), None)


def agreed_spec(group: Iterable[ActiveSeek]) -> MatchSpec:
    """Return the spec of the match of seeks that fit together. All these seeks have this spec, except open seeks, which
    accept it.
    """
    return next(seek.spec for seek in group if not seek.spec.open)


def seeks_of_people(group: Iterable[ActiveSeek]) -> list[ActiveSeek]:
    return [seek for seek in group if seek.is_person]


def standing_pool(group: Sequence[ActiveSeek]) -> str | None:
    """Return the pool whose ratings are used to compare the bots of these seeks, even if their match is unrated. If a
    person takes part, it is a pool of people. Return None if no pool has their config.
    """
    pool = agreed_spec(group).pool
    return people_pool(pool) if pool is not None and seeks_of_people(group) else pool


def pool_of(group: Sequence[ActiveSeek]) -> str | None:
    """Return the pool in which a match of these seeks is rated; None if the seeks are for an unrated match.
    `KnownBots.is_rated` checks the other conditions for a rated match.

    If a person takes part, it is the pool of people, even if a seek names the opponent. It is None if the person asked
    for an unrated match or invited a friend.
    """
    people = seeks_of_people(group)
    rated = all(seek.people_rated for seek in people) if people else agreed_spec(group).rated
    return standing_pool(group) if rated else None


def _aims_of(seek: ActiveSeek) -> list[Aim]:
    """Return the keys by which a seek is found: its spec with the opponents that it names and, for two seats, its
    game with each of them. A private seek has none: it is found by its bot alone.
    """
    if seek.private:
        return []
    rivals = seek.opponents if seek.spec.seats == 2 else NO_OPPONENTS
    return [(seek.spec, seek.opponents), *((seek.spec.game, opponent) for opponent in rivals)]


def _remove(seeks: SeeksByBot, seek: ActiveSeek) -> None:
    of_bot = seeks[seek.key]
    del of_bot[seek.id]
    if not of_bot:
        del seeks[seek.key]

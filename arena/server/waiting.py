"""The seeks in force, found by their bot, by what they ask for and by whom they name: no seek is looked at in vain."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from arena.server.session import Session
from protocol.games.base import Game

_pack = msgspec.msgpack.Encoder(order="deterministic").encode
_unpack = msgspec.msgpack.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Kind:
    """What all sides of a match must agree on. Equal ones are the same object: `kind_of` makes them."""

    game: str
    packed: bytes
    """The config in msgpack. The rules themselves would take up to sixty times as much memory."""
    rated: bool
    seats: int
    pool: str | None
    """Where matches under this config are rated, if they are."""

    @property
    def config(self) -> dict[str, Any]:
        """The whole config."""
        config: dict[str, Any] = _unpack(self.packed)
        return config


_kinds: WeakValueDictionary[tuple[str, bytes, bool], Kind] = WeakValueDictionary()


def kind_of(game: Game[Any, Any], *, rated: bool) -> Kind:
    """The kind of the matches under these rules."""
    key = (game.name, _pack(game.config), rated)
    return _kinds.setdefault(key, Kind(*key, game.seats, game.pool))


@dataclass(frozen=True, eq=False, slots=True)
class Sought:
    """A seek in force. `opponent` is a folded name; `since` is in seconds of the loop's clock."""

    session: Session
    bot: str
    id: str
    kind: Kind
    opponent: str | None
    since: float


ByBot = dict[str, dict[str, Sought]]
"""Seeks by bot (its folded name) and id, each bot's in the order in which they came."""


class Waiting:
    """The seeks in force. Whatever is asked costs the same however many there are."""

    def __init__(self) -> None:
        self._by_bot: ByBot = {}
        self._by_aim: dict[tuple[Kind, str | None], ByBot] = {}
        """By what is sought and the opponent that is named."""
        self._ripe: dict[Kind, None] = {}

    def __contains__(self, sought: Sought) -> bool:
        return self.find(sought.session.key, sought.id) is sought

    def find(self, bot: str, seek: str) -> Sought | None:
        """A bot's seek of this id."""
        return self._by_bot.get(bot, {}).get(seek)

    def of(self, bot: str) -> Collection[Sought]:
        """All seeks of a bot."""
        return self._by_bot.get(bot, {}).values()

    def add(self, sought: Sought) -> None:
        """Put a seek in force."""
        bot, kind = sought.session.key, sought.kind
        self._by_bot.setdefault(bot, {})[sought.id] = sought
        alike = self._by_aim.setdefault((kind, sought.opponent), {})
        alike.setdefault(bot, {})[sought.id] = sought
        if sought.opponent is None and len(alike) >= kind.seats:
            self._ripe[kind] = None

    def remove(self, sought: Sought) -> None:
        """Take a seek that is in force back."""
        bot, aim = sought.session.key, (sought.kind, sought.opponent)
        alike = self._by_aim[aim]
        for seeks in (self._by_bot, alike):
            del seeks[bot][sought.id]
            if not seeks[bot]:
                del seeks[bot]
        if not alike:
            del self._by_aim[aim]
        if sought.opponent is None and len(alike) < sought.kind.seats:
            self._ripe.pop(sought.kind, None)

    def partner(self, sought: Sought) -> Sought | None:
        """A seek that goes with this one and is named by it, or names its bot; the oldest of a bot's."""
        bot, kind, opponent = sought.session.key, sought.kind, sought.opponent
        if opponent is None:
            who_names_it = self._by_aim.get((kind, bot))
            return None if who_names_it is None else _first(next(iter(who_names_it.values())))
        return _first(self._aimed(kind, bot, opponent)) or _first(self._aimed(kind, None, opponent))

    @property
    def ripe(self) -> Collection[Kind]:
        """The kinds that as many bots seek, naming nobody, as a match has seats."""
        return self._ripe

    def open(self, kind: Kind) -> Mapping[str, Mapping[str, Sought]]:
        """By bot and id, the seeks of a kind that name nobody."""
        return self._by_aim.get((kind, None), {})

    def _aimed(self, kind: Kind, at: str | None, by: str) -> Mapping[str, Sought]:
        return self._by_aim.get((kind, at), {}).get(by, {})


class InTurn:
    """Seeks to be looked at, one of each bot in turn: whoever has many is in nobody's way but its own."""

    def __init__(self) -> None:
        self._by_bot: dict[str, dict[Sought, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_bot.values()))

    def add(self, sought: Sought) -> None:
        """Behind the others of its bot; a bot that had none comes last."""
        self._by_bot.setdefault(sought.session.key, {})[sought] = None

    def discard(self, sought: Sought) -> None:
        """Look at it no more, if it was to be."""
        seeks = self._by_bot.get(sought.session.key, {})
        seeks.pop(sought, None)
        if not seeks:
            self._by_bot.pop(sought.session.key, None)

    def take(self) -> Sought | None:
        """The next, and now its bot comes last; None when there is none."""
        for bot, seeks in self._by_bot.items():
            sought = next(iter(seeks))
            del seeks[sought], self._by_bot[bot]
            if seeks:
                self._by_bot[bot] = seeks
            return sought
        return None


def _first(seeks: Mapping[str, Sought]) -> Sought | None:
    return next(iter(seeks.values()), None)

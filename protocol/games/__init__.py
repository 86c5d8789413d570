"""The contract of a game, and the registry of games by name.

base.py is the contract of a game, simultaneous.py that of games in which several seats move at once. parsing.py reads
configs and moves. spec.py describes all that exists for one game: rules, evaluations, searches, encodings, graders.
turn_game.py is a shorter contract for authors, of which turn_settings.py, turn_chance.py and turn_wire.py have parts.
wire_game.py is a game whose rules are not on this machine.
Code that serves, plays or searches games knows no particular game. It asks the registry, by the game's name.

The package `games` has the built-in games. It is found by its name alone and imported at the first question. Other
games come from files and installed packages. machine/game_discovery.py loads them when somebody asks for a game that is
not built in, or for all games. `register_game` adds a game. A function that caches what it has read from the registry
is marked with `clear_on_registration`.

A game of a family, `FAMILY:GAME`, is found by its name alone. Lists of games have it only after `list_game`. What
clients ask for must be listed (`check_offered`): strangers do not choose among all games of a package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pkgutil import get_data, resolve_name
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

import msgspec

from protocol.errors import RulesFault, UnknownGame, UsageFault
from protocol.games.base import Game
from protocol.games.guard import CallRules, guard_rules, locate_rules_faults
from protocol.games.spec import FAMILY_SEPARATOR, GameSpec

_BUILTIN_GAMES = "games:SPECS"
"""The module and the name of the specs of all built-in games. Lists of games have the order of these specs."""

_DISCOVERED_GAMES = "machine.game_discovery:find_specs"
"""The module and the name of the function that yields the specs of games from files and installed packages."""

_FAMILY_GAMES = "machine.game_discovery:find_family_spec"
"""The module and the name of the function that returns the spec of a game of a family."""


class CachedFunction(Protocol):
    """A function with a cache, as `functools.cache` makes it."""

    def cache_clear(self) -> None: ...


CachedT = TypeVar("CachedT", bound=CachedFunction)
_dependent_functions: list[CachedFunction] = []
"""The functions whose results depend on the registry."""
_former_rules: dict[tuple[str, str], Callable[[], GameSpec | None]] = {}
"""The functions that load the specs of former rules, by name and digest."""
_pack = msgspec.msgpack.Encoder(order="deterministic").encode
_shared_games: WeakValueDictionary[tuple[str, str, bytes], Game[Any, Any]] = WeakValueDictionary()


@cache
def _builtin_specs() -> dict[str, GameSpec]:
    return {spec.name: spec for spec in resolve_name(_BUILTIN_GAMES)}


@cache
def _other_specs() -> dict[str, GameSpec]:
    """Return the specs of all games that are not built in. `register_game` adds to them."""
    found: dict[str, GameSpec] = {}
    for spec in resolve_name(_DISCOVERED_GAMES)():
        if spec.name in _builtin_specs() or spec.name in found:
            raise UsageFault(f"two games have the name {spec.name}: remove one of them, or rename it")
        found[spec.name] = spec
    return found


def _find_spec(name: str) -> GameSpec | None:
    if FAMILY_SEPARATOR in name:
        try:
            return _family_spec(name)
        except UnknownGame:
            return None
    return _builtin_specs().get(name) or _other_specs().get(name)


def _specs() -> dict[str, GameSpec]:
    return {**_builtin_specs(), **_other_specs()}


def register_game(spec: GameSpec) -> None:
    """Add a game to the registry. Raise `UsageFault` if the name is taken."""
    if is_known_game(spec.name):
        raise UsageFault(f"there is a game {spec.name} already")
    _other_specs()[spec.name] = spec
    _clear_caches()


def list_game(name: str) -> None:
    """Add a game of a family to the lists of games. Raise `UnknownGame` if no installed package has it."""
    _other_specs()[name] = game_spec(name)
    _clear_caches()


def remove_game(name: str) -> None:
    """Remove a game that is not built in. Matches that have begun keep its rules."""
    del _other_specs()[name]
    for key in [key for key in _former_rules if key[0] == name]:
        del _former_rules[key]
    _clear_caches()


def register_former_rules(name: str, digest: str, load: Callable[[], GameSpec | None]) -> None:
    """Add other rules of a game, with this digest, for the records of its old matches. `load` returns their spec, or
    None if they can't be loaded.
    """
    _former_rules[name, digest] = load


def rules_spec(name: str, digest: str) -> GameSpec:
    """Return the description of a game with the rules of this digest if they are here, otherwise with the rules by
    which it is played now. Raise `UnknownGame`.
    """
    spec = game_spec(name)
    load = None if digest in ("", spec.digest) else _former_rules.get((name, digest))
    return (load and load()) or spec


def clear_on_registration(function: CachedT) -> CachedT:
    """Clear the cache of a function whenever a game is registered or removed. This is a decorator."""
    _dependent_functions.append(function)
    return function


@clear_on_registration
@cache
def _family_spec(name: str) -> GameSpec:
    spec: GameSpec = resolve_name(_FAMILY_GAMES)(name)
    return spec


def _clear_caches() -> None:
    _shared_games.clear()
    for function in _dependent_functions:
        function.cache_clear()


def game_names() -> tuple[str, ...]:
    """Return the names of all games."""
    return tuple(_specs())


def offered_game_names() -> tuple[str, ...]:
    """Return the names of the games of which new matches may begin: all but those that the operator removed."""
    return tuple(spec.name for spec in _specs().values() if spec.offered)


def builtin_game_names() -> tuple[str, ...]:
    """Return the names of the games that come with this version."""
    return tuple(_builtin_specs())


def is_builtin_game(name: str) -> bool:
    return name in _builtin_specs()


def is_known_game(name: str) -> bool:
    return _find_spec(name) is not None


def missing_rules_message(name: str) -> str:
    """Return the sentence about stored matches of a game whose rules this arena does not have."""
    return f"this arena does not have the rules of {name[:40]}"


def game_spec(name: str) -> GameSpec:
    """Return the description of a game. Raise `UnknownGame`, with the known names or with the reason why a game of a
    family can't be played.
    """
    if FAMILY_SEPARATOR in name:
        return _family_spec(name)
    found = _find_spec(name)
    if found is None:
        raise _unknown_game(name)
    return found


def _unknown_game(name: str) -> UnknownGame:
    return UnknownGame(f"there is no game {name[:40]!r}: one of {', '.join(offered_game_names())}")


def check_offered(name: str) -> None:
    """Raise `UnknownGame` unless new matches of a game may begin: it is in the lists of games, and the operator has not
    removed it.
    """
    spec = _specs().get(name)
    if spec is None:
        raise _unknown_game(name)
    if not spec.offered:
        raise UnknownGame(f"{name} was removed by the operator: no new matches begin")


def games_with(field: str) -> tuple[str, ...]:
    """Return the names of the games that have something in this field of their spec, such as `kernel`."""
    return tuple(spec.name for spec in _specs().values() if getattr(spec, field))


def game_part(name: str, field: str) -> Any:
    """Import and return the code that a game's spec names in `field`, such as `kernel`. Return None if the spec names
    none, or if the game is unknown.
    """
    spec = _find_spec(name)
    path: str | None = None if spec is None else getattr(spec, field)
    return None if path is None else resolve_name(path)


def is_in_package(name: str) -> bool:
    """Return whether a game's room is a package, whose folder belongs to the game. A game in a single file has none."""
    return hasattr(resolve_name(game_spec(name).room), "__path__")


def game_document(name: str, field: str) -> str | None:
    """Return the text of the file that a game's spec names under `field`, such as `rules_document`; None if the room
    has no such file. Raise `UnknownGame`.
    """
    spec = game_spec(name)
    try:
        content = get_data(spec.room, getattr(spec, field))
    except FileNotFoundError:
        return None
    return None if content is None else content.decode()


def game_class(name: str) -> type[Game[Any, Any]]:
    """Return the class of a game. Raise `UnknownGame`, with the known names."""
    found: type[Game[Any, Any]] = resolve_name(game_spec(name).rules)
    return found


def payoff_unit(name: str) -> str:
    """Return the unit of a game's payoffs, such as `round`; empty without payoffs, or for an unknown game."""
    return game_class(name).payoff_unit if is_known_game(name) else ""


def default_preset(name: str) -> str:
    """Return the preset that a game has if it is played without a config. Raise `UnknownGame` for an unknown name."""
    return next(iter(game_class(name).presets))


def load_game(name: str, config: Mapping[str, Any] | None = None, digest: str = "") -> Game[Any, Any]:
    """Return a game under a config; without one, under its default preset. It has the rules with this digest, if one is
    given and they are here (`rules_spec`). Raise `UnknownGame` or `BadConfig` if the name or the config is invalid.
    Raise `RulesFault` if rules that are not built in fail.
    """
    with rules_faults_of(name):
        rules_class: type[Game[Any, Any]] = resolve_name(rules_spec(name, digest).rules)
        rules = rules_class(config or {"preset": default_preset(name)})
        if name not in _builtin_specs():
            _cached = rules.preset  # to find it, all presets are made, and rules may fail at that
    return rules


@clear_on_registration
@cache
def playable_game_names() -> tuple[str, ...]:
    """Return the names of the offered games whose presets can be made. Rules that are not built in may fail at that."""
    return tuple(filter(_is_playable, offered_game_names()))


def _is_playable(name: str) -> bool:
    try:
        for preset in game_class(name).presets:
            load_game(name, {"preset": preset})
    except RulesFault:
        return False
    return True


def rules_faults_of(name: str) -> AbstractContextManager[None]:
    """Return a context in which exceptions of a game's rules become `RulesFault`, unless the game is built in. Raise
    `UnknownGame` for an unknown name.
    """
    if name in _builtin_specs():
        return nullcontext()
    return locate_rules_faults(name, resolve_name(game_spec(name).room))


def config_keys(name: str) -> tuple[str, ...]:
    """Return all keys of a game's configs, also those that a config may omit. Raise `UnknownGame` for an unknown
    name.
    """
    return tuple(dict.fromkeys((*load_game(name).config, *game_class(name).late_keys)))


def shared_game(game: str, config: Mapping[str, Any], digest: str = "") -> Game[Any, Any]:
    """Return a game under a config, like `load_game`, but the same object for all matches with an equal config. A large
    map is then read and held only once. Raise what `load_game` raises.
    """
    key = game, "" if digest == game_spec(game).digest else digest, _pack(config)
    rules = _shared_games.get(key)
    if rules is None:
        rules = _shared_games[key] = load_game(game, config, digest)
    return rules


def share_game(game: str, config: Mapping[str, Any], rules: Game[Any, Any]) -> None:
    """Have `shared_game` return these rules for a config, as long as somebody holds them."""
    _shared_games[game, "", _pack(config)] = rules


def guard_game(rules: Game[Any, Any], call: CallRules | None = None) -> Game[Any, Any]:
    """Return the rules for one match that does not trust them, unless they are built in: their methods raise
    `RulesFault` if they fail, and the referee calls them through `call`.
    """
    if rules.name in _builtin_specs():
        return rules
    return guard_rules(rules, resolve_name(game_spec(rules.name).room), call)

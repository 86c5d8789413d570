"""The built-in games. Each room, a package of this one, has all that exists for one game or for a family of games.

To add a game, make a room and add it to `_ROOMS`. A room's module `rules` imports `protocol` and its own room alone, so
the client stays small; its other modules may import any library. No module outside `games` imports a room: code finds a
game through `protocol.games`, by name. The rooms of heap games share the package `games.theory`.
"""

from __future__ import annotations

from itertools import chain
from pkgutil import resolve_name

from protocol.games.spec import GameSpec

_ROOMS = ("nim", "grundy", "tictactoe", "risk", "dilemma", "poker")
"""The names of the games' packages, in the order in which games are listed."""
SPECS: tuple[GameSpec, ...] = tuple(chain.from_iterable(resolve_name(f"games.{room}:SPECS") for room in _ROOMS))
"""The specs of all built-in games."""

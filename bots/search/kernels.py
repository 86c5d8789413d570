"""The interfaces of game-specific searches ("kernels"), and their settings besides depth, nodes and weights.

Kernels work on flat arrays and are compiled if numba is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, cast, get_args

from msgspec import Struct, structs

from bots.evaluation.base import EQUAL_WEIGHTS
from bots.search.base import SearchLimit, SearchResult
from bots.search.uct import RulesTreeSearch
from protocol.games import game_part, games_with
from protocol.games.base import Game
from protocol.messages import Event

Algorithm = Literal["expectiminimax", "alphabeta"]


class SearchSettings(Struct, frozen=True):
    """The settings that exist only in the search of a single game. Such a game has a subclass. Each field of it takes
    one of a few names and has a default. Decoding accepts any text; `choices_of` lists the valid names.
    """

    descriptions: ClassVar[Mapping[str, str]] = {}
    """A one-line explanation of each field of the settings, by the field's name."""
    is_used: ClassVar[bool] = True
    """True if the game's search uses the fields of this class; false if it ignores them."""

    @property
    def needs_rng(self) -> bool:
        """True if the search draws random moves and so needs `below`, a source of random numbers."""
        return False


class MoveFinder(Protocol):
    """A search or a fixed policy that finds moves in one game under one configuration of its rules."""

    def __init__(self, rules: Any) -> None: ...

    def warm_up(self) -> None:
        """Compile, or load from disk, all the code that a match needs. Without numba this does nothing."""


class TimedSearch(MoveFinder, Protocol):
    """A search whose nodes all take about the same time."""

    nodes_per_ms: ClassVar[int]
    """The number of nodes that the search visits in about a millisecond."""


class Kernel(TimedSearch, Protocol):
    """The compiled search of one game."""

    default_depth: ClassVar[int]
    """The depth of a search to a fixed depth if no other depth is given."""

    def search(
        self,
        position: Any,
        *,
        depth: int,
        algorithm: Algorithm,
        evaluation: str = "features",
        weights: Sequence[float] = EQUAL_WEIGHTS,
        settings: Any,
        below: Callable[[int], int] | None = None,
        limit: SearchLimit,
    ) -> SearchResult[Any]:
        """Return the best move found by iterative deepening up to `depth` within `limit`. It is always legal.

        `settings` is an instance of the game's settings class (see `settings_class_of`). If the settings need random
        moves, `below(n)` returns a random number from 0 to n − 1, as in `Game.sample`.
        """

    def perft(self, position: Any, depth: int) -> int:
        """Return the number of paths of exactly `depth` plies in the game tree, counting every outcome of chance."""


class OnePlyKernel(Kernel, Protocol):
    """A compiled search that can also search one ply exactly. A game has one if a search of one ply by its rules is too
    slow.
    """

    def search_one_ply(self, position: Any, *, evaluation: str, limit: SearchLimit) -> SearchResult[Any]:
        """Return the move with the best mean value over its outcomes, of the moves tried before `limit` was spent."""


class TreeSearch(TimedSearch, Protocol):
    """The Monte Carlo tree search of one game. It counts simulations as nodes."""

    def search(
        self, position: Any, *, events: Sequence[Event] = (), below: Callable[[int], int], limit: SearchLimit
    ) -> SearchResult[Any]:
        """Return the most visited move within `limit`. It is always legal.

        `events` are those of the match since the last call. `below(n)` returns a random number from 0 to n − 1.
        """

    def estimate_wins(self, position: Any, seat: int, sims: int, below: Callable[[int], int]) -> float:
        """Return the winning probability of `seat`, estimated by `sims` simulations of an unfinished position."""


class Policy(MoveFinder, Protocol):
    """A way to choose moves in one game without a search."""

    def choose_move(self, position: Any) -> Any:
        """Return the policy's move in an unfinished position."""


def kernel_games() -> tuple[str, ...]:
    """Return the games that have a compiled search (a kernel)."""
    return games_with("kernel")


def uct_games() -> tuple[str, ...]:
    """Return the games that have their own Monte Carlo tree search."""
    return games_with("tree_search")


def kernel_for(rules: Game[Any, Any]) -> Kernel | None:
    """Return the compiled search of this game; None if it has none."""
    make: type[Kernel] | None = game_part(rules.name, "kernel")
    return None if make is None else make(rules)


def one_ply_for(rules: Game[Any, Any]) -> OnePlyKernel | None:
    """Return the game's compiled search if it can search one ply exactly. Return None if a search of one ply by the
    game's rules is fast enough.
    """
    return cast(OnePlyKernel, kernel_for(rules)) if rules.name in games_with("has_one_ply_search") else None


def uct_for(rules: Game[Any, Any]) -> TreeSearch | RulesTreeSearch:
    """Return the game's own Monte Carlo tree search; for a game without one, the search by its rules."""
    make: type[TreeSearch] | type[RulesTreeSearch] = game_part(rules.name, "tree_search") or RulesTreeSearch
    return make(rules)


def settings_class_of(game: str) -> type[SearchSettings]:
    """Return the class of the game's search settings, without compiling the search."""
    return game_part(game, "search_settings") or SearchSettings


def choices_of(settings_class: type[SearchSettings]) -> dict[str, tuple[str, ...]]:
    """Return the valid values of each field of a settings class, by field."""
    return {field.name: get_args(field.type) for field in structs.fields(settings_class)}

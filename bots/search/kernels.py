"""The registry of game-specific searches ("kernels"), which work on flat arrays and are compiled if numba is installed,
and the settings that they take besides depth, nodes and weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any, ClassVar, Literal, Protocol, cast, get_args

from msgspec import Struct, structs

from bots.evaluation.base import EQUAL
from bots.search.base import Found, Limit
from protocol.games.base import Game
from protocol.messages import Event

Algorithm = Literal["expectiminimax", "alphabeta"]
_KERNELS = {
    "risk-duel": "bots.search.risk.duel_search:DuelSearch",
    "risk-campaign": "bots.search.risk.campaign_kernel:CampaignKernel",
}
_ONE_PLY = {"risk-campaign"}
"""The games whose kernel is also a `OnePly`."""
_UCT = {
    "risk-duel": "bots.search.risk.duel_uct:DuelUct",
    "risk-campaign": "bots.search.risk.campaign_uct:CampaignUct",
}
_RAIDER = {"risk-campaign": "bots.search.risk.policies:CampaignRaid"}
_SETTINGS = {
    "risk-duel": "bots.search.risk.settings:DuelSettings",
    "risk-campaign": "bots.search.risk.settings:CampaignSettings",
}
WITH_KERNEL = tuple(_KERNELS)
"""The games that have a kernel."""
WITH_UCT = tuple(_UCT)
"""The games that have their own Monte Carlo tree search."""


class SearchSettings(Struct, frozen=True):
    """The game-specific settings of a search. Each field of a subclass is one of a few names and has a default.

    Decoding accepts any text; `choices_of` lists the valid names.
    """

    about: ClassVar[Mapping[str, str]] = {}
    """A one-line explanation of each field."""
    heeded: ClassVar[bool] = True
    """False if the search ignores its settings."""

    @property
    def draws(self) -> bool:
        """True if the search draws random moves and therefore needs `below`."""
        return False


class Ready(Protocol):
    """A move finder for one game with one configuration."""

    def __init__(self, rules: Any) -> None: ...

    def warm_up(self) -> None:
        """Compile, or load from disk, all the code that a match needs. Without numba this does nothing."""


class Paced(Ready, Protocol):
    """A search whose nodes all take about the same time."""

    at_once: ClassVar[int]
    """Nodes visited in about a millisecond."""


class Kernel(Paced, Protocol):
    """The compiled search of one game."""

    usual_depth: ClassVar[int]
    """Default depth of a search with fixed depth."""

    def search(
        self,
        position: Any,
        *,
        depth: int,
        algorithm: Algorithm,
        evaluation: str = "features",
        weights: Sequence[float] = EQUAL,
        settings: Any,
        below: Callable[[int], int] | None = None,
        limit: Limit,
    ) -> Found[Any]:
        """Return the best move by iterative deepening up to `depth` within `limit`; always a legal one.

        `settings` are an instance of `settings_of` the game. If they draw random moves, `below(n)` returns a random
        number from 0 to n − 1, as in `Game.sample`.
        """

    def perft(self, position: Any, depth: int) -> int:
        """Return the number of paths of exactly `depth` plies, counting every outcome of chance."""


class OnePly(Kernel, Protocol):
    """The kernel of a game whose rules are too slow to list every outcome of even one move."""

    def look_once(self, position: Any, *, evaluation: str, limit: Limit) -> Found[Any]:
        """Return the move with the best mean over all its outcomes, among all moves or those that `limit` allows."""


class Sampling(Paced, Protocol):
    """The Monte Carlo tree search of one game. Its nodes are simulations."""

    def search(
        self, position: Any, *, events: Sequence[Event] = (), below: Callable[[int], int], limit: Limit
    ) -> Found[Any]:
        """Return the most visited move within `limit`; always a legal one.

        `events` are those since the last call in the match. `below(n)` returns a random number from 0 to n − 1.
        """

    def worth(self, position: Any, seat: int, sims: int, below: Callable[[int], int]) -> float:
        """Return the winning probability of `seat`, estimated by `sims` simulations of an unfinished position."""


class Policy(Ready, Protocol):
    """A player of one game that does not search."""

    def move(self, position: Any) -> Any:
        """Return its move in an unfinished position."""


def kernel_for(rules: Game[Any, Any]) -> Kernel | None:
    """Return the compiled search of this game; None if it has none."""
    kernel: Kernel | None = resolve_name(_KERNELS[rules.name])(rules) if rules.name in _KERNELS else None
    return kernel


def one_ply_for(rules: Game[Any, Any]) -> OnePly | None:
    """Return the one-ply search of this game; None if the rules are fast enough without one."""
    return cast(OnePly, kernel_for(rules)) if rules.name in _ONE_PLY else None


def uct_for(rules: Game[Any, Any]) -> Sampling:
    """Return the Monte Carlo tree search of one of the games in `WITH_UCT`."""
    kernel: Sampling = resolve_name(_UCT[rules.name])(rules)
    return kernel


def raider_for(rules: Game[Any, Any]) -> Policy:
    """Return the raider, a fixed policy for the campaign."""
    policy: Policy = resolve_name(_RAIDER[rules.name])(rules)
    return policy


def settings_of(game: str) -> type[SearchSettings]:
    """Return the class of the game's search settings. Compiles nothing."""
    kind: type[SearchSettings] = resolve_name(_SETTINGS[game]) if game in _SETTINGS else SearchSettings
    return kind


def choices_of(kind: type[SearchSettings]) -> dict[str, tuple[str, ...]]:
    """Return the valid names of each field."""
    return {field.name: get_args(field.type) for field in structs.fields(kind)}

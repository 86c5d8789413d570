"""Games that have a search of their own, on flat arrays and compiled where numba is installed: where to find it, and
what it may be told beside depth, nodes and weights, which general code passes on whole.
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
"""Those whose kernel is also a `OnePly`."""
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
"""Those that have a Monte Carlo tree search of their own."""


class SearchSettings(Struct, frozen=True):
    """What the search of a game may be told of its own: the fields of a subclass, each one of a few names, with a
    default. Any text fits a field: `choices_of` says which are right.
    """

    about: ClassVar[Mapping[str, str]] = {}
    """By field, the line that explains it."""
    heeded: ClassVar[bool] = True
    """Whether the search does anything with them."""

    @property
    def draws(self) -> bool:
        """Whether moves are drawn, with `below`."""
        return False


class Ready(Protocol):
    """What finds moves in one game under one config."""

    def __init__(self, rules: Any) -> None: ...

    def warm_up(self) -> None:
        """Compile, or load from disk, all that a match needs; without numba nothing."""


class Paced(Ready, Protocol):
    """A search whose nodes take as long as each other."""

    at_once: ClassVar[int]
    """The nodes of about a millisecond."""


class Kernel(Paced, Protocol):
    """The search of one game."""

    usual_depth: ClassVar[int]
    """How deep a search of fixed depth looks where nobody says."""

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
        """The best move, one ply deeper each time up to `depth`, within `limit`; a legal one whatever happens.

        `settings` are of the kind that `settings_of` the game names; where they draw, it is with `below`, as in
        `Game.sample`.
        """

    def perft(self, position: Any, depth: int) -> int:
        """The number of paths of exactly `depth` plies, every result of chance on its own."""


class OnePly(Kernel, Protocol):
    """The kernel of a game whose rules are too slow to look at every result of even one move."""

    def look_once(self, position: Any, *, evaluation: str, limit: Limit) -> Found[Any]:
        """The best of all moves, or of those that `limit` allows, by what every result of each looks like."""


class Sampling(Paced, Protocol):
    """The Monte Carlo tree search of one game. Its nodes are simulations."""

    def search(
        self, position: Any, *, events: Sequence[Event] = (), below: Callable[[int], int], limit: Limit
    ) -> Found[Any]:
        """The move most looked at within `limit`; a legal one whatever happens.

        `events` are those since the last call in the match. `below(n)` draws a number from 0 to n - 1.
        """

    def worth(self, position: Any, seat: int, sims: int, below: Callable[[int], int]) -> float:
        """The share of the wins of `seat` in so many simulations from an unfinished position, whoever is to move."""


class Policy(Ready, Protocol):
    """A player of one game that does not search."""

    def move(self, position: Any) -> Any:
        """Its move in an unfinished position."""


def kernel_for(rules: Game[Any, Any]) -> Kernel | None:
    """The compiled search of this game, if it has one."""
    kernel: Kernel | None = resolve_name(_KERNELS[rules.name])(rules) if rules.name in _KERNELS else None
    return kernel


def one_ply_for(rules: Game[Any, Any]) -> OnePly | None:
    """The same for who looks one move ahead; None where the rules do for that."""
    return cast(OnePly, kernel_for(rules)) if rules.name in _ONE_PLY else None


def uct_for(rules: Game[Any, Any]) -> Sampling:
    """The Monte Carlo tree search of one of the games `WITH_UCT`."""
    kernel: Sampling = resolve_name(_UCT[rules.name])(rules)
    return kernel


def raider_for(rules: Game[Any, Any]) -> Policy:
    """The raider of a campaign."""
    policy: Policy = resolve_name(_RAIDER[rules.name])(rules)
    return policy


def settings_of(game: str) -> type[SearchSettings]:
    """What the search of the game called so may be told of its own. Compiles nothing."""
    kind: type[SearchSettings] = resolve_name(_SETTINGS[game]) if game in _SETTINGS else SearchSettings
    return kind


def choices_of(kind: type[SearchSettings]) -> dict[str, tuple[str, ...]]:
    """By field, the names that it may have."""
    return {field.name: get_args(field.type) for field in structs.fields(kind)}

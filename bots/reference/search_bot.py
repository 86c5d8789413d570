"""What the reference bots that search have in common: their settings, their evaluation, the kernel if there is one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from bots.client.bot import Bot, Choice, Turn
from bots.client.value_parsing import read_number, read_one
from bots.evaluation import NAMES, evaluation, names_of, weights_of
from bots.evaluation.base import EQUAL, Evaluate
from bots.reference.time_management import purse
from bots.search.base import Found
from bots.search.iterative_deepening import DEEPEST, deepen
from bots.search.kernels import WITH_KERNEL, Kernel, kernel_for, settings_of
from bots.search.settings import Algorithm, SearchSettings, choices_of
from bots.tuning.weights import NAMES as WEIGHT_NAMES
from bots.tuning.weights import read_weights
from protocol.errors import UsageFault
from protocol.games import load
from protocol.games.base import Game
from protocol.messages import Start

K = TypeVar("K")
EVAL = "the evaluation: features, unam, outlook, lines, parity or none; a game without it uses its own"
WEIGHTS = f"of the evaluation of Risk: like 1,1,1,1 or 1/1/1/1, @FILE of arena-bot tune, or {', '.join(WEIGHT_NAMES)}"

ABOUT = {key: line for game in WITH_KERNEL for key, line in settings_of(game).about.items()}
"""The settings of searches that only some games have."""


class SearchingBot(Bot):
    """A bot that plays what its `search` finds. Settings come as text or numbers; raises `UsageFault` for bad ones."""

    settings: ClassVar[Mapping[str, str]] = {
        "depth": "plies (in a campaign as horizon says) to look ahead, 1 to 64; then the clock is not looked at",
        "eval": EVAL,
        "nodes": "positions to visit a move instead of time, 1 or more: the same moves on every machine",
        "weights": WEIGHTS,
        **ABOUT,
    }
    algorithm: ClassVar[Algorithm]
    """What the bot runs on a compiled kernel."""

    def __init__(
        self,
        name: str,
        version: str = "",
        *,
        depth: int | str | None = None,
        eval: str | None = None,  # noqa: A002
        nodes: int | str | None = None,
        weights: str = "equal",
        **own: str,
    ) -> None:
        super().__init__(name, version)
        kind = type(self).__name__.lower()
        if unknown := own.keys() - ABOUT.keys():
            raise TypeError(f"{kind} has no setting {min(unknown)!r}")
        self.depth = read_number(kind, "depth", depth, 64)
        self.nodes = read_number(kind, "nodes", nodes, 10**9)
        self.search_settings = {game: _read(kind, settings_of(game), own) for game in WITH_KERNEL}
        """By the name of the game."""
        self.weights = {name: read_weights(kind, weights, name) for name in NAMES}
        """By the name of the evaluation and of the game."""
        self._weights_given = weights
        self._evaluation = None if eval is None else read_one(kind, "eval", eval, NAMES)

    def check_game(self, game: Game[Any, Any]) -> None:
        super().check_game(game)
        name, given = name_for(game.name, self._evaluation), self._weights_given
        if not (usual := weights_of(game.name, name)):
            return
        try:
            read_weights(self.name, given, name, strict=True)
        except UsageFault as fault:
            raise UsageFault(
                f"{self.name}: weights is {given[:40]!r}, but it plays {game.name} by {name}, which has {len(usual)} "
                "weights: give it as many, or the eval that these are of"
            ) from fault

    @abstractmethod
    def generic(self, turn: Turn) -> Callable[..., Found[Any]]:
        """The search for games without a kernel."""

    def deepest(self, kernel: Kernel | None) -> int:
        """How deep to look."""
        return self.depth or DEEPEST

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None and (kernel := kernel_for(game)) is not None:
            kernel.warm_up()

    def prepare(self, start: Start) -> None:
        self.warm_up(load(start.game, start.config))

    def choose(self, turn: Turn) -> Choice:
        kernel = once_a_match(turn, kernel_for)
        game = turn.rules.name
        depth = self.deepest(kernel)
        limit = purse(turn, nodes=self.nodes, bounded=self.depth is not None, kernel=kernel)
        if kernel is None:
            evaluate = evaluation_for(game, self._evaluation)
            search = self.generic(turn)
            found = deepen(turn.rules, turn.position, search, limit=limit, deepest=depth, evaluate=evaluate)
        else:
            name = name_for(game, self._evaluation)
            found = kernel.search(
                turn.position,
                depth=depth,
                algorithm=self.algorithm,
                evaluation=name,
                weights=self.weights[name].get(game, EQUAL),
                settings=self.search_settings[game],
                below=turn.random.randrange,
                limit=limit,
            )
        assert found.move is not None
        move = turn.rules.encode_move(found.move)
        return Choice(move, value=found.value, depth=found.depth, nodes=found.nodes)


def _read(bot: str, kind: type[SearchSettings], own: Mapping[str, str]) -> SearchSettings:
    """Those of its settings that are given, and the usual ones. Raises `UsageFault`."""
    return kind(**{key: read_one(bot, key, own[key], names) for key, names in choices_of(kind).items() if key in own})


def once_a_match(turn: Turn, find: Callable[[Game[Any, Any]], K]) -> K:
    """The kernel that `find` finds for the turn's rules."""
    if "kernel" not in turn.memory:
        turn.memory["kernel"] = find(turn.rules)
    kernel: K = turn.memory["kernel"]
    return kernel


def name_for(game: str, name: str | None) -> str:
    """The evaluation called `name` if the game has it, else the game's own: a bot may play several games."""
    names = names_of(game)
    return name if name in names else names[0]


def evaluation_for(game: str, name: str | None) -> Evaluate:
    """The evaluation that `name_for` chooses."""
    return evaluation(game, name_for(game, name))

"""The reference bots that search, or let a kernel choose: what they share, what a move may cost, and each of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, TypeVar

from bots.client.bot import Bot, Choice, Turn
from bots.client.settings import read_number, read_one
from bots.evaluation import NAMES, evaluation, names_of, weights_of
from bots.evaluation.base import EQUAL, Evaluate
from bots.search import Found, TranspositionTable, expectiminimax, star1
from bots.search.base import DEEPEST, SEARCHED, Limit, Tree, deepen
from bots.search.kernels import (
    WITH_KERNEL,
    WITH_UCT,
    Algorithm,
    Kernel,
    Paced,
    SearchSettings,
    choices_of,
    kernel_for,
    one_ply_for,
    raider_for,
    settings_of,
    uct_for,
)
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
USUAL_DEPTH = 3
"""Of a search to a fixed depth where neither its settings nor a kernel say."""
MOVES_LEFT = 30
"""How many more moves share the clock."""
RESERVE = 0.6
"""Seconds that are kept for sending moves: enough for the 500 of a campaign, each made at once, on a busy machine."""
MOST_SECONDS = 0.1
"""A longer search wins nothing in the small games, and tournaments stay quick."""
MOST_SECONDS_OF_KERNELS = 1.0
AT_ONCE = 50
"""Nodes over the rules, about a millisecond where the reserve is whole, as a kernel's `at_once`; fewer as it dwindles.
"""


def purse(turn: Turn, *, nodes: int | None, bounded: bool = False, kernel: Paced | None = None) -> Limit:
    """`nodes` if given; nothing to watch where the search is `bounded` otherwise; else a share of what the clock holds
    above the reserve and half the increment, counted from when the turn came in.
    """
    if nodes is not None:
        return Limit(nodes=nodes)
    if bounded:
        return Limit()
    bank, increment = turn.clock_ms[turn.seat] / 1000, turn.increment_ms / 1000
    seconds = (bank - RESERVE) / MOVES_LEFT + min(increment, bank) / 2
    if seconds <= 0:
        at_once = AT_ONCE if kernel is None else kernel.at_once
        return Limit(nodes=max(1, int(at_once * bank / RESERVE)))
    most = MOST_SECONDS if kernel is None else MOST_SECONDS_OF_KERNELS
    return Limit(deadline=turn.received + min(seconds, most))


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


class CompiledBot(Bot):
    """A bot that has what it plays by compiled before a match begins."""

    games = SEARCHED

    def prepare(self, start: Start) -> None:
        self.warm_up(load(start.game, start.config))


class SearchingBot(CompiledBot):
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


class Minimax(SearchingBot):
    """Minimax to a fixed depth, expectation where there is chance.

    It comes to that depth ply by ply, so that where the clock does not allow it the answer of a lesser depth is there.
    """

    algorithm = "expectiminimax"

    def deepest(self, kernel: Kernel | None) -> int:
        usual = USUAL_DEPTH if kernel is None else kernel.usual_depth
        return self.depth or (DEEPEST if self.nodes else usual)

    def generic(self, turn: Turn) -> Callable[..., Found[Any]]:
        return expectiminimax


class AlphaBeta(SearchingBot):
    """Alpha-beta with a transposition table, one ply deeper each time; Star1 bounds where there is chance."""

    algorithm = "alphabeta"

    def generic(self, turn: Turn) -> Callable[..., Found[Any]]:
        return partial(star1, table=turn.memory.setdefault("table", TranspositionTable()))


class Ga(AlphaBeta):
    """Plays Risk with the weights tuned on the game it plays, for the evaluation it uses, made by `arena-bot tune`."""

    def __init__(self, name: str, version: str = "", *, weights: str = "adjusted", **settings: Any) -> None:
        super().__init__(name, version, weights=weights, **settings)


class Greedy(CompiledBot):
    """Takes the best expected evaluation after one move; equal ones are drawn by lot (in a campaign: the first)."""

    settings: ClassVar[Mapping[str, str]] = {"eval": EVAL}

    def __init__(self, name: str, version: str = "", *, eval: str | None = None) -> None:  # noqa: A002
        super().__init__(name, version)
        self._evaluation = None if eval is None else read_one("greedy", "eval", eval, NAMES)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None and (kernel := one_ply_for(game)) is not None:
            kernel.warm_up()

    def choose(self, turn: Turn) -> Choice:
        rules = turn.rules
        kernel = once_a_match(turn, one_ply_for)
        if kernel is not None:
            limit = purse(turn, nodes=None, kernel=kernel)
            found = kernel.look_once(turn.position, evaluation=name_for(rules.name, self._evaluation), limit=limit)
            return Choice(rules.encode_move(found.move), value=found.value, depth=1, nodes=found.nodes)
        tree = Tree(rules, turn.position, evaluate=evaluation_for(rules.name, self._evaluation))
        best = -tree.win
        equals: list[Any] = []
        moves = rules.legal_moves(turn.position)
        for move in moves:
            results = rules.outcomes(turn.position, move)
            value = sum(float(chance) * worth(tree, result) for chance, result in results)
            if value > best:
                best, equals = value, []
            if value == best:
                equals.append(move)
        return Choice(rules.encode_move(turn.random.choice(equals)), value=best, depth=1, nodes=len(moves))


def worth(tree: Tree[Any, Any], state: Any) -> float:
    """What a state is worth to the seat to move at the root, however far from there."""
    return tree.final(state, 0) if tree.rules.to_move(state) is None else tree.estimate(state)


class Raider(CompiledBot):
    """Plays what the playouts of `uct` play, each move at once."""

    games = ("risk-campaign",)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None:
            raider_for(game).warm_up()

    def choose(self, turn: Turn) -> Choice:
        move = once_a_match(turn, raider_for).move(turn.position)
        return Choice(turn.rules.encode_move(move))


class Uct(CompiledBot):
    """Plays the move that most simulations of its search chose; the value it tells is its share of the wins in them,
    in a campaign a hundredth less for each turn that was played out.
    """

    games = WITH_UCT
    settings: ClassVar = {
        "sims": "simulations a move instead of time, 10 or more to search: the same moves on every machine"
    }

    def __init__(self, name: str, version: str = "", *, sims: int | str | None = None) -> None:
        super().__init__(name, version)
        self.sims = read_number("uct", "sims", sims, 10**9)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None:
            uct_for(game).warm_up()

    def choose(self, turn: Turn) -> Choice:
        kernel = once_a_match(turn, uct_for)
        limit = purse(turn, nodes=self.sims, kernel=kernel)
        found = kernel.search(turn.position, events=turn.events, below=turn.random.randrange, limit=limit)
        assert found.move is not None
        value = found.value if found.leaves else None
        return Choice(turn.rules.encode_move(found.move), value=value, nodes=found.nodes)
